"""`feedline run` with steps that are traced again and again: cured where only shapes
change, remembered for the next run, told of where a Python value changes."""

from __future__ import annotations

import json

import pytest

from tests.scripts.script import READY

pytestmark = pytest.mark.tensorflow

NUMBERED = """\
import tensorflow as tf

w = tf.Variable(tf.ones([3]))

@tf.function
def step(x, number):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(x * w) * number
    w.assign_sub(1e-3 * tape.gradient(loss, w))
    return loss

for number in range(20):
    loss = step(tf.ones([3]), number)
print(w.numpy().tobytes().hex(), float(loss))
"""


def run(place, *options):
    return place.run("-m", "feedline", "run", *options, "train.py")


def test_a_loop_over_a_list_is_cured_and_that_is_remembered(place, tmp_path):
    place.write((READY / "documents_of_any_length.py").read_text("utf-8"))
    plain = place.python().stdout
    report = tmp_path / "report.json"
    first = run(place, "--json", str(report))
    assert first.stdout == plain
    assert "traced once for all shapes from here on" in first.stderr
    found = json.loads(report.read_text("utf-8"))
    assert found["findings"][0]["cause"] == "retracing"
    (fix,) = found["fixes"]
    assert (fix["grade"], fix["applied"]) == ("exact", True)
    assert fix["predicted_gain"] > 0
    assert fix["measured_gain"] > 0
    again = run(place)
    assert again.stdout == plain
    assert "as an earlier run found (--fresh measures again)" in again.stderr
    assert "traced once for all shapes from here on" in again.stderr


def test_a_python_value_is_named(place, tmp_path):
    place.write(NUMBERED)
    plain = place.python().stdout
    report = tmp_path / "report.json"
    done = run(place, "--json", str(report))
    assert done.stdout == plain
    found = json.loads(report.read_text("utf-8"))
    assert found["findings"][0]["cause"] == "retracing"
    assert (
        "argument 'number' is another Python value" in found["findings"][0]["evidence"]
    )
    assert found["fixes"] == []
