"""What Python computes for each batch again and again, computed once: a file decoded, a
line parsed.

    values.py      what may be kept: values that can be given again as copies
    files.py       which files a call reads, and are they still the same?
    memory.py      where it is kept, within a bound
    reads.py       what else a function of the user's depends on, as part of the key
    calls.py       a function whose results are kept
    pictures.py    the decoding of Pillow's images
    scope.py       all of it in force only while the stage makes an element
    stage.py       the stage that is read in such a scope

The random part stays as it is: what draws is never kept, so that every draw is made, in
the same order, from the same generator. Outside of the stage's own calls, and in other
threads, the script's functions run as they were written.
"""
