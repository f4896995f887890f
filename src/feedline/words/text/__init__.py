"""Text on disk to word ids on disk, in bounded memory.

What the user names:
    corpus          `Corpus` and `prepare`: text in, vocabulary and shards out
    readers         files, globs, folders and streams, plain or compressed
    recipe          which words are kept, which phrases are joined
    vocabulary      `Vocabulary`: the words, and how often each was seen

From bytes to numbered words:
    blocks          text in blocks that cut no word
    scan            the kernel that splits at white space and numbers words
    tokenise, runs  words by a pattern or by a callable; patterns at full speed
    table           the hash table from words to numbers
    machine_words   eight bytes at a time
    counting, merge threads that count, and their tables made one
    spool           the numbers on their way to the shards
    phrases         words that often stand together, joined

Encoded text:
    encode          numbers to ids
    shards          the files of ids, mapped into memory
    building        a folder that appears whole or not at all
    spans           shards cut into blocks to train on
    cooccurrence    how often words stand near each other, for GloVe
"""
