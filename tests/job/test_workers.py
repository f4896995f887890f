"""Python in other processes gives what it gave here, and never hangs the job."""

import functools
import itertools
import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
from dataclasses import replace

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras.src.trainers.data_adapters.py_dataset_adapter import PyDatasetAdapter

from feedline import fixes
from feedline.fixes.fix import Edit
from feedline.job.pipeline import Pipeline
from feedline.job.read import read
from feedline.job.rebuild import rebuild
from feedline.job.workers import CannotFix
from feedline.job.workers.function import parallel_python_map
from feedline.job.workers.generator import generator_ahead
from feedline.job.workers.pool import Pool
from feedline.job.workers.process import Channel
from feedline.job.workers.pydataset import parallel_pydataset
from feedline.job.workers.shape import Purity, purity, tensorflow_in
from feedline.prove.proof import Same
from feedline.prove.same import compare

pytestmark = pytest.mark.tensorflow


def children():
    """Processes that this one has made and not yet buried."""
    me = str(os.getpid())
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[1] == me:
            found.append(int(pid))
    return found


@pytest.fixture(autouse=True)
def nobody_left():
    before = set(children())
    yield
    until = time.monotonic() + 10
    while set(children()) - before and time.monotonic() < until:
        time.sleep(0.05)
    assert set(children()) <= before


def values(dataset):
    return [
        [np.asarray(one).tolist() for one in tf.nest.flatten(element)]
        for element in dataset
    ]


def in_workers(dataset, workers=2, **kwargs):
    pipeline = read(dataset)
    made = parallel_python_map(pipeline.root, workers, **kwargs)
    args = {
        **pipeline.root.args,
        "func": made.func,
        "num_parallel_calls": made.calls,
        "deterministic": True,
    }
    return rebuild(Pipeline(replace(pipeline.root, args=args))), made


# Values


@pytest.mark.parametrize("size", [64, 10**6])
def test_shipped(size):
    region = Channel(size).region
    for value in (
        (),
        np.arange(1000.0),
        np.asfortranarray(np.arange(12).reshape(3, 4)),
        {"a": [np.zeros((0, 3)), b"x" * 20_000], "b": (None, "text", 3, True)},
        np.array([b"a\0", "b", None], object),
        tf.bfloat16.as_numpy_dtype(1.5) * np.ones(3, tf.bfloat16.as_numpy_dtype),
        np.float32(2)[None] * np.arange(5000, dtype=np.float32)[::2],
    ):
        there = region.take(region.put(value))
        assert repr(there) == repr(value)


# map


def where(x):
    return x * 2 + 1, np.int64(os.getpid())


def test_map_is_the_same():
    def around(n):
        doubled, pid = tf.numpy_function(where, [n], [tf.int64, tf.int64])
        doubled.set_shape([])
        return {"x": tf.cast(doubled, tf.float32) / 3.0, "n": n}, pid

    dataset = tf.data.Dataset.range(60).map(around)
    remade, made = in_workers(dataset)
    assert remade.element_spec == dataset.element_spec
    assert int(remade.cardinality()) == 60
    for _ in range(2):
        old, new = values(dataset), values(remade)
        assert [one[:2] for one in new] == [one[:2] for one in old]
        assert {one[2] for one in old} == {os.getpid()}
        assert len({one[2] for one in new} - {os.getpid()}) == 2
    assert made.broken is None
    assert made.purity.pure is None  # it reads the number of its process
    made.close()
    assert [one[:2] for one in values(remade)] == [one[:2] for one in values(dataset)]


def test_strings_captures_and_nested_functions():
    table = tf.constant([10, 20, 30])

    @tf.function
    def inner(text, n):
        joined = tf.numpy_function(
            lambda text, n: b"|".join([text, *[b"x"] * int(n)]), [text, n], tf.string
        )
        return tf.strings.length(joined), joined

    def outer(text, n):
        length, joined = inner(text, n)
        return tf.gather(table, n) + length, joined, text

    dataset = tf.data.Dataset.from_tensor_slices(([b"a\0b", b"", "é"], [0, 1, 2]))
    dataset = dataset.map(outer)
    remade, made = in_workers(dataset)
    assert values(remade) == values(dataset)
    assert made.broken is None
    made.close()


def test_py_function():
    def scaled(x, name):
        return x.numpy() * 2.5, name.numpy() + b"!" * x.shape[0]

    def call(x):
        return tf.py_function(scaled, [x, "name"], [tf.float32, tf.string])

    dataset = tf.data.Dataset.from_tensor_slices(np.ones((9, 3), np.float32)).map(call)
    remade, made = in_workers(dataset)
    assert values(remade) == values(dataset)
    assert made.broken is None
    assert made.purity.pure is not False
    made.close()


def test_a_tensor_is_not_an_array():
    """Arithmetic on tensors is TensorFlow's: the job computes it itself."""
    dataset = tf.data.Dataset.range(5).map(
        lambda n: tf.py_function(lambda x: x + 1, [n], tf.int64)
    )
    remade, made = in_workers(dataset)
    assert values(remade) == values(dataset)
    assert "worker" in made.broken


def test_exceptions_are_the_jobs_own():
    def picky(n):
        if n == 5:
            raise KeyError("five")
        return n

    dataset = tf.data.Dataset.range(9).map(
        lambda n: tf.numpy_function(picky, [n], tf.int64)
    )
    remade, made = in_workers(dataset)
    seen = []
    with pytest.raises(tf.errors.UnknownError, match=r"KeyError: 'five'[^$]*in picky"):
        seen.extend(map(int, remade))
    assert seen == [0, 1, 2, 3, 4]
    assert made.broken is None
    made.close()


def test_a_killed_worker():
    def slow(n):
        time.sleep(0.01)
        return n

    dataset = tf.data.Dataset.range(40).map(
        lambda n: tf.numpy_function(slow, [n], tf.int64)
    )
    remade, made = in_workers(dataset)
    got = []
    for element in remade:
        got.append(int(element))
        if len(got) == 5:
            os.kill(made.pools[0]._children[0].pid, signal.SIGKILL)
    assert got == list(range(40))
    assert "died" in made.broken
    assert values(remade) == values(dataset)


def test_a_hanging_worker():
    lock = threading.Lock()

    def careful(n):
        with lock:
            return n + 1

    with pytest.raises(CannotFix, match="lock"):
        parallel_python_map(
            read(
                tf.data.Dataset.range(5).map(
                    lambda n: tf.numpy_function(careful, [n], tf.int64)
                )
            ).root
        )
    with lock:  # forked while it is held, as by another thread
        pool = Pool(careful, 1, patience=0.5)
    assert pool.call((3,), lambda: careful(3)) == 4
    assert "not answered" in pool.broken
    assert pool.call((4,), lambda: careful(4)) == 5


def test_refused():
    model = keras.Sequential([keras.layers.Dense(1)])
    variable = tf.Variable(1)

    def with_op(n):
        return tf.constant(1).numpy() + n

    def with_model(n):
        return model(n)

    def with_variable(n):
        return n + variable.numpy()

    for function in (with_op, with_model, with_variable, functools.partial(with_op)):
        assert tensorflow_in(function)
        dataset = tf.data.Dataset.range(5).map(
            lambda n, function=function: tf.numpy_function(function, [n], tf.int64)
        )
        with pytest.raises(CannotFix, match="TensorFlow"):
            parallel_python_map(read(dataset).root)
    with pytest.raises(CannotFix, match="no Python"):
        parallel_python_map(read(tf.data.Dataset.range(5).map(lambda n: n)).root)


def test_tensorflow_in_a_worker_is_the_jobs_turn():
    def hidden(n):
        return sys.modules["tensor" + "flow"].constant(n).numpy() + 1

    pool = Pool(hidden, 1)
    assert pool.call((3,), lambda: hidden(3)) == 4
    assert "TensorFlowUsed" in pool.broken


# What can be seen of a function


def test_purity():
    calls = []
    count = 0
    rng = np.random.default_rng(0)
    numbers = iter([1, 2, 3])

    def clean(x):
        total = [n * 2 for n in range(3)]
        return np.sqrt(x) + sum(total) + helper(x)

    def helper(x):
        return len(str(x).upper())

    def counts(x):
        nonlocal count
        count += 1
        return x

    def marks(x):
        global _marked  # noqa: PLW0603
        _marked = x
        return x

    def seeded(x):
        return np.random.default_rng(int(x)).normal()

    assert purity(clean).pure is True
    for impure, why in (
        (counts, "count"),
        (marks, "_marked"),
        (lambda x: x + random.random(), "random"),
        (lambda x: x + np.random.rand(), "rand"),
        (lambda x: x + rng.normal(), "rng"),
        (lambda x: x + next(numbers), "numbers"),
        (lambda x: counts(x) + 1, "count"),
        (functools.partial(lambda r, x: r.random() + x, random.Random(1)), "draws"),
    ):
        hint = purity(impure)
        assert hint.pure is False, why
        assert any(why in reason for reason in hint.reasons)
    for unknown in (
        seeded,
        lambda x: calls.append(x) or x,
        lambda x: open(x).read(),  # noqa: SIM115
        lambda x: time.time() + x,
        lambda x: subprocess.run(x).stdout,
    ):
        hint = purity(unknown)
        assert hint.pure is None
        assert hint.reasons


def test_what_a_function_makes_itself_it_may_change():
    kept, rows = np.zeros(9), [[1, 2], [3]]

    def fills(x):
        out = np.zeros((2, 9), np.float32)
        for i, row in enumerate(rows):
            for n in row:
                out[i, n] += 1.0
        return out + x

    def collects(x):
        made = []
        made.append(x)
        made += rows[0]
        return np.stack(made)

    def opens(x):
        with open(os.path.join("folder", str(x)), "rb") as file:
            return np.frombuffer(file.read(), np.uint8)

    def an_argument(x):
        x[0] = 1
        return x + kept

    def another_name(x):
        out = np.zeros(3)
        out = kept
        out[0] = x
        return out

    def one_of_its_items(x):
        made = [kept]
        made[0][1] = x
        return made

    def by_a_loop(x):
        for row in rows:
            row.append(x)
        return x

    def writes(x):
        with open("log", "a") as file:
            file.write(str(x))
        return x

    def of_others(x):
        for a in kept.copy(), rows:
            rows[0][0] = a
        return x

    for clean in (fills, collects):
        assert purity(clean) == Purity(True)
    assert purity(opens) == Purity(True, opens=True)
    unclean = (an_argument, another_name, one_of_its_items, by_a_loop, writes)
    for doubtful in (*unclean, of_others):
        assert purity(doubtful).pure is not True


# from_generator


def ahead(generator, *args, signature=None, **kwargs):
    signature = signature or tf.TensorSpec([], tf.int64)
    dataset = tf.data.Dataset.from_generator(
        generator, output_signature=signature, **kwargs
    )
    pipeline = read(dataset)
    made = generator_ahead(pipeline.root, *args)
    return dataset, rebuild(Pipeline(made.stage())), made


def test_generator_is_the_same():
    def numbers(times):
        for n in range(int(times)):
            small, large = np.full(3, n, np.float32), np.full(20_000, n, np.int16)
            yield {"b": small, "l": large}, (f"text {n}", n)

    signature = (
        {"b": tf.TensorSpec([3]), "l": tf.TensorSpec([None], tf.int16)},
        (tf.TensorSpec([], tf.string), tf.TensorSpec([], tf.int64)),
    )
    dataset, moved, made = ahead(numbers, signature=signature, args=(25,))
    assert moved.element_spec == dataset.element_spec
    for _ in range(2):
        assert values(moved) == values(dataset)
    assert values(moved.repeat(2).skip(20).take(9)) == values(
        dataset.repeat(2).skip(20).take(9)
    )
    assert made.broken is None


def test_generator_that_uses_one_array_again():
    """Here TensorFlow may see it change; a process of its own sends it at once."""

    def reusing(size):
        array = np.zeros(int(size), np.int64)
        for n in range(100):
            array[:] = n
            yield array

    for size in (3, 10_000):
        signature = tf.TensorSpec([None], tf.int64)
        _, moved, _ = ahead(reusing, signature=signature, args=(size,))
        assert [int(one[-1]) for one in moved] == list(range(100))


def test_generator_runs_elsewhere_and_ends_early(tmp_path):
    cleaned = tmp_path / "cleaned"

    def endless():
        try:
            for n in itertools.count():
                yield os.getpid() if n % 2 else n
        finally:
            cleaned.touch()

    _, moved, _ = ahead(endless)
    seen = [int(n) for n in moved.take(5)]
    assert seen[0::2] == [0, 2, 4]
    assert seen[1] == seen[3] != os.getpid()
    until = time.monotonic() + 10
    while not cleaned.exists() and time.monotonic() < until:
        time.sleep(0.02)
    assert cleaned.exists()


def test_generator_raises():
    def failing():
        yield 1
        raise ValueError("no more of these")

    _, moved, made = ahead(failing)
    seen = []
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"no more of these[^$]*in failing"
    ):
        seen.extend(map(int, moved))
    assert seen == [1]
    assert made.broken is None


def test_generator_process_is_killed():
    def counting():
        for n in range(300):
            time.sleep(0.003)
            yield n

    _, moved, made = ahead(counting)
    seen = []
    for n in moved:
        seen.append(int(n))
        if len(seen) == 20:
            os.kill(made.children[0].pid, signal.SIGKILL)
    assert seen == list(range(300))
    assert "died" in made.broken


def test_generator_refused():
    one_shot = iter(range(5))
    for generator, why in (
        (lambda: one_shot, "iterator"),
        (lambda: (tf.constant(n) for n in range(3)), "TensorFlow"),
    ):
        with pytest.raises(CannotFix, match=why):
            ahead(generator)


# PyDataset


class Batches(keras.utils.PyDataset):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.rows = np.arange(24.0, dtype=np.float32)
        self.made_by = []

    def __len__(self):
        return 12

    def __getitem__(self, index):
        rows = self.rows[2 * index : 2 * index + 2]
        return rows[:, None] / 24, np.full((2, 1), os.getpid() % 1000 * 0.0 + 1)

    def on_epoch_end(self):
        self.rows = np.roll(self.rows, 5)


def trained(data, **kwargs):
    keras.utils.set_random_seed(3)
    seen = []

    class Watch(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            seen.append(logs["loss"])

    model = keras.Sequential([keras.layers.Input([1]), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(data, epochs=3, verbose=0, callbacks=[Watch()], **kwargs)
    return seen, [weights.tolist() for weights in model.get_weights()]


@pytest.mark.parametrize("shuffle", [True, False])
def test_pydataset_is_the_same(shuffle):
    parallel = parallel_pydataset(Batches(), 2)
    assert trained(parallel, shuffle=shuffle) == trained(Batches(), shuffle=shuffle)
    assert parallel.broken is None
    assert len(parallel) == parallel.num_batches == 12
    parallel.close()


@pytest.mark.parametrize("shuffle", [True, False])
def test_what_keras_makes_of_a_pydataset_is_read_as_the_same(shuffle):
    class Plain(Batches):
        def __getitem__(self, index):
            return self.rows[2 * index : 2 * index + 2], self.rows[index : index + 2]

    pipeline = read(PyDatasetAdapter(Plain(), shuffle=shuffle).get_tf_dataset())
    pipeline = pipeline.numbered()
    (stage,) = pipeline.find("from_generator")
    assert stage.rereadable
    assert stage.random is shuffle
    edit = Edit("worker-processes", stage.number, {"workers": 2})
    after = fixes.apply(pipeline, [edit])
    assert compare(pipeline, after) == Same(True, 24, 2, True)


def test_keras_goes_on_with_workers_of_its_own():
    pipeline = read(PyDatasetAdapter(Batches(workers=2)).get_tf_dataset()).numbered()
    (stage,) = pipeline.find("from_generator")
    with pytest.raises(CannotFix, match="of its own already"):
        fixes.apply(pipeline, [Edit("worker-processes", stage.number, {"workers": 2})])


def test_pydataset_in_processes():
    class Who(Batches):
        def __getitem__(self, index):
            return np.array([index, os.getpid()])

    parallel = parallel_pydataset(Who(), 2)
    batches = [parallel[n] for n in range(12)]
    assert [int(batch[0]) for batch in batches] == list(range(12))
    makers = [int(batch[1]) for batch in batches]
    assert makers[:2] == [os.getpid()] * 2
    assert len(set(makers[2:])) == 2
    assert os.getpid() not in makers[2:]
    assert [int(parallel[n][0]) for n in (3, 1, 4, 1, 5)] == [3, 1, 4, 1, 5]
    parallel.close()


def test_pydataset_fails():
    class Failing(Batches):
        def __getitem__(self, index):
            if index == 6:
                raise KeyError("six")
            return np.array([index])

    parallel = parallel_pydataset(Failing(), 2)
    assert [int(parallel[n][0]) for n in range(6)] == list(range(6))
    with pytest.raises(KeyError, match="six"):
        parallel[6]
    parallel.close()
    with pytest.raises(CannotFix, match="processes already"):
        parallel_pydataset(Batches(workers=2, use_multiprocessing=True))


# The end of the script


SCRIPT = """
    import os, signal, sys, time
    import tensorflow as tf
    from feedline.job.workers.function import parallel_python_map
    from feedline.job.read import read

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
            with open(f"{folder}/{how}", "w") as file:
                print(*pids, file=file)
            if how == "fork":
                sys.exit(code)
            if how == "exit":
                sys.exit(7)

    for how in ("exit", "fork", "SIGKILL", "SIGINT"):
        pid = os.fork()  # TensorFlow is imported; nothing of it runs yet
        if pid == 0:
            job(how)
            os._exit(99)
        if how[:3] == "SIG":
            while not os.path.exists(f"{folder}/{how}"):
                time.sleep(0.05)
            os.kill(pid, getattr(signal, how))
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        print(how, code, flush=True)
    os._exit(0)
"""


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_no_orphans(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT))
    done = subprocess.run(
        [sys.executable, script, tmp_path],
        capture_output=True,
        text=True,
        timeout=120,
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
    until = time.monotonic() + 15
    while any(map(is_running, workers)) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(map(is_running, workers))
