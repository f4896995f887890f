"""A plan in a job that trains: made, remembered, refused, put in and taken out.

plan.py       a plan for a live job, and does it still hold?
memory.py     what earlier runs of a script found out
applied.py    puts a plan into the run that counts
stand_ins.py  who goes on reading what a fix has replaced
"""
