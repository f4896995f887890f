"""However a script ends, its workers end with it."""

import os
import subprocess
import sys
import textwrap

import pytest
from tests.place import LIMIT, gone, wait_until

pytestmark = pytest.mark.tensorflow


SCRIPT = """
    import os, signal, sys, time
    import tensorflow as tf
    from feedline.fixes.means.workers.function import parallel_python_map
    from feedline.job.tfdata.read import read

    folder = sys.argv[1]

    def slow(n):
        time.sleep(0.2)
        return n

    def job(how):
        dataset = tf.data.Dataset.range(1000).map(
            lambda n: tf.numpy_function(slow, [n], tf.int64))
        made = parallel_python_map(read(dataset).root, 2)
        pids = [child.pid for pool in made.pools for child in pool._children]
        remade = tf.data.Dataset.range(1000).map(
            made.func, num_parallel_calls=made.calls)
        if how == "fork":  # the workers are not the forked process's
            if os.fork() == 0:
                os._exit(0 if made.pools[0].call((5,), lambda: 50) == 50 else 1)
            code = os.waitstatus_to_exitcode(os.wait()[1])
        for n in remade:
            with open(f"{folder}/{how}.part", "w") as file:
                print(*pids, file=file)
            os.replace(f"{folder}/{how}.part", f"{folder}/{how}")
            if how == "fork":
                sys.exit(code)
            if how == "exit":
                sys.exit(7)

    jobs = {}
    for how in ("exit", "fork", "SIGKILL", "SIGINT"):
        jobs[how] = os.fork()  # TensorFlow is imported; nothing of it runs yet
        if jobs[how] == 0:
            job(how)
            os._exit(99)
    for how, pid in jobs.items():
        if how[:3] == "SIG":
            while not os.path.exists(f"{folder}/{how}"):
                time.sleep(0.05)
            os.kill(pid, getattr(signal, how))
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        print(how, code, flush=True)
    os._exit(0)
"""


def test_no_orphans(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT), "utf-8")
    done = subprocess.run(
        [sys.executable, script, tmp_path],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=LIMIT,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
    )
    ends = dict(line.split() for line in done.stdout.splitlines())
    assert ends["exit"] == "7", done.stderr
    assert ends["fork"] == "0", done.stderr
    assert ends["SIGKILL"] == "-9"
    assert ends["SIGINT"] in ("1", "-2", "130")
    assert "KeyboardInterrupt" in done.stderr
    workers = [int(pid) for how in ends for pid in (tmp_path / how).read_text().split()]
    assert len(workers) == 8
    assert wait_until(lambda: all(map(gone, workers)), 60)
