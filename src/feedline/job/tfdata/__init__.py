"""What feedline knows of TensorFlow's dataset objects. `read.py` and `rebuild.py`
are the two who ask; nobody else should.

    ops.py          every operation: its class, its arguments, how it is made
    arguments.py    how arguments are read off an object      (used by the table)
    builders.py     how an object is made again               (used by the table)
    found.py        one object, recognised by its class
    composites.py   several objects, recognised as one public method
    functions.py    the user's function in a stage
    options.py      tf.data.Options as a dict
    graph.py        what only the serialised graph knows
    reuse.py        traced functions and drawn seeds, used again
"""
