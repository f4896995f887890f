"""Small models with embedding tables, batches with repeated words, and the two
runs that every test compares: Keras alone, and by rows."""

from __future__ import annotations

import keras
import numpy as np

from feedline.rows import install

WORDS, WIDTH = 40, 6
SEEN = 24  # Words from here on are in no batch.

OPTIMIZERS = {
    "sgd": lambda **more: keras.optimizers.SGD(0.1, **more),
    "adagrad": lambda **more: keras.optimizers.Adagrad(0.1, **more),
    "momentum": lambda **more: keras.optimizers.SGD(0.1, momentum=0.9, **more),
    "nesterov": lambda **more: keras.optimizers.SGD(
        0.1, momentum=0.9, nesterov=True, **more
    ),
    "rmsprop": lambda **more: keras.optimizers.RMSprop(0.01, **more),
    "centered": lambda **more: keras.optimizers.RMSprop(
        0.01, centered=True, momentum=0.5, **more
    ),
    "adam": lambda **more: keras.optimizers.Adam(0.01, **more),
    "amsgrad": lambda **more: keras.optimizers.Adam(0.01, amsgrad=True, **more),
    "adamw": lambda **more: keras.optimizers.AdamW(0.01, **more),
}
EXACT = ("sgd", "adagrad")
LAZY = tuple(name for name in OPTIMIZERS if name not in EXACT)
WAYS = {
    "graph": {},
    "eager": {"run_eagerly": True},
    "xla": {"jit_compile": True},
}


def classifier(optimizer, embedding=None, dtype=None, **compile_arguments):
    keras.utils.set_random_seed(7)
    policy = {"dtype": dtype} if dtype else {}
    model = keras.Sequential(
        [
            keras.Input((5,), dtype="int32"),
            embedding or keras.layers.Embedding(WORDS, WIDTH, name="words", **policy),
            keras.layers.GlobalAveragePooling1D(**policy),
            keras.layers.Dense(1, **policy),
        ]
    )
    model.compile(optimizer=optimizer, loss="mse", **compile_arguments)
    return model


def batches(count=4, seen=SEEN, rows=16, seed=0):
    """Each names most words, many of them several times."""
    rng = np.random.default_rng(seed)
    return [
        (
            rng.integers(0, seen, (rows, 5)).astype("int32"),
            rng.normal(size=(rows, 1)).astype("float32"),
        )
        for _ in range(count)
    ]


def every_word(count=4):
    """Batches that name every word of the table, some of them twice."""
    return [
        (np.arange(WORDS + 10).reshape(10, 5).astype("int32") % WORDS, y[:10])
        for _, y in batches(count)
    ]


def train(model, data):
    return [model.train_on_batch(x, y) for x, y in data]


def state(model):
    """Weights and everything that the optimizer keeps, in Keras' order."""
    return [np.array(v.numpy()) for v in [*model.weights, *model.optimizer.variables]]


def assert_same(ours, keras_own):
    for a, b in zip(ours, keras_own, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


def assert_close(ours, keras_own, rtol=2e-5, atol=2e-6):
    for a, b in zip(ours, keras_own, strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol)


def both(make, data, **options):
    """The two models after the same training, and what was installed."""
    plain, ours = make(), make()
    installed = install(ours, **options)
    losses = train(plain, data)
    assert_close(train(ours, data)[:1], losses[:1])
    return plain, ours, installed
