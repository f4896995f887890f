"""Models of Keras' own guides keep nothing but variables, and are told from those with
one line more that do."""

from __future__ import annotations

import itertools
import linecache
from pathlib import Path

import pytest
from tests.job import models

from feedline.job.loops.loop import CannotRun
from feedline.job.source.graph_safe import (
    dependencies_of_model,
    keeps_state,
    reached_by,
)

pytestmark = pytest.mark.tensorflow
keras = pytest.importorskip("keras")
tf = pytest.importorskip("tensorflow")

TEXT = Path(models.__file__).read_text(encoding="utf-8")
numbers = itertools.count()


@pytest.mark.parametrize("make", models.ALL, ids=lambda make: make.__name__)
def test_a_clean_model_is_accepted(make):
    held = dependencies_of_model(make())
    assert held
    assert all(each.is_same() for each in held)


def changed(*changes, start=""):
    """The same models, with changes in their text."""
    text = TEXT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    text = text.replace("import keras\n", f"import keras\n{start}\n", 1)
    path = f"/somewhere/models{next(numbers)}.py"
    linecache.cache[path] = (len(text), None, text.splitlines(True), path)
    around = {"__name__": "models"}
    exec(compile(text, path, "exec", dont_inherit=True), around)
    return around


UPDATE = "        self.d_loss_metric.update_state(d_loss)\n"
TOTAL = "        self.total_loss_tracker.update_state(total_loss)\n"
HIDDEN = {
    "a list": (
        "gan",
        [(UPDATE, UPDATE + "        self.history.append(1)\n")],
        r"GAN.train_step appends to self.history \(models\d+.py:\d+\)",
    ),
    "an attribute": (
        "gan",
        [(UPDATE, UPDATE + "        self.latent_dim += 1\n")],
        "GAN.train_step sets self.latent_dim",
    ),
    "a print": (
        "gan",
        [(UPDATE, UPDATE + "        print('step')\n")],
        r"GAN.train_step calls print\(\)",
    ),
    "a print in the graph": (
        "vae",
        [(TOTAL, TOTAL + "        tf.print(total_loss)\n")],
        r"VAE.train_step calls tf.print\(\)",
    ),
    "a property that counts": (
        "vae",
        [("        return self.trackers\n", "        self.n = 1\n        return []\n")],
        "VAE.metrics sets self.n",
    ),
    "trackers made anew": (
        "vae",
        [("return self.trackers", "return [keras.metrics.Mean()]")],
        "VAE.metrics makes objects of keras.metrics.Mean",
    ),
    "a layer that counts": (
        "vae",
        [
            (
                "        z_mean, z_log_var = inputs\n",
                "        z_mean, z_log_var = inputs\n        COUNT.append(1)\n",
            )
        ],
        "Sampling.call appends to COUNT",
    ),
    "a method that a step calls": (
        "contrastive",
        [
            (
                "        labels = tf.range(",
                "        self.seen = 1\n        labels = tf.range(",
            )
        ],
        "Contrastive.contrastive_loss sets self.seen",
    ),
    "numbers of NumPy": (
        "contrastive",
        [("tf.math.l2_normalize(one, axis=1), ", "one * np.random.rand(), ")],
        r"calls np.random.rand\(\)",
    ),
    "a block that prints": (
        "transformer",
        [
            (
                "        ffn_output = self.ffn(out1)\n",
                "        ffn_output = self.ffn(out1)\n        print(out1)\n",
            )
        ],
        r"TransformerBlock.call calls print\(\)",
    ),
    "a loss that counts": (
        "transformer",
        [
            (
                "        return tf.reduce_mean(tf.square",
                "        self.amount *= 0.9\n        return tf.reduce_mean(tf.square",
            )
        ],
        "Smooth.call sets self.amount",
    ),
    "a metric that keeps a number": (
        "transformer",
        [
            (
                "        self.found.assign_add(ops.sum(values))",
                "        self.last = ops.sum(values)",
            )
        ],
        "Positives.update_state sets self.last",
    ),
    "a schedule that remembers": (
        "transformer",
        [
            (
                "        arg1 = tf.math.rsqrt(step)\n",
                "        arg1 = tf.math.rsqrt(step)\n        COUNT.append(step)\n",
            )
        ],
        "WarmUp.__call__ appends to COUNT",
    ),
    "a regularizer that remembers": (
        "transformer",
        [("        return 1e-3", "        COUNT.append(1)\n        return 1e-3")],
        "Ortho.__call__ appends to COUNT",
    ),
    "a loss function that counts": (
        "with_functions",
        [
            (
                "    return tf.reduce_mean(tf.abs(y_true - y_pred) * 2.0",
                "    COUNT.append(1)\n    return tf.reduce_mean(tf.abs(y_true - y_pred) * 2.0",
            )
        ],
        "weighted appends to COUNT",
    ),
    "a metric function that counts": (
        "with_functions",
        [
            (
                "    return tf.reduce_mean(tf.cast(",
                "    COUNT.append(1)\n    return tf.reduce_mean(tf.cast(",
            )
        ],
        "near appends to COUNT",
    ),
    "a loss of the step": (
        "distiller",
        [
            (
                "        teacher_pred = self.teacher(",
                "        self.alpha = time.time()\n        teacher_pred = self.teacher(",
            )
        ],
        "Distiller.compute_loss",
    ),
    "the time": (
        "distiller",
        [
            (
                "        return self.alpha * student_loss",
                "        return time.time() * student_loss",
            )
        ],
        r"Distiller.compute_loss calls time.time\(\)",
    ),
    "a method of an unknown": (
        "diffusion",
        [("            ema_weight.assign(", "            ema_weight.anything(")],
        r"Diffusion.train_step calls .anything\(\)",
    ),
    "a table": (
        "penalty",
        [
            (
                "        self.d_steps, self.gp",
                "        self.table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)\n        self.d_steps, self.gp",
            ),
            (
                "        batch_size = tf.shape(real)[0]\n",
                "        batch_size = tf.shape(real)[0]\n        self.table.insert(tf.constant(['a']), tf.constant([1], tf.int64))\n",
            ),
        ],
        "Penalty.train_step",
    ),
    "saving on the way": (
        "custom",
        [
            (
                "        trainable_vars = self.trainable_variables\n",
                "        trainable_vars = self.trainable_variables\n        self.save_weights('here')\n",
            )
        ],
        r"Custom.train_step calls .save_weights\(\)",
    ),
}


@pytest.mark.parametrize("name", HIDDEN)
def test_one_line_that_keeps_something_is_found_and_named(name):
    make, changes, why = HIDDEN[name]
    around = changed(*changes, start="import numpy as np, time\nCOUNT = []")
    with pytest.raises(CannotRun, match=why):
        dependencies_of_model(around[make]())


def test_a_stray_variable_is_reached():
    line = UPDATE + "        STRAY.assign_add(1)\n"
    around = changed(
        (UPDATE, line), start="import tensorflow as tf\nSTRAY = tf.Variable(0)"
    )
    model = around["gan"]()
    dependencies_of_model(model)
    reached = reached_by(model)
    assert any(each is around["STRAY"] for each in reached)
    for optimizer in (model.d_optimizer, model.g_optimizer):
        for variable in optimizer.variables:
            assert any(each is variable for each in reached)
    assert keeps_state(model)


def test_a_generator_of_ones_own_is_reached():
    start = "import tensorflow as tf\nDRAWS = tf.random.Generator.from_seed(1)"
    around = changed(
        (
            "tf.random.normal(shape=(batch_size, self",
            "DRAWS.normal(shape=(batch_size, self",
        ),
        start=start,
    )
    model = around["gan"]()
    dependencies_of_model(model)
    assert any(each is around["DRAWS"].state for each in reached_by(model))


def test_the_seed_of_keras_is_known_to_be_drawn_from():
    around = changed((", seed=self.seed_generator", ""))
    model = around["vae"]()
    dependencies_of_model(model)
    assert keeps_state(model)


def test_a_model_of_keras_keeps_no_state():
    inputs = keras.Input((3,))
    model = keras.Model(
        inputs, keras.layers.Dense(1)(keras.layers.Dropout(0.5)(inputs))
    )
    model.compile("adam", "mse", run_eagerly=True)
    assert not keeps_state(model)
    assert dependencies_of_model(model)


def test_what_is_looked_at_is_not_run():
    """A property of the user's may do anything."""
    around = changed(
        (
            "        return self.trackers\n",
            "        COUNT.append(1)\n        return self.trackers\n",
        ),
        start="COUNT = []",
    )
    model = around["vae"]()
    before = len(around["COUNT"])
    with pytest.raises(CannotRun, match=r"VAE\.metrics appends to COUNT"):
        dependencies_of_model(model)
    assert len(around["COUNT"]) == before


def test_a_function_of_tensorflow_that_was_replaced_is_the_users(monkeypatch):
    around = changed(
        start="COUNT = []\ndef mine(x):\n    COUNT.append(1)\n    return x"
    )
    monkeypatch.setattr(tf, "square", around["mine"])
    with pytest.raises(CannotRun, match="mine appends to COUNT"):
        dependencies_of_model(around["transformer"]())


def test_a_method_of_keras_that_was_replaced_is_the_users(monkeypatch):
    around = changed(
        start="COUNT = []\ndef mine(self, x):\n    COUNT.append(1)\n    return x"
    )
    model = around["custom"]()
    monkeypatch.setattr(keras.layers.Dense, "call", around["mine"])
    with pytest.raises(CannotRun, match="appends to COUNT"):
        dependencies_of_model(model)


@pytest.mark.parametrize("change", ["method", "number", "function", "layer"])
def test_what_is_changed_later_is_noticed(change):
    around = changed()
    model = around["gan"]()
    held = dependencies_of_model(model)
    assert all(each.is_same() for each in held)
    if change == "method":
        around["GAN"].train_step = lambda self, data: {}
    elif change == "number":
        model.latent_dim = 7
    elif change == "function":
        model.loss_fn = around["weighted"]
    else:
        model.generator.layers[0].trainable = False
    assert not all(each.is_same() for each in held)


def test_a_text_that_has_changed_since_is_no_source():
    around = changed()
    path = around["GAN"].train_step.__code__.co_filename
    text = "".join(linecache.cache[path][2]).replace("0.05 *", "0.06 *")
    linecache.cache[path] = (len(text), None, text.splitlines(True), path)
    with pytest.raises(CannotRun, match=r"GAN\.metrics is not at hand|GAN\.train_step"):
        dependencies_of_model(around["gan"]())
