"""The user's Python, read and never run.

lines.py       whose code is it, and on which line
purity.py      is a function pure, and is it TensorFlow's?
own_values.py  what a function makes for itself
changing.py    methods that change what they belong to
"""
