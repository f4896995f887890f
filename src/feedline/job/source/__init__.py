"""The user's Python, read and never run.

lines.py             whose code is it, and on which line
users.py             who wrote a function, a class, an object
frames.py            running frames: what their names hold, who would catch an error
definitions.py       the source that running code was compiled from
scopes.py            what the names of a scope stand for
walker.py            one function, statement by statement, for two judges:
  purity.py            does it give the same for the same, and change nothing?
  graph_safe.py        may it run as a graph, and keeps it nothing but variables?
  graph_walker.py      how the second reads calls and attributes
open_shapes.py       may one trace of it serve calls of several shapes?
known_python.py      what is known of Python, NumPy and libraries for images
mutating.py          methods that change what they belong to
known_tensorflow.py  what is known of TensorFlow and Keras
fresh_values.py      what a function makes for itself
dependencies.py      values that it finds outside of its arguments
watched.py           attributes of Keras' objects that a compiled step is held to
uses.py              what compiled code has at hand: TensorFlow, open files
reached.py           all that a function can reach
"""
