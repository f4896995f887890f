"""A Dataset as plain data, and back.

    pipeline.py     `Pipeline`, `Stage`: plain data, no TensorFlow
    ops/            THE table: every op and every fact about it, no TensorFlow
    read.py         a Dataset as a `Pipeline`
    rebuild.py      a `Pipeline` as a Dataset
    constant.py     does it give the same in every pass?
    endings.py      does a pass end, and which repeats are passes over all the data?
    owners.py       who owns the state of a stage
    own_stage.py    dataset classes of our own

Of TensorFlow's objects, only `read.py` and `rebuild.py` should ask these:

    arguments.py    how arguments are read off an object      (used by the table)
    builders.py     how an object is made again               (used by the table)
    recognised.py   one object, recognised by its class
    composites.py   several objects, recognised as one public method
    functions.py    the user's function in a stage
    tables.py       the tables that such a function looks up in: can they change?
    options.py      tf.data.Options as a dict
    graph.py        what only the serialised graph knows
    generators.py   what stands behind a `from_generator`
    effects.py      what every TensorFlow operation does besides computing
    reuse.py        traced functions and drawn seeds, used again
"""
