"""What a job is made of, told so that it is the same in every run of the same script.

A plan was proved on one job. Here that job is told by its parts: each stage of the
pipeline, each function (its Python and its graph), the step. What is told is a digest;
counters in names, addresses, file names of code and line numbers are left out, so the
same script tells the same in another process.

    values.py   plain values, arrays and tensors
    code.py     Python: functions, what they call, classes, objects
    graphs.py   the graph that TensorFlow traced
    stages.py   the stages of a pipeline
    step.py     a Keras model and its optimizer, a loop of the script's own
    world.py    versions and the machine

Nothing of the user's is run, but Keras' `get_config`.
"""
