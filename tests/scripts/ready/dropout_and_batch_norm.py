"""Dropout with seeds and without, noise and batch normalization in one model."""

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


train = tf.data.Dataset.from_tensor_slices((waves, labels)).map(spectrum)
train = train.shuffle(16).batch(16)
model = keras.Sequential(
    [
        keras.Input((257,)),
        keras.layers.GaussianNoise(0.1, seed=5),
        keras.layers.Dense(12, activation="relu"),
        keras.layers.BatchNormalization(momentum=0.8),
        keras.layers.Dropout(0.3),
        keras.layers.AlphaDropout(0.1, seed=8),
        keras.layers.Dense(4, activation="softmax"),
    ]
)
model.compile("adam", "sparse_categorical_crossentropy")
# tune: train = feedline.tune(train, model=model, seconds=6)
print(model.fit(train, epochs=7, verbose=0).history)
digest("generators", model.non_trainable_variables)
print("next", keras.random.uniform((2,)).numpy().tolist())
digest("weights", model.variables)
digest("optimizer", model.optimizer.variables)
