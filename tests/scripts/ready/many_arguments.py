"""A script that is given 12,000 file names."""

# args: --epochs 6 /data/a/folder/with/a/long/name/part-{0..11999}.tfrecord

import hashlib
import sys

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


print(len(sys.argv), sys.argv[1:3], sys.argv[-1])
digest("names", [np.frombuffer("".join(sys.argv[1:]).encode(), np.uint8)])
model = keras.Sequential(
    [keras.Input((257,)), keras.layers.Dense(4, activation="softmax")]
)
model.compile("adam", "sparse_categorical_crossentropy")
train = tf.data.Dataset.from_tensor_slices((waves, labels)).map(spectrum)
train = train.shuffle(16).batch(16)
print(model.fit(train, epochs=int(sys.argv[2]), verbose=0).history)
digest("weights", model.variables)
digest("optimizer", model.optimizer.variables)
