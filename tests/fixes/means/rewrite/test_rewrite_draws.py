"""Drawing apart from the rest: every element keeps its draws."""

import ast
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
from tests.fixes.means.rewrite.test_rewrite_helpers import jpeg, last, same_bits
from tests.job.elements import ops

from feedline.fixes.means.rewrite.draws import draw_apart, split
from feedline.fixes.means.rewrite.flat import CannotRewrite
from feedline.job.tfdata.read import read
from feedline.job.tfdata.rebuild import rebuild

pytestmark = [pytest.mark.tensorflow, pytest.mark.usefixtures("no_seed")]
EXAMPLES = Path(__file__).parents[4] / "examples"


def numbers(count=20):
    return tf.data.Dataset.range(count)


def apart(dataset):
    pipeline = read(dataset)
    return rebuild(draw_apart(pipeline, pipeline.find("map")[-1]))


def function_of(example, name, monkeypatch):
    """A function of an example's, without its data and its training."""
    monkeypatch.syspath_prepend(EXAMPLES)
    path = EXAMPLES / example
    tree = ast.parse(path.read_text("utf-8"))
    tree.body = [node for node in tree.body if isinstance(node, DEFINES) or _set(node)]
    scope = {"__name__": path.stem}
    exec(compile(tree, str(path), "exec"), scope)
    return scope[name]


DEFINES = (ast.Import, ast.ImportFrom, ast.FunctionDef)


def _set(node):
    return isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)


def test_pictures_in_memory(monkeypatch):
    augment = function_of("images_serial_augmentation.py", "augment", monkeypatch)
    images = np.random.default_rng(0).integers(0, 256, (24, 128, 128, 3), np.uint8)
    tf.random.set_seed(7)
    dataset = tf.data.Dataset.from_tensor_slices((images, range(24))).map(augment)
    twin = apart(dataset)
    assert ops(read(twin)) == ["from_tensor_slices", "map", "map"]
    serial, parallel = read(twin).find("map")
    assert serial.args.get("num_parallel_calls") is None
    assert parallel.args["num_parallel_calls"] == tf.data.AUTOTUNE
    assert serial.random
    assert not parallel.random
    for _ in range(2):
        assert same_bits(dataset, twin) == 24
    batched, other = dataset.batch(5).repeat(2), apart(dataset.batch(5).repeat(2))
    assert same_bits(batched, other) == 10


def test_picture_files(monkeypatch, tmp_path):
    load = function_of("jpeg_files.py", "load", monkeypatch)
    rng = np.random.default_rng(0)
    for n in range(10):
        (tmp_path / f"{n}-{n}.jpg").write_bytes(jpeg(rng, 120 + n, 150))
    tf.random.set_seed(7)
    files = tf.data.Dataset.list_files(f"{tmp_path}/*.jpg", shuffle=False)
    dataset = files.map(load).batch(4).repeat(2)
    for _ in range(2):
        assert same_bits(dataset, apart(dataset)) == 6


def test_what_is_drawn_depends_on_something_dear():
    rng = np.random.default_rng(0)
    files = [jpeg(rng, 40 + n, 60) for n in range(8)]

    def load(contents):
        image = tf.io.decode_jpeg(contents, channels=3)
        low = tf.random.uniform([], 0, tf.shape(image)[0] - 20, tf.int32)
        return image[low : low + 20], low

    tf.random.set_seed(3)
    dataset = tf.data.Dataset.from_tensor_slices(files).map(load)
    twin = apart(dataset)
    assert ops(read(twin)) == ["from_tensor_slices", "map", "map", "map"]
    prepare, draw, _ = read(twin).find("map")
    assert "DecodeJpeg" in prepare.functions[0].ops
    assert "DecodeJpeg" not in draw.functions[0].ops
    assert same_bits(dataset.repeat(2), twin.repeat(2)) == 16


@tf.function
def called(x):
    tf.debugging.assert_less(x, 5.0)
    return x * tf.random.uniform([])


def test_draws_inside_calls_and_many_kinds():
    def many(x):
        uniform = tf.random.uniform([3], 0, x + 2, tf.int64)
        normal = tf.random.normal([2, 2], stddev=2.0, seed=5)
        kept = tf.nn.dropout(tf.ones([8]), 0.5)
        order = tf.random.shuffle(tf.range(6))
        other = tf.random.truncated_normal([2]) + tf.random.gamma([2], 2.0)
        pick = tf.random.categorical([[0.1, 0.9, 0.4]], 4)
        twice = (called(2.0), called(2.0))
        return (
            {"x": x, "u": uniform, "n": (normal, kept), "o": order},
            other,
            pick,
            twice,
        )

    tf.random.set_seed(11)
    dataset = numbers().map(many).repeat(2)
    assert same_bits(dataset, apart(dataset)) == 40


def test_any_kind_of_element():
    def rich(x):
        ragged = tf.RaggedTensor.from_row_lengths(tf.range(x % 3 + 2), [x % 3, 2])
        return {"r": ragged, "s": tf.sparse.from_dense([x, 0])}

    def noisy(element):
        ragged = tf.cast(element["r"], tf.float32)
        return ragged + tf.random.uniform([]), element["s"]

    tf.random.set_seed(1)
    dataset = numbers(6).map(rich).map(noisy)
    twin = apart(dataset)
    assert twin.element_spec == dataset.element_spec
    for (ragged, sparse), (ragged2, sparse2) in zip(dataset, twin, strict=True):
        assert ragged.to_list() == ragged2.to_list()
        assert np.array_equal(sparse.values, sparse2.values)


def test_layers_of_keras_draw_from_a_generator():
    def cook():
        layers = [keras.layers.RandomFlip("horizontal", seed=3)]
        layers += [keras.layers.RandomBrightness(0.3, seed=4, value_range=(0, 1))]

        def augment(image):
            for layer in layers:
                image = layer(image, training=True)
            return image

        images = np.random.default_rng(0).random((12, 8, 8, 3), np.float32)
        return tf.data.Dataset.from_tensor_slices(images).map(augment)

    assert split(last(cook())).state
    with pytest.raises(CannotRewrite, match="run ahead of the job"):
        apart(cook())


def generator_noise(seed):
    generator = tf.random.Generator.from_seed(seed)
    return lambda x: (x, generator.normal([3]))


def test_running_ahead_of_what_is_used_is_refused():
    noisy = numbers().map(lambda x: tf.random.uniform([]))
    assert len(list(apart(noisy.take(3)))) == 3
    with pytest.raises(CannotRewrite, match="stop an epoch early"):
        apart(noisy.take(3).repeat(2))


def test_a_generator_is_refused():
    noise = generator_noise(5)
    with pytest.raises(CannotRewrite, match="run ahead of the job"):
        apart(numbers().map(noise))


def _python(x):
    tf.numpy_function(lambda: None, [], [])
    return tf.random.uniform([])


def _in_a_condition(x):
    return tf.cond(x > 3, lambda: tf.random.uniform([]), lambda: 0.0)


def _of_its_own_making(x):
    noise = tf.random.uniform([200, 200]) * tf.random.uniform([200, 1])
    most = 1 + tf.cast(tf.reduce_sum(noise), tf.int32)
    return tf.random.uniform([], 0, most, tf.int32)


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda x: x + 1, "draws no random numbers"),
        (lambda x: tf.random.stateless_uniform([], [x, x]), "draws no random"),
        (_in_a_condition, "condition or a loop"),
        (_of_its_own_making, "depends on what it made"),
        (_python, "Python"),
    ],
)
def test_refused(function, reason):
    with pytest.raises(CannotRewrite, match=reason):
        split(last(numbers().map(function)))


def test_a_parallel_map_is_left_alone():
    noisy = numbers().map(lambda x: tf.random.uniform([]), num_parallel_calls=2)
    with pytest.raises(CannotRewrite, match="only a serial map"):
        apart(noisy)


def test_the_seed_of_nobody_is_moved():
    """Reading and splitting draw nothing from the job's own counters."""
    tf.random.set_seed(7)
    expected = float(tf.random.uniform([]))
    tf.random.set_seed(7)
    apart(numbers().map(lambda x: tf.random.uniform([], seed=2)))
    assert float(tf.random.uniform([])) == expected
