"""What every TensorFlow operation does besides computing its outputs.

The table is closed: an operation that TensorFlow itself marks as stateful and that
stands in none of these lists counts as `outside`, which means that nobody may run it
one time more, one time less or at another time than the script does.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterator
from enum import Enum
from typing import Any

from feedline.job.private import tensorflow as tf_private


class Effect(Enum):
    """What a second call would meet or leave behind."""

    NONE = "nothing: the same inputs give the same outputs"
    DRAWS = "draws random numbers from a state of its own"
    READS = "reads a variable or a table, which others may change"
    WRITES = "changes a variable"
    ITERATES = "takes from an iterator"
    FILES = "reads files"
    PYTHON = "calls Python"
    OUTSIDE = "prints, writes, inserts, waits or does something unknown"


_DRAWS = (
    r"Random(Crop|Gamma|Poisson|PoissonV2|Shuffle|StandardNormal|Uniform|UniformInt)",
    r"(Parameterized)?TruncatedNormal",
    r"Multinomial|NonDeterministicInts|SampleDistortedBoundingBox(V2)?",
    r"\w*CandidateSampler|CudnnRNN\w*",
    r"(Shuffle|ShuffleAndRepeat|Random|GlobalShuffle)Dataset(V\d)?",
)
# These draw from a variable, and move it on.
_GENERATORS = (
    r"RngReadAndSkip|RngSkip",
    r"Stateful(Uniform|StandardNormal|TruncatedNormal|RandomBinomial)\w*",
)
_READS = (
    r"_?ReadVariables?Op|ResourceGather(Nd)?",
    r"LookupTable(Find|Size|Export)(V2)?",
)
_WRITES = (
    r"Assign(Add|Sub)?VariableOp|ResourceStridedSliceAssign|ResourceCountUpTo",
    r"Resource(Sparse)?Apply\w+|ResourceScatter\w+",
    *_GENERATORS,
)
_ITERATES = (
    r"IteratorGetNext\w*|IteratorGetDevice|MultiDeviceIteratorGetNextFromShard",
    r"Anonymous(MultiDevice)?Iterator(V\d)?|MakeIterator|DeleteIterator",
)
_FILES = (
    r"ReadFile|MatchingFiles(Dataset)?|RestoreV2|Restore|RestoreSlice",
    r"(TFRecord|TextLine|FixedLengthRecord|CSV|LMDB|Sql|Load)Dataset(V\d)?",
)
_PYTHON = (r"PyFunc|PyFuncStateless|EagerPyFunc|GeneratorDataset",)
# Marked as stateful so that they are neither pruned nor moved, or local to a call.
_NONE = (
    r"(Stateful)?PartitionedCall|If|While|Case|_If|_While|_Arg|_Retval|RemoteCall",
    r"Assert|CheckNumerics(V2)?|Xla(CallModule|Launch|If|While)",
    r"StatelessRandomGetAlg|Dummy\w+|Empty|GuaranteeConst|DeviceIndex|DeepCopy",
    r"IsTensorFloat32Enabled|GraphDefVersion|GlobalIterId",
    r"VarHandleOp|_VarHandlesOp|VarIsInitializedOp|VariableShape|DisableCopyOnRead",
    r"IsResourceHandleRefCounting|MakeWeakResourceHandle",
    r"HashTable(V2)?|AnonymousHashTable",
    r"TensorArray\w*|Stack(V2|PushV2|PopV2|CloseV2)?",
    r"Nccl\w+|Collective\w+|_?Send|_?Recv|_HostSend|_HostRecv|CrossReplicaSum",
    r"ReduceDataset|DatasetToSingleElement|ThreadPool(Dataset|Handle)",
    r"(Range|List|Tensor|TensorSlice|SparseTensorSlice|GroupByReducer)Dataset(V\d)?",
    r"(Anonymous)?(MemoryCache|SeedGenerator|RandomSeedGenerator)",
    r"Delete(MemoryCache|SeedGenerator|RandomSeedGenerator)|CacheDatasetV2",
)


def _any(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns))


_TABLE = (
    (Effect.DRAWS, _any(_DRAWS)),
    (Effect.WRITES, _any(_WRITES)),
    (Effect.READS, _any(_READS)),
    (Effect.ITERATES, _any(_ITERATES)),
    (Effect.FILES, _any(_FILES)),
    (Effect.PYTHON, _any(_PYTHON)),
    (Effect.NONE, _any(_NONE)),
)
_GENERATOR = _any(_GENERATORS)
PYTHON = frozenset({"PyFunc", "PyFuncStateless", "EagerPyFunc"})


@functools.cache
def effect_of(op: str) -> Effect:
    """What an operation of this type does; `OUTSIDE` where nobody has said."""
    from feedline.job.private.tensorflow import op_def_registry

    for effect, pattern in _TABLE:
        if pattern.fullmatch(op):
            return effect
    definition = op_def_registry.get(op)
    if definition is not None and not definition.is_stateful:
        return Effect.NONE
    return Effect.OUTSIDE


@functools.cache
def is_draw(op: str) -> bool:
    """Does it draw, from a state of its own or from a generator's variable?"""
    return effect_of(op) is Effect.DRAWS or bool(_GENERATOR.fullmatch(op))


def operations(graph: Any) -> Iterator[Any]:
    """All operations of a graph, those of the functions in it included."""
    if graph is None:  # a function of TensorFlow 1's kind
        return
    yield from graph.get_operations()
    for nested in tf_private.functions(graph).values():
        inner = getattr(nested, "cached_graph", None) or nested.graph
        yield from inner.get_operations()


def op_counts(graph: Any) -> Counter[str]:
    """Operations by type, inputs left out. What is called by its name is counted by
    what is in it."""
    counts = Counter(op.type for op in operations(graph))
    del counts["Placeholder"]
    for name in list(tf_private.functions.get(graph, ())):
        text = name.decode() if isinstance(name, bytes) else str(name)
        if text in counts:
            del counts[text]
    return counts
