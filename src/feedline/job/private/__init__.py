"""What feedline uses of TensorFlow and Keras that is not public: one file for each.

    from feedline.job.private.tensorflow import dataset_ops     a module
    tf_private.map_func(dataset)                                an attribute

expected.py    a private module, and what must be in it
attribute.py   a private attribute of an object
tensorflow.py  TensorFlow's
keras.py       Keras'

A module is imported when it is first asked for. Where a release has moved it, the error
says so and names the file to change; `tests/job/private` checks all of them.
"""
