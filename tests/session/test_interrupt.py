"""A run that is interrupted, at whatever moment, spoils nothing for the next.

The job keeps its elements in the store on disk, by a plan written by hand; it is
stopped by a signal while it fills the store, reads from it, or does anything else; or
the disk becomes full, or the home and the store read-only. The next run must give the
weights that plain Python gives, nothing in the store may be half an entry that somebody
reads, and what lies beside it is not touched.
"""

from __future__ import annotations

import ctypes
import os
import random
import signal
import time
from contextlib import contextmanager, suppress

import pytest

from feedline.fixes.fix import Edit
from feedline.fixes.means.store import marks
from feedline.fixes.saved import save
from tests.place import LIMIT, Place
from tests.plans import TELL, plan_for

pytestmark = [
    pytest.mark.tensorflow,
    pytest.mark.slow,
    pytest.mark.timeout(3600),
]

JOB = """\
import hashlib
import keras, numpy as np, tensorflow as tf
keras.utils.set_random_seed(3)
pictures = np.random.default_rng(0).random((160, 30, 30), dtype=np.float32)
labels = np.arange(160) % 10

def work(x, y):
    made = x
    for _ in range(8):
        made = tf.sin(tf.linalg.matmul(made, x) * 0.1 + x)
    return made, y

ds = tf.data.Dataset.from_tensor_slices((pictures, labels)).map(work)
ds = ds.shuffle(32).batch(8)
model = keras.Sequential([
    keras.Input((30, 30)), keras.layers.Flatten(), keras.layers.Dense(10)
])
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile("adam", loss)

HELD = int(os.environ.get("HELD_AT", "-1"))  # by then it is to be interrupted

class Slowly(keras.callbacks.Callback):
    steps = 0

    def on_train_batch_end(self, batch, logs=None):
        self.steps += 1
        print("step", flush=True)
        time.sleep(1000 if self.steps == HELD else SLEEP)

model.fit(ds, epochs=3, callbacks=[Slowly()], verbose=0)
weights = b"".join(w.tobytes() for w in model.get_weights())
print("weights", hashlib.sha256(weights).hexdigest())
"""
STEPS = 60


STORE = "store/feedline-store"
USERS = ("store/my-data/a", f"{STORE}/my-data/data", "home/.cache/my-data/lock")


@pytest.fixture(autouse=True)
def _store(tmp_path, monkeypatch):
    """A store and a home in which the user has files too, named like ours."""
    monkeypatch.setenv("FEEDLINE_CACHE", str(tmp_path / "store"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    marks.make_store(tmp_path / STORE)
    for name in USERS:
        path = tmp_path / name
        path.parent.mkdir(parents=True)
        path.write_text(name, "utf-8")
    yield
    for name in USERS:
        assert (tmp_path / name).read_text("utf-8") == name


def last(text: str) -> str:
    return text.splitlines()[-1]


@pytest.fixture
def expected(place):
    """What plain Python gives; a plan that keeps the elements on disk beside it."""
    place.write("SLEEP = 0\n", JOB, TELL, "tell_bound(ds)\n")
    done = place.python()
    assert done.returncode == 0, done.stderr
    *_, weights, told = done.stdout.splitlines()
    plan = plan_for(told, Edit("cache", 1, {"on_disk": True}))
    save(plan, place.root / "p.json")
    place.write("SLEEP = 0.02\n", JOB)
    return weights


COMMAND = ("-m", "feedline", "run", "--seconds", "5", "--plan", "p.json", "train.py")


def interrupted(place: Place, how: signal.Signals, after: int) -> int | None:
    """Start the run and end it after so many steps, wherever it is by then; the exit
    code. It does not go on for long: it must not be over before."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HELD_AT", str(after + 8))
        process = place.start(*COMMAND)
    assert process.stdout is not None
    for _ in range(after):
        if not process.stdout.readline():
            break
    if how in (signal.SIGTERM, signal.SIGUSR1):
        process.send_signal(how)
    else:  # as a terminal does, or the system when memory is short
        os.killpg(process.pid, how)
    process.communicate(timeout=LIMIT)
    return process.returncode


def check(place: Place, expected: str) -> None:
    """The next run works, and so does the one that reads what it kept."""
    for _ in range(2):
        done = place.run(*COMMAND)
        assert done.returncode == 0, done.stderr
        assert last(done.stdout) == expected, done.stderr
        assert "Traceback" not in done.stderr
    (entry,) = marks.entries(place.root / STORE)
    assert (entry / "manifest.json").exists()


HOWS = [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGKILL]
MOMENTS = [(signal.SIGINT, 5), (signal.SIGTERM, 14), (signal.SIGKILL, 25)]


def test_a_run_that_is_ended_again_and_again_leaves_the_next_one_sound(place, expected):
    """While the store is filled, before and after it is full."""
    for how, after in MOMENTS:
        code = interrupted(place, how, after)
        assert code not in (0, 2, 3), how
    check(place, expected)


@pytest.mark.parametrize("how", HOWS, ids=lambda how: how.name)
def test_at_any_moment(place, expected, how):
    rng = random.Random(how.value)
    for _ in range(6):
        interrupted(place, how, rng.randrange(STEPS))
    check(place, expected)


@pytest.mark.parametrize("how", HOWS, ids=lambda how: how.name)
def test_by_the_clock(place, expected, how):
    """Also while TensorFlow is imported, or while the store is checked."""
    rng = random.Random(how.value)
    for _ in range(6):
        process = place.start(*COMMAND)
        time.sleep(rng.uniform(0.1, 15.0))
        if process.poll() is None:
            os.killpg(process.pid, how)
        process.communicate(timeout=LIMIT)
    check(place, expected)


def test_while_it_measures(place, expected):
    """Ctrl-C in the middle of the experiments."""
    long = JOB.replace("epochs=3", "epochs=500")
    place.write("SLEEP = 0.0\n", long)
    process = place.start("-m", "feedline", "run", "--seconds", "60", "train.py")
    assert process.stderr is not None
    for line in process.stderr:
        if "timing each stage" in line or "trying" in line:
            break
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=LIMIT)
    assert process.returncode != 0
    place.write("SLEEP = 0.02\n", JOB)
    check(place, expected)


FULL = """\
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT))
"""


@pytest.mark.parametrize("bytes_left", [8_000, 40_000, 300_000])
def test_a_disk_that_is_full_costs_the_entry_only(place, expected, bytes_left):
    """The system lets no file grow further: every write after that fails. All
    elements together take 580,000 bytes."""
    place.write(f"LIMIT = {bytes_left}\n", FULL, "SLEEP = 0.0\n", JOB)
    for _ in range(2):
        done = place.run(*COMMAND)
        assert done.returncode == 0, done.stderr
        assert last(done.stdout) == expected, done.stderr
        assert "Traceback" not in done.stderr
    place.write("SLEEP = 0.0\n", JOB)
    check(place, expected)


def obedient():
    """In the process: root, too, obeys the modes of files. It loses the right to
    override them, which Linux keeps in the bounding set."""
    drop, override, search = 24, 1, 2
    for capability in (override, search):
        ctypes.CDLL(None).prctl(drop, capability, 0, 0, 0)


@contextmanager
def read_only(*folders):
    below = [path for folder in folders for path in (folder, *folder.rglob("*"))]
    modes = {}
    for path in below:
        with suppress(FileNotFoundError):  # a file of a moment
            modes[path] = path.stat().st_mode
            path.chmod(modes[path] & 0o555)
    try:
        yield
    finally:
        for path, mode in modes.items():
            with suppress(FileNotFoundError):
                path.chmod(mode)


def test_a_home_and_a_store_that_become_read_only(place, expected):
    """Before it starts, and at any moment after."""
    rng = random.Random(8)
    for after in (0, *(rng.randrange(1, STEPS) for _ in range(5))):
        with (place.root / "err").open("w+", encoding="utf-8") as err:
            process = place.start(*COMMAND, stderr=err, preexec_fn=obedient)
            assert process.stdout is not None
            for _ in range(after):
                process.stdout.readline()
            with read_only(place.root / "store", place.root / "home"):
                out = process.stdout.read()
                assert process.wait(LIMIT) == 0
            err.seek(0)
            said = err.read()
        assert last(out) == expected, said
        assert "Traceback" not in said
    check(place, expected)


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "manifest"])
def test_a_damaged_entry_is_never_read(place, expected, damage):
    check(place, expected)
    (entry,) = marks.entries(place.root / STORE)
    data = entry / "data"
    content = bytearray(data.read_bytes())
    if damage == "cut":
        data.write_bytes(content[: len(content) // 2])
    elif damage == "flip":
        content[len(content) // 2] ^= 1
        data.write_bytes(content)
    elif damage == "empty":
        data.write_bytes(b"")
    else:
        (data.parent / "manifest.json").write_text("{}", "utf-8")
    done = place.run(*COMMAND)
    assert done.returncode == 0, done.stderr
    assert last(done.stdout) == expected
