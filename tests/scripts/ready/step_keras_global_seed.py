"""A `train_step` that draws by `keras.random`, which moves Keras' global seed.

A layer made afterwards takes its first weights from the same source.
"""

import hashlib

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(1)


def digest(what, values):
    data = b"".join(np.asarray(value).tobytes() for value in values)
    print(what, hashlib.sha256(data).hexdigest()[:16])


rng = np.random.default_rng(0)
waves = rng.standard_normal((160, 24_000), dtype=np.float32)
labels = rng.integers(0, 4, 160)


def spectrum(wave, label):
    power = tf.abs(tf.signal.stft(wave, 512, 32))
    return tf.reduce_mean(tf.math.log(power + 1e-3), axis=0), label


class Masked(keras.Sequential):
    def train_step(self, data):
        x, y = data
        kept = keras.random.uniform((257,)) > 0.2
        return super().train_step((tf.where(kept, x, 0.0), y))


model = Masked([keras.Input((257,)), keras.layers.Dense(4, activation="softmax")])
model.compile("rmsprop", "sparse_categorical_crossentropy")
train = tf.data.Dataset.from_tensor_slices((waves, labels)).map(spectrum)
train = train.shuffle(16).batch(16)
# tune: train = feedline.tune(train, model=model, seconds=6)
print(model.fit(train, epochs=8, verbose=0).history)
digest("weights", model.variables)
digest("optimizer", model.optimizer.variables)
print("next", keras.random.normal((3,)).numpy().tolist())
later = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
digest("a model made later", later.variables)
