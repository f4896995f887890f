"""A plan in a job that trains: made, remembered, refused, put in and taken out.

plan.py           a plan for a live job, and does it still hold?
memory.py         what earlier runs of a script found out
known.py          the plans known in one run, and which of them hold
applied.py        puts a plan into the run that counts
without_trial.py  edits that are in force untried: do they pay?
stand_ins.py      who goes on reading what a fix has replaced
"""
