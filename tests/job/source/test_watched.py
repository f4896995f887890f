"""What a compiled step is held to: what it reads, not what Keras sets around it."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf

from feedline.fixes.fix import Edit
from feedline.fixes.target import Target
from feedline.job.source import watched
from feedline.job.source.graph_safe import dependencies_of, dependencies_of_model
from feedline.session.step_edits import install

pytestmark = [
    pytest.mark.tensorflow,
    pytest.mark.filterwarnings("ignore::UserWarning:keras"),
]


def batches():
    rng = np.random.default_rng(0)
    x = rng.random((16, 4), np.float32)
    return tf.data.Dataset.from_tensor_slices((x, x[:, :2])).batch(8)


class Written(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = keras.layers.Dense(2)

    def call(self, inputs):
        return self.dense(inputs)


def functional():
    return keras.Sequential(
        [keras.Input((4,)), keras.layers.Dropout(0.5), keras.layers.Dense(2)]
    )


@pytest.fixture(params=[functional, Written])
def model(request):
    keras.utils.set_random_seed(3)
    model = request.param()
    model.compile("adam", "mse", metrics=["mae"], run_eagerly=True)
    model.fit(batches(), verbose=0)
    return model


def around(model):
    """All that Keras does with a model besides its training steps."""
    stop = keras.callbacks.EarlyStopping("val_loss", patience=0, baseline=-1.0)
    model.fit(
        batches(), validation_data=batches(), epochs=3, callbacks=[stop], verbose=0
    )
    model.evaluate(batches(), verbose=0)
    model.predict(batches(), verbose=0)
    model.fit(batches(), validation_data=batches(), epochs=2, verbose=0)


def test_what_keras_does_around_the_steps_changes_nothing_that_is_held(model):
    held = dependencies_of_model(model)
    around(model)
    assert held
    assert [each.said for each in held if not each.is_same()] == []


def test_nor_in_a_loop_of_ones_own(model):
    def step(x):
        return model(x, training=True)

    held = dependencies_of(step)
    around(model)
    assert [each.said for each in held if not each.is_same()] == []


def test_all_that_keras_sets_on_a_model_is_named_or_stays(model):
    """An attribute that a later Keras sets would take fixes off: it shows here."""
    before = dict(vars(model))
    around(model)
    changed = {name for name in before if vars(model).get(name) is not before[name]}
    public = {name for name in changed if not name.startswith("_")}
    assert public <= set(watched.SET_BY_KERAS)


def test_a_fix_stays_on_and_says_what_took_it_off(model):
    said: list[str] = []
    undo = install(Target(model, tell=said.append), (Edit("compile-step"),))
    around(model)
    assert said == []
    model.layers[-1].trainable = False
    model.fit(batches(), epochs=2, verbose=0)
    (line,) = said
    assert "the script has changed Dense.trainable" in line
    undo()
    assert model.run_eagerly


def test_the_reasons_are_given():
    assert all({**watched.HELD, **watched.SET_BY_KERAS}.values())
    assert not set(watched.HELD) & set(watched.SET_BY_KERAS)


def test_an_attribute_of_another_object_is_held_whatever_its_name():
    class Settings:
        history = 3

    assert watched.is_held(Settings(), "history")
    assert watched.is_held(Settings(), "rate")
