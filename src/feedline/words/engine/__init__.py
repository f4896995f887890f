"""The engines, by name. An engine takes arrays and changes them; it reads no file.

`reference` says what the result is; `cpu` makes it fast. An engine is a module
with these names:

    name                          as in `--engine`
    width                         floats that a row is padded to whole multiples of
    warm_up(config)               compile what the config needs
    block(tables, weights, tokens, seed, rates) -> Tally
    glove(config, weights, pairs, logs) -> Tally

A further engine is one file here and one line in `ENGINES`.
"""

from __future__ import annotations

import importlib
from typing import Any

from feedline.errors import TrainingError

ENGINES = {
    "cpu": "feedline.words.engine.cpu",
    "reference": "feedline.words.engine.reference",
}


def engine(name: str) -> Any:
    """The engine of that name, loaded."""
    if name not in ENGINES:
        raise TrainingError(
            f"there is no engine {name!r}; there are: {', '.join(ENGINES)}."
        )
    return importlib.import_module(ENGINES[name])
