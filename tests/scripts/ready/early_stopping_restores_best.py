"""Early stopping that puts the best weights back, and a fit that goes on from them."""

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


every = tf.data.Dataset.from_tensor_slices((waves, labels)).map(spectrum)
train, check = every.skip(40).shuffle(16).batch(10), every.take(40).batch(20)
model = keras.Sequential(
    [keras.Input((257,)), keras.layers.Dense(4, activation="softmax")]
)
model.compile(keras.optimizers.Adam(0.01), "sparse_categorical_crossentropy")
stop = keras.callbacks.EarlyStopping(patience=3, restore_best_weights=True)
# tune: train = feedline.tune(train, model=model, seconds=6)
for _ in range(2):
    history = model.fit(
        train, validation_data=check, epochs=8, callbacks=[stop], verbose=0
    )
    print(len(history.epoch), "epochs, best", stop.best_epoch, history.history)
    digest("weights", model.variables)
    digest("optimizer", model.optimizer.variables)
