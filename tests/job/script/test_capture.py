"""Every kind of training loop is caught, with its lines; what does not train is
not mistaken for training."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.job.scripts import DATA, MODEL, STEP, UNSEEN, TickingClock, run
from tests.place import LIMIT

from feedline.job.script import hooks
from feedline.job.source import lines as source

pytestmark = [
    pytest.mark.tensorflow,
    pytest.mark.filterwarnings("ignore::UserWarning:keras"),
]

FITS = {
    "dataset": "model.fit(ds, epochs=3, verbose=0)  #: loop\n",
    "arrays": """\
x, y = np.zeros((160, 3)), np.zeros(160)
model.fit(x, y, batch_size=4, epochs=3, verbose=0)  #: loop
""",
    "tensors": """\
x, y = tf.zeros((160, 3)), tf.zeros(160)
model.fit(x, y, batch_size=4, epochs=3, verbose=0)  #: loop
""",
    "generator": """\
def batches():
    while True:
        yield np.zeros((4, 3)), np.zeros(4)

model.fit(batches(), steps_per_epoch=40, epochs=3, verbose=0)  #: loop
""",
    "PyDataset": """\
class Batches(keras.utils.PyDataset):
    def __len__(self):
        return 40

    def __getitem__(self, index):
        return np.zeros((4, 3)), np.zeros(4)

model.fit(Batches(), epochs=3, verbose=0)  #: loop
""",
}


@pytest.mark.parametrize("fed_by", FITS)
def test_fit(tmp_path, fed_by):
    caught = run(tmp_path, MODEL, DATA, FITS[fed_by])
    facts = caught.facts()
    assert (facts["kind"], facts["line"]) == ("fit", caught.line("loop"))
    assert (facts["epochs"], facts["steps"]) == (3, 40)
    assert facts["eager"] is False
    assert caught.job.optimizer == "SGD"
    assert [layer.kind for layer in caught.job.layers] == ["Dense"]
    if fed_by == "dataset":
        assert facts["stages"] == lines(caught, "range", "map", "batch")
    else:
        # Keras made the pipeline; the user's line is that of fit.
        assert set(facts["stages"].values()) == {caught.line("loop")}


def lines(caught, *marks: str) -> dict[str, int]:
    return {mark: caught.line(mark) for mark in marks}


LOOPS = {
    "function": (
        """\
step = tf.function(step)
for epoch in range(3):
    for x, y in ds:  #: loop
        step(x, y)
""",
        {"kind": "loop", "eager": False},
    ),
    "eager": (
        """\
for epoch in range(1, EPOCHS + 1):
    for x, y in ds:  #: loop
        step(x, y)
""",
        {"kind": "loop", "eager": True},
    ),
    "train_on_batch": (
        """\
for epoch in range(3):
    for x, y in ds:  #: loop
        model.train_on_batch(x, y)
""",
        {"kind": "loop", "eager": False},
    ),
    "numpy iterator": (
        """\
for epoch in range(3):
    for x, y in ds.as_numpy_iterator():  #: loop
        model.train_on_batch(x, y)
""",
        {"kind": "loop", "eager": False},
    ),
    "next": (
        """\
for epoch in range(3):
    batches = iter(ds)  #: loop
    for _ in range(40):
        step(*next(batches))
""",
        {"kind": "loop", "eager": True},
    ),
    "in a function of the script": (
        """\
def train(data):
    for x, y in data:  #: loop
        step(x, y)

for epoch in range(settings["epochs"]):
    train(ds)
""",
        {"kind": "loop", "eager": True},
    ),
    "tf.function, dataset as argument": (
        """\
@tf.function
def train(data):
    for x, y in data:  #: loop
        step(x, y)

for epoch in range(3):
    train(ds)
""",
        {"kind": "function", "eager": False},
    ),
    "tf.function, dataset of the closure": (
        """\
def make(data):
    @tf.function
    def train():
        for x, y in data:  #: loop
            step(x, y)

    return train

train = make(ds)
for epoch in range(3):
    train()
""",
        {"kind": "function", "eager": False},
    ),
    "tf.function, dataset of the module": (
        """\
@tf.function
def train():
    for x, y in ds:  #: loop
        step(x, y)

for epoch in range(3):
    train()
""",
        {"kind": "function", "eager": False},
    ),
    "tf.function, dataset of self": (
        """\
class Trainer:
    def __init__(self):
        self.data = ds

    @tf.function
    def train(self):
        for x, y in self.data:  #: loop
            step(x, y)

trainer = Trainer()
for epoch in range(3):
    trainer.train()
""",
        {"kind": "function", "eager": False},
    ),
    "tf.function with an iterator": (
        """\
@tf.function
def train(batches):
    return step(*next(batches))

for epoch in range(3):
    batches = iter(ds)
    for _ in range(40):
        train(batches)  #: loop
""",
        {"kind": "iterator", "eager": False},
    ),
}


@pytest.mark.parametrize("name", LOOPS)
def test_loops_of_the_users_own(tmp_path, name):
    text, expected = LOOPS[name]
    settings = 'EPOCHS = 3\nsettings = {"epochs": 3}\n'
    caught = run(tmp_path, MODEL, DATA, STEP, settings, text)
    facts = caught.facts()
    assert {key: facts[key] for key in expected} == expected
    assert facts["line"] == caught.line("loop")
    assert (facts["epochs"], facts["steps"]) == (3, 40)
    assert facts["stages"] == lines(caught, "range", "map", "batch")
    assert caught.job.optimizer == "SGD"


@pytest.mark.parametrize(
    ("over", "steps", "more"),
    [
        ("enumerate(ds)", 40, {}),
        ("enumerate(ds.take(20))", 20, {"take": "loop"}),
        ("zip(range(1000), ds)", 40, {}),
        ("zip(ds, ds.skip(1))", 40, {}),
        ("bar(ds, desc='epoch')", 40, {}),
        ("bar(enumerate(ds), total=40)", 40, {}),
    ],
)
def test_what_stands_around_the_dataset(tmp_path, monkeypatch, over, steps, more):
    # As tqdm does: a helper of an installed package that goes through something.
    package = tmp_path / "site-packages"
    package.mkdir()
    (package / "progress.py").write_text(
        "class bar:\n"
        "    def __init__(self, what, **options):\n"
        "        self.what = what\n"
        "    def __iter__(self):\n"
        "        for one in self.what:\n"
        "            yield one\n",
        "utf-8",
    )
    monkeypatch.setitem(sys.modules, "progress", None)
    del sys.modules["progress"]  # at the end it is as it was: not there
    caught = run(
        tmp_path,
        f"import sys; sys.path.append({str(package)!r})\nfrom progress import bar\n",
        MODEL,
        DATA,
        STEP,
        f"for batch in {over}:  #: loop\n"
        "    x, y = [b for b in tf.nest.flatten(batch) if tf.is_tensor(b)][:2]\n"
        "    step(x, y)\n",
    )
    facts = caught.facts()
    assert (facts["kind"], facts["line"]) == ("loop", caught.line("loop"))
    assert (facts["epochs"], facts["steps"]) == (1, steps)
    stages = lines(caught, "range", "map", "batch")
    assert facts["stages"] == stages | {op: caught.line(at) for op, at in more.items()}


def test_the_first_loop_that_lasts_is_measured(tmp_path):
    text = """\
for x, y in ds.take(3):
    step(x, y)
for x, y in ds:  #: second
    step(x, y)
"""
    caught = run(tmp_path, MODEL, DATA, STEP, text, clock=TickingClock(), patient=True)
    assert caught.facts()["line"] == caught.line("second")


def test_another_loop_can_be_asked_for(tmp_path):
    text = """\
model.fit(ds, epochs=2, verbose=0)
for x, y in ds:  #: second
    step(x, y)
model.fit(ds, epochs=2, verbose=0)
"""
    clock = TickingClock()
    caught = run(tmp_path, MODEL, DATA, STEP, text, clock=clock, patient=True, loop=2)
    assert caught.facts()["line"] == caught.line("second")
    caught = run(tmp_path, MODEL, DATA, STEP, text, clock=clock, patient=True, loop=9)
    assert caught.job is None
    assert [loop.kind for loop in caught.watch.loops] == ["fit", "loop", "fit"]


LONG = {
    "fit": "model.fit(ds.repeat(5), epochs=1, verbose=0)\n",
    "eager": """\
for x, y in ds.repeat(5):
    step(x, y)
""",
    "function": """\
train = tf.function(step)
for x, y in ds.repeat(5):
    train(x, y)
    if optimizer.iterations % 50 == 0:
        for x, y in ds.take(2):
            model(x)
""",
}


@pytest.mark.parametrize("kind", LONG)
def test_a_long_loop_that_is_not_asked_for_is_counted_to_its_end(tmp_path, kind):
    text = """\
for x, y in ds:  #: second
    step(x, y)
"""
    caught = run(tmp_path, MODEL, DATA, STEP, LONG[kind], text, patient=False, loop=2)
    first, _ = caught.watch.loops
    assert caught.facts()["line"] == caught.line("second")
    assert first.steps in (199, 200)
    assert len(first.periods) < 199
    assert not caught.watch.quiet


NOT_TRAINING = {
    "a loop that only looks": "for x, y in ds:\n    model(x)\n",
    "validation by hand": """\
@tf.function
def test_step(x, y):
    return tf.reduce_mean((model(x)[:, 0] - y) ** 2)

for x, y in ds:
    test_step(x, y)
""",
    "evaluate": "model.evaluate(ds, verbose=0)",
    "predict": "model.predict(ds, verbose=0)",
    "adapt": """\
norm = keras.layers.Normalization()
norm.adapt(ds.map(lambda x, y: x))
""",
    "a loop in a function": """\
@tf.function
def total():
    found = 0.0
    for x, y in ds:
        found += tf.reduce_sum(y)
    return found

total()
""",
    "training by hand, without a dataset": """\
for _ in range(40):
    step(tf.zeros((4, 3)), tf.zeros(4))
    model.train_on_batch(np.zeros((4, 3)), np.zeros(4))
""",
    "a step that is no step": """\
step = tf.function(step)
for x, y in ds.take(1):
    step(x, y)
for x, y in ds:
    model(x)
""",
    "nothing": "",
}


@pytest.mark.parametrize("name", NOT_TRAINING)
def test_what_does_not_train_is_no_training(tmp_path, name):
    caught = run(tmp_path, MODEL, DATA, STEP, NOT_TRAINING[name])
    assert caught.job is None
    assert caught.code == 0


def test_what_was_seen_is_noted(tmp_path):
    text = NOT_TRAINING["training by hand, without a dataset"]
    caught = run(tmp_path, MODEL, DATA, STEP, text)
    assert sorted(caught.watch.unfed.values()) == [40, 40]
    caught = run(tmp_path, MODEL, DATA, STEP, NOT_TRAINING["a loop that only looks"])
    assert list(caught.watch.untrained.values()) == [40]


@pytest.mark.parametrize(
    ("over", "said"),
    [
        ("ds.take(2)", "2 step(s): too short"),
        ("once", "may be read only once"),
        ("enumerate(ds)", "made in that function"),
    ],
)
def test_loops_inside_a_function_that_cannot_be_measured(tmp_path, over, said):
    """They would have to be read again and again."""
    text = f"""\
spec = tf.TensorSpec((4, 3)), tf.TensorSpec((4,))
once = tf.data.Dataset.from_generator(lambda: iter(ds), output_signature=spec)
data = {over if "enumerate" not in over else "None"}

@tf.function
def train():
    for batch in {"data" if "enumerate" not in over else over}:
        step(*tf.nest.flatten(batch)[-2:])

train()
"""
    caught = run(tmp_path, MODEL, DATA, STEP, text)
    assert caught.job is None
    assert caught.code == 0
    (note,) = caught.watch.notes
    assert said in note


def test_one_function_for_training_and_validation(tmp_path):
    """The same line and the same `tf.function`, with and without a gradient."""
    text = """\
@tf.function
def step(x, y, training):
    if not training:
        return tf.reduce_mean((model(x)[:, 0] - y) ** 2)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x)[:, 0] - y) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss

def go_through(data, training):
    for x, y in data:  #: loop
        step(x, y, training=training)

validation = ds.take(30).map(lambda x, y: (x, y))
for epoch in range(9):
    go_through(ds.take(5), True)
    go_through(validation, False)
"""
    clock = TickingClock()
    caught = run(tmp_path, MODEL, DATA, STEP, text, clock=clock, patient=True)
    facts = caught.facts()
    assert (facts["line"], facts["steps"]) == (caught.line("loop"), 5)
    assert "take" in facts["stages"]
    assert caught.job.pipeline.root.op == "take"


def test_validation_inside_the_loop(tmp_path):
    text = """\
for x, y in ds:  #: loop
    for u, v in ds.take(7):
        model(u)
    step(x, y)
"""
    caught = run(tmp_path, MODEL, DATA, STEP, text)
    assert caught.facts()["line"] == caught.line("loop")


def test_a_generator_that_reads_a_dataset_is_not_the_loop(tmp_path):
    text = """\
def batches():
    for x, y in ds:
        yield x.numpy(), y.numpy()

spec = tf.TensorSpec((None, 3)), tf.TensorSpec((None,))
outer = tf.data.Dataset.from_generator(batches, output_signature=spec).prefetch(2)
for x, y in outer:  #: loop
    step(x, y)
"""
    caught = run(tmp_path, MODEL, DATA, STEP, text)
    facts = caught.facts()
    assert facts["line"] == caught.line("loop")
    assert list(facts["stages"]) == ["from_generator", "prefetch"]
    assert caught.job.syncs_per_step == 0


def test_training_in_a_thread(tmp_path, capsys):
    text = """\
import threading

def train():
    for x, y in ds:  #: loop
        step(x, y)

thread = threading.Thread(target=train)
thread.start()
thread.join()
"""
    caught = run(tmp_path, MODEL, DATA, STEP, text)
    assert caught.facts()["line"] == caught.line("loop")
    assert "ScriptStopped" not in capsys.readouterr().err


def test_values_read_on_the_host_are_counted(tmp_path):
    text = """\
for x, y in ds:
    loss = step(x, y)
    float(loss); loss.numpy()
"""
    caught = run(tmp_path, MODEL, DATA, STEP, text)
    assert caught.job.syncs_per_step == 2


def test_a_dataset_of_unknown_length_is_counted(tmp_path):
    text = """\
ds = ds.filter(lambda x, y: True)
for epoch in range(9):
    for x, y in ds:
        step(x, y)
"""
    clock = TickingClock()
    caught = run(tmp_path, MODEL, DATA, STEP, text, clock=clock, patient=True)
    assert caught.facts()["steps"] is None  # the first epoch has not ended
    text = text.replace("ds.filter(", "ds.take(6).filter(")
    caught = run(tmp_path, MODEL, DATA, STEP, text, clock=clock, patient=True)
    assert caught.facts()["steps"] == 6


def test_a_project_with_its_environment_inside(tmp_path, monkeypatch):
    """The usual `.venv` in the folder of the script is no code of the user's."""
    library = tmp_path / ".venv" / "lib" / "site-packages" / "keras" / "trainer.py"
    monkeypatch.setattr(source, "_own", set(source._own))
    source.own(str(tmp_path))
    assert source.is_library(str(library))
    assert not source.is_library(str(tmp_path / "data" / "load.py"))


DEVICES = """\
import keras
import numpy as np
import tensorflow as tf

try:
    tf.config.set_logical_device_configuration(
        tf.config.list_physical_devices("CPU")[0],
        [tf.config.LogicalDeviceConfiguration()] * 2,
    )
except RuntimeError:  # the script before this one has done it
    pass
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
with strategy.scope():
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    optimizer = keras.optimizers.SGD(0.01)
    optimizer.build(model.trainable_variables)
"""
REPLICAS = """\
distributed = strategy.experimental_distribute_dataset(ds)

def replica(batch):
    x, y = batch
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x)[:, 0] - y) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss
"""
DISTRIBUTED = {
    "fit": (DEVICES, DATA, "model.fit(ds, epochs=3, verbose=0)  #: loop\n"),
    "loop": (
        DEVICES,
        DATA,
        REPLICAS,
        """\
@tf.function
def step(batch):
    return strategy.run(replica, args=(batch,))

for epoch in range(3):
    for batch in distributed:  #: loop
        step(batch)
""",
    ),
    "function": (
        DEVICES,
        DATA,
        REPLICAS,
        """\
@tf.function
def train(data):
    for batch in data:  #: loop
        strategy.run(replica, args=(batch,))

for epoch in range(3):
    train(distributed)
""",
    ),
    "iterator": (
        DEVICES,
        DATA,
        REPLICAS,
        """\
@tf.function
def train(batches):
    return strategy.run(replica, args=(next(batches),))

for epoch in range(3):
    batches = iter(distributed)
    for _ in range(40):
        train(batches)  #: loop
""",
    ),
}


@pytest.mark.slow
def test_mirrored_strategy(tmp_path):
    """Two logical devices must be made before TensorFlow starts: one process."""
    paths = {}
    for kind, parts in DISTRIBUTED.items():
        paths[kind] = tmp_path / f"{kind}.py"
        paths[kind].write_text("".join(parts), "utf-8")
    found = in_a_process(*paths.values())
    for kind, path in paths.items():
        facts = found[str(path)]
        text = path.read_text("utf-8").splitlines()
        assert facts["kind"] == kind
        assert facts["line"] == 1 + next(
            number for number, line in enumerate(text) if "#: loop" in line
        )
        assert (facts["epochs"], facts["steps"]) == (3, 40)
        assert (facts["strategy"], facts["replicas"]) == ("MirroredStrategy", 2)
        assert [*facts["stages"]] == ["range", "map", "batch"]


def in_a_process(*paths: Path) -> dict:
    done = subprocess.run(
        [sys.executable, "-m", "tests.job.scripts", *map(str, paths)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=LIMIT,
        cwd=Path(__file__).parents[3],
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_everything_can_be_watched_here(tmp_path):
    """Each place that feedline looks into exists in this TensorFlow."""
    caught = run(tmp_path, MODEL)
    assert UNSEEN == []
    assert hooks._installed[id(caught.watch)]._patches == {}  # each was found
