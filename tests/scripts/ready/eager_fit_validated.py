"""A fit with `run_eagerly` and feature layers, validated each epoch, then evaluated."""

import hashlib

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(1)


def digest(what, values):
    data = b"".join(np.asarray(value).tobytes() for value in values)
    print(what, hashlib.sha256(data).hexdigest()[:16])


rng = np.random.default_rng(0)
rows = 640
table = {
    "age": rng.integers(1, 200, (rows, 1)).astype(np.float32),
    "fee": rng.gamma(2.0, 60.0, (rows, 1)).astype(np.float32),
    "kind": rng.choice(["cat", "dog", "bird"], (rows, 1)),
}
target = (table["fee"][:, 0] > 100).astype(np.int64)


def dataset(part, shuffled):
    data = tf.data.Dataset.from_tensor_slices(
        ({name: column[part] for name, column in table.items()}, target[part])
    )
    return (data.shuffle(512, seed=4) if shuffled else data).batch(32)


train, valid = dataset(slice(0, 512), True), dataset(slice(512, None), False)
inputs, encoded = {}, []
for name in ("age", "fee"):
    inputs[name] = keras.Input((1,), name=name)
    layer = keras.layers.Normalization()
    layer.adapt(table[name])
    encoded.append(layer(inputs[name]))
inputs["kind"] = keras.Input((1,), name="kind", dtype="string")
lookup = keras.layers.StringLookup(
    vocabulary=["cat", "dog", "bird"], output_mode="multi_hot"
)
encoded.append(lookup(inputs["kind"]))
hidden = keras.layers.Dense(32, "relu")(keras.layers.concatenate(encoded))
output = keras.layers.Dense(1)(keras.layers.Dropout(0.5)(hidden))
model = keras.Model(inputs, output)
model.compile(
    "adam",
    keras.losses.BinaryCrossentropy(from_logits=True),
    metrics=["accuracy"],
    run_eagerly=True,
)
print(model.fit(train, epochs=12, validation_data=valid, verbose=0).history)
print(model.evaluate(valid, verbose=0, return_dict=True))
print(model.fit(train, epochs=4, validation_data=valid, verbose=0).history)
print(float(np.sum(model.predict(valid, verbose=0))))
digest("weights", model.variables)
digest("optimizer", model.optimizer.variables)
