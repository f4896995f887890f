"""Every mark that feedline leaves on an object that is not its own.

All of them begin with `_feedline_`, are set with `setattr` and go with the object.
Nothing of the user's is replaced by them.
"""

from __future__ import annotations

from typing import Final

WHERE: Final = "_feedline_where"
"""On a Dataset: the line of the script that made it, a `Where`."""

UNSEEN: Final = "_feedline_unseen"
"""On a Dataset: may its iterators be dropped later, on a thread of ours?"""

TUNED: Final = "_feedline_tuned"
"""On a Dataset: feedline made it, and it is not to be tuned again."""

INSTEAD: Final = "_feedline_instead"
"""On a Dataset of the script's: the one that is read in its place."""

LOOP: Final = "_feedline_loop"
"""On an iterator: the loop of the script that reads it."""

AHEAD: Final = "_feedline_ahead"
"""On an iterator: the element after the launch, as an `Optional`."""

FOR: Final = "_feedline_for"
"""On an iterator of ours: the job's own iterator that it stands for."""

ORIGINAL: Final = "_feedline_original"
"""On a function of ours: the one of Keras or the script that it calls."""

STEPS: Final = "_feedline_steps"
"""On a train function of ours: how many steps one call of it makes."""

KEEPS: Final = "_feedline_keeps"
"""On a function for `map`: the Python functions behind its tokens, kept alive."""

MONITOR: Final = "_feedline_monitor"
"""On a train function of ours: the `Monitor` that put it there."""

BEHIND: Final = "_feedline_behind"
"""On a generator function of ours: the one of Keras or the script that it reads."""
