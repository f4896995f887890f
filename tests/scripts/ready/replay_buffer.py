"""Q-learning in a toy world: a replay buffer, a target network and an epsilon."""

import hashlib
import random
from collections import deque

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(1)


def digest(what, values):
    data = b"".join(np.asarray(value).tobytes() for value in values)
    print(what, hashlib.sha256(data).hexdigest()[:16])


def make():
    return keras.Sequential(
        [keras.Input((4,)), keras.layers.Dense(16, "relu"), keras.layers.Dense(2)]
    )


online, target = make(), make()
target.set_weights(online.get_weights())
optimizer = keras.optimizers.Adam(1e-2)
memory, epsilon, steps = deque(maxlen=400), 1.0, 0


@tf.function
def learn(state, action, reward, after):
    goal = reward + 0.9 * tf.reduce_max(target(after), axis=1)
    with tf.GradientTape() as tape:
        chosen = tf.reduce_sum(online(state) * tf.one_hot(action, 2), axis=1)
        loss = tf.reduce_mean(tf.square(goal - chosen))
    grads = tape.gradient(loss, online.trainable_variables)
    optimizer.apply_gradients(zip(grads, online.trainable_variables))
    return loss


for episode in range(16):
    state, total = np.zeros(4, np.float32), 0.0
    for _ in range(40):
        if random.random() < epsilon:
            action = random.randrange(2)
        else:
            action = int(tf.argmax(online(state[None])[0]))
        after = np.roll(state, 1) * np.float32(0.9)
        after[0] = np.float32(action) - state[3] + np.float32(0.1 * np.random.randn())
        reward = float(-abs(after.sum()))
        memory.append((state, action, np.float32(reward), after))
        state, total, steps = after, total + reward, steps + 1
        if len(memory) >= 32:
            batch = random.sample(memory, 16)
            learn(*(tf.constant(np.array(each)) for each in zip(*batch)))
        if steps % 100 == 0:
            target.set_weights(online.get_weights())
    epsilon *= 0.9
    print("episode", episode, round(total, 5), round(epsilon, 5))
digest("online", [*online.variables, *optimizer.variables])
digest("target", target.variables)
print("next", random.random(), float(np.random.rand()))
