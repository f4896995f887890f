"""What a step of the TensorFlow engine costs, counted from its graph.

    python benchmarks/step_cost.py [--dim 100] [--step 512] [--json OUT]

Nothing is timed. The step of skip-gram is traced as in training; of every operation
in it the shapes are known, so bytes and multiplications can be counted. Below come
what devices could do by that, from their data sheets: arithmetic, not measurement.

    launches     operations that run on the device, in one step
    rows         rows that are looked up and added to, for each kept word
    row bytes    what these move to and from the tables
    all bytes    what all operations read and write, if nothing stays in a cache
    flops        of the matrix products
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

# Bytes/s of memory, flops/s of products in float32 (TF32 where there is such), and
# seconds to launch an operation. Data sheets; the launch is a usual figure.
DEVICES = {
    "2 CPU cores": (20e9, 0.1e12, 3e-6),
    "T4": (0.30e12, 8.1e12, 5e-6),
    "A100 40 GB": (1.55e12, 156e12, 4e-6),
    "H100 SXM": (3.35e12, 494e12, 4e-6),
}
# What other devices' changes cross, in bytes/s.
LINKS = {
    "10 Gb/s network": 1.25e9,
    "100 Gb/s network": 12.5e9,
    "PCIe 4 x16": 25e9,
    "NVLink (H100)": 450e9,
}
NOTHING = {"Const", "Identity", "NoOp", "Placeholder", "Reshape", "ExpandDims", "Shape"}
NOTHING |= {"Squeeze"}


def graph_of(dim, step, vocabulary=50_000):
    """The operations of a step, and its shape."""
    import numpy as np
    import tensorflow as tf

    from feedline.words.engine import tables
    from feedline.words.engine.config import Config
    from feedline.words.engine.tensorflow import places
    from feedline.words.engine.tensorflow.draws import Sampler, shape_for
    from feedline.words.engine.tensorflow.program import TextProgram
    from feedline.words.engine.tensorflow.text import TextModel
    from feedline.words.engine.weights import fresh

    config = Config.of(dim=dim)
    counts = (1e6 / np.arange(1, vocabulary + 1)).astype(np.int64) + 5
    look_up = tables.make(config, tuple(map(str, range(vocabulary))), counts)
    shape = shape_for(config, 32_768, step // 32, 32)

    class Seen(TextProgram):
        graph = None

        def step(self, *arguments):
            Seen.graph = tf.compat.v1.get_default_graph()
            return super().step(*arguments)

    program = Seen(Sampler(look_up, shape), TextModel(look_up, shape), None)
    weights = fresh(config, vocabulary, vocabulary)
    host = {"inputs": weights.inputs[:, :dim], "outputs": weights.outputs[:, :dim]}
    places.One(program, host, "CPU:0").launch.get_concrete_function()
    return Seen.graph.get_operations(), shape


def size(tensor):
    shape = tensor.shape.as_list() if tensor.shape.rank is not None else []
    count = 1
    for each in shape:
        count *= each or 1
    return count * (tensor.dtype.size or 0)


def count(operations, shape, dim):
    launches = flops = everything = row_bytes = rows = 0
    for one in operations:
        if one.type in NOTHING:
            continue
        launches += 1
        inputs = [x for x in one.inputs if x.dtype.name != "resource"]
        everything += sum(map(size, [*inputs, *one.outputs]))
        if one.type.startswith("BatchMatMul"):
            a, b = inputs[0].shape.as_list(), one.outputs[0].shape.as_list()
            shared = a[-2] if one.get_attr("adj_x") else a[-1]
            flops += 2 * shared * b[-1] * b[-2] * b[0]
        if one.type == "ResourceGather" and one.outputs[0].shape.rank == 3:
            everything += size(one.outputs[0])
            row_bytes += size(one.outputs[0])
            rows += size(one.outputs[0]) / 4 / dim
        if one.type == "ResourceScatterAdd" and inputs[1].shape.rank == 2:
            everything += 2 * size(inputs[1])
            row_bytes += 2 * size(inputs[1])
    words = shape.step
    return {
        "words": words,
        "launches": launches,
        "rows": rows / words,
        "row_bytes": row_bytes / words,
        "all_bytes": everything / words,
        "flops": flops / words,
        "exchanged_bytes": rows / words * (4 * (dim + 1) + 4),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dim", type=int, default=100)
    parser.add_argument("--step", type=int, default=512, help="kept words in a step")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    found = count(*graph_of(arguments.dim, arguments.step), arguments.dim)
    print(
        f"counted, dimension {arguments.dim}, {found['words']:,} kept words in a step"
    )
    print(f"  {found['launches']:,} operations in a step")
    print(f"  {found['rows']:.2f} rows looked up and added to, for each kept word")
    print(
        f"  {found['row_bytes']:,.0f} bytes of rows, {found['all_bytes']:,.0f} of all"
    )
    print(f"  {found['flops']:,.0f} flops of products")
    print("\narithmetic: million kept words a second that each limit would allow")
    print(f"{'':14} {'launches':>9} {'all bytes':>9} {'row bytes':>9} {'flops':>9}")
    for name, (bandwidth, speed, launch) in DEVICES.items():
        limits = [
            found["words"] / (found["launches"] * launch),
            bandwidth / found["all_bytes"],
            bandwidth / found["row_bytes"],
            speed / found["flops"],
        ]
        print(f"{name:14} " + " ".join(f"{each / 1e6:9.1f}" for each in limits))
    print(f"\nbetween devices {found['exchanged_bytes']:,.0f} bytes for each kept word")
    for name, speed in LINKS.items():
        print(f"{name:18} {speed / found['exchanged_bytes'] / 1e6:9.1f}")
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
