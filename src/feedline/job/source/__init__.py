"""The user's Python, read and never run.

lines.py         whose code is it, and on which line
frames.py        running frames: what their names hold, who would catch an error
definitions.py   the source that running code was compiled from
scopes.py        what the names of a scope stand for
purity.py        does a function give the same for the same, and change nothing?
pure_body.py     the same, statement by statement
pure_library.py  what a pure function may use of Python, NumPy and other libraries
uses.py          what a function has at hand: TensorFlow, open files
fresh_values.py  what a function makes for itself
mutating.py      methods that change what they belong to
graph_safe.py    may a function run as a graph, and keeps it nothing but variables?
statements.py    the same, statement by statement
allowed.py       what such a function may use of Python, NumPy, TensorFlow and Keras
dependencies.py  values that it finds outside of its arguments
"""
