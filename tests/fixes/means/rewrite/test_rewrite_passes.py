"""What passes a map untouched; filters and shuffles before maps."""

import numpy as np
import pytest
import tensorflow as tf
from tests.fixes.means.rewrite.test_rewrite_helpers import jpeg, same_bits
from tests.job.elements import ops

from feedline.fixes.means.rewrite.flat import CannotRewrite
from feedline.fixes.means.rewrite.passes import filter_first, shuffle_first
from feedline.job.tfdata.read import read
from feedline.job.tfdata.rebuild import rebuild

pytestmark = [pytest.mark.tensorflow, pytest.mark.usefixtures("no_seed")]


def pairs(count=30):
    x = np.random.default_rng(0).random((count, 8, 8, 3), np.float32)
    return tf.data.Dataset.from_tensor_slices((x, np.arange(count)))


def enlarge(x, y):
    return {"x": tf.image.resize(x, (16, 16)) * 2.0, "y": tf.cast(y, tf.int32), "z": y}


def filtered(dataset):
    pipeline = read(dataset)
    return rebuild(filter_first(pipeline, pipeline.find("filter")[-1]))


def shuffled(dataset):
    pipeline = read(dataset)
    altered = shuffle_first(pipeline, pipeline.find("shuffle")[-1])
    return rebuild(altered, fresh=True)


@tf.function
def swap(x, y):
    return y, x


@pytest.mark.parametrize(
    "predicate",
    [
        lambda e: e["z"] % 3 == 0,
        lambda e: e["y"] + 1 > 12,
        lambda e: tf.constant(True),
        lambda e: tf.equal(e["y"] % 2, 0) & (e["z"] < 9),
    ],
)
def test_filter_before_map(predicate):
    dataset = pairs().map(enlarge).prefetch(2).filter(predicate).batch(4)
    twin = filtered(dataset)
    assert ops(read(twin)) == [
        "from_tensor_slices",
        "filter",
        "map",
        "prefetch",
        "batch",
    ]
    for _ in range(2):
        assert same_bits(dataset, twin) > 0


def test_filter_before_several_maps():
    dataset = pairs().map(enlarge).map(lambda e: (e["z"] * 2, e)).filter(_by_first)
    assert ops(read(filtered(dataset)))[:2] == ["from_tensor_slices", "filter"]
    assert same_bits(dataset, filtered(dataset)) == 5


def _by_first(first, rest):
    return first < 10


def test_what_a_filter_checks_is_still_checked():
    def checked(element):
        tf.debugging.assert_less(element["z"], np.int64(20))
        return element["y"] > 3

    dataset = pairs().map(enlarge).filter(checked)
    for one in (dataset, filtered(dataset)):
        with pytest.raises(tf.errors.InvalidArgumentError):
            list(one)
    assert len(list(filtered(pairs(20).map(enlarge).filter(checked)))) == 16


def test_filter_stops_at_the_map_it_asks():
    dataset = pairs().map(enlarge).map(lambda e: (tf.reduce_sum(e["x"]), e["z"]))
    dataset = dataset.map(lambda x, z: {"x": x, "more": tf.fill([90, 90], x)})
    dataset = dataset.filter(lambda e: e["x"] > 700.0)
    assert ops(read(filtered(dataset))) == [
        "from_tensor_slices",
        "map",
        "map",
        "filter",
        "map",
    ]
    assert same_bits(dataset, filtered(dataset)) > 0


def test_a_map_that_may_fail_keeps_its_place():
    rng = np.random.default_rng(0)
    files = [jpeg(rng, 20, 20) for _ in range(5)] + [b"no picture"]
    source = tf.data.Dataset.from_tensor_slices((files, range(6)))
    dataset = source.map(lambda b, y: (tf.io.decode_jpeg(b), y))
    dataset = dataset.filter(lambda image, y: y < 5)
    with pytest.raises(CannotRewrite, match=r"may fail.*DecodeJpeg"):
        filtered(dataset)
    with pytest.raises(tf.errors.InvalidArgumentError):
        list(dataset)


def _noise(x, y):
    return x + tf.random.uniform([]), y


@pytest.mark.parametrize(
    ("cook", "reason"),
    [
        (lambda d: d.map(enlarge).filter(lambda e: e["x"][0, 0, 0] > 0.5), "asks for"),
        (lambda d: d.filter(lambda x, y: y > 3), "no map"),
        (lambda d: d.map(_noise).filter(lambda x, y: y > 3), "draws random"),
        (lambda d: d.map(lambda x, y: (y, 10 // y)).filter(_by_first), "may fail"),
        (
            lambda d: d.map(enlarge).filter(lambda e: tf.random.uniform([]) > 0.5),
            "draws random",
        ),
        (
            lambda d: d.map(enlarge, num_parallel_calls=2, deterministic=False).filter(
                lambda e: e["z"] > 3
            ),
            "keeps no order",
        ),
    ],
)
def test_refused_filters(cook, reason):
    with pytest.raises(CannotRewrite, match=reason):
        filtered(cook(pairs()))


@pytest.mark.parametrize("reshuffle", [True, False])
@pytest.mark.parametrize("buffer", [1, 7, 100])
def test_shuffle_before_maps(buffer, reshuffle):
    dataset = pairs(20).map(enlarge).map(lambda e: e["x"], num_parallel_calls=2)
    dataset = dataset.prefetch(2).shuffle(
        buffer, seed=4, reshuffle_each_iteration=reshuffle
    )
    twin = shuffled(dataset.batch(4))
    assert ops(read(twin)) == [
        "from_tensor_slices",
        "shuffle",
        "map",
        "map",
        "prefetch",
        "batch",
    ]
    for _ in range(3):
        assert same_bits(dataset.batch(4), twin) == 5


def test_shuffle_and_repeat_keep_the_order():
    def cook():
        return pairs(20).map(enlarge).shuffle(6, seed=9).repeat(3).batch(4)

    tf.random.set_seed(5)
    dataset = cook()
    assert same_bits(dataset, shuffled(dataset)) == 15


def test_refused_shuffles():
    with pytest.raises(CannotRewrite, match="draws random"):
        shuffled(pairs().map(_noise).shuffle(5))
    with pytest.raises(CannotRewrite, match="no map"):
        shuffled(pairs().shuffle(5))
    both = pairs().map(enlarge).shuffle(5)
    with pytest.raises(CannotRewrite, match="more than one"):
        shuffled(tf.data.Dataset.zip((both, both)))
