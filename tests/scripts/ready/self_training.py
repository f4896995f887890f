"""Self-training: a map asks the model itself for labels, then it is fitted to them."""

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


model = keras.Sequential(
    [keras.Input((257,)), keras.layers.Dense(4, activation="softmax")]
)
model.compile("sgd", "sparse_categorical_crossentropy")


def hard(wave, label):
    power, label = spectrum(wave, label)
    return power, tf.cast(tf.argmin(model(power[None])[0]), tf.int64)


train = tf.data.Dataset.from_tensor_slices((waves, labels)).map(hard).batch(16)
pace = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: print(epoch))
for round_ in range(3):
    fixed = tf.data.Dataset.from_tensor_slices(
        tuple(np.concatenate(part) for part in zip(*train.as_numpy_iterator()))
    )
    again = fixed.map(lambda power, label: (tf.sort(power), label)).shuffle(64).batch(4)
    print(model.fit(again, epochs=4, callbacks=[pace], verbose=0).history)
digest("weights", model.variables)
digest("optimizer", model.optimizer.variables)
