"""A GAN as in keras-io: a model with a train step of its own and no `call`."""

import hashlib

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(1)


def digest(what, values):
    data = b"".join(np.asarray(value).tobytes() for value in values)
    print(what, hashlib.sha256(data).hexdigest()[:16])


class Gan(keras.Model):
    def __init__(self, judge, maker):
        super().__init__()
        self.judge, self.maker = judge, maker
        self.seed = keras.random.SeedGenerator(7)
        self.judge_loss = keras.metrics.Mean(name="judge_loss")
        self.maker_loss = keras.metrics.Mean(name="maker_loss")

    def compile(self, judge_optimizer, maker_optimizer, loss):
        super().compile()
        self.judge_optimizer, self.maker_optimizer = judge_optimizer, maker_optimizer
        self.loss_fn = loss

    @property
    def metrics(self):
        return [self.judge_loss, self.maker_loss]

    def train_step(self, real):
        count = tf.shape(real)[0]
        noise = keras.random.normal((count, 4), seed=self.seed)
        both = tf.concat([self.maker(noise), real], 0)
        labels = tf.concat([tf.ones((count, 1)), tf.zeros((count, 1))], 0)
        with tf.GradientTape() as tape:
            judged = self.loss_fn(labels, self.judge(both))
        grads = tape.gradient(judged, self.judge.trainable_weights)
        self.judge_optimizer.apply_gradients(zip(grads, self.judge.trainable_weights))
        with tf.GradientTape() as tape:
            made = self.loss_fn(tf.zeros((count, 1)), self.judge(self.maker(noise)))
        grads = tape.gradient(made, self.maker.trainable_weights)
        self.maker_optimizer.apply_gradients(zip(grads, self.maker.trainable_weights))
        self.judge_loss.update_state(judged)
        self.maker_loss.update_state(made)
        return {each.name: each.result() for each in self.metrics}


layers = keras.layers
maker = keras.Sequential([keras.Input((4,)), layers.Dense(16), layers.Dense(8)])
judge = keras.Sequential([keras.Input((8,)), layers.Dense(16, "relu"), layers.Dense(1)])
gan = Gan(judge, maker)
adam = keras.optimizers.Adam
loss = keras.losses.BinaryCrossentropy(from_logits=True)
gan.compile(adam(1e-4), adam(1e-4), loss)
x = np.random.default_rng(0).standard_normal((1600, 8), dtype=np.float32)
train = tf.data.Dataset.from_tensor_slices(x).shuffle(1600, seed=3).batch(16)
print(gan.fit(train, epochs=6, verbose=0).history)
digest("weights", [*maker.variables, *judge.variables])
digest("optimizers", gan.judge_optimizer.variables + gan.maker_optimizer.variables)
