"""`feedline run` in the script's process: puts in what is found and lets it go on.

runner.py      which of the roads a training takes, and what it came to
in_passing.py  a verdict of a training that nobody may experiment with
"""
