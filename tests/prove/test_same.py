"""The comparer finds every kind of difference, and no other."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from feedline.job.tfdata.pipeline import Pipeline
from feedline.job.tfdata.read import read
from feedline.prove.same import comparable, compare, differ, digest, pinned

pytestmark = pytest.mark.tensorflow

D = tf.data.Dataset


def same(before, after, seconds=60.0, **more):
    """However busy the machine is, there is time."""
    pipelines = read(before).numbered(), read(after).numbered()
    return compare(*pipelines, seconds=seconds, **more)


def slices(*values, dtype=None):
    return D.from_tensor_slices(tf.constant(values, dtype))


NAN = np.array([0x7FC00000, 0x7FC00001], np.uint32).view(np.float32)
RAGGED = tf.ragged.constant([[1], [2, 3]])
SPARSE = tf.sparse.from_dense([[0, 1], [2, 0]])


def failing(at: int, n: int = 6):
    def check(x):
        return tf.debugging.check_numerics(1.0 / tf.cast(x - at, tf.float32), "bad")

    return D.range(n).map(check)


def reading_the_end(n: int = 6):
    """As `failing`, but by another error."""

    def check(x):
        with tf.control_dependencies(
            [tf.debugging.assert_less(x, tf.constant(4, x.dtype))]
        ):
            return tf.cast(x, tf.float32)

    return D.range(n).map(check)


DIFFERENT = {
    "a value": (slices(1, 2, 3), slices(1, 2, 4)),
    "a value late": (D.range(300), D.range(299).concatenate(slices(0, dtype=tf.int64))),
    "the dtype": (slices(1, 2), slices(1, 2, dtype=tf.int64)),
    "the shape": (slices([1, 2]), slices([[1, 2]])),
    "a shape within": (
        D.range(4).map(lambda x: tf.zeros([x + 1])),
        D.range(4).map(lambda x: tf.zeros([tf.minimum(x + 1, 3)])),
    ),
    "the structure": (slices(1, 2), D.from_tensor_slices(([1, 2], [1, 2]))),
    "names": (
        D.from_tensor_slices({"a": [1]}),
        D.from_tensor_slices({"b": [1]}),
    ),
    "the order": (slices(1, 2, 3), slices(1, 3, 2)),
    "one fewer": (D.range(5), D.range(4)),
    "one more": (D.range(4), D.range(5)),
    "nothing at all": (D.range(2), D.range(0)),
    "an error at the end": (D.range(3).map(float), failing(3, 4)),
    "no error at the end": (failing(3), failing(9)),
    "an error sooner": (failing(3), failing(2)),
    "another error": (failing(4), reading_the_end()),
    "another order in each epoch": (
        D.range(9).shuffle(9, 3, reshuffle_each_iteration=True),
        D.range(9).shuffle(9, 3, reshuffle_each_iteration=False),
    ),
    "another seed": (D.range(9).shuffle(9, 3), D.range(9).shuffle(9, 4)),
    "a frozen shuffle": (D.range(9).shuffle(9), D.range(9).shuffle(9).cache()),
    "ragged values": (
        D.from_tensors(RAGGED),
        D.from_tensors(tf.ragged.constant([[1], [2, 4]])),
    ),
    "ragged rows": (
        D.from_tensors(RAGGED),
        D.from_tensors(tf.ragged.constant([[1, 2], [3]])),
    ),
    "ragged or not": (D.from_tensors(RAGGED), D.from_tensors(RAGGED.to_tensor())),
    "sparse values": (D.from_tensors(SPARSE), D.from_tensors(SPARSE * 2)),
    "sparse places": (
        D.from_tensors(SPARSE),
        D.from_tensors(tf.sparse.from_dense([[1, 0], [0, 2]])),
    ),
    "text": (slices("a", "b"), slices("a", "c")),
    "text with zeros": (slices(b"a"), slices(b"a\0")),
    "rows of text": (slices(["a", "b"]), slices(["a", "b\0"])),
    "empty text": (slices(b"", b"a"), slices(b"a", b"")),
    "the sign of zero": (slices(0.0), slices(-0.0)),
    "the bits of NaN": (slices(NAN[0]), slices(NAN[1])),
    "the last bit": (slices(1.0), slices(np.nextafter(np.float32(1), np.float32(2)))),
    "bfloat16": (slices(1.0, dtype=tf.bfloat16), slices(1.01, dtype=tf.bfloat16)),
    "complex": (slices(1 + 2j), slices(1 - 2j)),
    "truth": (slices(True, False), slices(True, True)),
}  # fmt: skip


@pytest.mark.parametrize("what", DIFFERENT)
def test_it_finds(what):
    found = same(*DIFFERENT[what])
    assert not found.equal
    assert found.difference
    assert len(found.difference) < 1000


def drawing(seed=5):
    return D.range(9).map(lambda x: tf.random.uniform([2], seed=seed))


def generator():
    source = tf.random.Generator.from_seed(1)
    return D.range(9).map(lambda x: source.uniform([2]))


def layer():
    import keras

    noise = keras.layers.GaussianNoise(0.5, seed=3)
    return D.range(9).map(lambda x: noise(tf.zeros([2]), training=True))


EQUAL = {
    "numbers": lambda: D.range(9),
    "nothing": lambda: D.range(0),
    "NaN": lambda: slices(NAN[0], NAN[1]),
    "text": lambda: slices("a", "b\0", ""),
    "ragged": lambda: D.from_tensors(RAGGED).repeat(3),
    "sparse": lambda: D.from_tensors(SPARSE).repeat(3),
    "nested": lambda: D.from_tensor_slices({"a": ([1, 2], ["x", "y"])}),
    "an error": lambda: failing(3),
    "a shuffle with a seed": lambda: D.range(9).shuffle(9, seed=3),
    "a shuffle without": lambda: D.range(9).shuffle(9),
    "two of them": lambda: D.range(9).shuffle(9).batch(2).shuffle(5),
    "draws under a seed": drawing,
    "for ever": D.counter,
}


@pytest.mark.parametrize("what", EQUAL)
def test_it_calls_equal_what_is(what):
    found = same(EQUAL[what](), EQUAL[what](), most=60)
    assert found.equal, found.difference
    assert found.values
    assert found.difference == ""


@pytest.mark.parametrize("what", ["a shuffle without", "two of them"])
def test_shuffles_are_pinned_in_pipelines_that_were_not_numbered(what):
    data = EQUAL[what]()
    assert compare(read(data), read(data), seconds=60.0).equal


def test_it_says_how_much_it_compared():
    found = same(D.range(9), D.range(9))
    assert (found.elements, found.epochs) == (18, 2)
    found = same(D.range(9), D.range(9), most=12)
    assert (found.elements, found.epochs) == (12, 1)
    found = same(D.counter(), D.counter(), most=7)
    assert (found.elements, found.epochs) == (7, 0)
    found = same(failing(3), failing(3))
    assert found.epochs == 0  # none came to its end


class Clock:
    """Time that stands still for so many looks at it, and is over then."""

    def __init__(self, looks):
        self.looks = looks

    def perf_counter(self):
        self.looks -= 1
        return 0.0 if self.looks > 0 else 99.0


def test_time_limits_it(monkeypatch):
    monkeypatch.setattr("feedline.prove.same.time", Clock(20))
    found = same(D.counter(), D.counter(), most=10**9)
    assert found.equal
    assert 0 < found.elements < 25


def test_an_unseeded_shuffle_is_another_one_if_it_has_another_buffer():
    assert not same(D.range(20).shuffle(20), D.range(20).shuffle(5)).equal


def test_free_draws_are_compared_by_shape_alone():
    found = same(drawing(None), drawing(None))
    assert found.equal
    assert not found.values
    wide = drawing(None).map(lambda x: tf.stack([x, x]))
    assert not same(drawing(None), wide).equal


@pytest.mark.parametrize("make", [generator, layer])
def test_draws_from_a_state_that_both_sides_share(make):
    """Each side takes numbers from the other: no value may be called the same."""
    data = make()
    found = same(data, data)
    assert not (found.equal and found.values)


def test_what_can_be_compared():
    assert comparable(read(drawing()))
    assert comparable(read(D.range(3).shuffle(3)))
    assert not comparable(read(drawing(None)))
    assert not comparable(read(D.random()))
    assert comparable(read(D.random(seed=1)))


def test_neither_side_is_disturbed():
    data = D.range(9).shuffle(9, seed=3)
    twin = D.range(9).shuffle(9, seed=3)
    pipeline = read(data).numbered()
    compare(pipeline, pipeline, seconds=60.0)
    for _ in range(3):
        assert list(data.as_numpy_iterator()) == list(twin.as_numpy_iterator())


# ------------------------------------------------------------------ in any order


def test_a_bag_of_elements():
    assert same(slices(1, 2, 3), slices(3, 1, 2), order="any").equal
    assert not same(slices(1, 2, 3), slices(3, 1, 1), order="any").equal
    assert not same(slices(1, 2, 2), slices(1, 1, 2), order="any").equal
    assert not same(slices(1, 2), slices(1, 2, 3), order="any").equal
    assert not same(slices(0.0), slices(-0.0), order="any").equal
    assert not same(slices(b"a"), slices(b"a\0"), order="any").equal


def test_a_bag_of_batches_is_one_of_their_elements():
    def made(*numbers):
        data = D.from_tensor_slices((list(numbers), list(numbers)))
        return data.batch(2)

    assert same(made(1, 2, 3, 4, 5), made(5, 3, 1, 4, 2), order="any").equal
    assert not same(made(1, 2, 3, 4), made(1, 2, 3, 3), order="any").equal
    crossed = D.from_tensor_slices(([1, 2], [2, 1])).batch(2)
    assert not same(made(1, 2), crossed, order="any").equal


def test_a_bag_of_draws_that_nothing_fixes_is_one_of_shapes():
    def drawn(number, length=2):
        return D.range(number).map(lambda x: tf.random.normal([length]))

    found = same(drawn(5), drawn(5), order="any")
    assert (found.equal, found.values) == (True, False)
    assert not same(drawn(5), drawn(4), order="any").equal
    assert not same(drawn(5), drawn(5, 3), order="any").equal


def test_a_bag_that_was_not_seen_whole_proves_nothing(monkeypatch):
    whole = D.range(10**9)
    for other in (whole, whole.skip(5), whole.map(lambda x: -x)):
        monkeypatch.setattr("feedline.prove.same.time", Clock(40))
        found = same(whole, other, order="any")
        assert not found.equal
        assert found.epochs == 0
        assert "no epoch came to its end" in found.difference


def test_a_bag_is_read_to_its_end_however_many_it_holds():
    assert same(D.range(700), D.range(700).shuffle(700), order="any", seconds=60).equal
    less = D.range(699).concatenate(slices(0, dtype=tf.int64)).shuffle(700)
    assert not same(D.range(700), less, order="any", seconds=60).equal


def test_what_repeats_for_ever_is_compared_for_one_pass():
    def made(*numbers):
        return slices(*numbers).repeat()

    found = same(made(1, 2, 3), made(3, 1, 2), order="any")
    assert found.equal
    assert found.epochs == 2
    assert not same(made(1, 2, 3), made(3, 1, 1), order="any").equal
    # A batch that reaches over the end of a pass holds the same elements.
    batched = [slices(*n).repeat().batch(2) for n in ((1, 2, 3), (3, 2, 1))]
    assert same(*batched, order="any").equal


def test_one_epoch_that_ended_is_enough(monkeypatch):
    """The second was cut short, the first was whole and the same."""
    monkeypatch.setattr("feedline.prove.same.time", Clock(6))
    found = same(slices(1, 2, 3), slices(3, 1, 2), order="any")
    assert (found.equal, found.epochs) == (True, 1)
    assert 3 < found.elements < 6


def test_values_may_differ_but_nothing_else():
    loose = {"order": "values may differ"}
    found = same(slices(1, 2), slices(3, 4), **loose)
    assert found.equal
    assert not found.values
    assert not same(slices(1, 2), slices(1.0, 2.0), **loose).equal
    assert not same(slices(1, 2), slices(1, 2, 3), **loose).equal
    assert not same(slices([1, 2]), slices([[1, 2]]), **loose).equal


# --------------------------------------------------------------------- its parts


def test_elements_by_themselves():
    one = (tf.constant(1), {"x": tf.constant("a")})
    assert differ(one, one) == ""
    assert "structure" in differ(one, (tf.constant(1), {"y": tf.constant("a")}))
    assert "dtype" in differ(tf.constant(1), tf.constant(1.0))
    assert "shape" in differ(tf.constant([1]), tf.constant([1, 2]))
    assert "rank" in differ(tf.constant(1), tf.constant([1]), values=False)
    assert "other values" in differ(tf.constant(1), tf.constant(2))


def test_a_digest_depends_on_all_of_an_element():
    marks = [
        digest(element)
        for element in (
            tf.constant(1),
            tf.constant(1, tf.int64),
            tf.constant([1]),
            tf.constant([[1]]),
            tf.constant(["a", "bc"]),
            tf.constant(["ab", "c"]),
            tf.constant("a"),
            tf.constant("a\0"),
            RAGGED,
            SPARSE,
        )
    ]
    assert len(set(marks)) == len(marks)
    assert digest(tf.constant("a")) == digest(tf.constant("a"))


def test_pinning_keeps_everything_else():
    data = D.range(9).shuffle(9).batch(2).shuffle(3, seed=8)
    before = read(data).numbered()
    after = pinned(before)
    assert isinstance(after, Pipeline)
    seeds = [stage.args["seed"] for stage in after.find("shuffle")]
    assert seeds[0] is not None
    assert seeds[1] == 8
    ops = [(stage.op, stage.number) for stage in before.stages()]
    assert [(stage.op, stage.number) for stage in after.stages()] == ops
