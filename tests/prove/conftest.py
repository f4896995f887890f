"""Tests of what has no seed must not inherit one from the tests before them."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def no_seed():
    import tensorflow as tf

    tf.random.set_seed(None)
    yield
    tf.random.set_seed(None)
