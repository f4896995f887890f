"""A plan meets a script that was changed since: it says what changed, and the script
runs as it does by itself."""

from __future__ import annotations

import pytest

from feedline.fixes.fix import Edit
from feedline.fixes.saved import save
from tests.plans import TELL, plan_for

pytestmark = [pytest.mark.tensorflow, pytest.mark.slow]

JOB = """\
import keras
import tensorflow as tf

# A seed for all.
def noisy(x):
    return x * 2.0

def step_loss(y, p):
    return tf.reduce_mean((y - p) ** 2)

ds = tf.data.Dataset.range(96).map(lambda x: tf.cast(x, tf.float32)[None] / 96)
ds = ds.map(noisy).map(lambda x: (x, x * x)).batch(4)
model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, "linear", True,
    "ones")])
model.compile("sgd", step_loss)
model.fit(ds, epochs=3, verbose=0)
print(model.get_weights()[0].tobytes().hex())
"""
MAPPED = Edit("parallel-map", 2)
KEPT = Edit("cache", 2, {"on_disk": False})
LAUNCHED = Edit("steps-per-execution", None, {"steps": 8})


def run(place):
    return place.run("-m", "feedline", "run", "--plan", "p.json", "train.py")


@pytest.fixture
def told(place):
    place.write(JOB, TELL, 'tell_bound(ds, kind="fit", model=model)\n')
    done = place.python()
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


@pytest.mark.parametrize("edit", [MAPPED, KEPT, LAUNCHED], ids=lambda edit: edit.fix)
def test_a_plan_is_applied_to_the_script_that_it_was_made_for(place, told, edit):
    save(plan_for(told, edit), place.root / "p.json")
    place.write(JOB)
    done = run(place)
    assert (done.returncode, done.stdout) == (0, place.python().stdout)
    assert "runs without fixes" not in done.stderr


@pytest.mark.parametrize(
    ("edit", "old", "new", "named"),
    [
        (
            KEPT,
            "return x * 2.0",
            "return x * tf.random.uniform([], seed=3)",
            "map(noisy)",
        ),
        (MAPPED, "x * 2.0", "x * 3.0", "map(noisy)"),
        (MAPPED, "batch(4)", "shuffle(8, seed=5).batch(4)", "batch(4)"),
        (LAUNCHED, "(y - p) ** 2", "(y - p) ** 4", "loss and metrics"),
    ],
    ids=["made random", "another number", "another stage", "another loss"],
)
def test_a_plan_that_no_longer_fits_is_refused_by_name(
    place, told, edit, old, new, named
):
    save(plan_for(told, edit), place.root / "p.json")
    place.write(JOB.replace(old, new))
    done = run(place)
    assert (done.returncode, done.stdout) == (0, place.python().stdout)
    assert "the plan was made for another version of" in done.stderr
    assert named in done.stderr
    assert "measuring is needed again: remove the plan's file" in done.stderr


def test_a_seed_set_later_is_seen(place):
    drawing = JOB.replace("return x * 2.0", "return x * tf.random.uniform([])")
    place.write(drawing, TELL, "tell_bound(ds)\n")
    told = place.python().stdout.splitlines()[-1]
    save(plan_for(told, MAPPED), place.root / "p.json")
    place.write(drawing.replace("# A seed for all.", "tf.random.set_seed(4)"))
    done = run(place)
    assert done.stdout == place.python().stdout
    assert "map(noisy)" in done.stderr
    assert "seeds" in done.stderr
