"""A map once per batch gives what it gave element by element."""

import collections

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.fixes.means.rewrite.test_rewrite_helpers import last, same_bits
from tests.job.elements import ops

from feedline.fixes.means.rewrite.flat import CannotRewrite
from feedline.fixes.means.rewrite.vectorize import (
    vectorize_pipeline,
    vectorized,
)
from feedline.job.tfdata.read import read
from feedline.job.tfdata.rebuild import rebuild

pytestmark = [pytest.mark.tensorflow, pytest.mark.usefixtures("no_seed")]

Pair = collections.namedtuple("Pair", "left right")
ROWS = tf.constant(np.arange(200).reshape(50, 4), tf.float32)
WORDS = tf.lookup.StaticHashTable(
    tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2]), -1
)


def numbers(count=11):
    return tf.data.Dataset.range(count)


def pixels(count=7, shape=(4, 5, 3), dtype=np.uint8):
    values = np.random.default_rng(0).integers(0, 255, (count, *shape))
    return tf.data.Dataset.from_tensor_slices(values.astype(dtype))


def moved(dataset, which=-1):
    pipeline = read(dataset)
    return rebuild(vectorize_pipeline(pipeline, pipeline.find("map")[which]))


def normalised(image):
    return (tf.cast(image, tf.float32) / 255.0 - [0.4, 0.5, 0.6]) / [0.2, 0.3, 0.4]


@tf.function
def inner(x):
    return x * 2.0 - 1.0


def structured(x):
    image = tf.reshape(tf.range(12.0), [2, 2, 3]) + tf.cast(x, tf.float32)
    word = tf.strings.join(["ab", tf.strings.as_string(x)])
    return {
        "pair": Pair(image, inner(image)),
        "constant": tf.constant([3, 4]),
        "empty": (),
        "word": (tf.strings.upper(word), tf.strings.to_hash_bucket_fast(word, 99)),
        "looked up": WORDS.lookup(tf.strings.substr(word, 0, 1)),
        "row": tf.gather(ROWS, x % 50),
        "one hot": tf.one_hot(x % 5, 5, axis=0),
        "cut": image[:, ::-1, 0],
        "joined": tf.concat([image, image], -1),
        "resized": tf.image.resize(image, (4, 5)),
        "either": tf.where(x > 3, image[0], image[1]),
        "clipped": tf.clip_by_value(image, 2.0, 9.0),
        "largest": tf.reduce_max(image, axis=(0, 1)),
        "replaced": tf.strings.regex_replace(word, "b", "c"),
        "number": tf.strings.to_number(tf.strings.as_string(x), tf.int64),
    }


def test_structure_shapes_and_the_last_batch():
    dataset = numbers().map(structured).batch(4)
    twin = moved(dataset)
    assert ops(read(twin)) == ["range", "batch", "map"]
    assert same_bits(dataset, twin) == 3
    assert isinstance(next(iter(twin))["pair"], Pair)


def test_a_known_batch_size_stays_known():
    dataset = pixels().map(normalised).batch(2, drop_remainder=True)
    assert moved(dataset).element_spec.shape == (2, 4, 5, 3)
    assert same_bits(dataset, moved(dataset)) == 3


def test_all_maps_up_to_the_batch_and_what_stands_between():
    def cook():
        dataset = numbers().map(lambda x: (x, tf.cast(x, tf.float32) / 3.0))
        dataset = dataset.shuffle(5, seed=1).map(lambda x, y: {"x": x + 1, "y": y})
        return dataset.prefetch(1).repeat(2).batch(4).prefetch(1)

    twin = moved(cook(), which=0)
    names = ["range", "shuffle", "prefetch", "repeat", "batch", "map", "map"]
    assert ops(read(twin)) == [*names, "prefetch"]
    assert same_bits(cook(), twin) == 6


def test_records_are_parsed_as_one():
    def record(n):
        features = {
            "x": tf.train.Feature(int64_list=tf.train.Int64List(value=[n, n + 1])),
            "raw": tf.train.Feature(
                bytes_list=tf.train.BytesList(value=[bytes([n] * 12)])
            ),
        }
        example = tf.train.Example(features=tf.train.Features(feature=features))
        return example.SerializeToString()

    def parse(record):
        parsed = tf.io.parse_single_example(
            record,
            {
                "x": tf.io.FixedLenFeature([2], tf.int64),
                "raw": tf.io.FixedLenFeature([], tf.string),
                "missing": tf.io.FixedLenFeature([], tf.float32, 0.5),
            },
        )
        pixels = tf.reshape(tf.io.decode_raw(parsed["raw"], tf.uint8), [2, 2, 3])
        return parsed["x"], parsed["missing"], normalised(pixels)

    records = tf.data.Dataset.from_tensor_slices([record(n) for n in range(7)])
    dataset = records.map(parse).batch(3)
    assert same_bits(dataset, moved(dataset)) == 3


def test_conditions_of_either_kind():
    def function(x):
        y = tf.cast(x, tf.float32)
        y = tf.stack([tf.sqrt(y), y])
        if x % 2 == 0:  # autograph makes a graph's condition of this
            y = y + 1.0
        return tf.cond(x > 3, lambda: inner(y), lambda: y), x

    dataset = numbers().map(function).batch(4)
    assert same_bits(dataset, moved(dataset)) == 3
    failing = numbers().map(lambda x: tf.cond(x > 0, lambda: 10 // x, lambda: x))
    with pytest.raises(CannotRewrite, match="condition with FloorDiv"):
        vectorized(last(failing))


def test_an_assertion_still_holds():
    def checked(x):
        tf.debugging.assert_less(x, np.int64(6), "too large for us")
        tf.debugging.Assert(x < 9, [x])
        return x * 2

    good, bad = numbers(6).map(checked).batch(4), numbers(8).map(checked).batch(4)
    assert same_bits(good, moved(good)) == 2
    with pytest.raises(tf.errors.InvalidArgumentError, match="too large for us"):
        list(moved(bad))


def test_nan_is_the_same_nan():
    nothing = numbers().map(lambda x: tf.math.sqrt(-1.0 - tf.cast(x, tf.float32)))
    assert same_bits(nothing.batch(4), moved(nothing.batch(4)))


def test_what_is_rounded_is_near():
    dataset = pixels(shape=(3,)).map(lambda x: tf.exp(tf.cast(x, tf.float32) / 97.0))
    stage = last(dataset)
    apart = np.stack(list(dataset))
    (at_once,) = pixels(shape=(3,)).batch(7).map(vectorized(stage))
    np.testing.assert_allclose(apart, at_once, rtol=1e-6)


def _python(x):
    return tf.numpy_function(lambda y: y, [x], tf.int64)


VARIABLE = tf.Variable(2, dtype=tf.int64)


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda x: x + tf.random.uniform([], 0, 9, tf.int64), "random"),
        (lambda x: x + VARIABLE, "state"),
        (_python, "Python"),
        (tf.range, "depends on the element"),
        (lambda x: tf.strings.split(tf.strings.as_string(x)), "depends on the"),
        (lambda x: tf.strings.split([tf.strings.as_string(x)]), "a plain tensor"),
        (tf.data.Dataset.range, "a plain tensor"),
        (lambda x: tf.sparse.from_dense([x]), "a plain tensor"),
        (lambda x: tf.random.stateless_uniform([2], [x, x]), "StatelessRandom"),
        (lambda x: tf.while_loop(lambda y: y < 9, lambda y: [y + 1], [x]), "While"),
        (tf.function(lambda x: x * 2, jit_compile=True), "compiled separately"),
        (lambda x: tf.io.read_file(tf.strings.as_string(x)), "ReadFile"),
    ],
)
def test_refused_functions(function, reason):
    with pytest.raises(CannotRewrite, match=reason):
        vectorized(last(numbers().map(function)))


def test_refused_elements():
    uneven = numbers().map(lambda x: tf.range(x % 3)).map(tf.reduce_sum)
    with pytest.raises(CannotRewrite, match="would not stack"):
        vectorized(last(uneven))
    lengths = tf.data.Dataset.from_tensor_slices([b"ab", b"abcd"])
    with pytest.raises(CannotRewrite, match="another length"):
        vectorized(last(lengths.map(lambda s: tf.io.decode_raw(s, tf.uint8)[:2])))


@pytest.mark.parametrize(
    ("cook", "reason"),
    [
        (lambda d: d, "no batch"),
        (lambda d: d.cache().batch(2), "cache"),
        (lambda d: d.filter(lambda x: x > 1).batch(2), "filter"),
        (lambda d: d.padded_batch(2), "no batch"),
        (lambda d: tf.data.Dataset.zip((d.batch(2), d)), "feeds more"),
    ],
)
def test_refused_pipelines(cook, reason):
    pipeline = read(cook(numbers().map(lambda x: x + 1)))
    with pytest.raises(CannotRewrite, match=reason):
        vectorize_pipeline(pipeline, pipeline.find("map")[0])


def test_ignored_errors_are_refused():
    dataset = numbers().map(lambda x: x + 1).batch(2)
    pipeline = read(dataset.apply(tf.data.Dataset.ignore_errors))
    with pytest.raises(CannotRewrite, match="ignores errors"):
        vectorize_pipeline(pipeline, pipeline.find("map")[0])


def test_the_users_function_does_not_run_again():
    calls = []

    def counted(x):
        calls.append(x)
        return x + 1

    dataset = numbers().map(counted).batch(4)
    assert same_bits(dataset, moved(dataset)) == 3
    assert len(calls) == 1


# A small language of functions over a number and a 2 x 3 table. All numbers are
# small and whole, so that no order of additions can change a bit.
STEPS = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "half": lambda a, b: a / 2,
    "larger": tf.maximum,
    "choose": lambda a, b: tf.where(a > 3, a, tf.broadcast_to(b, tf.shape(a + b))),
    "turn": lambda a, b: tf.reverse(a, [-1]) if a.shape.rank else a,
    "transpose": lambda a, b: tf.transpose(a + 0),
    "flatten": lambda a, b: tf.reshape(a, [-1]),
    "stack": lambda a, b: tf.stack([a, a + 1]),
    "join": lambda a, b: tf.concat([a, a], 0) if a.shape.rank else a,
    "cut": lambda a, b: a[..., 1:] if a.shape.rank and a.shape[-1] > 1 else a,
    "first": lambda a, b: a[0] if a.shape.rank else a,
    "sum": lambda a, b: tf.reduce_sum(a, -1) if a.shape.rank else a,
    "most": lambda a, b: tf.reduce_max(a),
    "axis": lambda a, b: a[tf.newaxis],
    "squeeze": lambda a, b: tf.squeeze(a),
    "pad": lambda a, b: tf.pad(a, [[1, 0]] * a.shape.rank) if a.shape.rank else a,
    "tile": lambda a, b: tf.tile(a, [2] * a.shape.rank) if a.shape.rank else a,
    "cast": lambda a, b: tf.cast(tf.cast(a, tf.int32) % 7, tf.float32),
    "hot": lambda a, b: tf.one_hot(tf.cast(a, tf.int32) % 4, 4),
    "look up": lambda a, b: tf.gather(ROWS, tf.cast(tf.abs(a), tf.int32) % 50),
    "text": lambda a, b: tf.strings.to_number(tf.strings.as_string(a, precision=3)),
    "shape": lambda a, b: (
        a + tf.cast(tf.shape(a + b)[-1:], tf.float32) if a.shape.rank else a
    ),
    "either": lambda a, b: tf.cond(
        tf.reduce_max(a) > 5, lambda: inner(a) + 1.0, lambda: a
    ),
    "call": lambda a, b: inner(a) + inner(a),
}


def written(steps):
    def function(number, table):
        made = [tf.cast(number, tf.float32), table]
        for step, first, second in steps:
            a, b = made[first % len(made)], made[second % len(made)]
            try:
                result = STEPS[step](a, b)
            except (ValueError, tf.errors.InvalidArgumentError):
                continue  # these two shapes do not go together
            if result.shape.rank <= 4 and result.shape.num_elements() <= 512:
                made.append(result)
        return made[-1], {"all": tuple(made[2:])}

    return tf.autograph.experimental.do_not_convert(function)


LAW = settings(
    max_examples=8, deadline=None, derandomize=True, suppress_health_check=HealthCheck
)
PROGRAMS = st.lists(
    st.tuples(st.sampled_from(sorted(STEPS)), st.integers(0, 9), st.integers(0, 9)),
    min_size=1,
    max_size=6,
)


@LAW
@given(PROGRAMS)
def test_law(steps):
    holds(steps)


@pytest.mark.slow
@settings(LAW, max_examples=80)
@given(PROGRAMS)
def test_law_of_many_more(steps):
    holds(steps)


def holds(steps):
    tables = np.arange(30, dtype=np.float32).reshape(5, 2, 3) % 11
    source = tf.data.Dataset.from_tensor_slices((np.arange(5), tables))
    dataset = source.map(written(steps)).batch(3)
    assert same_bits(dataset, moved(dataset)) == 2
