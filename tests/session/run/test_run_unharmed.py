"""`feedline run`: the script's own results and its own end, whatever happens.

Whether a fix is found does not matter here.
"""

from __future__ import annotations

import os
import sys

import pytest

from feedline.fixes.fix import Edit
from tests.place import our_lines
from tests.scripts import (
    FIT,
    HEAD,
    LIGHT,
    MARK,
    MODEL,
    PLAIN,
    STOPPED,
    marked,
    planned,
    rehearsed,
    run,
    said,
    same_as_python,
)

pytestmark = pytest.mark.tensorflow
slow = pytest.mark.slow


BROKEN = """\
import feedline.fixes as fixes
from dataclasses import replace

known = fixes.all()
def broken(*args, **more):
    raise RuntimeError("planted\\nfault")
if {where!r} == "examine":
    import feedline.measure.examine as examine
    examine.Examiner.examine = broken
else:
    every = {{
        name: replace(fix, **{{{where!r}: broken}}) if getattr(fix, {where!r}) else fix
        for name, fix in known.items()
    }}
    fixes.all = lambda: every
"""


def sabotaged(place, monkeypatch, where):
    """feedline breaks there, in the script's own process alone."""
    folder = place.root / "site"
    folder.mkdir()
    text = "import sys\nif '-c' in sys.argv[:1]:\n"
    broken = BROKEN.format(where=where)
    text += "".join(f"    {line}\n" for line in broken.splitlines())
    (folder / "sitecustomize.py").write_text(text, "utf-8")
    path = [str(folder), *(p for p in sys.path if p)]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path))


def test_a_fault_of_ours_costs_the_fixes_not_the_job(place, monkeypatch):
    """So many epochs would be worth measuring on any machine."""
    place.write(LIGHT, MODEL, PLAIN, STOPPED)
    plain = place.python()
    sabotaged(place, monkeypatch, "examine")
    done = run(place)
    assert done.stdout == plain.stdout, done.stderr
    assert done.returncode == 0
    told = [line for line in said(done) if "runs without fixes" in line]
    assert told == [
        "feedline: your script runs without fixes: RuntimeError: planted fault"
    ]
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("head", "options"),
    [
        (LIGHT, ("--plan", "p.json")),
        pytest.param(HEAD, ("--seconds", "3"), marks=slow),
    ],
    ids=["planned", "measured"],
)
def test_a_script_that_fails_in_its_training_fails_as_it_does_by_itself(
    place, head, options
):
    failing = """\
    class Stop(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            if epoch == 1:
                raise ValueError("by the script itself")
    """
    fit = "model.fit(ds, epochs=4, callbacks=[Stop()])\n"
    place.write(head, MODEL, failing, PLAIN, MARK, fit)
    plain = place.python()
    planned(place, marked(plain)[0], Edit("cache", 1, {"on_disk": False}))
    done = run(place, *options)
    assert plain.returncode == done.returncode == 1
    assert "ValueError: by the script itself" in done.stderr
    assert "runs without fixes" not in done.stderr
    traces = [
        [line for line in each.stderr.splitlines() if 'train.py", line' in line]
        for each in (plain, done)
    ]
    assert traces[0] == traces[1]
    assert our_lines(done.stderr) == []


@slow
@pytest.mark.parametrize("where", ["propose", "apply", "install"])
def test_a_fault_of_any_fix_costs_the_fixes_not_the_job(place, monkeypatch, where):
    place.write(HEAD, MODEL, FIT)
    plain = place.python()
    sabotaged(place, monkeypatch, where)
    done = run(place)
    assert done.stdout == plain.stdout, done.stderr
    assert done.returncode == 0
    assert "Traceback" not in done.stderr


ENDINGS = {
    "exits with 7": "sys.exit(7)",
    "exits with a sentence": "sys.exit('enough')",
    "exits with nothing": "sys.exit()",
    "stops the training": "self.model.stop_training = True",
    "leaves at once": "sys.stdout.flush(); os._exit(5)",
}


@slow
@pytest.mark.parametrize("name", ENDINGS)
def test_how_a_script_ends_in_a_callback(place, name):
    stop = f"""\
    class Stop(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            print("epoch", epoch, logs["loss"], flush=True)
            if epoch == 2:
                {ENDINGS[name]}
    """
    fit = "model.fit(ds, epochs=9, callbacks=[Stop()], verbose=0)\ntold('w', model)\n"
    place.write(HEAD, MODEL, stop, PLAIN, fit)
    same_as_python(place, seconds="4")


JOBS = {
    "steps per epoch": PLAIN
    + "ds = ds.repeat()\n"
    + 'told("w", model, model.fit(ds, epochs=4, steps_per_epoch=5, verbose=0))\n'
    + 'told("w", model, model.fit(ds, epochs=2, steps_per_epoch=3, verbose=0))\n',
    "two models, one dataset": PLAIN
    + "other = make()\n"
    + "one = model.fit(ds, epochs=3, verbose=0)\n"
    + "two = other.fit(ds, epochs=3, verbose=0)\n"
    + 'told("a", model, one)\ntold("b", other, two)\n',
    "two datasets": PLAIN
    + "more = ds.take(3)\n"
    + "one = model.fit(ds, epochs=3, verbose=0)\n"
    + "two = model.fit(more, epochs=3, verbose=0)\n"
    + 'told("w", model, one, two)\n'
    + "print([int(y[0]) for _, y in ds])\n",
    "made from it later, and both again": PLAIN
    + "one = model.fit(ds, epochs=2, verbose=0)\n"
    + "more = ds.take(3)\n"
    + "print([int(y[0]) for _, y in more])\n"
    + "two = model.fit(more, epochs=2, verbose=0)\n"
    + "three = model.fit(ds, epochs=2, verbose=0)\n"
    + 'told("w", model, one, two, three)\n'
    + "print([int(y[0]) for _, y in ds])\n",
    "two branches of one shuffle": "ds = ds.shuffle(64)\n"
    "less, ds = ds.batch(4).take(3), ds.batch(8)\n"
    "h = model.fit(ds, validation_data=less, epochs=3, verbose=0)\n"
    'told("w", model, h)\n'
    "print([int(y[0]) for _, y in less])\n",
    "read between the fits": PLAIN
    + "one = model.fit(ds, epochs=2, verbose=0)\n"
    + "print([int(y[0]) for _, y in ds])\n"
    + "two = model.fit(ds, epochs=2, verbose=0)\n"
    + 'told("w", model, one, two)\n',
    "half a pass before": PLAIN
    + "kept = iter(ds); next(kept); next(kept)\n"
    + 'told("w", model, model.fit(ds, epochs=4, verbose=0))\n'
    + "print([int(y[0]) for _, y in kept])\n",
    "a random layer in the map": "flip = keras.layers.RandomFlip(seed=3)\n"
    "ds = ds.map(lambda x, y: (flip(x[..., None], training=True)[..., 0], y))\n"
    + PLAIN
    + 'told("w", model, model.fit(ds, epochs=3, verbose=0))\n',
    "a generator of numbers": "dice = tf.random.Generator.from_seed(3)\n"
    "ds = ds.map(lambda x, y: (x + dice.uniform([40, 40]), y))\n"
    + PLAIN
    + 'told("w", model, model.fit(ds, epochs=3, verbose=0))\n'
    + "print(dice.state.numpy().tolist())\n",
    "early stopping and a schedule": PLAIN
    + "stop = keras.callbacks.EarlyStopping('loss', patience=1, min_delta=9.0)\n"
    + "rate = keras.callbacks.LearningRateScheduler(lambda e, r: r * 0.9)\n"
    + "h = model.fit(ds, epochs=9, callbacks=[stop, rate], verbose=0)\n"
    + 'told("w", model, h)\n',
    "checkpoints": PLAIN
    + "save = keras.callbacks.ModelCheckpoint('w{epoch}.weights.h5', "
    + "save_weights_only=True)\n"
    + "model.fit(ds, epochs=3, callbacks=[save], verbose=0)\n"
    + "import glob; print(sorted(glob.glob('*.h5')))\n"
    + "model.load_weights('w2.weights.h5'); told('second', model)\n",
    "evaluate and predict": PLAIN
    + "h = model.fit(ds, epochs=3, verbose=0)\n"
    + "print(model.evaluate(ds, verbose=0))\n"
    + "print(float(np.sum(model.predict(ds, verbose=0))))\n"
    + 'told("w", model, h)\n',
    "a cached job": "ds = ds.cache().shuffle(64).batch(8).prefetch(-1)\n"
    'told("w", model, model.fit(ds, epochs=4, verbose=0))\n',
    "arrays": "small = pictures[:, :40, :40]\n"
    'told("w", model, model.fit(small, labels, epochs=3, verbose=0))\n',
    "trained by batches": "for _ in range(3):\n"
    "    for x, y in ds.batch(8):\n"
    "        model.train_on_batch(x, y)\n"
    'told("w", model)\n',
    "numbered batches": """\
class Batches(keras.utils.PyDataset):
    def __len__(self):
        return 8

    def __getitem__(self, i):
        made = pictures[8 * i : 8 * i + 8]
        for _ in range(20):
            made = np.sin(made @ pictures[i] * np.float32(0.1) + made)
        return made[:, :40, :40], labels[8 * i : 8 * i + 8]

told("w", model, model.fit(Batches(), epochs=6, verbose=0))
""",
    "a generator of batches": """\
def batches():
    for i in range(8):
        made = pictures[8 * i : 8 * i + 8]
        for _ in range(20):
            made = np.sin(made @ pictures[i] * np.float32(0.1) + made)
        yield made[:, :40, :40], labels[8 * i : 8 * i + 8]

spec = tf.TensorSpec((8, 40, 40)), tf.TensorSpec((8,), tf.int64)
ds = tf.data.Dataset.from_generator(batches, output_signature=spec)
told("w", model, model.fit(ds, epochs=6, verbose=0))
""",
    "global seed without": "tf.random.set_seed(11)\n"
    "ds = ds.map(lambda x, y: (x + tf.random.normal([40, 40]), y))\n"
    + PLAIN
    + 'told("w", model, model.fit(ds, epochs=3, verbose=0))\n',
}


@slow
@pytest.mark.parametrize("name", JOBS)
def test_any_job_gives_what_it_gives_by_itself(place, name):
    place.write(HEAD, MODEL, JOBS[name])
    same_as_python(place)


SHARED = """\
ds = ds.shuffle(64)
less, ds = ds.batch(4).take(3), ds.batch(8)
optimizer = keras.optimizers.SGD(0.1)
loss_of = keras.losses.SparseCategoricalCrossentropy()

@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = loss_of(y, model(x))
    found = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(found, model.trainable_variables))

for epoch in range(30):
    for x, y in ds:
        step(x, y)
    print([int(y[0]) for _, y in less])
told("w", model)
"""


@slow
def test_a_loop_that_shares_its_shuffle_with_another_dataset(place):
    place.write(HEAD, MODEL, SHARED)
    rehearsed(place)


@slow
def test_a_script_without_training_runs_to_its_end(place):
    place.write("import tensorflow as tf\nprint(int(tf.constant(3)))\n")
    done = run(place)
    assert done.stdout == "3\n"
    assert done.returncode == 0
    assert "without a training loop long enough" in done.stderr
    place.write("print('no TensorFlow'); sys.exit(4)\n")
    done = run(place)
    assert (done.stdout, done.returncode) == ("no TensorFlow\n", 4)
