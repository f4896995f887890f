"""What the script drops is gone, and what it can go through once it has for itself."""

from __future__ import annotations

import pytest
from tests.job.scripts import DATA, MODEL, STEP, run

pytestmark = [
    pytest.mark.tensorflow,
    pytest.mark.filterwarnings("ignore::UserWarning:keras"),
]


def ends_well(folder, *texts):
    """Watched to its end: another loop is asked for."""
    assert run(folder, *texts, loop=99).code == 0


DROP = """\
import gc, weakref
def dropped(*names):
    known = [weakref.ref(globals().pop(name)) for name in names]
    keras.backend.clear_session()
    gc.collect()
    assert [each() for each in known] == [None] * len(names)
"""

TRAININGS = {
    "fit": "model.fit(ds, epochs=3, validation_data=ds.take(2), verbose=0)\n",
    "for": "for x, y in ds:\n    step(x, y)\ndel x, y\n",
    "next": """\
it = iter(ds.repeat())
for _ in range(60):
    step(*next(it))
del it
""",
    "inside a function": """\
def epoch(data):
    for x, y in data:
        step(x, y)
epoch = tf.function(epoch)
epoch(ds)
epoch(ds)
del epoch
""",
    "given the iterator": """\
def one(iterator):
    step(*next(iterator))
one = tf.function(one)
it = iter(ds.repeat())
for _ in range(60):
    one(it)
del one, it
""",
}


@pytest.mark.parametrize("name", TRAININGS)
@pytest.mark.parametrize("graph", [False, True], ids=["eager", "graph"])
def test_what_the_script_drops_is_gone(tmp_path, name, graph):
    names = ["model", "ds"]
    texts = [MODEL, DATA, DROP]
    if name != "fit":
        names += ["step"]
        texts += [STEP, "step = tf.function(step)\n" if graph else ""]
    texts += [TRAININGS[name], f"dropped(*{names})\n"]
    ends_well(tmp_path, *texts)


UPDATES = """\
weights = [tf.Variable(1.0), tf.Variable(2.0)]
optimizer = keras.optimizers.SGD(1.0)
for x, y in ds:
    with tf.GradientTape() as tape:
        loss = weights[0] * weights[1]
    optimizer.apply(tape.gradient(loss, weights), (each for each in weights))
    break
assert [float(each) for each in weights] == [-1.0, 1.0]
"""


def test_variables_that_can_be_gone_through_once(tmp_path):
    ends_well(tmp_path, MODEL, DATA, UPDATES)


NO_HASH = """\
class Table(keras.layers.Embedding):
    def __eq__(self, other):
        return self is other

try:
    Table(3, 2)
except TypeError as error:  # Keras' own, where it asks for a hash
    import traceback
    assert "feedline" not in "".join(traceback.format_tb(error.__traceback__))
"""


def test_a_layer_without_a_hash(tmp_path):
    ends_well(tmp_path, MODEL, NO_HASH)
