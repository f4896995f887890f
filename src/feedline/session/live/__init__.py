"""A loop of the script's own, cured while it trains, on its own steps.

own_loops.py      what is tried with a loop, and what came of it
step_trial.py     its step, tried as a graph
turns.py          the step and its graph in turns: which is faster
step_found.py     what that came to: job, measurement, proof
input_trial.py    its input, cured between two steps
joined.py         both, as one
one_fix.py        what trying one fix on own steps comes to
own_shapes.py     a step that is traced again for every shape: what is done about it
open_trace.py     one trace for all shapes: may it be used?
shape_choice.py   which trace each call takes
shape_costs.py    what the traces cost and save, in seconds
shapes_found.py   what that came to: job, measurement, proof
training_time.py  how long a training takes, and what is left of it
"""
