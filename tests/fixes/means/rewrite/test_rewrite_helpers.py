"""What the tests of rewriting share: pictures with enough in them to tell a right
pixel from a wrong one, and comparing bit for bit."""

import numpy as np
import tensorflow as tf

from feedline.job.tfdata.read import read


def picture(rng, height, width):
    y, x = np.mgrid[0:height, 0:width]
    waves = [
        128 + 100 * np.sin(x / 7 + y / 11),
        128 + 90 * np.cos(y / 5),
        x * 3 + y,
    ]
    noisy = np.stack(waves, -1) % 256 + rng.normal(0, 10, (height, width, 3))
    return np.clip(noisy, 0, 255).astype(np.uint8)


def jpeg(rng, height, width, **options):
    return tf.io.encode_jpeg(picture(rng, height, width), **options).numpy()


def same_bits(dataset, twin):
    """How many elements there are; each is the same, bit for bit."""
    count = 0
    assert dataset.element_spec == twin.element_spec
    for one, other in zip(dataset, twin, strict=True):
        pairs = zip(tf.nest.flatten(one), tf.nest.flatten(other), strict=True)
        for a, b in pairs:
            assert a.dtype == b.dtype
            assert a.shape == b.shape
            if a.dtype == tf.string:
                assert np.array_equal(a, b)
            else:
                assert a.numpy().tobytes() == b.numpy().tobytes()
        count += 1
    return count


def last(dataset):
    return read(dataset).root
