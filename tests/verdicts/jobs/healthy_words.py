"""Word vectors by feedline's own TensorFlow engine: token ids in, rows on the device.

Cause: none
Bound: compute
"""

import numpy as np
import tensorflow as tf

from feedline.words.engine.config import Config
from feedline.words.engine import Setup, tables
from feedline.words.engine import tensorflow as engine
from feedline.words.engine.kinds import Rates
from feedline.words.engine.weights import fresh

WORDS, BLOCK, BLOCKS = 30_000, 16_384, 40
draw = np.random.default_rng(0)
text = np.minimum(draw.zipf(1.2, BLOCKS * BLOCK), WORDS).astype(np.int32) - 1
text[::25] = -1  # ends of sentences

config = Config.of(dim=100, threads=1)
counts = np.bincount(text[text >= 0], minlength=WORDS)
look_up = tables.make(config, tuple(f"w{i}" for i in range(WORDS)), counts)
weights = fresh(config, look_up.input_rows, look_up.output_rows)
runner = engine.text(look_up, weights, BLOCK, Setup())

blocks = tf.data.Dataset.from_tensor_slices(text.reshape(BLOCKS, BLOCK))
dataset = blocks.repeat().prefetch(tf.data.AUTOTUNE)
for number, tokens in enumerate(dataset):
    runner.block(tokens, number, Rates(0.025, 0.0, 0.025))
    if number == 600:
        break
print(runner.flush())
