"""What an entry of the op table says: `Op`, its `Fact`s, and `By`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Flag, auto


class Fact(Flag):
    """What holds for an op. What is not said of an op is taken not to hold."""

    NONE = 0

    SAME = auto()
    """Gives the same in every pass, as far as its functions do."""
    STATE = auto()
    """The iterators of one object share something: a cache, the next epoch's seed."""
    READ_ONCE = auto()
    """Cannot be read a second time without taking data from the job."""

    FILES = auto()
    """Reads files: gives the same as long as they are the same."""
    RECORDS = auto()
    """Reads records from files, many from each."""
    NAMES_FILES = auto()
    """Its files are the argument `filenames`, or the strings of its input."""
    PARALLEL_FILES = auto()
    """Reads one file after the other, or several with `num_parallel_reads`."""
    SIMPLE_FILES = auto()
    """Needs only file names and the compression to read the same records."""
    RECORDS_INSIDE = auto()
    """Counts as a reader of records where its function makes one."""
    INNER = auto()
    """Its function makes a dataset, whose elements are read in turn."""
    TENSORS = auto()
    """Its elements are tensors that it holds."""

    DRAWS = auto()
    """Random, whatever its arguments."""
    MAY_SHUFFLE = auto()
    """Random where its argument `shuffle` says so."""
    DRAWS_ORDER = auto()
    """What it draws decides the order of elements, not their values."""

    KEEPS_ELEMENTS = auto()
    """Keeps the elements of the first epoch for the later ones."""
    PLUMBING = auto()
    """Only hands on what lies in memory: a cache after it would save nothing."""
    PASSES_ON = auto()
    """Hands on the same elements in the same order, and does nothing else to them."""
    SAYS_ONLY = auto()
    """Says something about the elements and does no work."""
    LOOKS_AT_NONE = auto()
    """Passes elements on, or leaves them out, without looking into them."""
    LEAVES_OUT = auto()
    """Takes elements that it does not hand on, by their number."""
    BEFORE_STEP = auto()
    """A map may move over it into the training step."""
    PATCH_PASSES = auto()
    """A patch of the source may move a map over it."""

    WAITING_COUNTED = auto()
    """TensorFlow's model counts its waiting for its input as work of its own."""

    ENDLESS = auto()
    """Has no end, whatever its arguments."""
    ENDS_WITH_SHORTEST = auto()
    """Ends when the first of its inputs ends; the others may be repeated for ever."""
    ENDS_EARLY = auto()
    """May end a pass before its input has ended: a cache before it stays half full."""
    READS_TO_END = auto()
    """Reads its input to the end in every pass, so that nothing made ahead is lost."""
    REPEATS = auto()
    """Starts its input again and again."""
    ONE_BY_ONE = auto()
    """Fed in another order, it gives the same elements in another order. Not
    `padded_batch`: how far an element is padded is up to its neighbours."""

    TOLD_BY_ARGUMENTS = auto()
    """Made of several objects, but its arguments say all that it gives."""
    UNTOLD = auto()
    """What it gives cannot be told from outside."""
    DEFAULT_FUNCTIONS = auto()
    """TensorFlow passes functions of its own where the user passed none."""
    WORKERS = auto()
    """The Python in it may run in worker processes."""


@dataclass(frozen=True)
class By:
    """A function that needs TensorFlow, by its name, so that the table does not: one of
    `arguments.py` where something is read, of `builders.py` where something is made.
    With `given`, what that function makes of it."""

    name: str
    given: str = ""


Argument = str | By
"""The attribute that holds an argument, or the function that finds it."""


@dataclass(frozen=True)
class Op:
    """A public operation.

    `classes` are TensorFlow's dataset classes, `public` is the public one where that is
    a class and no method. `functions` are the attributes of its traced functions, in
    the order of the public parameters. Without `build` it is the input's method of the
    same name. `nodes` are the beginnings of its names in tf.data's model, `captured`
    its names in a profiler capture. `writes_to` is the argument that names what it
    writes.
    """

    name: str
    classes: tuple[str, ...] = ()
    args: Mapping[str, Argument] | By = field(default_factory=dict)
    functions: tuple[str, ...] = ()
    inputs: By | None = None
    build: By | None = None
    public: str = ""
    nodes: tuple[str, ...] = ()
    captured: tuple[str, ...] = ()
    writes_to: str = ""
    facts: Fact = Fact.NONE

    def has(self, fact: Fact) -> bool:
        """Do all of these hold?"""
        return fact in self.facts
