"""Scripts that do not do what one hopes for: a clear message, the script's own
error as Python shows it, the exit code of the contract, and nothing left behind."""

from __future__ import annotations

import json
import os
import re
import signal
import time

import pytest

from feedline.report.json import load
from tests.place import LIMIT, gone, our_lines, wait_until, without_log

TRAINING = """\
import keras
import numpy as np
import tensorflow as tf

model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
ds = tf.data.Dataset.from_tensors((tf.zeros((4, 3)), tf.zeros((4, 1)))).repeat()
"""


# ------------------------------------------------------- the script's own failure

RAISING = {
    "at once": "raise ValueError('bad')",
    "deep": """\
        def outer():
            inner()

        def inner():
            try:
                {}["no"]
            except KeyError as error:
                raise RuntimeError("on top") from error

        outer()
        """,
    "while handling": """\
        try:
            1 / 0
        except ZeroDivisionError:
            undefined
        """,
    "its own hook": """\
        sys.excepthook = lambda kind, error, trace: print(kind, trace.tb_lineno)
        raise ValueError("bad")
        """,
    "after moving": "os.chdir('/')\nraise ValueError('bad')",
    "in a module": "import broken",
    "no such module": "import no_such_module",
    "a group": "raise BaseException('not an Exception')",
    "in a thread": """\
        thread = threading.Thread(target=lambda: 1 / 0, name="t")
        thread.start()
        thread.join()
        sys.exit(1)
        """,
}


@pytest.mark.parametrize("name", RAISING)
def test_its_error_is_shown_as_python_shows_it(place, name):
    (place.root / "broken.py").write_text("def f(:\n", "utf-8")
    place.write(RAISING[name])
    plain, watched = place.python(), place.why("--json", "r.json")
    assert plain.returncode == watched.returncode == 1
    assert watched.stdout == plain.stdout
    ours = "feedline: the script ended with exit code 1; nothing was measured"
    assert watched.stderr == f"{plain.stderr}{ours}\n"
    assert place.left() == ["broken.py"]


@pytest.mark.parametrize(
    ("leaving", "code"),
    [
        ("sys.exit(7)", 7),
        ("sys.exit('text')", 1),
        ("sys.exit(-1)", 255),
        ("sys.exit([1, 2])", 1),
        ("os._exit(5)", 5),
        ("raise SystemExit(9)", 9),
    ],
)
def test_its_exit_code_is_ours(place, leaving, code):
    place.write(leaving)
    plain, watched = place.python(), place.why()
    assert plain.returncode == watched.returncode == code
    assert watched.stderr.startswith(plain.stderr)
    assert f"exit code {code}" in watched.stderr


@pytest.mark.parametrize("leaving", ["sys.exit()", "sys.exit(0)", "os._exit(0)", ""])
def test_an_end_without_training_is_no_success(place, leaving):
    place.write(leaving)
    watched = place.why("--json", "r.json")
    assert watched.returncode == 3
    assert "without a training loop long enough" in watched.stderr
    assert place.left() == []


@pytest.mark.parametrize("name", ["SIGKILL", "SIGSEGV", "SIGABRT"])
def test_it_is_killed(place, name):
    place.write(f"os.kill(os.getpid(), signal.{name})")
    watched = place.why("--json", "r.json")
    assert watched.returncode == 128 + getattr(signal, name)
    assert f"killed by {name}" in watched.stderr
    assert place.left() == []


# ------------------------------------------------------------------- no script


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\x7fELF\x02\x01\x01\x00\x00", "not Python source"),
        (b"\x89PNG\r\n\x1a\n\x00", "not Python source"),
        (b"\xff\xfe\xfd", "not valid Python"),
        (b"def f(:\n", "not valid Python"),
        (b"print 'two'\n", "not valid Python"),
        (b"#!/bin/sh\necho hello\n", "not valid Python"),
    ],
)
def test_it_is_not_python(place, content, said):
    place.script.write_bytes(content)
    watched = place.why("--json", "r.json")
    assert watched.returncode == 2
    assert watched.stderr.startswith("feedline: train.py is ")
    assert said in watched.stderr
    assert "Traceback" not in watched.stderr
    assert place.left() == []


@pytest.mark.parametrize(
    ("target", "said"),
    [
        (["missing.py"], "there is no file 'missing.py'"),
        (["folder"], "folder is a directory without __main__.py"),
        (["-m", "no.such.module"], "cannot find module 'no.such.module'"),
        (["-m", "nosuchmodule"], "there is no module 'nosuchmodule'"),
    ],
)
def test_there_is_nothing_to_run(place, target, said):
    (place.root / "folder").mkdir()
    watched = place.run("-m", "feedline", "why", *target)
    assert watched.returncode == 2
    assert said in watched.stderr
    assert "Traceback" not in watched.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_it_cannot_be_read(place):
    place.write("print(1)")
    place.script.chmod(0)
    watched = place.why()
    assert watched.returncode == 2
    assert "cannot read train.py: Permission denied" in watched.stderr


# --------------------------------------------------------------------- streams


def test_it_prints_very_much(place):
    """What it prints goes through, and is not held by feedline."""
    place.write("""\
        line = "x" * 1023
        for _ in range(200 * 1024):
            print(line)
        status = open(f"/proc/{os.getppid()}/status").read()
        peak = next(l for l in status.splitlines() if l.startswith("VmHWM"))
        print(peak.split()[1], file=sys.stderr)
        """)
    with (place.temp / "out").open("w") as out:
        watched = place.why(stdout=out)
    assert (place.temp / "out").stat().st_size == 200 * 2**20
    assert watched.returncode == 3
    assert int(watched.stderr.splitlines()[0]) < 100_000  # kB


def test_its_output_is_not_wanted_any_more(place):
    place.write("print('x' * 10_000_000)")
    process = place.start("-m", "feedline", "why", "train.py")
    process.stdout.close()
    assert process.wait(LIMIT) == 1
    assert "BrokenPipeError" in process.stderr.read()


def test_it_reads_standard_input(place):
    place.write("print(sys.stdin.read().upper(), end='')")
    (place.temp / "in").write_text("some text\n", "utf-8")
    with (place.temp / "in").open() as given:
        assert place.why(stdin=given).stdout == "SOME TEXT\n"


# --------------------------------------------------------------------- signals

WAITING = """\
try:
    print(os.getpid(), flush=True)
    time.sleep(1000)
finally:
    open("cleaned-up", "w").close()
"""


def test_ctrl_c(place):
    place.write(WAITING)
    process = place.start("-m", "feedline", "why", "--json", "r.json", "train.py")
    script = int(process.stdout.readline())
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(LIMIT) == 130
    assert wait_until(lambda: gone(script))
    assert place.left() == ["cleaned-up"]
    assert "Traceback" not in process.stderr.read()


def test_ctrl_c_that_the_script_does_not_heed(place):
    place.write("signal.signal(signal.SIGINT, signal.SIG_IGN)\n", WAITING)
    process = place.start("-m", "feedline", "why", "train.py")
    script = int(process.stdout.readline())
    os.killpg(process.pid, signal.SIGINT)
    time.sleep(1)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(LIMIT) == 130
    assert wait_until(lambda: gone(script))


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGKILL"])
def test_whoever_ends_feedline_ends_the_script(place, name):
    place.write(WAITING)
    process = place.start("-m", "feedline", "why", "--json", "r.json", "train.py")
    script = int(process.stdout.readline())
    process.send_signal(getattr(signal, name))
    code = process.wait(LIMIT)
    assert wait_until(lambda: gone(script))
    if name != "SIGKILL":
        assert code == 128 + getattr(signal, name)
        assert place.left() == []


# ------------------------------------------------------------- strange training


@pytest.mark.tensorflow
def test_a_script_that_leaves_much_to_tidy_up(place):
    """It moves, forks, starts threads and never ends; what it registered to run
    at its end is run, and the report lies where it was asked for."""
    place.write(
        TRAINING,
        """\
        import atexit, tempfile

        folder = tempfile.mkdtemp()
        atexit.register(os.rmdir, folder)
        other = tempfile.TemporaryDirectory()
        os.chdir(other.name)
        if os.fork() == 0:
            sys.exit(4)
        threading.Thread(target=time.sleep, args=(1000,)).start()

        @tf.function
        def helper(x):
            for i in tf.range(2):
                x += 1
            return x

        helper(tf.constant(1))
        try:
            model.fit(ds, steps_per_epoch=10**9, verbose=0)
        finally:
            print("finally", flush=True)
            os.chdir("/")
            other.cleanup()
        print("never")
        """,
    )
    watched = place.why("--seconds", "2", "--json", "r.json")
    assert watched.returncode == 0, watched.stderr
    assert watched.stdout.startswith("finally\n")
    assert "never" not in watched.stdout
    assert place.left() == ["r.json"]
    assert load(place.root / "r.json").step.observed_ms > 0


FAILING = """\
begin = []

def early(i):
    begin.append(time.monotonic())
    return i < FIRST or time.monotonic() - begin[0] < SECONDS

def check(i):
    fine = tf.numpy_function(early, [i], tf.bool)
    tf.debugging.Assert(fine, ["too far"])
    return tf.zeros((4, 3)), tf.zeros((4, 1))

ds = tf.data.Dataset.range(10**9).map(check)
"""
LOOP = """\
optimizer = keras.optimizers.SGD()
for x, y in ds:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
"""


def own_words(text: str) -> list[str]:
    """What the script and Python say; AutoGraph's files have random names."""
    text = re.sub(r"generated_file\w+", "generated_file", without_log(text))
    return [line for line in text.splitlines() if not line.startswith("feedline: ")]


def user_line(text: str) -> str:
    """The first of the script's lines in a traceback."""
    found = re.search(r'train\.py", line (\d+)', text)
    assert found is not None, text
    return found[1]


FIT = "model.fit(ds, steps_per_epoch=10**9, verbose=0)"


@pytest.mark.tensorflow
@pytest.mark.parametrize(
    ("seconds", "training"),
    [
        (0, FIT),
        pytest.param(0, LOOP, marks=pytest.mark.slow),
        pytest.param(5, FIT, marks=pytest.mark.slow),
        pytest.param(5, LOOP, marks=pytest.mark.slow),
    ],
    ids=["fit-early", "loop-early", "fit-measured", "loop-measured"],
)
def test_its_input_fails_in_the_middle(place, seconds, training):
    """Early, or while feedline measures: it is the script's own error."""
    failing = FAILING.replace("SECONDS", str(seconds)).replace("FIRST", "12")
    place.write(TRAINING, failing, training)
    plain, watched = place.python(), place.why("--seconds", "60", "--json", "r.json")
    assert plain.returncode == watched.returncode == 1
    assert ("training found" in watched.stderr) == (seconds > 0)
    assert "too far" in plain.stderr
    if not seconds:
        assert own_words(watched.stderr) == own_words(plain.stderr)
    # Measuring, the batch may be asked for outside of the step; the error and
    # the user's lines are the same.
    assert "too far" in watched.stderr
    assert f'train.py", line {user_line(plain.stderr)}' in watched.stderr
    assert our_lines(watched.stderr) == []
    assert place.left() == []


@pytest.mark.tensorflow
def test_it_trains_no_step(place):
    place.write(
        TRAINING,
        """\
        model.fit(ds, steps_per_epoch=5, epochs=0, verbose=0)
        for x, y in ds.take(0):
            model.train_on_batch(x, y)
        model.fit(ds.take(2), verbose=0)
        try:
            model.fit(ds.take(0), verbose=0)
        except Exception as error:
            print(type(error).__name__)
        """,
    )
    plain, watched = place.python(), place.why()
    assert watched.stdout == plain.stdout
    assert watched.returncode == 3
    assert "without a training loop long enough" in watched.stderr
    assert "training loop 1 at train.py:12, 1 step(s)" in watched.stderr


@pytest.mark.slow
@pytest.mark.tensorflow
@pytest.mark.parametrize("loop", [None, 2])
def test_short_training_is_run_again_to_measure_it(place, loop):
    place.write(
        TRAINING,
        """\
        with open("runs", "a") as file:
            file.write("x")
        model.fit(ds, steps_per_epoch=20, verbose=0)
        model.fit(ds, steps_per_epoch=10, verbose=0)
        """,
    )
    options = () if loop is None else ("--loop", str(loop))
    watched = place.why("--seconds", "2", "--json", "r.json", *options)
    assert watched.returncode == 0, watched.stderr
    assert "running the script again" in watched.stderr
    assert (place.root / "runs").read_text("utf-8") == "xx"
    report = json.loads((place.root / "r.json").read_text("utf-8"))
    assert report["loop"] == f"fit at train.py:{10 + (loop or 1)}"


@pytest.mark.slow
@pytest.mark.tensorflow
@pytest.mark.parametrize("training", [FIT, LOOP], ids=["fit", "loop"])
def test_a_step_that_takes_no_other_batch_size(place, training):
    """feedline tries other sizes; that they fail is not the script's failure."""
    place.write(
        TRAINING,
        """\
        class Four(keras.Model):
            def __init__(self):
                super().__init__()
                self.dense = keras.layers.Dense(1)

            def call(self, x):
                return self.dense(tf.ensure_shape(x, (4, 3)))

        model = Four()
        model.compile("sgd", "mse")
        """,
        training,
    )
    watched = place.why("--seconds", "8", "--json", "r.json")
    assert watched.returncode == 0, watched.stderr
    assert "Traceback" not in watched.stderr
    assert load(place.root / "r.json").step.observed_ms > 0


@pytest.mark.slow
@pytest.mark.tensorflow
def test_it_does_not_let_itself_be_stopped(place):
    place.write(
        TRAINING,
        """\
        import atexit

        atexit.register(print, "tidied up")
        while True:
            try:
                model.fit(ds, steps_per_epoch=10**9, verbose=0)
            except BaseException as error:
                time.sleep(0.1)
        """,
    )
    watched = place.why("--seconds", "2", "--json", "r.json")
    assert watched.returncode == 0, watched.stderr
    assert "tidied up" in watched.stdout
    assert place.left() == ["r.json"]


STUCK = {
    "the first batch of a loop": """\
        def batches():
            time.sleep(1000)
            yield np.zeros((4, 3), "float32"), np.zeros((4, 1), "float32")

        spec = tf.TensorSpec((4, 3)), tf.TensorSpec((4, 1))
        ds = tf.data.Dataset.from_generator(batches, output_signature=spec)
        for x, y in ds:
            model.train_on_batch(x, y)
        """,
    "a pipe, while measuring": """\
        os.mkfifo("pipe")
        pipe = os.open("pipe", os.O_RDWR)
        begin = time.monotonic()

        def batches():
            for i in range(10**9):
                if time.monotonic() < begin + 5:
                    os.write(pipe, b"x")
                os.read(pipe, 1)
                yield np.zeros((4, 3), "float32"), np.zeros((4, 1), "float32")

        model.fit(batches(), steps_per_epoch=10**6, verbose=0)
        """,
}


@pytest.mark.slow
@pytest.mark.tensorflow
@pytest.mark.parametrize("name", STUCK)
def test_its_input_waits_for_ever(place, name):
    place.write(TRAINING, STUCK[name])
    watched = place.why("--seconds", "20", "--json", "r.json")
    assert watched.returncode == 2, watched.stderr
    assert "seems to wait for data that does not arrive" in watched.stderr
    assert [left for left in place.left() if left != "pipe"] == []


@pytest.mark.tensorflow
@pytest.mark.parametrize(
    ("training", "reads"),
    [
        ("model.fit(ds, verbose=0)", 1),
        pytest.param("model.fit(batches(), verbose=0)", 1, marks=pytest.mark.slow),
        pytest.param(LOOP, 1, marks=pytest.mark.slow),
        pytest.param("model.fit(ds, epochs=3, verbose=0)", 3, marks=pytest.mark.slow),
    ],
    ids=["fit", "generator", "loop", "epochs"],
)
def test_what_can_be_read_once_is_read_once(place, training, reads):
    """Not more often than the script itself would."""
    place.write(
        TRAINING,
        """\
        def batches():
            with open("reads", "a") as file:
                file.write("x")
            for _ in range(2000):
                yield np.zeros((4, 3), "float32"), np.zeros((4, 1), "float32")

        spec = tf.TensorSpec((4, 3)), tf.TensorSpec((4, 1))
        ds = tf.data.Dataset.from_generator(batches, output_signature=spec)
        """,
        training,
    )
    watched = place.why("--seconds", "4", "--json", "r.json")
    assert watched.returncode in (0, 3), watched.stderr
    assert 1 <= len((place.root / "reads").read_text("utf-8")) <= reads
