"""The validation of a fit: measured and cured before its first pass, or watched.

validations.py  what is done with each under `feedline run`, and what came of it
trial.py        measured and cured on a copy, and all is put back
bench.py        the loop over a copy to experiment with
passes.py       the passes that a fit makes, timed as it makes them
"""
