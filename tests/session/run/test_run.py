"""`feedline run`: what it measures, applies, rehearses and saves.

The script's own results stay the same, bit for bit: see scripts.py. What a fix does to
a job is tried with plans written by hand; where it is measured too, the test is slow.
"""

from __future__ import annotations

import json

import pytest

from feedline.fixes.fix import Edit
from feedline.report.json import load as load_report
from tests.plans import TELL
from tests.scripts import (
    FIT,
    HEAD,
    LIGHT,
    LOOP,
    MARK,
    MODEL,
    PLAIN,
    marked,
    planned,
    rehearsed,
    run,
    said,
    same_as_python,
)

pytestmark = pytest.mark.tensorflow
slow = pytest.mark.slow

RICH = """\
    def jitter(x, y):
        return x + tf.random.uniform([40, 40], -0.1, 0.1, seed=4), y

    class Log(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            print("epoch", epoch, sorted(logs.items()))

    base = ds.shuffle(64).map(jitter)
    ds = base.batch(8)
    valid = tf.data.Dataset.from_tensor_slices((pictures[:16, :40, :40], labels[:16]))
    valid = valid.batch(8)
    one = model.fit(ds, epochs=4, validation_data=valid, callbacks=[Log()], verbose=0)
    two = model.fit(ds, epochs=6, initial_epoch=4, callbacks=[Log()], verbose=0)
    told("weights", model, one, two)
    print([y.numpy().tolist() for _, y in base.batch(10).take(2)])
    print([y.numpy().tolist() for _, y in ds.take(2)])
    print("drawn", float(tf.random.uniform([])), np.random.rand())
    print("to standard error", file=sys.stderr)
"""
EAGER = """\
    pictures, labels = np.tile(pictures, (8, 1, 1)), np.tile(labels, 8)
    ds = tf.data.Dataset.from_tensor_slices((pictures[:, :40, :40], labels))
    ds = ds.shuffle(2000, seed=2).batch(8)
    optimizer = keras.optimizers.Adam()
    seen = keras.metrics.Mean()

    def loss_of(x, y):
        error = model(x, training=True) - tf.one_hot(y, 10)
        return scale * tf.reduce_mean(error**2)

    def step(x, y):
        with tf.GradientTape() as tape:
            loss = loss_of(x, y)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        seen.update_state(loss)
        return loss

    for epoch in range(14):
        scale = 1.0 if epoch < 12 else 0.5
        for number, (x, y) in enumerate(ds):
            loss = step(x, y)
        print("epoch", epoch, float(loss), float(seen.result()))
    told("weights", model)
"""
BARE = """\
    ds = tf.data.Dataset.from_tensor_slices((pictures[:61, :40, :40], labels[:61]))
    ds = ds.shuffle(64, seed=2).repeat(4).batch(8)
    optimizer = keras.optimizers.Adam()
    seen = keras.metrics.Mean()

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            error = model(x, training=True) - tf.one_hot(y, 10)
            loss = tf.reduce_mean(error**2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    def main():
        for epoch in range(12):
            for x, y in ds:
                loss = step(x, y)
                seen.update_state(loss)
            if epoch % 10 == 0:
                print("epoch", epoch, len(x), float(loss), float(seen.result()))

    main()
    told("weights", model)
"""


def line_of(place, text):
    lines = place.script.read_text("utf-8").splitlines()
    return 1 + next(number for number, line in enumerate(lines) if text in line)


def test_a_job_with_everything_by_a_plan(place):
    place.write(LIGHT, MODEL, RICH, MARK)
    mark, expected = marked(place.python())
    place.write(LIGHT, MODEL, RICH)
    planned(place, mark, Edit("cache", 1, {"on_disk": False}))
    kept = (place.root / "p.json").read_text("utf-8")
    done = run(place, "--plan", "p.json")
    assert (done.stdout, done.returncode) == (expected, 0), done.stderr
    assert "to standard error" in done.stderr
    assert "measuring" not in "".join(said(done))
    assert "runs without fixes" not in done.stderr

    place.write(LIGHT, MODEL, RICH.replace("shuffle(64)", "shuffle(9)"))
    other = run(place, "--plan", "p.json")
    (refusal,) = [line for line in said(other) if "the plan was made for" in line]
    assert "another version of shuffle(64)" in refusal
    assert "other arguments" in refusal
    assert (other.stdout, other.returncode) == (place.python().stdout, 0)
    assert (place.root / "p.json").read_text("utf-8") == kept


def test_a_step_of_the_scripts_own_is_compiled_by_a_plan(place):
    few = EAGER.replace("(8, 1, 1)", "(2, 1, 1)").replace("(labels, 8)", "(labels, 2)")
    place.write(LIGHT, MODEL, few)
    line = line_of(place, "in enumerate(ds)")
    loop = f"tell_bound(ds, kind='loop', step_code=step.__code__, line={line})\n"
    loop = "scale = 1.0\n" + loop  # as it is at the first step
    place.write(LIGHT, MODEL, few, TELL, loop)
    mark, expected = marked(place.python())
    place.write(LIGHT, MODEL, few)
    planned(place, mark, Edit("compile-step"), where=f"train.py:{line}")
    done = run(place, "--plan", "p.json")
    assert (done.stdout, done.returncode) == (expected, 0), done.stderr
    # Near its end the script changes a number, which a graph would not see.
    assert "the step runs from Python again" in done.stderr


@slow
def test_a_job_with_everything_then_with_its_plan(place):
    place.write(HEAD, MODEL, RICH)
    done = same_as_python(place, "--plan", "p.json", "--json", "r.json")
    assert done.returncode == 0
    assert "to standard error" in done.stderr
    report = load_report(place.root / "r.json")
    applied = [fix for fix in report.fixes if fix.applied]
    assert {fix.grade for fix in applied} <= {"exact"}
    assert all(fix.predicted_gain and fix.measured_gain for fix in applied)
    if applied:
        assert report.after is not None
        assert report.after.speedup > 1
        assert report.proof is not None
        assert report.proof.same == "exact"
        assert report.proof.elements_compared > 0

    again = run(place, "--plan", "p.json")
    assert again.stdout == done.stdout
    assert "measuring" not in "".join(said(again))


@slow
def test_a_loop_of_the_scripts_own_is_cured_while_it_trains(place):
    place.write(HEAD, MODEL, EAGER)
    done = same_as_python(place, "--json", "r.json", "--patch", "p.diff")
    assert "rehearsing" not in done.stderr
    report = load_report(place.root / "r.json")
    assert [row.fix for row in report.fixes if row.applied] == ["compile-step"]
    assert report.after is not None
    assert report.after.speedup > 1
    # Near its end the script changes a number, which a graph would not see.
    assert "the step runs from Python again" in done.stderr
    assert not (place.root / "p.diff").exists()


def test_steps_of_a_bare_loop_in_one_launch(place):
    place.write(LIGHT, MODEL, BARE)
    line = line_of(place, "for x, y in ds")
    loop = f"tell_bound(ds, kind='loop', step_function=step, line={line})\n"
    place.write(LIGHT, MODEL, BARE, TELL, loop)
    mark, expected = marked(place.python())
    place.write(LIGHT, MODEL, BARE)
    edit = Edit("steps-per-execution", None, {"steps": 7})
    planned(place, mark, edit, where=f"train.py:{line}")
    done = run(place, "--plan", "p.json", "--live")
    assert done.stdout == expected, done.stderr
    assert "one by one again" not in done.stderr
    assert "runs without fixes" not in done.stderr
    rates = [line for line in done.stderr.splitlines() if "examples/s" in line]
    assert len(rates) == 12


@slow
def test_live_a_fit_shows_how_it_goes_and_stays_the_same(place):
    fit = 'told("w", model, model.fit(ds.repeat(40), epochs=3, verbose=0))\n'
    place.write(HEAD, MODEL, PLAIN, fit)
    done = same_as_python(place, "--live", seconds="4")
    lines = [line for line in done.stderr.splitlines() if "examples/s" in line]
    assert len(lines) == 3
    assert lines[0].startswith("feedline epoch 1:")
    assert all(len(line) <= 80 for line in lines)


INLINE = """\
    optimizer = keras.optimizers.Adam()
    seen = keras.metrics.Mean()
    ds = tf.data.Dataset.from_tensor_slices((pictures[:, :40, :40], labels))
    ds = ds.shuffle(64, seed=2).repeat(10).batch(8)

    def main():
        losses = []
        for epoch in range(4):
            for number, (x, y) in enumerate(ds):
                with tf.GradientTape() as tape:
                    error = model(x, training=True) - tf.one_hot(y, 10)
                    loss = tf.reduce_mean(error**2)
                gradients = tape.gradient(loss, model.trainable_variables)
                optimizer.apply_gradients(zip(gradients, model.trainable_variables))
                seen.update_state(loss)
                losses.append(float(loss))
            print(epoch, number, losses[-1], float(seen.result()))
        return losses

    print(sum(main()))
    told("weights", model)
    """


@slow
def test_a_step_in_the_loop_itself_is_compiled(place):
    place.write(HEAD, MODEL, INLINE)
    _, done = rehearsed(place, "--json", "r.json", "--patch", "p.diff", seconds="12")
    report = load_report(place.root / "r.json")
    assert "compile-step" in [row.fix for row in report.fixes if row.applied]
    assert "runs from Python again" not in done.stderr
    assert "# feedline: compile-step" in (place.root / "p.diff").read_text("utf-8")


@slow
def test_a_compiled_loop_of_the_scripts_own_is_rehearsed(place):
    place.write("EPOCHS = 25\n", *LOOP)
    rehearsed(place)


@slow
def test_live_a_loop_shows_how_it_goes(place):
    place.write("EPOCHS = 25\n", *LOOP)
    _, done = rehearsed(place, "--live")
    lines = [line for line in done.stderr.splitlines() if "examples/s" in line]
    assert len(lines) >= 20
    assert "nothing more is shown" not in done.stderr


@slow
def test_rehearsing_a_fit(place):
    place.write(HEAD, MODEL, FIT.replace("epochs=4", "epochs=25"))
    rehearsed(place)


@slow
def test_a_plan_for_a_loop_of_the_scripts_own(place):
    place.write("EPOCHS = 25\n", *LOOP)
    plain, _ = rehearsed(place, "--plan", "p.json")
    assert (place.root / "p.json").exists()
    again = run(place, "--plan", "p.json")
    assert again.stdout == plain.stdout
    assert "measuring" not in "".join(said(again))


@slow
def test_a_job_with_nothing_to_fix(place):
    small = """\
    ds = tf.data.Dataset.from_tensors((pictures[:8, :40, :40], labels[:8]))
    ds = ds.repeat(400).prefetch(2)
    """
    place.write(HEAD, MODEL, small, FIT.replace(PLAIN, ""))
    same_as_python(place, "--json", "r.json")
    report = load_report(place.root / "r.json")
    for fix in report.fixes:
        assert fix.applied or fix.reason


@slow
def test_allowing_more_is_still_a_training(place):
    place.write(HEAD, MODEL, FIT)
    done = run(place, "--allow", "reordered,numeric", "--json", "r.json")
    assert done.returncode == 0
    assert json.loads(done.stdout.splitlines()[1])["loss"]
