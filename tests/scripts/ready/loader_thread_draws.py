"""A thread of the script's own draws batches while a fit begins.

What is drawn there while the fit is measured must not be drawn again.
"""

import hashlib
import random
import threading

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(6)
images = np.random.default_rng(0).random((320, 24, 24), dtype=np.float32)
labels = np.arange(320) % 10
drawn, go_on = [], threading.Event()


def digest(what, values):
    data = b"".join(np.asarray(value).tobytes() for value in values)
    print(what, hashlib.sha256(data).hexdigest()[:16])


def load():
    while not go_on.wait(0.01) and len(drawn) < 20_000:
        drawn.append(random.random())
    while len(drawn) < 20_000:
        drawn.append(random.random())


def prepare(image, label):
    made = image
    for _ in range(40):
        made = tf.sin(tf.linalg.matmul(made, image) * 0.1 + image)
    return made, label


model = keras.Sequential(
    [keras.Input((24, 24)), keras.layers.Flatten(), keras.layers.Dense(10)]
)
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile("adam", loss)
data = tf.data.Dataset.from_tensor_slices((images, labels))
data = data.map(prepare).shuffle(64, seed=2).batch(16)
random.seed(11)
loader = threading.Thread(target=load)
loader.start()
model.fit(data, epochs=12, verbose=0)
go_on.set()
loader.join()
digest("drawn", drawn)
digest("weights", model.get_weights())
