"""What fixes are made of.

rewrite/  the graph of a map function, rewritten: the same values for less work
store/    caches on disk and in memory that know whether they still hold
workers/  the Python in a pipeline, in processes of its own
"""
