"""A script runs under feedline as `python SCRIPT` runs it: what it finds, what it
prints, what it starts, what it computes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from tests.cli.command import feedline, run
from tests.job.scripts import DATA, MODEL, STEP
from tests.job.scripts import run as run_watched
from tests.place import LIMIT

from feedline.job.source import lines

SHOW = """\
import os, sys
import __main__

print(sys.argv, sys.orig_argv[1:], sys.flags)
print(os.getcwd(), sys.path)
print(__main__.__dict__ is globals(), __main__.__file__)
for name, value in sorted(globals().items()):
    if name.startswith("__"):
        print(name, type(value) if name == "__builtins__" else value)
print(sys.stdin.read(), open("data.txt").read())
heavy = "numpy", "tensorflow", "keras", "rich", "typer", "click"
print([name for name in heavy if name in sys.modules])
"""


@pytest.mark.parametrize(
    "target",
    [
        ["show.py", "--json", "x", "-m", "--", ""],
        ["./show.py"],
        ["project/../show.py"],
        ["link.py"],
        ["project", "x"],
        ["-m", "package.module", "x", "-m"],
        ["-m", "package"],
    ],
    ids=" ".join,
)
def test_what_the_script_finds(tmp_path, target):
    (tmp_path / "data.txt").write_text("beside it", "utf-8")
    for path in ("show.py", "project/__main__.py", "else/where.py"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(SHOW, "utf-8")
    (tmp_path / "package").mkdir()
    for name in ("__init__", "__main__", "module"):
        text = SHOW if name != "__init__" else ""
        (tmp_path / "package" / f"{name}.py").write_text(text, "utf-8")
    (tmp_path / "link.py").symlink_to("else/where.py")
    plain, watched = both(target, tmp_path, input="from standard input")
    assert plain.returncode == 0
    assert watched.stdout == plain.stdout
    assert watched.returncode == 3


def both(target, folder, **options):
    """The script under Python and under feedline."""
    options = {"cwd": folder, **options}
    plain = run([sys.executable, *target], **options)
    watched = feedline("why", *target, **options)
    for done in (plain, watched):
        done.stdout = re.sub(r"0x[0-9a-f]+", "0x", done.stdout)
    return plain, watched


def test_files_in_the_current_folder_do_not_get_in_the_way(tmp_path):
    """They are not on the path of a script in another folder."""
    for name in ("json", "feedline", "typing", "threading"):
        (tmp_path / f"{name}.py").write_text("mine = True", "utf-8")
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "train.py").write_text(
        "import json; print(json.dumps(1))", "utf-8"
    )
    home = Path(lines.HOME).parent
    environment = {**os.environ, "PYTHONPATH": str(home)}
    program = "import sys; del sys.path[0]; from feedline.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, "why", "code/train.py"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=LIMIT,
    )
    assert (done.stdout, done.returncode) == ("1\n", 3)


@pytest.mark.parametrize("start", ["fork", "spawn", "forkserver"])
def test_processes_of_the_script(tmp_path, start):
    (tmp_path / "train.py").write_text(
        textwrap.dedent(f"""\
        import multiprocessing, os, sys

        def square(x):
            return x * x, __name__, "feedline" in sys.modules

        if __name__ == "__main__":
            context = multiprocessing.get_context({start!r})
            with context.Pool(2) as pool:
                found = pool.map(square, range(4))
            print([f[0] for f in found], {start!r} == "fork" or found[0][1:])
        """),
        "utf-8",
    )
    plain, watched = both(["train.py"], tmp_path)
    assert watched.stdout == plain.stdout
    assert "[0, 1, 4, 9]" in plain.stdout
    assert watched.returncode == 3


def test_a_fork_that_runs_to_the_end_of_the_script(tmp_path):
    (tmp_path / "train.py").write_text(
        textwrap.dedent("""\
        import os, sys
        child = os.fork()
        if child:
            os.waitpid(child, 0)
            sys.exit("the parent's word")
        print("the child's word")
        """),
        "utf-8",
    )
    plain, watched = both(["train.py"], tmp_path)
    assert watched.stdout == plain.stdout == "the child's word\n"
    assert watched.returncode == plain.returncode == 1
    assert watched.stderr.startswith(plain.stderr)


def test_threads_that_are_no_daemons_are_waited_for(tmp_path):
    (tmp_path / "train.py").write_text(
        textwrap.dedent("""\
        import atexit, threading, time
        from concurrent.futures import ThreadPoolExecutor

        turns = {name: threading.Event() for name in ("main", "pool", "thread")}

        def after(before, name):
            turns[before].wait()
            time.sleep(0.1)  # whoever does not wait for this one is gone by then
            print(name)
            turns[name].set()

        atexit.register(print, "atexit")
        ThreadPoolExecutor().submit(after, "main", "pool")
        threading.Thread(target=after, args=("pool", "thread")).start()
        print("main")
        turns["main"].set()
        """),
        "utf-8",
    )
    plain, watched = both(["train.py"], tmp_path)
    assert watched.stdout == plain.stdout == "main\npool\nthread\natexit\n"


RESULT = (
    MODEL,
    DATA,
    STEP,
    """\
import sys

shuffled = ds.shuffle(100).map(lambda x, y: (x + tf.random.uniform([]), y))
model = keras.Sequential([
    keras.Input((3,)),
    keras.layers.Dense(8, "relu"),
    keras.layers.Dropout(0.5),
    keras.layers.Dense(1),
])
model.compile("adam", "mse", metrics=["mae"])
optimizer = keras.optimizers.Adam(0.01)
model.fit(shuffled, epochs=2, verbose=0, validation_data=ds)
model.fit(np.ones((99, 3)), np.ones(99), batch_size=7, verbose=0)
for x, y in shuffled:
    step(x, y)
function = tf.function(step)
for x, y in shuffled:
    function(x, y)
for x, y in shuffled:
    model.train_on_batch(x, y)

@tf.function
def whole(data):
    for x, y in data:
        step(x, y)

whole(shuffled)

@tf.function
def given(batches):
    step(*next(batches))

batches = iter(shuffled.repeat())
for _ in range(60):
    given(batches)
weights = [w.numpy() for w in model.weights + optimizer.variables]
np.savez(sys.argv[1], *weights, np.array(tf.random.uniform([3])))
""",
)


@pytest.mark.slow
@pytest.mark.tensorflow
def test_watching_does_not_change_the_result(tmp_path):
    """Shuffling, dropout, initial weights: bit for bit what Python computes."""
    import numpy as np

    script = tmp_path / "train.py"
    script.write_text("".join(textwrap.dedent(part) for part in RESULT), "utf-8")
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    why = ["-m", "feedline", "why", "--loop", "99"]
    for command, name, code in (([], "plain", 0), (why, "watched", 3)):
        done = subprocess.run(
            [sys.executable, *command, str(script), str(tmp_path / name)],
            capture_output=True,
            text=True,
            env=environment,
        )
        assert done.returncode == code, done.stderr
    assert done.stderr.count("Seen: ") == 7  # it was watched indeed
    plain, watched = (np.load(tmp_path / f"{n}.npz") for n in ("plain", "watched"))
    assert plain.files == watched.files
    for name in plain.files:
        np.testing.assert_array_equal(plain[name], watched[name])


@pytest.mark.tensorflow
@pytest.mark.filterwarnings("ignore::UserWarning:keras")
def test_nothing_of_ours_remains(tmp_path):
    before = list(sys.meta_path)
    text = """\
callbacks = [keras.callbacks.LambdaCallback()]
given = keras.callbacks.CallbackList(list(callbacks), add_history=True, model=model)
history = model.fit(ds, verbose=0, callbacks=callbacks)
model.fit(ds, verbose=0, callbacks=given)
function = model.train_function
"""
    caught = run_watched(tmp_path, MODEL, DATA, text, loop=99)
    found = caught.globals
    names = [type(c).__name__ for c in found["callbacks"] + found["given"].callbacks]
    assert "FeedlineWatch" not in names
    assert not hasattr(found["function"], "_feedline_original")
    assert sys.meta_path == before
    assert not caught.watch.on
    assert caught.watch.active == []
