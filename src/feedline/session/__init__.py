"""The road walked once: a script or a model goes in, a report comes out.

parent.py     `feedline why` and `run`: starts the script's process and waits for it
children.py   that process from the command's side: started, followed, ended
messages.py   what the two send each other, as frozen types
judge.py      the one place that makes a report of what was measured
child.py      the program of the script's process: does what the order says
examination.py  runs the script there, measures the loop that it meets, stops it
seen.py       what the watch saw of a script that was not measured
run/          the same under `feedline run`: measures, cures, lets it go on
live/         a loop of the script's own, cured while it trains
validation/   the validation of a fit: measured and cured, or watched
rehearsal/    a hidden run before the real one, where measuring would leave a trace
inprocess.py  `feedline.why(model, dataset)`: the same without a script
tuning.py     `feedline.tune`, and what it shares with `run`
experiment.py measures a loop, then looks for fixes: for tune, run and rehearsals
cure.py       finds the fixes that help: propose, compare, measure, keep or undo
plans/        a plan in a job that trains: made, remembered, refused, put in
each_fit.py   the fits of a script that follow the first
captured.py   the verdict from a profiler capture
"""
