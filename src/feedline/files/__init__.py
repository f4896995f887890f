"""The ground floor: what any part needs of the machine and its disks, once.

    whole    a file or folder is there whole or not at all
    cores    how many cores this process may keep busy
    sizes    bytes as text, in one unit system
    disk     how much room a disk has

It knows only `errors`. It raises `OSError` as the system does: what went wrong for
the user, and what to do, the caller knows.
"""
