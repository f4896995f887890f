"""JPEGs decoded small, or in part."""

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.fixes.means.rewrite.test_rewrite_helpers import (
    jpeg,
    last,
    picture,
    same_bits,
)

from feedline import fixes
from feedline.fixes.fix import CannotFix, Edit
from feedline.fixes.means.rewrite.crop import cropped_decode
from feedline.fixes.means.rewrite.flat import CannotRewrite
from feedline.fixes.means.rewrite.jpeg import scaled_decode
from feedline.job.tfdata.read import read
from feedline.job.tfdata.rebuild import rebuild

pytestmark = [pytest.mark.tensorflow, pytest.mark.usefixtures("no_seed")]


@pytest.fixture(scope="module")
def files():
    rng = np.random.default_rng(0)
    sizes = [(97, 101), (150, 120), (200, 333), (320, 320), (64, 64)]
    contents = [jpeg(rng, *size) for size in sizes]
    contents.append(jpeg(rng, 130, 140, progressive=True, chroma_downsampling=False))
    contents.append(tf.io.encode_png(picture(rng, 120, 130)).numpy())
    return tf.data.Dataset.from_tensor_slices(contents)


def decoded(contents):
    return tf.io.decode_jpeg(contents, channels=3)


def smooth(height, width):
    y, x = np.mgrid[0:height, 0:width]
    waves = [128 + 100 * np.sin(x / 40), 128 + 90 * np.cos(y / 30), (x + y) / 4]
    return np.stack(waves, -1).astype(np.uint8)


@pytest.mark.parametrize("method", ["bilinear", "bicubic", "area"])
def test_small_pictures_look_the_same(method):
    contents = [
        tf.io.encode_jpeg(smooth(*size), quality=95).numpy()
        for size in [(320, 320), (200, 333), (161, 96), (40, 40), (30, 90)]
    ]

    def load(contents):
        image = tf.image.convert_image_dtype(decoded(contents), tf.float32)
        return tf.image.resize(image, (40, 40), method=method), contents

    source = tf.data.Dataset.from_tensor_slices(contents)
    dataset = source.map(load)
    twin = source.map(scaled_decode(last(dataset)))
    assert twin.element_spec == dataset.element_spec
    errors = [
        float(tf.reduce_mean(tf.abs(one - other)))
        for (one, _), (other, _) in zip(dataset, twin, strict=True)
    ]
    assert max(errors) < 0.03
    assert errors[0] > 0
    assert errors[3] == errors[4] == 0  # too small to be decoded smaller


def test_the_ratio_covers_the_target(files):
    """Never is a picture decoded smaller than it will be."""
    dataset = files.map(lambda b: tf.image.resize(decoded(b), (33, 50)))
    function = scaled_decode(last(dataset))
    twin = files.map(function)
    assert len(list(twin)) == 7
    graph = last(twin).handle.traced[0].function.graph
    assert "Case" in {
        op.type.removeprefix("Stateless") for op in graph.get_operations()
    }


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (decoded, "itself is given out"),
        (
            lambda b: tf.image.resize(tf.image.rot90(decoded(b)), (9, 9)),
            "whole picture",
        ),
        (
            lambda b: tf.image.resize(decoded(b), tf.shape(decoded(b))[:2] // 2),
            "used by Shape|not a constant",
        ),
        (lambda b: tf.image.resize(tf.io.decode_png(b), (9, 9)), "no JPEG"),
        (
            lambda b: (tf.image.resize(decoded(b), (9, 9)), tf.reduce_sum(decoded(b))),
            "",
        ),
    ],
)
def test_not_made_smaller(files, function, reason):
    dataset = files.map(function)
    if reason:
        with pytest.raises(CannotRewrite, match=reason):
            scaled_decode(last(dataset))
    else:  # the one that is used whole stays whole
        twin = files.map(scaled_decode(last(dataset)))
        for (_, one), (_, other) in zip(dataset, twin, strict=True):
            assert int(one) == int(other)


@pytest.mark.parametrize(
    "function",
    [
        lambda b: tf.image.crop_to_bounding_box(decoded(b), 10, 20, 50, 30),
        lambda b: tf.image.random_crop(decoded(b), [50, 60, 3]),
        lambda b: decoded(b)[5:70, 20:],
        lambda b: decoded(b)[:7, 20:33, 1:],
        lambda b: tf.slice(decoded(b), [3, 4, 0], [-1, 40, -1]),
        lambda b: tf.image.central_crop(decoded(b), 0.5),
        lambda b: tf.io.decode_jpeg(b)[10:20],
        lambda b: tf.image.resize_with_crop_or_pad(decoded(b), 50, 50),
        lambda b: tf.image.resize(decoded(b)[16:48, 16:48], (20, 20)) / 255.0,
    ],
)
def test_parts_are_the_same(files, function):
    tf.random.set_seed(2)
    dataset = files.map(function)
    twin = files.map(cropped_decode(last(dataset)))
    graph = last(twin).functions[0].ops
    assert "DecodeAndCropJpeg" in graph
    assert same_bits(dataset, twin) == 7


def test_as_edits_and_not_one_on_top_of_the_other(files):
    dataset = files.map(lambda b: tf.image.resize(decoded(b)[16:48, 16:48], (20, 20)))
    pipeline = read(dataset).numbered()
    here = pipeline.root.number
    edits = [Edit("cropped-decode", here), Edit("scaled-decode", here)]
    assert same_bits(dataset, rebuild(fixes.apply(pipeline, edits[:1]))) == 7
    with pytest.raises(CannotFix, match="already"):
        fixes.apply(pipeline, edits)


@pytest.mark.parametrize(
    "function",
    [
        decoded,
        lambda b: decoded(b)[::-1],
        lambda b: decoded(b)[-9:],
        lambda b: (decoded(b)[:9], tf.reduce_sum(decoded(b))),
    ],
)
def test_not_cut(files, function):
    dataset = files.map(function)
    try:
        twin = files.map(cropped_decode(last(dataset)))
    except CannotRewrite:
        return
    assert same_bits(dataset, twin) == 7


def test_a_part_outside_of_the_picture_still_fails(files):
    dataset = files.map(lambda b: tf.slice(decoded(b), [40, 0, 0], [60, 60, -1]))
    twin = files.map(cropped_decode(last(dataset)))
    for one in (dataset, twin):
        with pytest.raises(tf.errors.InvalidArgumentError):
            list(one)


LAW = settings(
    max_examples=25, deadline=None, derandomize=True, suppress_health_check=HealthCheck
)


@LAW
@given(st.data())
def test_law(cutter, data):
    holds(cutter, data)


@pytest.mark.slow
@settings(LAW, max_examples=250)
@given(st.data())
def test_law_of_many_more(cutter, data):
    holds(cutter, data)


def holds(cutter, data):
    height, width = (data.draw(st.integers(1, 120)) for _ in range(2))
    top, left = (
        data.draw(st.integers(0, height - 1)),
        data.draw(st.integers(0, width - 1)),
    )
    rows = data.draw(st.integers(1, height - top))
    columns = data.draw(st.integers(1, width - left))
    half = data.draw(st.booleans())
    rng = np.random.default_rng(height * width)
    contents = jpeg(rng, height, width, chroma_downsampling=half)
    part = cutter(contents, [top, left, 0], [rows, columns, 3])
    whole = decoded(contents)[top : top + rows, left : left + columns]
    assert np.array_equal(part, whole)


@pytest.fixture(scope="module")
def cutter():
    """Traced once, for any file and any part."""
    source = tf.data.Dataset.from_tensors((b"", [0, 0, 0], [0, 0, 0]))
    dataset = source.map(lambda b, begin, size: tf.slice(decoded(b), begin, size))
    return tf.function(cropped_decode(last(dataset)), autograph=False)
