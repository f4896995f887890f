"""Training scripts for `feedline run`, and running them.

Each is run twice, by Python and by feedline, and prints a digest of its weights and
its history. Its map gives the same in every epoch. With HEAD it is expensive, so that a
cache is worth many times the noise of a busy machine; with LIGHT it is cheap, for
where nothing is measured: what is applied comes from a plan written by hand.
"""

from __future__ import annotations

from feedline.fixes.saved import save
from tests.plans import TELL, plan_for

HEAD = """\
import hashlib, json
import keras, numpy as np, tensorflow as tf
keras.utils.set_random_seed(3)

def told(what, model, *histories):
    weights = b"".join(np.asarray(w).tobytes() for w in model.get_weights())
    print(what, hashlib.sha256(weights).hexdigest())
    for history in histories:
        print(json.dumps(history.history if history else None))

ROUNDS = 120

def slow(x, y):
    made = x
    for _ in range(ROUNDS):
        made = tf.sin(tf.linalg.matmul(made, x) * 0.1 + x)
    return made[:40, :40], y

rng = np.random.default_rng(0)
pictures = rng.random((64, 90, 90), dtype=np.float32)
labels = rng.integers(0, 10, 64)
ds = tf.data.Dataset.from_tensor_slices((pictures, labels)).map(slow)
"""
LIGHT = HEAD.replace("ROUNDS = 120", "ROUNDS = 2")
MODEL = """\
def make():
    model = keras.Sequential([
        keras.Input((40, 40)),
        keras.layers.Flatten(),
        keras.layers.Dropout(0.3),
        keras.layers.Dense(10, activation="softmax"),
    ])
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model

model = make()
"""
PLAIN = "ds = ds.shuffle(64).batch(8)\n"
FIT = PLAIN + 'told("weights", model, model.fit(ds, epochs=4, verbose=0))\n'
# A training that nobody takes for too short to be measured, on however fast a machine.
STOPPED = """\
class Stop(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        self.model.stop_training = epoch == 2

history = model.fit(ds, epochs=100_000, callbacks=[Stop()], verbose=0)
told("weights", model, history)
"""

LOOP = (
    HEAD,
    MODEL,
    """\
    ds = ds.shuffle(64, seed=2).batch(8)
    optimizer = keras.optimizers.SGD(0.1)

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(
                keras.losses.sparse_categorical_crossentropy(y, model(x, training=True))
            )
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    for epoch in range(EPOCHS):
        for x, y in ds:
            loss = step(x, y)
        if epoch % 10 == 0:
            print("epoch", epoch, float(loss))
    told("weights", model)
    """,
)


def run(place, *options, seconds="6", **more):
    return place.run(
        "-m", "feedline", "run", "--seconds", seconds, *options, "train.py", **more
    )


# Says what a plan for this pipeline is bound to, whichever loop reads it.
MARK = TELL + "tell_bound(ds)\n"


def marked(done):
    """What MARK has told, and the rest of what was printed."""
    lines = done.stdout.splitlines(keepends=True)
    (mark,) = [line for line in lines if line.startswith("mark ")]
    return mark, "".join(line for line in lines if line != mark)


def planned(place, mark, *edits, where=""):
    """A plan by hand for what was told."""
    save(plan_for(mark, *edits, where=where), place.root / "p.json")


def said(done):
    """What feedline said itself, before its report."""
    return [line for line in done.stderr.splitlines() if line.startswith("feedline: ")]


def same_as_python(place, *options, **more):
    """Run both; the script must not notice. Returns feedline's."""
    plain = place.python()
    done = run(place, *options, **more)
    assert done.stdout == plain.stdout, done.stderr
    assert done.returncode == plain.returncode, done.stderr
    return done


def rehearsed(place, *options, **more):
    """A loop of the script's own is measured in a run that nobody sees, before the one
    that counts."""
    plain, done = place.python(), run(place, "--rehearse", *options, **more)
    assert "rehearsing the script first" in done.stderr
    assert done.returncode == plain.returncode == 0
    assert done.stdout == plain.stdout, done.stderr
    return plain, done
