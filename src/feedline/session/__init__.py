"""The road walked once: a script or a model goes in, a report comes out.

From the command's side:

parent.py       `feedline why` and `run`: starts the script's process and waits for it
children.py     that process: started, followed, ended
messages.py     what the two send each other, as frozen types
judge.py        the one place that makes a report of what was measured
ran.py          what a run came to: report, exit code, plan
captured.py     the verdict from a profiler capture

In the script's process:

child.py        the program that is started: does what the order says
examination.py  `feedline why`: runs the script, measures the loop that it meets
run/            `feedline run`: the same, puts in what is found, lets the script go on
live/           a loop of the script's own, cured while it trains
validation/     the validation of a fit: measured and cured, or watched
plans/          a plan in a job that trains: made, remembered, refused, put in
rehearsal/      a hidden run before the real one, where measuring would leave a trace
seen.py         what the watch saw of a script that was not measured

In the user's own process, and shared with `run`:

inprocess.py    `feedline.why(model, dataset)`: the same without a script
tuning.py       `feedline.tune`, and how a fit is measured and cured on a copy
each_fit.py     several steps in one launch in every fit after `feedline.tune`
experiment.py   measures a loop, then looks for fixes: for tune, run and rehearsals
cure.py         finds the fixes that help: propose, compare, measure, keep or undo
step_edits.py   the edits of a step in a live model, and out of it again
worth.py        is measuring worth its time?
"""
