"""A training step of the script's own, run from Python, and its twin: one graph.

parts.py     the loops of a script, and what statements in them read and set
inline.py    a step that stands in the loop itself becomes a function
bare.py      loops with nothing but the step in them. These three know no TensorFlow:
             they are asked before the script has it
source.py    may the step run as a graph? Judged by its source, before anything runs
twin.py      the function that the loop calls, either as it is or as a graph
together.py  several steps of a bare loop in one launch
"""
