"""What is written with row-sparse updates is what Keras writes, and reads."""

from __future__ import annotations

import json

import keras
import numpy as np
import pytest
import tensorflow as tf
from tests.rows.build import (
    OPTIMIZERS,
    assert_same,
    batches,
    classifier,
    state,
    train,
)

from feedline.rows import install

pytestmark = pytest.mark.tensorflow


@pytest.fixture(scope="module")
def trained():
    """The same weights and moments in a plain model and in one by rows."""
    plain, ours = (classifier(OPTIMIZERS["adam"]()) for _ in range(2))
    install(ours)
    train(ours, batches(2))
    train(plain, batches(1))
    for target, value in zip(
        [*plain.weights, *plain.optimizer.variables], state(ours), strict=True
    ):
        target.assign(value)
    return plain, ours


def test_configs_are_keras_own(trained):
    plain, ours = trained
    assert ours.layers[0].get_config() == plain.layers[0].get_config()
    assert ours.optimizer.get_config() | {"name": "adam"} == (
        plain.optimizer.get_config() | {"name": "adam"}
    )
    before = json.dumps(keras.saving.serialize_keras_object(ours), default=str)
    twin = keras.saving.deserialize_keras_object(json.loads(before))
    assert json.dumps(keras.saving.serialize_keras_object(twin), default=str) == before
    assert type(ours) is keras.Sequential
    assert type(ours.layers[0]) is keras.layers.Embedding
    assert type(ours.optimizer) is keras.optimizers.Adam


@pytest.mark.parametrize("direction", ["ours to plain", "plain to ours"])
def test_keras_file(trained, direction, tmp_path):
    plain, ours = trained
    source = ours if direction == "ours to plain" else plain
    path = tmp_path / "model.keras"
    source.save(path)
    loaded = keras.saving.load_model(path)
    if direction == "plain to ours":
        install(loaded)
    assert_same(state(loaded), state(source))
    assert ("call" in vars(loaded.layers[0])) == (direction == "plain to ours")
    train(loaded, batches(1))


def test_weights_file(trained, tmp_path):
    plain, ours = trained
    ours.save_weights(tmp_path / "ours.weights.h5")
    plain.save_weights(tmp_path / "plain.weights.h5")
    fresh = classifier(OPTIMIZERS["adam"]())
    fresh.optimizer.build(fresh.trainable_variables)
    fresh.load_weights(tmp_path / "ours.weights.h5")
    assert_same(state(fresh), state(ours))
    ours.load_weights(tmp_path / "plain.weights.h5")
    assert_same(state(ours), state(plain))


def test_tensorflow_checkpoints_both_ways(trained, tmp_path):
    """A run without goes on from a checkpoint of one with, and the other way
    round; the lists of what a checkpoint holds are the same."""
    plain, ours = trained
    listings = []
    for source, by_rows in ((ours, False), (plain, True)):
        made = tf.train.Checkpoint(model=source, optimizer=source.optimizer)
        path = made.write(str(tmp_path / f"from-{by_rows}"))
        listings.append(tf.train.list_variables(path))
        target = classifier(OPTIMIZERS["adam"]())
        if by_rows:
            install(target)
        train(target, batches(1, seed=9))
        tf.train.Checkpoint(model=target, optimizer=target.optimizer).read(
            path
        ).assert_consumed()
        assert_same(state(target), state(source))
    assert listings[0] == listings[1]


def test_saved_model(trained, tmp_path):
    """Both as graphs: what runs one operation at a time may round otherwise."""
    x = batches(1)[0][0]
    loaded = []
    for number, model in enumerate(trained):
        model.export(tmp_path / str(number), verbose=False)
        loaded.append(tf.saved_model.load(tmp_path / str(number)))
    np.testing.assert_array_equal(*(one.serve(x) for one in loaded))


def test_clone_knows_nothing(trained):
    _, ours = trained
    twin = keras.models.clone_model(ours)
    assert "call" not in vars(twin.layers[0])
