"""A sealed process ends before it leaves a trace: each way to leave one, tried."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

HEAD = """\
import os, sys
sys.dont_write_bytecode = True
from feedline.session.rehearsal import landlock, native
from feedline.session.rehearsal.seal import Seal

class Ended(BaseException):
    pass

def end(what):
    raise Ended(what)

seal = Seal(SCRATCH, end)
native.install(seal)
seal.close()
"""
TRIED = """
def tried():
    import asyncio, ctypes, importlib, multiprocessing, shutil, signal, socket
    import sqlite3, subprocess, tempfile, pathlib
    cases = [
        lambda: open("new", "w"),
        lambda: open("old", "a"),
        lambda: open("old", "r+"),
        lambda: open("new", "xb"),
        lambda: os.open("new", os.O_WRONLY | os.O_CREAT),
        lambda: os.open("old", os.O_RDONLY | os.O_TRUNC),
        lambda: pathlib.Path("new").write_text("x"),
        lambda: pathlib.Path("new").touch(),
        lambda: open(os.path.join(SCRATCH, "..", "new"), "w"),
        lambda: open(os.path.join(SCRATCH, "link"), "w"),
        lambda: os.mkdir("new"),
        lambda: os.makedirs("new/more"),
        lambda: os.remove("old"),
        lambda: os.unlink("old"),
        lambda: os.rename("old", "new"),
        lambda: os.replace("old", os.path.join(SCRATCH, "new")),
        lambda: os.rmdir("folder"),
        lambda: os.link("old", "new"),
        lambda: os.symlink("old", "new"),
        lambda: os.truncate("old", 0),
        lambda: os.chmod("old", 0o600),
        lambda: os.utime("old"),
        lambda: os.mkfifo("new"),
        lambda: os.mknod("new"),
        lambda: shutil.rmtree("folder"),
        lambda: shutil.copy("old", "new"),
        lambda: shutil.move("old", "new"),
        lambda: open("pipe").read(),
        lambda: sqlite3.connect("new.db"),
        lambda: subprocess.run(["true"]),
        lambda: os.system("true"),
        lambda: os.popen("true"),
        lambda: os.fork(),
        lambda: os.execv("/bin/true", ["true"]),
        lambda: os.posix_spawn("/bin/true", ["true"], {}),
        lambda: os.spawnl(os.P_WAIT, "/bin/true", "true"),
        lambda: multiprocessing.get_context("fork").Process(target=int).start(),
        lambda: multiprocessing.get_context("spawn").Process(target=int).start(),
        lambda: os.kill(os.getppid(), signal.SIGTERM),
        lambda: socket.create_connection(("127.0.0.1", 9)),
        lambda: socket.socket().bind(("127.0.0.1", 0)),
        lambda: socket.socket(type=socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", 9)),
        lambda: importlib.import_module("writes_when_imported"),
    ]
    for case in cases:
        try:
            case()
            print("NOTHING", case.__code__.co_firstlineno)
        except Ended as ended:
            print(ended)
        except BaseException as error:
            print("OTHER", type(error), error)
"""
ALLOWED = """
import ctypes, importlib, multiprocessing, pathlib, shutil, socket, sqlite3, tempfile
open(os.devnull, "w").write("x")
open("old").read()
open(0).close()
with tempfile.NamedTemporaryFile("w") as file:
    file.write("x")
with tempfile.TemporaryFile("w") as file:
    file.write("x")
with tempfile.TemporaryDirectory() as folder:
    inner = pathlib.Path(folder, "a", "b")
    inner.mkdir(parents=True)
    (inner / "c").write_text("x")
    os.symlink("c", inner / "d")
    os.chmod(inner / "c", 0o600)
    os.rename(inner / "c", inner / "e")
    shutil.copy("old", inner / "f")
folder = os.open(SCRATCH, os.O_RDONLY)
os.mkdir("by descriptor", dir_fd=folder)
os.rmdir("by descriptor", dir_fd=folder)
sqlite3.connect(":memory:").execute("create table t (a)")
os.listdir("."); list(os.scandir(".")); os.chdir("."); os.environ["X"] = "y"
os.kill(os.getpid(), 0)
from feedline.fixes.means.workers.fork import fork  # a worker process of feedline's
if (worker := fork()) == 0:
    while True:
        __import__("time").sleep(1)
os.kill(worker, 9)
os.waitpid(worker, 0)
socket.socket().close(); socket.gethostname(); os.pipe()
ctypes.CDLL(None).getpid()
importlib.import_module("a_library").told()
print("fine")
"""


@pytest.fixture
def run(tmp_path):
    """Run a program in a folder with files, sealed; what is there is the same after."""
    place, scratch, library = (tmp_path / n for n in ("place", "scratch", "site"))
    for folder in (place, place / "folder", scratch, library / "site-packages"):
        folder.mkdir(parents=True)
    (place / "old").write_text("old")
    (scratch / "link").symlink_to(place / "old")
    subprocess.run(["mkfifo", str(place / "pipe")], check=True)
    (place / "writes_when_imported.py").write_text("open('new', 'w')\n")
    (library / "site-packages" / "a_library.py").write_text(
        "import subprocess\n"
        "told = lambda: print(*tried)\ntried = []\n"
        "for case in (lambda: open('new', 'w'), lambda: subprocess.run(['true'])):\n"
        "    try:\n        case()\n"
        "    except PermissionError as error:\n        tried.append(error.errno)\n"
    )

    def content():
        return sorted(
            (str(path), path.read_text() if path.is_file() else path.stat().st_mode)
            for path in place.rglob("*")
        )

    def run(program):
        script = place / "script.py"
        text = f"SCRATCH = {str(scratch)!r}\nTEXT = {program!r}\n"
        text += f"sys_path = {str(library / 'site-packages')!r}\n"
        text += textwrap.dedent(HEAD)
        text += "sys.path[:0] = [sys_path, os.getcwd()]\nimport tempfile\n"
        text += "tempfile.tempdir = SCRATCH\n"
        text += "exec(compile(TEXT, os.path.abspath('script.py'), 'exec'))\n"
        script.write_text(program)
        before = content()
        done = subprocess.run(
            [sys.executable, "-c", text],
            cwd=place,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=240,
        )
        assert content() == before
        return done

    return run


def test_every_way_to_leave_a_trace_is_seen_before_it_is_left(run):
    done = run(f"{TRIED}\ntried()\n")
    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stderr
    assert len(lines) == TRIED.count("        lambda:")
    seen = [line for line in lines if not line.startswith(("script.py:", "writes_"))]
    assert seen == []
    # It says which line, and what of: the script's own words.
    assert lines[0].endswith("writes new")
    assert "script.py:6 " in lines[0]
    assert any("connects to 127.0.0.1:9" in line for line in lines)
    assert any("starts a program: true" in line for line in lines)
    assert lines[-1].startswith("writes_when_imported.py:1 writes")


def test_what_leaves_none_goes_on(run):
    done = run(ALLOWED)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "13 13\nfine\n"


NATIVE = """
import h5py
import keras
import numpy as np
import tensorflow as tf

model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
x, y = np.zeros((4, 2), "float32"), np.zeros((4, 1), "float32")
saved = tf.train.Checkpoint(v=tf.Variable(1.0))
ds = tf.data.Dataset.range(3)

@tf.function
def graph():
    tf.io.write_file("new", "x")

cases = [
    lambda: saved.save("new"),
    lambda: saved.write("new"),
    lambda: tf.train.CheckpointManager(saved, "new", 3).save(),
    lambda: tf.saved_model.save(tf.Module(), "new"),
    lambda: tf.io.write_file("new", "x"),
    lambda: graph(),
    lambda: tf.io.gfile.GFile("new", "w").write("x"),
    lambda: tf.io.gfile.makedirs("new"),
    lambda: tf.io.gfile.remove("old"),
    lambda: tf.io.gfile.rename("old", "new"),
    lambda: tf.io.gfile.copy("old", "new"),
    lambda: tf.io.gfile.rmtree("folder"),
    lambda: tf.io.TFRecordWriter("new"),
    lambda: tf.summary.create_file_writer("new").set_as_default(),
    lambda: list(ds.cache("new")),
    lambda: ds.save("new"),
    lambda: list(ds.snapshot("new")),
    lambda: h5py.File("new.h5", "w"),
    lambda: model.save("new.keras"),
    lambda: model.save_weights("new.weights.h5"),
    lambda: model.export("new"),
    lambda: np.save("new", x),
    lambda: model.fit(x, y, callbacks=[keras.callbacks.TensorBoard("new")], verbose=0),
    lambda: model.fit(x, y, callbacks=[keras.callbacks.CSVLogger("new")], verbose=0),
]
for case in cases:
    try:
        case()
        print("NOTHING", case.__code__.co_firstlineno)
    except Ended as ended:
        print("ended", ended)
    except BaseException as error:
        print("OTHER", case.__code__.co_firstlineno, type(error), error)
# And what leaves no trace goes on.
model.fit(x, y, verbose=0)
assert len(list(ds.cache().shuffle(3).batch(2).prefetch(1))) == 2
with tf.GradientTape() as tape:
    tape.gradient(saved.v * 2.0, saved.v)
inside = os.path.join(SCRATCH, "a")
tf.io.write_file(inside, "x")
assert tf.io.read_file(inside).numpy() == b"x"
saved.restore(saved.save(os.path.join(SCRATCH, "b")))
print("fine")
"""


@pytest.mark.tensorflow
def test_what_tensorflow_writes_by_itself_is_seen_too(run):
    done = run(NATIVE)
    assert done.returncode == 0, done.stderr
    *lines, last = done.stdout.splitlines()
    assert [line for line in lines if not line.startswith("ended")] == []
    assert len(lines) == NATIVE.count("    lambda:")
    assert last == "fine"
