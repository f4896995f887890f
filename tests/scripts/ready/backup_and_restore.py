"""A fit that fails in the middle, and one that goes on from its backup."""

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


class Fail(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        print("epoch", epoch)
        if epoch == 4:
            raise RuntimeError("the machine went away")


def make():
    model = keras.Sequential(
        [keras.Input((257,)), keras.layers.Dense(4, activation="softmax")]
    )
    model.compile("adam", "sparse_categorical_crossentropy")
    return model


train = tf.data.Dataset.from_tensor_slices((waves, labels)).map(spectrum)
train = train.shuffle(16).batch(16)
backup = keras.callbacks.BackupAndRestore("backup", delete_checkpoint=False)
model = make()
try:
    model.fit(train, epochs=8, callbacks=[backup, Fail()], verbose=0)
except RuntimeError as error:
    print(error)
digest("weights", model.variables)
digest("optimizer", model.optimizer.variables)
model = make()
backup = keras.callbacks.BackupAndRestore("backup", delete_checkpoint=False)
print(model.fit(train, epochs=8, callbacks=[backup], verbose=0).history)
digest("weights", model.variables)
digest("optimizer", model.optimizer.variables)
