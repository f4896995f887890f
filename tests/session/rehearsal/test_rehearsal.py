"""A rehearsal leaves no trace: the script is run once, as far as anybody can see.

These are second runs: an earlier one remembered a long training that only a rehearsal
could cure (`AGAIN`). Most of them train nothing, and the rehearsal ends with them.
"""

from __future__ import annotations

import hashlib
import os
import signal
import socket
import time

import pytest

from feedline.report.json import load as load_report
from tests.place import LIMIT, gone, wait_until
from tests.scripts import HEAD, MODEL
from tests.session.test_process import own

AGAIN = """\
from feedline.cli.main import main
from feedline.session.plans.memory import Memory, Uncured
known = Uncured("train.py:1", "its step stands in the loop itself", 1.0, 1e6, 1.0)
Memory.uncured = lambda memory: known
main()
"""
RUN = ("-c", AGAIN, "run")
REHEARSING = "feedline: rehearsing the script first, in a hidden run: train.py:"


def run(place, *options, **more):
    return place.run(*RUN, *options, "train.py", **more)


def files(place) -> dict[str, str]:
    return {
        name: hashlib.sha256((place.root / name).read_bytes()).hexdigest()
        if (place.root / name).is_file()
        else "a folder"
        for name in place.left()
    }


def clean(place) -> None:
    for name in reversed(place.left()):
        path = place.root / name
        path.rmdir() if path.is_dir() else path.unlink()


def same(place, *options, **more):
    """Plain Python, then feedline in the same clean folder: all that is left, printed
    and returned is equal."""
    clean(place)
    plain = place.run("train.py", **more)
    expected = files(place)
    clean(place)
    for each in more.values():  # a file on standard input: read again from its start
        if hasattr(each, "seek"):
            each.seek(0)
    done = run(place, *options, **more)
    assert done.stdout == plain.stdout, done.stderr
    assert own(done.stderr) == own(plain.stderr)
    assert done.returncode == plain.returncode
    assert files(place) == expected
    assert "Traceback" not in done.stderr.replace(plain.stderr, "")
    return done


TRACES = {
    "open": ("open('new', 'w').write('x')", "train.py:2 writes new"),
    "mkdir": ("os.mkdir('new')", "train.py:2 makes the folder new"),
    "append": ("print('x', file=open('log', 'a'))", "train.py:2 writes log"),
    "sqlite": (
        "import sqlite3\nsqlite3.connect('a.db').execute('create table t (a)')",
        "train.py:3 opens the database a.db",
    ),
    "subprocess": (
        "import subprocess\nsubprocess.run(['touch', 'new'])",
        "train.py:3 starts a program: touch",
    ),
    "system": ("os.system('echo x >> new')", "train.py:2 starts a program"),
    "fork": ("os.fork() or os._exit(0)\nos.wait()", "train.py:2 forks"),
    "remove": (
        "open('a', 'w').close()\nos.remove('a')",
        "train.py:2 writes a",
    ),
    "caught": (
        "try:\n    os.mkdir('new')\nexcept BaseException:\n    print('no')",
        "train.py:3 makes the folder new",
    ),
    "in a thread": (
        (
            "t = threading.Thread(target=lambda: open('new', 'w').close())\n"
            "t.start(); t.join()"
        ),
        "train.py:2 writes new",
    ),
}


@pytest.mark.parametrize("name", TRACES)
def test_it_ends_before_the_script_leaves_a_trace(place, name):
    text, said = TRACES[name]
    place.write(f"{text}\nprint('once', sys.stdin.read())\nsys.exit(3)\n")
    done = same(place)
    assert REHEARSING in done.stderr
    assert said in done.stderr
    assert "--rehearse" in done.stderr
    assert done.returncode == 3


def test_it_does_not_connect(place):
    """One connection comes, that of the run."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        text = f"import socket\nsocket.create_connection(('127.0.0.1', {port})).close()"
        place.write(f"{text}\nprint('connected')\n")
        done = run(place)
        assert f"connects to 127.0.0.1:{port}" in done.stderr
        assert done.stdout == "connected\n"
        server.settimeout(0.2)
        server.accept()[0].close()
        with pytest.raises(TimeoutError):
            server.accept()


QUIET = {
    "prints": "print('out', flush=True); print('err', file=sys.stderr)",
    "to the descriptor": "os.write(1, b'out'); os.write(2, b'err\\n')",
    "fails": "print('before')\nraise ValueError('by itself')",
    "exits": "print('before')\nsys.exit('enough')",
    "asks": "print(input('name? '))",
    "leaves at once": "os.write(1, b'x'); os._exit(4)",
    "has work for its end": (
        "import atexit\natexit.register(lambda: open('at exit', 'w').close())\n"
        "print('x')"
    ),
    "is killed": "os.kill(os.getpid(), 11)",
    "temporary files": (
        "import tempfile\nwith tempfile.NamedTemporaryFile() as f:\n    print('x')"
    ),
}


@pytest.mark.parametrize("name", QUIET)
@pytest.mark.parametrize(
    "options",
    [(), pytest.param(("--rehearse",), marks=pytest.mark.slow)],
    ids=["", "rehearse"],
)
def test_what_it_says_is_said_once(place, name, options):
    place.write(QUIET[name])
    if name == "is killed":
        done = run(place, *options)
        assert (done.stdout, done.returncode) == ("", 139)
    else:
        done = same(place, *options)
    assert "rehearsing the script first" in done.stderr
    assert os.listdir(place.temp) == []


CONFIGURED = """\
first = sys.stdin.readline()
print("first", first.strip())
if "slow" in first:
    time.sleep(0.3)
print("rest", len(sys.stdin.read()), os.isatty(0))
import stat
print(stat.S_IFMT(os.fstat(0).st_mode))
"""


@pytest.mark.parametrize("options", [(), ("--rehearse",)], ids=["", "rehearse"])
def test_configuration_on_standard_input(place, options):
    place.write(CONFIGURED)
    (place.temp / "in").write_text("epochs: 3\n" + "more\n" * 40_000)
    with (place.temp / "in").open() as given:
        same(place, *options, stdin=given)
    for rest in ("", "more\n" * 40_000):
        outs = []
        for command in ((), (*RUN, *options)):
            process = place.start(*command, "train.py", stdin=-1)
            process.stdin.write("epochs: slow\n")
            process.stdin.flush()
            time.sleep(0.1)
            outs.append((process.communicate(rest)[0], process.returncode))
        assert outs[0] == outs[1]
        assert "first epochs: slow" in outs[0][0]


def test_only_part_of_a_pipe_is_read_and_the_writer_waits(place):
    """Who writes more only after an answer gets one, from the run that counts."""
    place.write("print('got', input(), flush=True)\nprint('got', input())\n")
    process = place.start(*RUN, "train.py", stdin=-1)
    process.stdin.write("one\n")
    process.stdin.flush()
    # The rehearsal waits for a second line, and has got none.
    for line in process.stderr:
        if "rehearsing" in line:
            break
    process.stdin.write("two\n")
    process.stdin.flush()
    assert process.stdout.readline() == "got one\n"
    assert process.stdout.readline() == "got two\n"
    assert process.wait(LIMIT) == 0


# -------------------------------------------------------------------- signals

WAITS = """\
signal.signal(signal.SIGUSR1, lambda *_: print("got USR1", flush=True))
sys.stdin.read()
print("ran", flush=True)
time.sleep(100)
"""
HEARS = """\
heard = []
signal.signal(signal.SIGUSR1, lambda *_: heard.append("got USR1"))
sys.stdin.read()
print("ran", flush=True)
while not heard and not os.path.exists(f"over-{os.getpid()}"):
    time.sleep(0.02)
print(*heard, flush=True)
"""


def started(place, text):
    """feedline with the script in its rehearsal: its process, and the rehearsal's."""
    place.write(text)
    process = place.start(*RUN, "train.py", stdin=-1)
    while "rehearsing" not in process.stderr.readline():
        pass
    assert wait_until(lambda: ready(process.pid)), "no rehearsal was started"
    return process, ready(process.pid)[0]


def ready(pid: int) -> list[int]:
    """The children that wait for the signal."""
    found = []
    for each in children(pid):
        with open(f"/proc/{each}/status") as file:
            caught = next(line for line in file if line.startswith("SigCgt"))
        if int(caught.split()[1], 16) >> (signal.SIGUSR1 - 1) & 1:
            found.append(each)
    return found


def children(pid: int) -> list[int]:
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(each) for each in file.read().split()]


@pytest.mark.parametrize(
    "send",
    [os.kill, pytest.param(os.killpg, marks=pytest.mark.slow)],
    ids=["alone", "group"],
)
@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP", "SIGALRM"])
def test_a_signal_that_ends_feedline_ends_all(place, name, send):
    process, rehearsal = started(place, WAITS)
    send(process.pid, getattr(signal, name))
    out, error = process.communicate(timeout=LIMIT)
    assert process.returncode == 128 + getattr(signal, name)
    assert out == ""
    assert "the script was not started" in error
    assert wait_until(lambda: gone(rehearsal))
    assert os.listdir(place.temp) == []


def test_a_signal_for_the_script_is_kept_for_the_run(place):
    """The rehearsal, which does not get it, ends when told to; the run waits for it."""
    process, rehearsal = started(place, HEARS)
    process.send_signal(signal.SIGUSR1)
    (place.root / f"over-{rehearsal}").touch()
    out, _ = process.communicate(timeout=LIMIT)
    assert process.returncode == 0
    assert out == "ran\ngot USR1\n"
    assert wait_until(lambda: gone(rehearsal))


def test_kill_9_of_feedline_ends_the_rehearsal(place):
    process, rehearsal = started(place, WAITS)
    assert len(os.listdir(place.temp)) == 1
    process.kill()
    process.wait(LIMIT)
    assert wait_until(lambda: gone(rehearsal))
    assert wait_until(lambda: not os.listdir(place.temp))


@pytest.mark.parametrize("folder", ["missing", "read-only"])
def test_without_a_temporary_folder_there_is_none(place, folder):
    place.write("print('ran'); sys.exit(5)\n")
    place.temp = place.root / "none" if folder == "missing" else "/proc"
    done = run(place)
    assert (done.stdout, done.returncode) == ("ran\n", 5)
    assert "Traceback" not in done.stderr


# ------------------------------------------------------------------- training

RESUMES = """\
print("before the loop", flush=True)
optimizer = keras.optimizers.SGD(0.1)
ds = tf.data.Dataset.from_tensor_slices((pictures[:, :40, :40], labels))
ds = ds.shuffle(64, seed=2).repeat(4).batch(8)
saved = tf.train.Checkpoint(model=model, optimizer=optimizer)
keeper = tf.train.CheckpointManager(saved, "checkpoints", 2)
if keeper.latest_checkpoint:
    print("resumed")
    saved.restore(keeper.latest_checkpoint)

def step(x, y):
    with tf.GradientTape() as tape:
        error = model(x, training=True) - tf.one_hot(y, 10)
        loss = tf.reduce_mean(error**2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss

for epoch in range(3):
    for x, y in ds:
        loss = step(x, y)
    SAVE
print("steps", int(optimizer.iterations))
told("weights", model)
"""
SAVES = {
    "checkpoint": "keeper.save()",
    "h5": "model.save_weights(f'w{epoch}.weights.h5')",
}


def own_files(place) -> list[str]:
    return [name for name in place.left() if not name.endswith("r.json")]


@pytest.mark.tensorflow
@pytest.mark.parametrize(
    "name", ["checkpoint", pytest.param("h5", marks=pytest.mark.slow)]
)
def test_a_loop_that_saves_and_resumes_trains_as_often_as_by_itself(place, name):
    place.write(HEAD, MODEL, RESUMES.replace("SAVE", SAVES[name]))
    plain = place.python()
    expected = own_files(place)
    for path in sorted(place.root.rglob("*"), reverse=True):
        if path.is_file() and path != place.script:
            path.unlink()
    done = run(place, "--seconds", "4")
    assert done.stdout == plain.stdout, done.stderr
    assert "steps 96" in done.stdout
    assert own_files(place) == expected
    # At its first save the rehearsal has come to its end already, or ends there.
    assert "rehearsing the script first" in done.stderr
    assert os.listdir(place.temp) == []


@pytest.mark.tensorflow
def test_a_loop_that_leaves_no_trace_is_rehearsed_and_runs_once(place):
    place.write(HEAD, MODEL, RESUMES.replace("SAVE", "print('epoch', epoch)"))
    (place.root / "train.py").write_text(
        (place.root / "train.py").read_text().replace("range(3)", "range(30)")
    )
    plain = place.python()
    done = run(place, "--seconds", "4", "--json", "r.json")
    assert done.stdout == plain.stdout, done.stderr
    assert done.returncode == 0
    assert "measuring, at most 4 s" in done.stderr
    assert load_report(place.root / "r.json").step.observed_ms > 0
    assert os.listdir(place.temp) == []


@pytest.mark.slow
@pytest.mark.tensorflow
def test_a_fit_that_can_be_measured_in_the_run_ends_the_rehearsal(place):
    """The source asked for one; the training does not."""
    fit = "ds = ds.batch(8)\ntold('w', model, model.fit(ds, epochs=3, verbose=0))\n"
    place.write(HEAD, MODEL, fit)
    plain = place.python()
    done = run(place, "--seconds", "4")
    assert done.stdout == plain.stdout, done.stderr
    told = [line for line in done.stderr.splitlines() if line.startswith("feedline: ")]
    assert "rehearsing the script first" in told[0]
    assert "training found at" in told[1]
    assert "unfixed" not in "".join(told[:3])
