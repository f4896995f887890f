"""A training step of the script's own, run from Python, and its twin: one graph.

inline.py  a step that stands in the loop itself becomes a function; which function
           is the step. Knows no TensorFlow: it is asked before the script has it
source.py  may the step run as a graph? Judged by its source, before anything runs
twin.py    the function that the loop calls, either as it is or as a graph
"""
