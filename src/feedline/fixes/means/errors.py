"""What the means of a fix raise; `fixes.fix.CannotFix` is the fix's own."""

from __future__ import annotations

from feedline.errors import FeedlineError


class Refused(FeedlineError):
    """It cannot be done here; the message says why, and the job goes on without it."""
