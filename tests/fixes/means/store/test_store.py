"""Kept elements are the elements, whatever happens to the process or the disk."""

import collections
import os
import runpy
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from tests.place import LIMIT, wait_until

from feedline.errors import FeedlineError
from feedline.fixes.means.store import Refused, Store, StoreFull, marks
from feedline.fixes.means.store.fingerprint import key_or_reason
from feedline.fixes.means.store.recording import settle_all
from feedline.job.tfdata.read import read

pytestmark = pytest.mark.tensorflow
KEY = "0123456789abcdef"
Pair = collections.namedtuple("Pair", "second first")


def bits(element):
    """An element as something that is equal only bit for bit."""
    flat = tf.nest.flatten(element, expand_composites=True)
    return [
        (one.dtype.name, tuple(one.shape), value.tobytes() if plain else repr(value))
        for one in flat
        if one is not None
        for plain, value in [(one.dtype != tf.string, one.numpy())]
    ]


def same(kept, dataset):
    assert [bits(one) for one in kept] == [bits(one) for one in dataset]
    assert kept.element_spec == dataset.element_spec
    assert int(kept.cardinality()) == int(dataset.cardinality())
    return True


def fill(store, key, dataset):
    """Kept as a job keeps it, by reading it once, and opened as the next run does."""
    for _ in store.remember(key, dataset):
        pass
    settle_all()
    return store.open(key, dataset.element_spec)


def folders(path):
    return [one for one in Path(path).iterdir() if one.name[0] != "."]


def of_all_types():
    columns = {}
    for name in (
        *("bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32"),
        *("int64", "float16", "bfloat16", "float32", "float64", "complex64"),
        "complex128",
    ):
        values = np.arange(21).reshape(7, 3)
        columns[name] = values.astype(tf.as_dtype(name).as_numpy_dtype)
    columns["string"] = np.array([[b"a\0b", b"", b"x" * n] for n in range(7)], object)
    columns["nan"] = np.full(7, 0x7FF8_0000_0000_0001, np.uint64).view(np.float64)
    return tf.data.Dataset.from_tensor_slices(columns)


RAGGED = tf.ragged.constant([[[1, 2], [3]], [], [[4]], [[], [5]]])
DATASETS = {
    "all types": of_all_types,
    "nested": lambda: tf.data.Dataset.from_tensor_slices(
        {"x": (np.arange(5.0), Pair(np.arange(5), ["a"] * 5)), "none": np.zeros((5, 0))}
    ),
    "ragged": lambda: tf.data.Dataset.from_tensor_slices((RAGGED, [1, 2, 3, 4])),
    "ragged batch": lambda: tf.data.Dataset.from_tensor_slices(RAGGED).batch(3),
    "uniform ragged": lambda: tf.data.Dataset.from_tensors(
        tf.RaggedTensor.from_uniform_row_length(tf.range(6), 2)
    ),
    "sparse": lambda: tf.data.Dataset.from_tensor_slices(
        tf.sparse.from_dense([[0, 1], [2, 0], [0, 0]])
    ),
    "of any length": lambda: tf.data.Dataset.range(9).map(tf.range),
    "of unknown number": lambda: tf.data.Dataset.range(90).filter(lambda n: n % 3 == 0),
    "with None": lambda: tf.data.Dataset.range(5).map(lambda n: (n, None, {"q": n})),
    "none at all": lambda: tf.data.Dataset.range(0),
    "batches": lambda: tf.data.Dataset.range(10).batch(4),
    "large": lambda: tf.data.Dataset.range(3).map(lambda n: tf.fill([50_000], n)),
    "large batches": lambda: tf.data.Dataset.range(40_000).batch(15_000),
}


@pytest.mark.parametrize("name", DATASETS)
def test_same_elements(name, tmp_path):
    dataset = DATASETS[name]()
    store = Store(tmp_path)
    assert store.open(KEY) is None
    filled = fill(store, KEY, dataset)
    assert same(filled, dataset)
    assert same(store.open(KEY, dataset.element_spec), dataset)
    if name != "nested":  # a named tuple of the user's class only with his spec
        assert same(store.open(KEY), dataset)
    remembered = store.remember("aa" + KEY, dataset)
    assert same(remembered, dataset)
    assert same(remembered, dataset)
    assert len(folders(tmp_path)) == 2
    assert same(store.remember("aa" + KEY, dataset), dataset)
    assert type(store.open(KEY, dataset.element_spec).element_spec) is type(
        dataset.element_spec
    )


def test_not_for_other_elements(tmp_path):
    store = Store(tmp_path)
    fill(store, KEY, tf.data.Dataset.range(5))
    assert store.open(KEY, tf.TensorSpec([], tf.int32)) is None
    assert store.open(KEY, (tf.TensorSpec([], tf.int64),)) is None
    assert store.open("f" * 16) is None


def test_refusals(tmp_path):
    store = Store(tmp_path)
    with pytest.raises(Refused, match="endless"):
        fill(store, KEY, tf.data.Dataset.range(3).repeat())
    with pytest.raises(Refused, match="DatasetSpec"):
        fill(store, KEY, tf.data.Dataset.range(3).window(2))
    with pytest.raises(Refused, match="hex"):
        store.open("../../etc")
    assert folders(tmp_path) == []


@pytest.mark.parametrize("file", ["data", "manifest.json"])
@pytest.mark.parametrize("how", ["flip", "cut", "gone"])
def test_damage_is_never_read(file, how, tmp_path):
    dataset = tf.data.Dataset.range(500)
    fill(Store(tmp_path / "other"), KEY, dataset)
    (entry,) = folders(tmp_path / "other")
    marks.make_store(tmp_path / "here")
    copy = tmp_path / "here" / entry.name
    copy.mkdir()
    for one in entry.iterdir():  # a copy, which this process does not hold
        (copy / one.name).write_bytes(one.read_bytes())
    victim = copy / file
    content = bytearray(victim.read_bytes())
    if how == "gone":
        victim.unlink()
    elif how == "cut":
        victim.write_bytes(content[: len(content) // 2])
    else:
        content[len(content) // 2] ^= 1
        victim.write_bytes(content)
    store = Store(tmp_path / "here")
    assert store.open(KEY) is None
    assert same(fill(store, KEY, dataset), dataset)
    assert len(folders(tmp_path / "here")) == 1


def test_a_job_that_fails_leaves_nothing(tmp_path):
    store = Store(tmp_path)
    dataset = tf.data.Dataset.range(100_000)
    with pytest.raises(tf.errors.InvalidArgumentError):
        fill(store, KEY, dataset.map(lambda n: tf.gather([1, 2], n)))
    settle_all()
    assert folders(tmp_path) == []
    assert same(fill(store, KEY, dataset.take(3)), dataset.take(3))


class SmallDisk:
    def __init__(self, size):
        self.size = size

    def free(self, folder):
        used = sum(f.stat().st_size for f in Path(folder).rglob("*") if f.is_file())
        return self.size + 64 * 2**20 - used


def test_full(tmp_path):
    dataset = tf.data.Dataset.range(200).map(lambda n: tf.fill([1000], n))
    for store in (
        Store(tmp_path / "a", limit_bytes=10**6),
        Store(tmp_path / "b", limit_bytes=10**9, disk=SmallDisk(10**6)),
        Store(tmp_path / "c", disk=SmallDisk(2 * 10**6)),
    ):
        entry = store.entries.create(KEY)
        with pytest.raises(StoreFull, match="needs 1,600,000") as raised:
            store.entries.make_room(1_600_000)
        assert raised.value.has > 900_000
        entry.discard()
        assert folders(store.folder) == []
        remembered = store.remember(KEY, dataset)
        for _ in range(2):  # the job does not feel it
            assert same(remembered, dataset)
        # The thread that writes comes to its end behind the one that reads.
        assert wait_until(lambda store=store: folders(store.folder) == [])


def test_least_recently_used_goes(tmp_path):
    """...but not what a living process reads."""
    dataset = tf.data.Dataset.range(100).map(lambda n: tf.fill([1000], n))
    store = Store(tmp_path, limit_bytes=2_000_000)
    kept = fill(store, "a" * 16, dataset)
    # Another store's process has ended: its entries are in nobody's use.
    for name, used in (("b", 100), ("c", 50)):
        old = marks.make_entry(tmp_path, f"{name * 16}-00000000")
        (old / "data").write_bytes(bytes(500_000))
        for file in ("lock", "used", "manifest.json"):
            (old / file).touch()
        os.utime(old / "used", (used, used))
    fill(store, "d" * 16, dataset.take(60))
    names = {one.name[0] for one in folders(tmp_path)}
    assert names == {"a", "b", "d"}
    fill(store, "e" * 16, dataset.take(60))
    assert {one.name[0] for one in folders(tmp_path)} == {"a", "d", "e"}
    assert fill(store, "f" * 16, dataset.take(60)) is None
    assert same(kept, dataset)


def test_remembers_only_whole_epochs(tmp_path, caplog):
    store = Store(tmp_path)
    dataset = tf.data.Dataset.range(50)
    remembered = store.remember(KEY, dataset)
    assert [int(n) for n in remembered.take(3)] == [0, 1, 2]
    assert store.open(KEY) is None
    outer, inner = iter(remembered), iter(remembered)
    pairs = [(int(a), int(b)) for a, b in zip(outer, inner, strict=True)]
    assert pairs == [(n, n) for n in range(50)]
    assert same(remembered, dataset)
    assert len(folders(tmp_path)) == 1
    # TensorFlow's own say how often others in this process have traced something.
    assert not [one for one in caplog.records if one.name.startswith("feedline")]


def test_remember_inside_a_pipeline(tmp_path):
    store = Store(tmp_path)
    dataset = tf.data.Dataset.range(20).map(lambda n: n * 2)
    whole = store.remember(KEY, dataset).repeat(3).batch(7).prefetch(1)
    expected = dataset.repeat(3).batch(7)
    assert [bits(one) for one in whole] == [bits(one) for one in expected]
    settle_all()  # the manifest is written beside the job
    assert same(store.open(KEY), dataset)


# Killed, interrupted, out of space: one process that forks many


FORGE = """
    import os, random, resource, signal, sys, time
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf
    from feedline.fixes.means.store import Store
    from feedline.fixes.means.store.recording import settle_all

    folder = sys.argv[1]
    KEY = "0123456789abcdef"

    def dataset():
        return tf.data.Dataset.range(300).map(lambda n: tf.fill([2_000], n))

    def born(work):
        pid = os.fork()  # TensorFlow is imported; nothing of it runs yet
        if pid:
            return pid
        code = 1
        try:
            work()
            code = 0
        except KeyboardInterrupt:
            code = 3
        finally:
            os._exit(code)

    def remember():
        for _ in Store(folder).remember(KEY, dataset()):
            pass

    def slowly():
        remember()
        time.sleep(0.2)

    def fill():
        remember()
        settle_all()

    def check():
        kept = Store(folder).open(KEY)
        if kept is not None:
            for n, x in enumerate(kept):
                assert x.shape == [2_000] and int(x[0]) == n == int(x[-1])
            assert n == 299

    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, 2_000_000))
        fill()

    def ends(work):
        return os.waitstatus_to_exitcode(os.waitpid(born(work), 0)[1])

    random.seed(7)
    seen = []
    for turn in range(int(sys.argv[2])):
        pid = born(fill if turn % 2 else slowly)
        time.sleep(random.uniform(0.05, 0.6))
        os.kill(pid, [signal.SIGKILL, signal.SIGTERM, signal.SIGINT][turn % 3])
        os.waitpid(pid, 0)
        seen.append(ends(check))
    print("checked", seen)
    print("limited", ends(limited), ends(check))
    print("filled", ends(fill), ends(check))
    print("left", sorted(os.listdir(folder + "/" + f) for f in os.listdir(folder)
                         if f[0] != "."))
"""


def script_file(script, folder):
    """From a file, because AutoGraph wants to see its lines; and beside the folder,
    whose every file counts."""
    path = folder.parent / f"{folder.name}-script.py"
    path.write_text(textwrap.dedent(script), "utf-8")
    return path


def python(script, folder, *args, **env):
    path = script_file(script, folder)
    done = subprocess.run(
        [sys.executable, path, folder, *map(str, args)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=LIMIT,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", **env},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("turns", [3, pytest.param(12, marks=pytest.mark.slow)])
def test_killed_at_any_moment(tmp_path, turns):
    lines = python(FORGE, tmp_path, turns).splitlines()
    out = {line.split()[0]: line for line in lines}
    assert out["checked"] == f"checked {[0] * turns}"
    assert out["limited"] == "limited 0 0"
    assert out["filled"] == "filled 0 0"
    assert out["left"].count("lock") == out["left"].count("manifest.json") > 0


# The key


PIPELINES = """
    import os, sys
    import numpy as np
    import tensorflow as tf
    from feedline.job.tfdata.read import read
    from feedline.fixes.means.store.fingerprint import key_or_reason

    files = sys.argv[1]
    salt = int(sys.argv[2])
    for _ in range(salt):  # counters in names differ
        tf.data.Dataset.range(1).map(lambda n: n + 1)

    table = np.arange(100_000, dtype=np.float32)

    @tf.function
    def load(path):
        return tf.strings.length(tf.io.read_file(path)), tf.strings.split(path, "/")[-1]

    def branches(n):
        if n > 3:
            n = n * 2
        for _ in tf.range(n):
            n += 1
        return tf.gather(table, n), {"b": n, "a": -n}

    slices = tf.data.Dataset.from_tensor_slices(np.arange(12).reshape(4, 3))
    paths = tf.data.Dataset.list_files(files + "/*.txt", shuffle=False)
    records = sorted(tf.io.gfile.glob(files + "/*.tfrecord"))
    for dataset in (
        tf.data.Dataset.range(10).map(branches).batch(2),
        slices.map(lambda x: x * 2, num_parallel_calls=2).prefetch(1).unbatch(),
        slices.filter(lambda x: x[0] > 2).padded_batch(2, padded_shapes=[4]),
        paths.map(load),
        paths.interleave(tf.data.TextLineDataset, cycle_length=2),
        tf.data.TFRecordDataset(records),
        tf.data.TFRecordDataset(tf.data.Dataset.from_tensor_slices(records)).enumerate(),
        tf.data.experimental.make_csv_dataset(
            files + "/*.csv", 2, num_epochs=1, shuffle=False),
        slices.bucket_by_sequence_length(
            lambda x: tf.cast(x[0], tf.int32), [4], [2, 2], no_padding=True),
        tf.data.Dataset.range(9).scan(np.int64(0), lambda s, x: (s + x, s)),
    ):
        print(key_or_reason(read(dataset))[0])
"""


def test_key_is_the_same_in_the_next_run(files, monkeypatch, capsys):
    """Here, and in a process where names and hashes are others."""
    other = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    first = python(PIPELINES, files, 5, PYTHONHASHSEED=other)
    script = script_file(PIPELINES, files)
    monkeypatch.setattr(sys, "argv", [str(script), str(files), "1"])
    runpy.run_path(str(script), run_name="__main__")
    assert capsys.readouterr().out == first
    keys = first.split()
    assert "None" not in keys
    assert len(set(keys)) == len(keys) == 10


def key(dataset):
    return key_or_reason(read(dataset))[0]


def test_key_changes_with_the_elements(files):
    base = tf.data.Dataset.range(10)
    offset = tf.constant(np.arange(10))
    datasets = [
        base,
        tf.data.Dataset.range(11),
        base.map(lambda n: n + 1),
        base.map(lambda n: n + 2),
        base.map(lambda n: n + offset[n]),
        base.map(lambda n: n + tf.constant(np.arange(1, 11))[n]),
        base.batch(2),
        base.batch(2, drop_remainder=True),
        base.batch(3),
        base.take(5),
        base.skip(5),
        base.repeat(2),
        tf.data.Dataset.from_tensor_slices(np.arange(10)),
        tf.data.Dataset.from_tensor_slices(np.arange(10, dtype=np.int32)),
        tf.data.Dataset.from_tensor_slices(["a", "bc"]),
        tf.data.Dataset.from_tensor_slices(["ab", "c"]),
        tf.data.Dataset.from_tensors(np.arange(10)),
        tf.data.Dataset.zip((base, base.map(lambda n: n * 2))),
        tf.data.Dataset.zip((base.map(lambda n: n * 2), base)),
        tf.data.Dataset.zip({"a": base, "b": base.map(lambda n: n * 2)}),
    ]
    keys = [key(one) for one in datasets]
    assert None not in keys
    assert len(set(keys)) == len(keys)


def test_key_does_not_change_with_the_speed():
    base = tf.data.Dataset.range(10)
    slow = base.map(lambda n: n + 1).batch(2)
    fast = base.prefetch(2).cache().map(lambda n: n + 1, num_parallel_calls=4)
    assert key(slow) == key(fast.batch(2, num_parallel_calls=2).prefetch(-1))


def test_key_changes_with_the_files(files):
    def load(path):
        return tf.io.read_file(path)

    made = [
        lambda: tf.data.Dataset.list_files(f"{files}/*.txt", shuffle=False).map(load),
        lambda: tf.data.TextLineDataset([f"{files}/0.txt"]),
        lambda: tf.data.Dataset.range(2).map(lambda n: load(f"{files}/0.txt")),
    ]
    before = [key(make()) for make in made]
    assert None not in before
    assert [key(make()) for make in made] == before
    os.utime(files / "0.txt", ns=(1, 1))
    after = [key(make()) for make in made]
    assert all(old != new for old, new in zip(before, after, strict=True))
    (files / "0.txt").write_text("longer than it was before", "utf-8")
    os.utime(files / "0.txt", ns=(1, 1))
    assert all(key(make()) != old for make, old in zip(made, after, strict=True))


def test_no_key(files):
    base = tf.data.Dataset.range(10)
    counter = tf.Variable(0, dtype=tf.int64)
    table = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer([1], [2]), default_value=0
    )

    def path_made_inside(n):
        return tf.io.read_file(tf.strings.join([str(files), "/", tf.as_string(n)]))

    for dataset, why in (
        (base.shuffle(5), "random"),
        (base.map(lambda n: tf.random.uniform([])), "random"),
        (base.map(lambda n: tf.numpy_function(abs, [n], tf.int64)), "Python"),
        (base.map(lambda n: n + counter), "keeps state"),
        (base.map(lambda n: table.lookup(tf.cast(n, tf.int32))), "table"),
        (base.map(path_made_inside), "StringJoin"),
        (base.map(lambda n: tf.io.read_file("no/such/file")), "cannot be looked at"),
        (base.cache(str(files / "kept")), "from outside"),
        (base.map(lambda n: n, num_parallel_calls=2, deterministic=False), "order"),
        (tf.data.Dataset.from_generator(lambda: iter([1]), tf.int32), "Python"),
    ):
        made, reason = key_or_reason(read(dataset.batch(2)))
        assert made is None
        assert why in reason
    unordered = base.map(lambda n: n, num_parallel_calls=2, deterministic=False)
    assert key_or_reason(read(unordered), reordered=True)[0]
    pipeline = read(base.map(lambda n: n + 1).shuffle(5))
    before, _ = key_or_reason(pipeline, pipeline.root.inputs[0])
    assert before == key(base.map(lambda n: n + 1))
    assert issubclass(StoreFull, FeedlineError)
