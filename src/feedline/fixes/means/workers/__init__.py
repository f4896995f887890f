"""The Python in a pipeline, run in processes of its own: the same elements in the
same order, without one interpreter's lock.

    shared_pickle.py  values through shared memory
    fork.py        a copy of this process that no other thread is disturbed by
    process.py     a forked child that serves calls, and how it ends
    pool.py        several of them; in doubt the job's own process computes
    function.py    `map` with `tf.numpy_function` or `tf.py_function`
    generator.py   `from_generator`, moved into a process ahead of the job
    pydataset.py   Keras' `PyDataset`

Why fork. The user's functions are lambdas, closures and methods of objects that
hold the data: they cannot be pickled, and to start anew would run the script a
second time. A forked child has all of it, at no cost. But TensorFlow's threads
are not in it, and a lock that one of them held stays locked for ever. Therefore:

- the child runs the user's Python and NumPy and nothing of TensorFlow: functions
  that are seen to use it are refused, and in the child its ops raise;
- nothing that the parent made is ever destroyed in the child: it is taken from the
  garbage collector, and the child ends by `os._exit`;
- a child must report within seconds that it runs, or it is not used;
- every wait has an end. When a child dies, hangs or cannot do what the parent can,
  the parent computes that element and all later ones itself.
"""

from feedline.fixes.means.errors import Refused
from feedline.job.source.purity import Purity

__all__ = ["Purity", "Refused"]
