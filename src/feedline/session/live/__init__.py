"""A loop of the script's own, cured while it trains, on its own steps.

own_loops.py     what is tried with a loop, and what came of it
step_trial.py    its step, tried as a graph
step_found.py    what that came to: job, measurement, proof
input_trial.py   its input, cured between two steps
own_shapes.py    a step that is traced again for every shape: what is done about it
shape_choice.py  which trace each call takes
shape_costs.py   what the traces cost and save, in seconds
shapes_found.py  what that came to: job, measurement, proof
"""
