"""Training loops of one's own, and several replicas."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
from tests.place import LIMIT
from tests.rows.build import OPTIMIZERS, WIDTH, WORDS, assert_same, batches

from feedline.rows import install

pytestmark = pytest.mark.tensorflow

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("way", "method"), [("function", "apply"), ("eager", "apply_gradients")]
)
def test_own_loop(way, method):
    """Layers and an optimizer, no model; AutoGraph reads the user's loop."""

    def run(by_rows):
        keras.utils.set_random_seed(1)
        words = keras.layers.Embedding(WORDS, WIDTH, name="words")
        out = keras.layers.Dense(1)
        optimizer = OPTIMIZERS["adagrad"]()
        if by_rows:
            installed = install([words, out], optimizer=optimizer, lazy=False)
            assert installed.tables == ("words",)

        def step(x, y):
            with tf.GradientTape() as tape:
                error = out(tf.reduce_mean(words(x), axis=1)) - y
                loss = tf.reduce_mean(error**2)
            weights = words.trainable_weights + out.trainable_weights
            gradients = tape.gradient(loss, weights)
            assert isinstance(gradients[0], tf.IndexedSlices)
            if method == "apply":
                optimizer.apply(gradients, weights)
            else:
                optimizer.apply_gradients(zip(gradients, weights, strict=True))
            return loss

        step = tf.function(step) if way == "function" else step
        words.build()
        out.build((None, WIDTH))
        optimizer.build(words.trainable_weights + out.trainable_weights)
        for x, y in batches():
            step(x, y)
        return [v.numpy() for v in [*words.weights, *out.weights, *optimizer.variables]]

    assert_same(run(True), run(False))


@pytest.mark.parametrize("kind", [tf.Variable, keras.Variable])
def test_tables_that_are_variables(kind):
    """A look-up by hand, as word2vec scripts have it."""
    rng = np.random.default_rng(0)
    start = rng.normal(size=(WORDS, WIDTH)).astype("float32")

    def run(by_rows):
        table = kind(start)
        optimizer = OPTIMIZERS["adam"]()
        optimizer.build([table])
        if by_rows:
            install(table, optimizer=optimizer)
        for x, _ in batches(1):
            with tf.GradientTape() as tape:
                native = table.value if kind is keras.Variable else table
                loss = tf.reduce_sum(tf.nn.embedding_lookup(native, x) ** 2)
            optimizer.apply_gradients([(tape.gradient(loss, native), table)])
        return table.numpy()

    ours, dense = run(True), run(False)
    np.testing.assert_array_equal(ours, dense)
    assert (ours != start).any()


def test_gradients_missing_for_a_table():
    words, other = (keras.layers.Embedding(WORDS, WIDTH) for _ in range(2))
    words.build()
    other.build()
    optimizer = OPTIMIZERS["adam"]()
    install([words, other], optimizer=optimizer)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(words(tf.constant([[1, 2]])))
    weights = [words.embeddings, other.embeddings]
    with pytest.warns(UserWarning, match="Gradients do not exist"):
        optimizer.apply(tape.gradient(loss, weights), weights)
    assert (words.get_weights()[0][1] != 0).all()


def test_importing_loads_no_tensorflow():
    code = "import sys, feedline.rows; assert 'tensorflow' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, timeout=LIMIT)


@pytest.mark.parametrize(
    "names",
    [
        "adamw",
        pytest.param(
            "sgd adagrad adam adamw clipped scaled", marks=pytest.mark.slow, id="all"
        ),
    ],
)
def test_two_replicas(names):
    """Logical devices must be made before TensorFlow starts: one process."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.rows.replicas", *names.split()],
        cwd=ROOT,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=LIMIT,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.split() == names.split()
