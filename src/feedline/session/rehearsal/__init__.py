"""A rehearsal: the script in a hidden process of its own, before the run that counts.

What a loop of the script's own changes cannot be put back, so it cannot be measured in
the run itself. It is measured in a run that nobody sees and that leaves no trace, and
the script is then started once, clean, with the plan.

    needed.py    does the source show that one is needed? (read, never run)
    ahead.py     started and ended, from the side of the command
    rehearse.py  what the hidden process does with the script
    seal.py      it ends before it writes, connects or starts anything that Python
                 tells of
    native.py    the same for what TensorFlow and h5py write without Python
    landlock.py  the same by the kernel, for all that is left
"""
