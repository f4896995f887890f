"""Every model finds the analogies that were planted in a made-up language."""

from __future__ import annotations

import pytest
from tests.words import planted

from feedline import words

MODELS = {
    "skipgram": {},
    "skipgram, two threads": {"threads": 2},
    "skipgram, tree": {"loss": "hs"},
    "skipgram, subwords": {"min_n": 3, "max_n": 4, "bucket": 5000},
    "cbow": {"model": "cbow"},
    "cbow, tree": {"model": "cbow", "loss": "hs"},
    "cbow, subwords": {"model": "cbow", "min_n": 3, "max_n": 4, "bucket": 5000},
    "glove": {"model": "glove", "x_max": 10.0, "epochs": 40},
}


@pytest.fixture(scope="module")
def language():
    return planted.sentences()


@pytest.mark.parametrize("options", MODELS.values(), ids=MODELS)
def test_analogies_are_found(language, options):
    usual = {"dim": 32, "epochs": 5, "min_count": 1, "sample": 0.0, "threads": 1}
    vectors = words.train(language, **{**usual, **options})
    assert planted.solved(vectors) >= 0.9
    losses = vectors.config["losses"]
    assert losses[-1] < losses[0]


def test_an_unseen_word_has_a_vector_from_its_subwords(language):
    vectors = words.train(
        language,
        dim=32,
        epochs=3,
        min_count=1,
        min_n=3,
        max_n=4,
        bucket=5000,
        threads=1,
    )
    seen, unseen = vectors["plural3many"], vectors["plural3manyx"]
    cosine = seen @ unseen / ((seen @ seen) * (unseen @ unseen)) ** 0.5
    assert "plural3manyx" not in vectors
    assert cosine > 0.7
