"""A `tf.data` pipeline as plain data: `Pipeline`, `Stage`, `Where`.

This file knows nothing of TensorFlow, so that causes and plans can be tested
with pipelines written by hand. `read.py` makes these values from a Dataset and
`rebuild.py` turns them back; only those two look into `Stage.handle`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any

from feedline.job.tfdata import ops
from feedline.job.tfdata.ops import Fact


@dataclass(frozen=True)
class Where:
    """The line of the user's source that made something."""

    file: str
    line: int
    code: str = ""

    def __str__(self) -> str:
        return f"{PurePath(self.file).name}:{self.line}"


@dataclass(frozen=True)
class TensorSpec:
    """One tensor of an element: dtype name and shape, None where unknown."""

    dtype: str
    shape: tuple[int | None, ...] | None

    @property
    def bytes(self) -> int | None:
        """Bytes of one such tensor, None where the shape does not tell."""
        size = _DTYPE_BYTES.get(self.dtype)
        if size is None or self.shape is None:
            return None
        for length in self.shape:
            if length is None:
                return None
            size *= length
        return size


@dataclass(frozen=True)
class Function:
    """A user's function inside a stage, as far as it can be seen from outside.

    `ops` counts the TensorFlow operations of the traced graph by type, those of
    nested functions included. `seeded`: what it draws follows from a seed. `pure`:
    all Python in it is seen to keep no state, so the same element gives the same.
    `reads`: it reads a variable or a table that others may change. `outside` are
    the types of operations in it whose effect others can see, or that nobody has
    classified: what has any may not be run more often, less often or elsewhere.
    """

    name: str
    where: Where | None = None
    ops: Mapping[str, int] = field(default_factory=dict)
    random: bool = False
    stateful: bool = False
    python: bool = False
    seeded: bool = False
    pure: bool = True
    reads: bool = False
    outside: tuple[str, ...] = ()


@dataclass(frozen=True)
class Stage:
    """One transformation, or a source when it has no inputs.

    `op` is the public name of the method or class (`map`, `from_tensor_slices`,
    `tfrecord`), `opaque` for one that feedline does not know. `args` are the
    public arguments by name; AUTOTUNE is -1, as in TensorFlow. A stage of an
    inner pipeline (interleave, flat_map) hangs in `inner` where it is known.
    `number` is its place in the pipeline as the user wrote it; it stays the same
    when stages around it are added or moved, and is -1 for one that was added.
    """

    op: str
    inputs: tuple[Stage, ...] = ()
    args: Mapping[str, Any] = field(default_factory=dict)
    functions: tuple[Function, ...] = ()
    spec: tuple[TensorSpec, ...] = ()
    where: Where | None = None
    random: bool = False
    rereadable: bool = True
    inner: Stage | None = None
    number: int = field(default=-1, compare=False)
    handle: Any = field(default=None, repr=False, compare=False)

    def given(self, **args: Any) -> Stage:
        """The same with other arguments, or more."""
        return replace(self, args={**self.args, **args})

    def has(self, fact: Fact) -> bool:
        """Does this hold for its op? Of an op that is not known nothing does."""
        return ops.has(self.op, fact)

    @property
    def is_source(self) -> bool:
        return not self.inputs

    @property
    def python(self) -> bool:
        """Does this stage run the user's Python for every element?"""
        return self.op == ops.FROM_GENERATOR or any(f.python for f in self.functions)

    @property
    def pure(self) -> bool:
        """Is any Python in it seen to keep no state?"""
        return self.op != ops.FROM_GENERATOR and all(f.pure for f in self.functions)

    def label(self) -> str:
        """How a person would name it: `map(load)`, `batch(32)`."""
        if self.functions:
            return f"{self.op}({self.functions[0].name})"
        for name in ("batch_size", "buffer_size", "count"):
            if isinstance(self.args.get(name), int):
                value = self.args[name]
                tuned = value == -1 and name == "buffer_size"
                return f"{self.op}({'AUTOTUNE' if tuned else value})"
        return f"{self.op}()"


@dataclass(frozen=True)
class Pipeline:
    """A whole pipeline: its last stage, its options, how many elements it has.

    `cardinality` is the number of final elements; -1 infinite, -2 unknown, as
    in TensorFlow.
    """

    root: Stage
    options: Mapping[str, Any] = field(default_factory=dict)
    cardinality: int = -2
    handle: Any = field(default=None, repr=False, compare=False)

    def stages(self) -> Iterator[Stage]:
        """Every stage once, inputs before what they feed, the source first."""
        return _walk(self.root)

    def numbered(self) -> Pipeline:
        """The same with every stage's number set."""
        return self._altered(
            {id(stage): replace(stage, number=place)} if stage.number != place else {}
            for place, stage in enumerate(self.stages())
        )

    def swap(self, old: Stage, new: Stage) -> Pipeline:
        """The same with one stage in the place of another, which must be a part of
        it. `new` may have any inputs; what reads `old` reads `new`."""
        return self._altered([{id(old): new}])

    def _altered(self, changes: Iterable[Mapping[int, Stage]]) -> Pipeline:
        wanted: dict[int, Stage] = {}
        for change in changes:
            wanted.update(change)
        made: dict[int, Stage] = {}
        for stage in self.stages():
            new = wanted.get(id(stage), stage)
            inputs = tuple(
                # An input of a new stage may be one that this pipeline never had.
                made.get(id(upstream), upstream)
                for upstream in new.inputs
            )
            if any(a is not b for a, b in zip(inputs, new.inputs, strict=True)):
                new = replace(new, inputs=inputs)
            made[id(stage)] = new
        return replace(self, root=made[id(self.root)])

    def find(self, *ops: str) -> list[Stage]:
        return [stage for stage in self.stages() if stage.op in ops]

    def after(self, stage: Stage) -> list[Stage]:
        """The stages between `stage` and the end, nearest first."""
        return _path(self.root, stage)

    @property
    def rereadable(self) -> bool:
        """May it be read a second time without taking data from the job?"""
        return all(stage.rereadable for stage in self.stages())


def _walk(root: Stage) -> Iterator[Stage]:
    done: set[int] = set()
    waiting = [(root, False)]
    while waiting:
        stage, ready = waiting.pop()
        if id(stage) in done:
            continue
        if ready:
            done.add(id(stage))
            yield stage
        else:
            waiting.append((stage, True))
            waiting += [(upstream, False) for upstream in reversed(stage.inputs)]


def _path(root: Stage, target: Stage) -> list[Stage]:
    if root is target:
        return []
    for upstream in root.inputs:
        if any(stage is target for stage in _walk(upstream)):
            return [*_path(upstream, target), root]
    return []


_DTYPE_BYTES = {
    "bool": 1,
    "int8": 1,
    "uint8": 1,
    "int16": 2,
    "uint16": 2,
    "float16": 2,
    "bfloat16": 2,
    "int32": 4,
    "uint32": 4,
    "float32": 4,
    "int64": 8,
    "uint64": 8,
    "float64": 8,
    "complex64": 8,
    "complex128": 16,
}
