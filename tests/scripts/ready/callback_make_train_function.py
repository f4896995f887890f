"""A callback unfreezes a layer and calls `model.make_train_function(force=True)`.

Many small steps; every one of them counts.
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
x = rng.standard_normal((1600, 12), dtype=np.float32)
y = x.sum(axis=1, keepdims=True)


class Unfreeze(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        if epoch == 2:
            self.model.layers[0].trainable = True
            self.model.make_train_function(force=True)
            print("unfrozen in epoch", epoch)


model = keras.Sequential(
    [keras.Input((12,)), keras.layers.Dense(6, "tanh"), keras.layers.Dense(1)]
)
optimizer = keras.optimizers.Adam(1e-3)
optimizer.build(model.trainable_variables)
model.layers[0].trainable = False
model.compile(optimizer, "mse")
train = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(1600).batch(4)
history = model.fit(train, epochs=6, callbacks=[Unfreeze()], verbose=0)
print(history.history)
print("steps", int(model.optimizer.iterations))
digest("weights", model.variables)
digest("optimizer", model.optimizer.variables)
