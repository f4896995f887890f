"""Runs a user's script as Python would, and catches its training loop.

run.py           the script: its `__main__`, arguments, path and streams
imports.py       do something right after a module has been imported
hooks.py         what TensorFlow and Keras are doing, heard by the watch
watch.py         which loops train, and when one of them is warm
python_loops.py  the user's Python loops over a dataset
functions.py     loops in a `tf.function`
fits.py          Keras' `fit`
validated.py     what a fit was told of its validation
"""
