"""Is a hidden rehearsal ahead of the run worth it?

It costs a start of the script. So a script that nobody knows is started at once, and
what can be cured while it trains is cured there. What cannot (a step that stands in the
loop itself) is remembered by that run, and a later one may rehearse it.
"""

from __future__ import annotations

from feedline.session.plans.memory import Uncured
from feedline.session.worth import rehearsal_pays


def by_memory(uncured: Uncured | None) -> str:
    """What asks for one, as "train.py:12: ..."; empty where nothing does."""
    if uncured is None:
        return ""
    if not rehearsal_pays(uncured.training_s, uncured.starting_s):
        return ""
    return f"{uncured.where}: {uncured.why}"
