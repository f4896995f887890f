"""What any engine trains on: tables and encoded text, or co-occurrences.

From it and the name of an engine comes a task, with fresh matrices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from feedline.words.engine import Setup, engine
from feedline.words.engine.config import Config
from feedline.words.engine.runner import Direct
from feedline.words.engine.tables import Tables
from feedline.words.engine.weights import fresh, fresh_glove
from feedline.words.text.cooccurrence import Cooccurrences
from feedline.words.text.spans import LARGEST, cut
from feedline.words.training.task import GloveTask, TextTask, glove_task, text_task


@dataclass(frozen=True, eq=False)
class Material:
    """GloVe has co-occurrences, the others have tables."""

    config: Config
    words: int
    arrays: Sequence[NDArray[np.int32]]
    tables: Tables | None = None
    counts: Cooccurrences | None = None


def task_of(name: str, material: Material, setup: Setup) -> TextTask | GloveTask:
    """The task of training on the material by an engine."""
    chosen, config = engine(name), material.config
    on_device = hasattr(chosen, "text")
    if material.counts is not None:
        squares = fresh_glove(config, material.words)
        runner = (
            chosen.pairs(config, squares, material.words, setup)
            if on_device
            else Direct(chosen, config, squares)
        )
        return glove_task(runner, config, squares, material.counts, material.words)
    tables = material.tables
    assert tables is not None
    weights = fresh(config, tables.input_rows, tables.output_rows, chosen.width)
    spans = cut(material.arrays, chosen.span(setup) if on_device else LARGEST)
    largest = max(stop - start for _, start, stop in spans)
    runner = (
        chosen.text(tables, weights, largest, setup)
        if on_device
        else Direct(chosen, config, weights, tables)
    )
    return text_task(runner, tables, weights, material.arrays, spans)
