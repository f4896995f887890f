"""What feedline uses of TensorFlow and Keras that is not public: one file for each.

    from feedline.job.private.tensorflow import dataset_ops

expected.py    a private module, and what must be in it
tensorflow.py  TensorFlow's
keras.py       Keras'

A name is imported when it is first asked for. Where a release has moved it, the error
says so and names the file to change; `tests/job/private` checks all of them.
"""
