"""The engines, by name. An engine takes arrays and changes them; it reads no file.

`reference` says what the result is; `cpu` makes it fast; `tensorflow` runs on
whatever TensorFlow runs on. An engine is a module with these names:

    name                          as in `--engine`
    width                         floats that a row is padded to whole multiples of
    warm_up(config)               compile what the config needs
    block(tables, weights, tokens, seed, rates) -> Tally
    glove(config, weights, pairs, logs) -> Tally

One that keeps its matrices elsewhere has, in place of the last two, functions that
make a `Runner`, and says how large a block should be:

    span(setup) -> int
    text(tables, weights, tokens, setup) -> Runner
    pairs(config, weights, words, setup) -> Runner

A further engine is one file here and one line in `ENGINES`.
"""

from __future__ import annotations

import importlib
from typing import Any

from feedline.errors import TrainingError
from feedline.words.engine.options import Setup as Setup

ENGINES = {
    "cpu": "feedline.words.engine.cpu",
    "tensorflow": "feedline.words.engine.tensorflow",
    "reference": "feedline.words.engine.reference",
}


def engine(name: str) -> Any:
    """The engine of that name, loaded."""
    if name not in ENGINES:
        raise TrainingError(
            f"there is no engine {name!r}; there are: {', '.join(ENGINES)}."
        )
    try:
        return importlib.import_module(ENGINES[name])
    except ModuleNotFoundError as error:
        if error.name != "tensorflow":
            raise
        raise TrainingError(
            "the engine tensorflow needs TensorFlow, which is not installed: pip "
            'install "feedline[cpu]" or "feedline[gpu]", or take the engine cpu.'
        ) from error


def check_setup(name: str, setup: Setup) -> None:
    """An error where an engine is asked for what only another has."""
    if name == "tensorflow":
        return
    for option in ("devices", "cluster", "worker", "device_memory"):
        if getattr(setup, option) is not None:
            raise TrainingError(
                f"{option} is for the engine tensorflow, and the engine is {name}: "
                "give engine tensorflow, or leave it out."
            )
    if setup.precision != "float32":
        raise TrainingError(
            f"precision {setup.precision} is for the engine tensorflow, and the engine "
            f"is {name}, which computes in float32."
        )
