"""Run by test_loops: `MirroredStrategy` over two logical CPU devices, Keras alone
and by rows. Prints the name of each optimizer that came out as it must."""

from __future__ import annotations

import sys
from functools import partial

import keras
import numpy as np
import tensorflow as tf

cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(
    cpu, [tf.config.LogicalDeviceConfiguration()] * 2
)

from tests.rows import build  # noqa: E402

from feedline.rows import install  # noqa: E402

# One for all: those of a second strategy would take the first one's messages.
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])


def run(optimizer, data, by_rows, dtype=None):
    with strategy.scope():
        model = build.classifier(optimizer(), dtype=dtype)
    if by_rows:
        install(model)
    x, y = (np.concatenate(part) for part in zip(*data, strict=True))
    dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(len(data[0][0]))
    model.fit(dataset, epochs=2, verbose=0)
    table = model.layers[0].embeddings.value
    copies = [part.numpy() for part in table.values]
    np.testing.assert_array_equal(*copies)
    return build.state(model)


def scaled():
    return keras.optimizers.LossScaleOptimizer(
        build.OPTIMIZERS["adam"](), initial_scale=2.0**10
    )


CASES = {
    **{name: (build.OPTIMIZERS[name], None) for name in build.OPTIMIZERS},
    "clipped": (partial(build.OPTIMIZERS["adam"], global_clipnorm=0.01), None),
    "scaled": (scaled, "mixed_float16"),
}


def main(names):
    for name in names:
        exact = name in build.EXACT
        data = build.batches() if exact else build.every_word()
        optimizer, dtype = CASES[name]
        ours, dense = (
            run(optimizer, data, by_rows, dtype) for by_rows in (True, False)
        )
        (build.assert_same if exact else build.assert_close)(ours, dense)
        print(name)


if __name__ == "__main__":
    main(sys.argv[1:])
