"""What lies between two processes, or between feedline and a script in one of them.

    channel.py      a message to another process, whole or not at all
    descriptors.py  where we keep files open without being in the script's way
    voice.py        what feedline says, to the standard error of the start
    threads.py      threads that a script neither sees nor waits for
    lifeline.py     a process that ends with the one that started it
    signals.py      signals that reach feedline instead of the script
    canary.py       was a signal sent to feedline alone, or to all its group?
    following.py    waiting for the script, and passing signals on
    stdin.py        standard input that can be given twice

Nothing here knows TensorFlow or what a training is.
"""
