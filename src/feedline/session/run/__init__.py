"""`feedline run` in the script's process: puts in what is found and lets it go on.

runner.py          which of the roads a training takes, and what it came to
fits.py            a fit, before its first step: known edits, measured, or as it is
planned_loops.py   a loop of the script's own for which a plan is known already
measuring_time.py  what is left of the time for measuring, and for whom
in_passing.py      a verdict of a training that nobody may experiment with
"""
