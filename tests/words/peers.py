"""Models that other programs train, for the tests that read them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

TEXT = "größe 漢字 plain words and größe a 漢字\n" * 30


def fasttext_model(folder: Path, **options):
    """A small model by fastText itself; skips the test where it is missing.

    With fewer than ten threads it fills only a part of its matrix at the start, and
    what lay in the rest may be NaN: it is given twelve, and asked again.
    """
    fasttext = pytest.importorskip("fasttext")
    corpus = folder / "text.txt"
    corpus.write_text(TEXT, "utf-8")
    for _ in range(20):
        try:
            model = fasttext.train_unsupervised(
                str(corpus), dim=4, minCount=1, epoch=2, thread=12, verbose=0, **options
            )
        except RuntimeError:
            continue
        if all(np.isfinite(model.get_word_vector(w)).all() for w in model.get_words()):
            return model
    return pytest.skip("fastText ended with NaN twenty times")
