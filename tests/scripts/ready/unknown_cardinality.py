"""Data whose number of batches nobody knows: Keras counts a step at each end."""

import hashlib

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(1)


def digest(what, values):
    data = b"".join(np.asarray(value).tobytes() for value in values)
    print(what, hashlib.sha256(data).hexdigest()[:16])


rng = np.random.default_rng(0)
x = rng.standard_normal((6000, 16), dtype=np.float32)
y = rng.integers(0, 3, 6000)
model = keras.Sequential(
    [keras.Input((16,)), keras.layers.Dense(8, "relu"), keras.layers.Dense(3)]
)
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile("adam", loss, metrics=["accuracy"])
data = tf.data.Dataset.from_tensor_slices((x, y)).filter(lambda x, y: x[0] > -1.0)
train = data.shuffle(1000, seed=3).batch(8)
print("batches", int(train.cardinality()))
for epochs in (4, 3):
    print(model.fit(train, epochs=epochs, validation_data=train, verbose=0).history)
    print("iterations", int(model.optimizer.iterations.numpy()))
short = train.take(7)
print(model.fit(short, epochs=2, verbose=0).history)
print(model.fit(train, epochs=2, steps_per_epoch=50, verbose=0).history)
print("iterations", int(model.optimizer.iterations.numpy()))
digest("weights", model.variables)
digest("optimizer", model.optimizer.variables)
