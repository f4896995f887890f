"""Random pipelines, each as a recipe that can be cooked any number of times.

A step is (method, arguments, what it makes of the elements). Elements are
`number`s until a step turns them into something richer.
"""

from dataclasses import dataclass

import tensorflow as tf
from hypothesis import strategies as st


@dataclass(frozen=True)
class Recipe:
    source: str
    steps: tuple[str, ...]
    number: int

    def cook(self):
        """The dataset, and the names of its stages, the source first."""
        dataset, names = SOURCES[self.source](self.number), [self.source]
        for step in self.steps:
            dataset, names = STEPS[step][2](dataset, names, self.number)
        return dataset, names


def _step(name, call):
    def apply(dataset, names, n):
        return call(dataset, n), [*names, name]

    return apply


def _branch(name, call):
    """A second branch that starts from a range."""

    def apply(dataset, names, n):
        return call(dataset, tf.data.Dataset.range(n)), [*names, "range", name]

    return apply


def _two_stages(first, second, call):
    def apply(dataset, names, n):
        return call(dataset, n), [*names, first, second]

    return apply


def _options(dataset, n):
    options = tf.data.Options()
    options.deterministic = True
    options.threading.private_threadpool_size = n
    options.experimental_optimization.map_parallelization = bool(n % 2)
    return dataset.with_options(options)


def _nested(x):
    return {"x": (x, tf.cast(x, tf.float32)), "s": tf.strings.as_string(x)}


def _ragged(x):
    return tf.RaggedTensor.from_row_lengths(tf.range(x % 3 + 2), [x % 3, 2])


def _sparse(x):
    return tf.SparseTensor([[x % 4]], [x], [4])


def _noise(x):
    return x + tf.random.uniform([], maxval=100, dtype=tf.int64, seed=5)


def _files_like(x):
    return tf.data.Dataset.range(x, x + 2).map(lambda y: y * 2)


SOURCES = {
    "range": tf.data.Dataset.range,
    "from_tensor_slices": lambda n: tf.data.Dataset.from_tensor_slices(
        tf.range(n, dtype=tf.int64) * 3
    ),
    "counter": lambda n: tf.data.Dataset.counter(n, 2),
}

ANY, NUMBER = None, "number"

# name: (needs, makes, how). `makes` None: the elements stay what they are.
STEPS = {
    "shuffle": (ANY, None, _step("shuffle", lambda d, n: d.shuffle(n + 1, seed=n))),
    "shuffle once": (
        ANY,
        None,
        _step("shuffle", lambda d, n: d.shuffle(4, 3, reshuffle_each_iteration=False)),
    ),
    "repeat": (ANY, None, _step("repeat", lambda d, n: d.repeat(2))),
    "take": (ANY, None, _step("take", lambda d, n: d.take(n + 3))),
    "skip": (ANY, None, _step("skip", lambda d, n: d.skip(1))),
    "shard": (ANY, None, _step("shard", lambda d, n: d.shard(2, n % 2))),
    "cache": (ANY, None, _two_stages("take", "cache", lambda d, n: d.take(30).cache())),
    "prefetch": (ANY, None, _step("prefetch", lambda d, n: d.prefetch(-1))),
    "options": (ANY, None, _step("with_options", _options)),
    "enumerate": (ANY, "pair", _step("enumerate", lambda d, n: d.enumerate(n))),
    "map": (NUMBER, None, _step("map", lambda d, n: d.map(lambda x: x + n))),
    "noise": (NUMBER, None, _step("map", lambda d, n: d.map(_noise))),
    "parallel map": (
        NUMBER,
        None,
        _step("map", lambda d, n: d.map(tf.negative, num_parallel_calls=2)),
    ),
    "filter": (
        NUMBER,
        None,
        _step("filter", lambda d, n: d.filter(lambda x: x % n != 1)),
    ),
    "scan": (
        NUMBER,
        None,
        _step("scan", lambda d, n: d.scan(tf.constant(n, tf.int64), _sum)),
    ),
    "interleave": (
        NUMBER,
        None,
        _step("interleave", lambda d, n: d.interleave(_files_like, cycle_length=n)),
    ),
    "parallel interleave": (
        NUMBER,
        None,
        _step(
            "interleave",
            lambda d, n: d.interleave(_files_like, n, 1, 2, deterministic=True),
        ),
    ),
    "flat_map": (NUMBER, None, _step("flat_map", lambda d, n: d.flat_map(_files_like))),
    "concatenate": (
        NUMBER,
        None,
        _branch("concatenate", lambda d, e: d.concatenate(e)),
    ),
    "sample": (
        NUMBER,
        None,
        _branch(
            "sample_from_datasets",
            lambda d, e: tf.data.Dataset.sample_from_datasets([d, e], [0.4, 0.6], 1),
        ),
    ),
    "zip": (
        ANY,
        "pair",
        _branch("zip", lambda d, e: tf.data.Dataset.zip((d, {"e": e}))),
    ),
    "batch": (NUMBER, "batch", _step("batch", lambda d, n: d.batch(n))),
    "full batch": (
        NUMBER,
        "batch",
        _step("batch", lambda d, n: d.batch(2, True, num_parallel_calls=2)),
    ),
    "nested": (NUMBER, "nested", _step("map", lambda d, n: d.map(_nested))),
    "nested batch": ("nested", "rich", _step("batch", lambda d, n: d.batch(n))),
    "ragged": (NUMBER, "ragged", _step("map", lambda d, n: d.map(_ragged))),
    "ragged rows": ("ragged", "rich", _step("batch", lambda d, n: d.batch(n))),
    "sparse": (NUMBER, "sparse", _step("map", lambda d, n: d.map(_sparse))),
    "sparse rows": ("sparse", "rich", _step("batch", lambda d, n: d.batch(n))),
    "vectors": (
        NUMBER,
        "vector",
        _step("map", lambda d, n: d.map(lambda x: tf.range(x % 5))),
    ),
    "padded": (
        "vector",
        "rich",
        _step(
            "padded_batch",
            lambda d, n: d.padded_batch(n, padding_values=tf.constant(-1, tf.int64)),
        ),
    ),
    "ragged batch": (
        "vector",
        "rich",
        _step("ragged_batch", lambda d, n: d.ragged_batch(n)),
    ),
    "sparse batch": (
        "vector",
        "rich",
        _step("sparse_batch", lambda d, n: d.sparse_batch(n, [5])),
    ),
    "unbatch": ("batch", NUMBER, _step("unbatch", lambda d, n: d.unbatch())),
    "rebatch": ("batch", "batch", _step("rebatch", lambda d, n: d.rebatch(n + 1))),
}


def _sum(state, x):
    return state + x, state


@st.composite
def recipes(draw):
    """Two to seven steps that fit each other."""
    kind, steps = NUMBER, []
    for _ in range(draw(st.integers(2, 7))):
        fitting = [
            name for name, (needs, _, _) in STEPS.items() if needs in (ANY, kind)
        ]
        step = draw(st.sampled_from(fitting))
        steps.append(step)
        kind = STEPS[step][1] or kind
    return Recipe(
        draw(st.sampled_from(sorted(SOURCES))), tuple(steps), draw(st.integers(2, 5))
    )
