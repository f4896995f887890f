"""Models and datasets are dropped, one after the other, and their memory is free.

A fit that is measured, short fits, a validated fit, and loops of one's own.
"""

import gc
import weakref

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(1)
rng = np.random.default_rng(0)
images = rng.random((320, 24, 24), dtype=np.float32)
labels = np.arange(320) % 10


def prepare(image, label):
    made = image
    for _ in range(12):
        made = tf.sin(tf.linalg.matmul(made, image) * 0.1 + image)
    return made, label


def train(way):
    data = tf.data.Dataset.from_tensor_slices((images, labels))
    data = data.map(prepare).shuffle(64).batch(16)
    dense = keras.layers.Dense(10)
    model = keras.Sequential([keras.Input((24, 24)), keras.layers.Flatten(), dense])
    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer = keras.optimizers.Adam()

    def step(x, y):
        with tf.GradientTape() as tape:
            loss = loss_of(y, model(x, training=True))
        found = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(found, model.trainable_variables))

    if way == "graph":
        step = tf.function(step)
    if way in ("short", "long", "validated"):
        model.compile(optimizer, loss_of)
        checked = data.take(5) if way == "validated" else None
        epochs = 30 if way == "long" else 3
        model.fit(data, validation_data=checked, epochs=epochs, verbose=0)
    elif way == "next":
        batches = iter(data.repeat())
        for _ in range(100):
            step(*next(batches))
    elif way == "inside":

        @tf.function
        def epoch(data):
            for x, y in data:
                step(x, y)

        for _ in range(4):
            epoch(data)
    else:
        for _ in range(6):
            for x, y in data:
                step(x, y)
    weights = sum(float(np.abs(each).sum()) for each in model.get_weights())
    return weights, [weakref.ref(each) for each in (model, data, optimizer, dense)]


for way in ("short", "long", "validated", "graph", "next", "inside", "short"):
    for _ in range(2):
        weights, known = train(way)
        keras.backend.clear_session()
        gc.collect()
        print(way, weights, [each() is None for each in known])
