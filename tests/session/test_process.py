"""The process around a script under `feedline run`: its signals, streams, arguments,
threads and exit code are those that it has without us. Nothing is trained here."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from feedline.fixes.saved import save
from feedline.report.json import to_json
from tests.place import LIMIT, gone, wait_until
from tests.plans import somewhere
from tests.report.samples import sample
from tests.scripts import HEAD, MODEL, PLAIN, STOPPED

RUN = ("-m", "feedline", "run")


def run(place, *options, **more):
    return place.run(*RUN, *options, "train.py", **more)


def own(text: str) -> list[str]:
    """What feedline did not say."""
    return [line for line in text.splitlines() if not line.startswith("feedline: ")]


def same(place, *options, **more):
    plain, done = place.run("train.py", **more), run(place, *options, **more)
    assert done.stdout == plain.stdout, done.stderr
    assert own(done.stderr) == own(plain.stderr)
    code = plain.returncode
    assert done.returncode == (code if code >= 0 else 128 - code)
    return done


# -------------------------------------------------------------------- signals

CAUGHT = [
    *("SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGALRM"),
    *("SIGVTALRM", "SIGPROF", "SIGXCPU", "SIGXFSZ", "SIGIO", "SIGPWR", "SIGSYS"),
    *("SIGTRAP", "SIGABRT", "SIGPIPE", "SIGURG", "SIGWINCH", "SIGCONT", "SIGTSTP"),
    *("SIGTTIN", "SIGTTOU", "SIGRTMIN", "SIGRTMAX", "SIGSEGV", "SIGBUS", "SIGFPE"),
]
CATCHES = f"""\
def caught(number, frame):
    print(signal.Signals(number).name, flush=True)

for name in {CAUGHT}:
    signal.signal(getattr(signal, name), caught)
print(os.getpid(), flush=True)
while True:
    time.sleep(0.02)
"""


def test_every_signal_reaches_the_script_once(place):
    """Sent to feedline alone, or to all of its group, as a terminal does."""
    place.write(CATCHES)
    process = place.start(*RUN, "train.py")
    script = int(process.stdout.readline())
    for name in CAUGHT:
        number = getattr(signal, name)
        process.send_signal(number)
        assert process.stdout.readline().strip() == name
        os.killpg(process.pid, number)
        assert process.stdout.readline().strip() == name
    # Whatever came twice would have come before this.
    process.send_signal(signal.SIGUSR1)
    assert process.stdout.readline().strip() == "SIGUSR1"
    assert process.poll() is None
    os.kill(script, signal.SIGKILL)
    assert process.wait(LIMIT) == 137
    assert process.stdout.read() == ""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGUSR1", "SIGALRM", "SIGQUIT"])
def test_a_signal_that_the_script_does_not_catch_ends_it(place, name):
    place.write("print(os.getpid(), flush=True)\ntime.sleep(100)\n")
    process = place.start(*RUN, "train.py")
    script = int(process.stdout.readline())
    process.send_signal(getattr(signal, name))
    assert process.wait(LIMIT) == 128 + getattr(signal, name)
    assert wait_until(lambda: gone(script))
    assert f"killed by {name}" in process.stderr.read()


def test_a_script_that_takes_its_time_to_end_has_it(place):
    """Not even a second Ctrl-C ends it, if it does not want to."""
    place.write("""\
        signal.signal(signal.SIGINT, lambda *_: print("not yet", flush=True))
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(9))
        print("ready", flush=True)
        while True:
            time.sleep(0.02)
        """)
    process = place.start(*RUN, "train.py")
    assert process.stdout.readline() == "ready\n"
    for _ in range(3):
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "not yet\n"
    process.send_signal(signal.SIGTERM)
    assert process.wait(LIMIT) == 9


def test_kill_9_of_feedline_ends_the_script(place):
    place.write("print(os.getpid(), flush=True)\ntime.sleep(100)\n")
    process = place.start(*RUN, "train.py")
    script = int(process.stdout.readline())
    process.kill()
    assert process.wait(LIMIT) == -9
    assert wait_until(lambda: gone(script))


def test_what_nohup_ignores_is_ignored(place):
    place.write("""\
        print(os.getpid(), flush=True)
        sys.stdin.readline()
        """)
    shell = "trap '' HUP; exec \"$0\" -m feedline run train.py"
    process = subprocess.Popen(
        ["sh", "-c", shell, sys.executable],
        cwd=place.root,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    place.started.append(process)
    process.stdout.readline()
    process.send_signal(signal.SIGHUP)
    os.killpg(process.pid, signal.SIGHUP)
    time.sleep(0.3)
    assert process.poll() is None
    assert process.communicate("\n")[0] == ""
    assert process.returncode == 0


def state(pid: int) -> str:
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0]


def until(pid: int, *states: str) -> None:
    assert wait_until(lambda: state(pid) in states), (
        f"{pid} is {state(pid)}, not {states}"
    )


def test_it_can_be_stopped_and_go_on(place):
    """As with Ctrl-Z and `fg`: feedline stops with the script."""
    place.write("""\
        print(os.getpid(), flush=True)
        while not os.path.exists("go"):
            time.sleep(0.02)
        print("gone on", flush=True)
        """)
    # A group that nobody waits for is not stopped by the kernel; a shell's job is.
    program = (
        "import os, subprocess, sys\n"
        "process = subprocess.Popen([sys.executable, *sys.argv[1:]], "
        "preexec_fn=lambda: os.setpgid(0, 0))\n"
        "print(process.pid, flush=True)\n"
        "sys.exit(process.wait())\n"
    )
    process = place.start("-c", program, *RUN, "train.py")
    ours, script = (int(process.stdout.readline()) for _ in range(2))
    for send in (os.kill, os.killpg):
        send(ours, signal.SIGTSTP)
        until(script, "T")
        until(ours, "T")
        send(ours, signal.SIGCONT)
        until(script, "S", "R")
        until(ours, "S", "R")
    (place.root / "go").touch()
    assert process.stdout.readline() == "gone on\n"
    assert process.wait(LIMIT) == 0


INTERRUPTED = """\
import atexit
atexit.register(print, "at exit", flush=True)
threading.Thread(target=lambda: (time.sleep(0.2), print("thread", flush=True))).start()
print("ready", flush=True), time.sleep(100)
"""


@pytest.mark.parametrize(
    "hook",
    ["", "sys.excepthook = lambda kind, error, trace: print('hook', kind, flush=True)"],
)
def test_ctrl_c_is_pythons_own(place, hook):
    place.write(hook, "\n", INTERRUPTED)
    ends = []
    for command, code in ((("train.py",), -2), ((*RUN, "train.py"), 130)):
        process = place.start(*command)
        assert process.stdout.readline() == "ready\n"
        os.killpg(process.pid, signal.SIGINT)
        out, error = process.communicate(timeout=LIMIT)
        assert process.returncode == code
        # Where in its line it was, is marked below it.
        lines = [line for line in error.splitlines() if set(line) - set(" ^~")]
        ends.append((out, lines))
    assert ends[0] == ends[1]
    assert ("hook <class" in ends[0][0]) == bool(hook)


# ----------------------------------------------------------- threads and hooks

SEES = """\
import logging
hooks = sys.excepthook, threading.excepthook, sys.unraisablehook
print([each.__module__ for each in hooks])
print(threading.active_count(), threading.enumerate() == [threading.main_thread()])
print([signal.getsignal(n) for n in sorted(signal.valid_signals())])
print(signal.pthread_sigmask(signal.SIG_BLOCK, []), signal.sigpending())
print(sys.argv, sys.orig_argv[1:], sys.flags, sorted(sys.warnoptions))
print(os.getpgrp() == os.getsid(0), len(logging.root.handlers))
r, w = os.pipe()
print(r, w)
for thread in threading.enumerate():
    if thread is not threading.main_thread():
        thread.join()
"""


def test_the_script_sees_what_it_sees_without_us(place):
    place.write(SEES)
    same(place)


def test_inherited_descriptors_are_the_scripts(place):
    """`feedline run train.py <(...)`, `3>log`."""
    place.write("""\
        print(os.read(int(sys.argv[1]), 9))
        os.write(int(sys.argv[2]), b"from the script")
        """)
    for command in ((), RUN):
        (reads, fed), (read, writes) = os.pipe(), os.pipe()
        os.write(fed, b"given")
        done = place.run(
            *command, "train.py", str(reads), str(writes), pass_fds=(reads, writes)
        )
        assert done.stdout == "b'given'\n", done.stderr
        assert os.read(read, 99) == b"from the script"
        for each in (reads, fed, read, writes):
            os.close(each)


LOUD = """\
import io, logging
kept = io.StringIO()
class Tee:
    def write(self, text):
        kept.write(text)
        return sys.__stderr__.write(text)
    def flush(self):
        sys.__stderr__.flush()
sys.stderr = Tee()
logging.basicConfig(level=logging.DEBUG, stream=open("log", "w"))
logging.getLogger("feedline").warning("not the script's")
logging.getLogger("mine").info("mine")
import atexit
atexit.register(lambda: open("tee", "w").write(kept.getvalue()))
"""


def test_its_log_and_its_tee_have_none_of_our_lines(place):
    place.write(LOUD, "print('to the tee', file=sys.stderr)\n")
    done = run(place)
    assert done.returncode == 0
    assert "feedline: train.py finished without a training loop" in done.stderr
    assert (place.root / "log").read_text() == "INFO:mine:mine\n"
    assert (place.root / "tee").read_text() == "to the tee\n"


ALL_THREADS = """\
print(sorted(type(thread).__name__ for thread in threading.enumerate()))
for thread in threading.enumerate():
    if thread is not threading.main_thread():
        thread.join()
print("joined")
"""


@pytest.mark.tensorflow
def test_a_training_that_is_measured_shows_nothing_of_it_either(place):
    """Neither in its log and its tee, nor in its threads, all of which it joins. So
    many epochs are worth measuring on any machine."""
    head = HEAD.replace("ROUNDS = 120", "ROUNDS = 20")
    place.write(LOUD, head, MODEL, PLAIN, STOPPED, ALL_THREADS)
    plain = place.python()
    logs = [(place.root / name).read_text() for name in ("log", "tee")]
    done = run(place, "--seconds", "2")
    assert done.stdout == plain.stdout, done.stderr
    assert done.stdout.endswith("joined\n")
    assert "feedline: training found at train.py:" in done.stderr
    for name, before in zip(("log", "tee"), logs, strict=True):
        text = (place.root / name).read_text()
        assert "feedline: " not in text
        assert "Traceback" not in text
        assert text.count("INFO:mine") == before.count("INFO:mine")


# ------------------------------------------------------------ what it is given


def test_very_many_very_long_arguments(place):
    """All that the system lets a command have, and names that are no Unicode."""
    place.write("""\
        import hashlib
        print(len(sys.argv), hashlib.sha256(repr(sys.argv).encode()).hexdigest())
        """)
    many = [f"{number:06}-" + "x" * 90 for number in range(12_000)]
    plain = place.run("train.py", *many, b"\xff\xfe")
    done = place.run(*RUN, "train.py", *many, b"\xff\xfe")
    assert done.stdout == plain.stdout
    assert done.stdout.startswith("12002 ")
    assert done.returncode == 0, done.stderr


def test_a_very_long_plan(place):
    report = json.loads(to_json(replace(sample(), script="x" * 1_000_000)))
    plan = replace(somewhere(where="train.py:1"), report=report)
    save(plan, place.root / "p.json")
    assert (place.root / "p.json").stat().st_size > 1_000_000
    place.write("print('ran')\n")
    done = run(place, "--plan", "p.json")
    assert (done.stdout, done.returncode) == ("ran\n", 0), done.stderr


@pytest.mark.parametrize("folder", ["missing", "a file", "read-only"])
def test_no_temporary_folder_is_needed(place, folder, monkeypatch):
    path = place.root / folder
    if folder == "a file":
        path.write_text("")
    elif folder == "read-only":
        path = "/proc"  # where not even root may write
    place.write("""\
        print("ran")
        if len(sys.argv) > 5:
            tf.GradientTape()
        sys.exit(6)
        """)
    place.temp = path
    done = same(place)
    assert done.returncode == 6
    assert "Traceback" not in done.stderr


def test_a_full_disk_is_nothing_to_us(place):
    """No file of this process may grow at all, and its parent has none."""
    place.write("""\
        import resource
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        print("ran")
        """)
    assert same(place).returncode == 0


# -------------------------------------------------------------- how it comes out


def test_a_script_that_trains_nothing_ends_well(place):
    place.write("print('done')")
    done = same(place, "--json", "r.json")
    assert done.returncode == 0
    told = [line for line in done.stderr.splitlines() if line.startswith("feedline: ")]
    assert len(told) == 2
    assert "without a training loop long enough" in told[0]
    assert "r.json" in told[1]
    assert place.left() == []


def test_a_plan_with_a_damaged_report_is_refused_before_the_script_starts(place):
    place.write("print('ran')")
    plan = replace(somewhere(), report={"schema": 1, "shares": 3})
    (place.root / "p.json").write_text(json.dumps(plan.to_dict()))
    done = run(place, "--plan", "p.json")
    assert (done.returncode, done.stdout) == (2, "")
    assert "its report" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("option", ["--json", "--html", "--plan", "--patch"])
def test_what_cannot_be_written_is_said_before_the_script_starts(place, option):
    place.write("print('ran')")
    done = run(place, option, "/proc/new")
    assert (done.returncode, done.stdout) == (2, "")
    assert "cannot write /proc/new" in done.stderr


def test_feedline_that_cannot_start_lets_the_script_run(place, monkeypatch):
    """It breaks in the script's process before the script begins."""
    folder = place.root / "site"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(
        "import sys\nif '-c' in sys.argv[:1]:\n"
        "    import feedline.measure.run as run\n"
        "    run.RunSampler.__init__ = lambda *_: 1 / 0\n"
    )
    path = [str(folder), *(p for p in sys.path if p)]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path))
    place.write("print(sys.argv, threading.active_count()); sys.exit(4)")
    assert same(place).returncode == 4
