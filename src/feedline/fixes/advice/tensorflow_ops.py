"""Write the Python function with TensorFlow operations

`tf.py_function`, `tf.numpy_function` and `from_generator` run Python, one thread at a
time. The same work in `tf.io`, `tf.image`, `tf.strings` or plain tensor arithmetic runs
on all cores without the interpreter. Advice: rounding and corner cases may differ, so
compare the two on your data.
"""
