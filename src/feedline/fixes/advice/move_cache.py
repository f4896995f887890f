"""Put the cache before the first random stage

A cache keeps what reaches it, so what is drawn before it is drawn only once, in the
first epoch. Put `cache()` after the work that always gives the same result and before
the first shuffle or random draw. Advice: the training changes, to what the code was
meant to do. The random stage runs in every epoch again, so an epoch takes longer.

Remove the old file if the cache is on disk: it still holds the old draws.
"""
