"""Models of Keras' own guides keep nothing but variables, and are told from those with
one line more that do."""

from __future__ import annotations

import itertools
import linecache
from pathlib import Path

import pytest
from tests.job import models

from feedline.job.loops.loop import CannotRun
from feedline.job.source.graph_safe import dependencies_of_model

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


def test_a_model_of_keras_is_accepted_eager():
    inputs = keras.Input((3,))
    model = keras.Model(
        inputs, keras.layers.Dense(1)(keras.layers.Dropout(0.5)(inputs))
    )
    model.compile("adam", "mse", run_eagerly=True)
    assert dependencies_of_model(model)
