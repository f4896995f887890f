"""Elements of a pipeline kept, in memory for later epochs, on disk for the next run.

errors.py       what can go wrong, as refusals
marks.py        what in the store is ours, and its removal
disk.py         where the store lies, how much room there is
locks.py        who uses an entry; ends by itself with the process
manifest.py     what an entry says of itself
entries.py      one folder per kept dataset: made, completed, checked
rows.py         elements as records of a file, and back
store.py        Store: open, remember
recording.py    writing by the way, while the job reads its first epoch
unlisted.py     threads that the script cannot see
guard.py        Guarded: a cache that looks, in every pass, whether it may be read
evidence.py     what a pipeline reads from outside, and whether it has changed
files.py        files: size, times, inode, content
names.py        the names of the files that a function reads
python.py       the values that Python in a pipeline reads
fingerprint.py  the key: what the elements of a pipeline depend on
graphs.py       a traced function by its content                (for the key)

<folder>/.feedline-store         our marker: without it nothing here is touched
<folder>/.lock                   held while entries are made or removed
<folder>/<key>-<random>/lock     held by whoever writes or reads the entry
                       /.feedline-entry  our marker, with the name of the folder
                       /data     TFRecords
                       /used     touched at every opening
                       /manifest.json   written last: without it, no entry
"""

from feedline.fixes.means.errors import Refused
from feedline.fixes.means.store.errors import StoreFull
from feedline.fixes.means.store.store import Store

__all__ = ["Refused", "Store", "StoreFull"]
