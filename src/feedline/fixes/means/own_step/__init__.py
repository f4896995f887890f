"""A training step of the script's own, run from Python, and the same step as a graph.

loop_parts.py      the loops of a script, and what statements in them read and set
hoist.py           a step that stands in the loop itself becomes a function
extract.py         statements compiled as a function of their own
switch.py          a switch in front of statements
step_only_loop.py  loops with nothing but the step in them. These know no TensorFlow:
                   they are asked before the script has it
graph_step.py      the function that the loop calls, either as it is or as a graph
inline_step.py     the same for a step that stands in the loop itself
multi_step.py      several steps of a loop in one launch

Whether a step may run as a graph is judged by its source: `job/source/graph_safe.py`.
"""
