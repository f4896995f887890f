"""The TensorFlow engine: the whole step on the device, on any number of them.

    draws.py      subsampling, windows and noise, drawn on the device
    text.py       skip-gram and CBOW as matrix products; bags.py the subwords
    glove.py      GloVe
    program.py    a launch: draws, then many steps
    places.py     where rows live: one device, copies, shards
    devices.py, cluster.py    which devices, which machines
    runner.py     what the training loop sees

What crosses to the device is token ids, four bytes for each; what comes back is
three numbers for a launch, and the rows when they are to be saved.
"""

from __future__ import annotations

import logging
from typing import Any

import tensorflow as tf

from feedline.errors import TrainingError
from feedline.files.sizes import size as shown_size
from feedline.words.engine import Setup
from feedline.words.engine.config import Config
from feedline.words.engine.runner import Runner
from feedline.words.engine.tables import Tables
from feedline.words.engine.tensorflow import cluster, devices
from feedline.words.engine.tensorflow.bags import Bags
from feedline.words.engine.tensorflow.draws import Sampler, shape_for
from feedline.words.engine.tensorflow.glove import GloveProgram
from feedline.words.engine.tensorflow.places import Mirrored, One, Sharded
from feedline.words.engine.tensorflow.program import TextProgram
from feedline.words.engine.tensorflow.runner import DeviceRunner
from feedline.words.engine.tensorflow.text import TextModel
from feedline.words.engine.weights import GloveWeights, Weights

name = "tensorflow"
width = 8

_log = logging.getLogger(__name__)
_TEXT = ("inputs", "outputs")
_GLOVE = (*_TEXT, "input_squares", "output_squares")

# Kept words in a group, for noise and for a tree; and groups in a step. Small
# groups waste less of their product; large steps need fewer launches.
_CENTRES, _CENTRES_TREE = 32, 4
_STEP_CPU, _STEP_GPU = 512, 8192
_PAIRS = 1024
"""Co-occurrences in a step."""
_SPAN_CPU, _SPAN_GPU = 1 << 15, 1 << 18
_ROOM = 0.8
"""The share of a device's memory that rows may take; the rest is for steps."""


def warm_up(config: Config) -> None:
    """The first launch compiles: what it needs is known only then."""


def span(setup: Setup) -> int:
    """Tokens of a block: many steps to a launch."""
    return _SPAN_GPU if _on_gpu(setup) else _SPAN_CPU


def text(tables: Tables, weights: Weights, tokens: int, setup: Setup) -> Runner:
    """Train on blocks of up to so many tokens."""
    config, gpu = tables.config, _on_gpu(setup)
    centres = _CENTRES_TREE if config.loss == "hs" else _CENTRES
    place = _Placing(setup)
    groups = place.whole((_STEP_GPU if gpu else _STEP_CPU) // centres)
    shape = shape_for(config, -(-tokens // 1024) * 1024, groups, centres)
    compute = setup.precision.removeprefix("mixed_")
    program = TextProgram(
        Sampler(tables, shape),
        TextModel(tables, shape, compute),
        Bags(tables) if config.subwords else None,
    )
    columns = -(-config.dim // 8) * 8 if gpu else config.dim
    return place.runner(program, weights, _TEXT, columns)


def pairs(config: Config, weights: GloveWeights, words: int, setup: Setup) -> Runner:
    """Train on blocks of co-occurrences."""
    place = _Placing(setup)
    program = GloveProgram(config, words, weights.bias, place.whole(_PAIRS))
    return place.runner(program, weights, _GLOVE, weights.bias + 1)


def _on_gpu(setup: Setup) -> bool:
    if setup.devices is not None:
        return "GPU" in setup.devices.upper() or (
            setup.devices.strip().lower() == "all" and _gpus() > 0
        )
    return _gpus() > 0


def _gpus() -> int:
    return len(tf.config.list_physical_devices("GPU"))


class _Placing:
    """Decides where rows live."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.cluster = cluster.read(setup.cluster, setup.worker)
        self.strategy: Any = None
        if self.cluster is not None:
            if setup.devices is not None:
                raise TrainingError(
                    f"devices is {setup.devices!r}, and a cluster takes every device "
                    "of its machines: leave devices out."
                )
            self.strategy = cluster.join(self.cluster)
            self.devices = list(self.strategy.extended.worker_devices)
            self.parts = int(self.strategy.num_replicas_in_sync)
        else:
            self.devices = devices.chosen(setup.devices)
            self.parts = len(self.devices)

    def whole(self, groups: int) -> int:
        """So many, or a few more, that each device gets as many."""
        return -(-groups // self.parts) * self.parts

    def runner(
        self, program: Any, weights: Any, names: tuple[str, ...], columns: int
    ) -> Runner:
        size = sum(len(getattr(weights, each)) * columns * 4 for each in names)
        divided = self._divided(size)

        def make(program: Any, rows: Any) -> Any:
            if divided:
                return Sharded(program, rows, self.devices)
            if self.strategy is None and self.parts > 1:
                self.strategy = devices.mirrored(tuple(self.devices))
            if self.strategy is not None:
                return Mirrored(program, rows, self.strategy)
            return One(program, rows, self.devices[0])

        if self.cluster is not None:
            joined = self.cluster
            return DeviceRunner(
                program,
                weights,
                names,
                columns,
                make,
                peers=cluster.Peers(joined, self.strategy),
                guard=lambda: cluster.lost(joined),
            )
        return DeviceRunner(program, weights, names, columns, make)

    def _divided(self, size: int) -> bool:
        """Whether rows must be divided among the devices, which must hold them."""
        limit = self.setup.device_memory
        room = None if limit is None else limit * 1e9
        if room is None:
            known = [devices.memory(device) for device in self.devices]
            least = min((one for one in known if one is not None), default=None)
            room = None if least is None else _ROOM * least
        if room is None or size <= room:
            return False
        if self.cluster is not None or size > room * len(self.devices):
            raise TrainingError(
                f"the rows take {shown_size(size)}, and {len(self.devices)} devices "
                f"hold {shown_size(room)} each: give more devices, or train fewer "
                "words (min_count, max_vocab), a smaller dim or fewer buckets."
            )
        _log.info(
            "%s of rows, %s on a device: divided among %s",
            shown_size(size),
            shown_size(room),
            ", ".join(self.devices),
        )
        return True
