"""The validation of a fit: measured and cured before its first pass, or watched.

validations.py  what is done about each under `feedline run`: edits put in, taken out
edits.py        which edits: known from a plan, or found by measuring
one_fit.py      what is known of the validation of one fit
passes.py       the passes that it makes, timed as they are made
trial.py        measured and cured on a copy, and all is put back
bench.py        the loop over a copy to experiment with
"""
