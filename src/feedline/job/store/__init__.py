"""Elements of a pipeline kept on disk, for later epochs and for the next run.

errors.py       what can go wrong, as refusals
disk.py         where the store lies, how much room there is
locks.py        who uses an entry; ends by itself with the process
entries.py      one folder per kept dataset: manifest, checksums, removal
rows.py         elements as records of a file, and back
store.py        Store: open, fill, remember
recording.py    writing by the way, while the job reads its first epoch
fingerprint.py  the key: what the elements of a pipeline depend on
graphs.py       a traced function by its content                (for the key)
files.py        the files that a pipeline reads                 (for the key)

<folder>/.lock                   held while entries are made or removed
<folder>/<key>-<random>/lock     held by whoever writes or reads the entry
                       /data     TFRecords
                       /used     touched at every opening
                       /manifest.json   written last: without it, no entry
"""

from feedline.job.store.errors import CannotFix, FillCancelled, StoreFull
from feedline.job.store.store import Store

__all__ = ["CannotFix", "FillCancelled", "Store", "StoreFull"]
