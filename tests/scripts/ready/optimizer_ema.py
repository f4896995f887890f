"""An optimizer with a moving average of the weights, swapped in at the end."""

import hashlib

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(1)


def digest(what, values):
    data = b"".join(np.asarray(value).tobytes() for value in values)
    print(what, hashlib.sha256(data).hexdigest()[:16])


rng = np.random.default_rng(0)
images = rng.integers(0, 255, (320, 24, 24, 3), dtype=np.uint8)
labels = rng.integers(0, 10, 320)


def prepare(image, label):
    image = tf.image.resize(tf.cast(image, tf.float32) / 255, (192, 192), "lanczos5")
    return tf.image.resize(image, (16, 16), "area"), label


model = keras.Sequential(
    [keras.Input((16, 16, 3)), keras.layers.Flatten(), keras.layers.Dense(10)]
)
optimizer = keras.optimizers.AdamW(1e-3, use_ema=True, ema_momentum=0.9)
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(optimizer, loss, metrics=["accuracy"])
train = tf.data.Dataset.from_tensor_slices((images, labels)).map(prepare)
train = train.shuffle(16).batch(16)
swap = keras.callbacks.SwapEMAWeights(swap_on_epoch=True)
# tune: train = feedline.tune(train, model=model, seconds=6)
print(model.fit(train, epochs=6, callbacks=[swap], verbose=0).history)
digest("before the swap", model.variables)
optimizer.finalize_variable_values(model.trainable_variables)
digest("weights", model.variables)
digest("optimizer", model.optimizer.variables)
