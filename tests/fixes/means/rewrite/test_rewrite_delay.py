"""Pixels that wait for the crop."""

import numpy as np
import pytest
import tensorflow as tf
from tests.fixes.means.rewrite.test_rewrite_helpers import last, picture, same_bits

from feedline.fixes.means.rewrite.delay import delayed
from feedline.fixes.means.rewrite.flat import CannotRewrite

pytestmark = [pytest.mark.tensorflow, pytest.mark.usefixtures("no_seed")]


@pytest.fixture(scope="module")
def pictures():
    rng = np.random.default_rng(0)
    stacked = np.stack([picture(rng, 40, 50) for _ in range(12)])
    return tf.data.Dataset.from_tensor_slices(stacked)


def as_floats(image):
    return tf.cast(image, tf.float32) / 255.0


def everything(image):
    image = tf.image.random_brightness(as_floats(image), 0.2, seed=1)
    image = tf.image.random_contrast(image, 0.8, 1.2, seed=2)
    image = tf.image.random_hue(image, 0.1, seed=3)
    image = tf.image.random_saturation(image, 0.8, 1.2, seed=4)
    image = tf.image.random_flip_left_right(image, seed=5)
    return tf.image.random_crop(image, [16, 20, 3], seed=6)


def hue(image):
    return tf.image.random_hue(as_floats(image), 0.1, seed=3)


FUNCTIONS = {
    "everything": everything,
    "a plain cut": lambda b: tf.slice(hue(b) * 2.0, [3, 4, 0], [10, 10, 3]),
    "turned": lambda b: tf.slice(tf.reverse(hue(b), [0]), [3, 4, 0], [10, 10, 3]),
    "a colour cut away": lambda b: tf.slice(hue(b), [3, 4, 0], [10, 10, 2]),
    "colours turned": lambda b: tf.slice(
        tf.reverse(hue(b), [2]), [3, 4, 0], [10, 10, 3]
    ),
    "used twice": lambda b: (
        tf.slice(hue(b), [3, 4, 0], [10, 10, 3]),
        tf.reduce_mean(hue(b)),
    ),
    "its mean is asked for": lambda b: tf.slice(
        hue(b) - tf.reduce_mean(hue(b)), [3, 4, 0], [10, 10, 3]
    ),
    "never cut": lambda b: hue(b) * 2.0 + tf.slice([1.0], [0], [1]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_same_pixels(pictures, name):
    tf.random.set_seed(2)
    dataset = pictures.map(FUNCTIONS[name])
    twin = pictures.map(delayed(last(dataset)))
    assert same_bits(dataset, twin) == 12


def test_less_is_worked_on(pictures):
    dataset = pictures.map(everything)
    twin = pictures.map(delayed(last(dataset)))
    graph = twin._map_func.function.graph
    for kind in ("AdjustHue", "AdjustSaturation"):
        (op,) = [op for op in graph.get_operations() if op.type == kind]
        assert op.inputs[0].shape == [16, 20, 3]


def test_nothing_to_put_off(pictures):
    dataset = pictures.map(lambda b: tf.slice(as_floats(b), [3, 4, 0], [10, 10, 3]))
    with pytest.raises(CannotRewrite, match="nothing expensive"):
        delayed(last(dataset))
