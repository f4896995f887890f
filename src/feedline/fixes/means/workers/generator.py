"""`from_generator`, with the generator in a process ahead of the job.

A generator cannot be divided, but it need not share an interpreter with the
training loop. Each pass over the dataset forks a process that runs the generator
and sends what it yields; it is a few elements ahead, as memory allows. The state
that a generator leaves behind stays in that process: see `GeneratorAhead.purity`.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import pickle
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from feedline.fixes.means.errors import Refused
from feedline.fixes.means.workers.process import (
    CannotSend,
    Child,
    Failed,
    Inside,
    Lost,
    TensorFlowUsed,
    calls,
)
from feedline.job.private import tensorflow as tf_private
from feedline.job.source.purity import Purity, purity
from feedline.job.source.uses import bound_to_here, tensorflow_in
from feedline.job.tfdata import ops
from feedline.job.tfdata.pipeline import Stage

PATIENCE_S = 60.0
LINES = 4
_LINE_BYTES = 64 * 2**20
_PARCEL_BYTES = 512 * 2**10
_MOST_IN_PARCEL = 512
_ALONE_BYTES = 32 * 2**10
_SLOW_S = 0.002
_log = logging.getLogger(__name__)


class RemoteTraceback(Exception):
    """Where in the other process an exception was raised."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f'\n"""\n{self.text}"""'


@dataclass
class GeneratorAhead:
    """`func` in place of the generator function; `stage()` is the stage with it."""

    original: Callable[..., Any]
    purity: Purity
    old: Stage
    output_signature: Any
    args: tuple[Any, ...] = ()
    patience: float = PATIENCE_S
    broken: str | None = None
    children: list[Child] = field(default_factory=list, repr=False)

    def stage(self) -> Stage:
        args: dict[str, Any] = {
            "func": self.func,
            "output_signature": self.output_signature,
        }
        if self.args:
            args["args"] = self.args
        return replace(self.old, args=args, handle=None)

    def func(self, *args: Any) -> Iterator[Any]:
        """What the original yields, in the same order."""
        given = 0
        if self.broken is None:
            try:
                with contextlib.closing(self._from_child(args)) as elements:
                    for element in elements:
                        given += 1
                        yield element
                return
            except (Lost, Refused) as error:
                calls.check()
                self.broken = str(error)
                _log.warning("the generator goes on in the job's process: %s", error)
        yield from itertools.islice(iter(self.original(*args)), given, None)

    def close(self) -> None:
        for child in list(self.children):
            child.kill()

    def _from_child(self, args: tuple[Any, ...]) -> Generator[Any, None, None]:
        child = Child(_sending(self.original, args), LINES, _LINE_BYTES)
        self.children.append(child)
        try:
            for line in itertools.cycle(child.channels):
                try:
                    with calls:
                        elements, packed, ended = line.receive(self.patience)
                except Failed as failure:
                    error = failure.error
                    if error is None or isinstance(error, CannotSend | TensorFlowUsed):
                        raise Lost(_last_line(failure.text)) from failure
                    raise error from RemoteTraceback(failure.text)
                if not ended:
                    line.send(None)  # it may be filled again
                for element in elements:
                    yield pickle.loads(element) if packed else element
                if ended:
                    return
        finally:
            self.children.remove(child)
            child.close()


def generator_ahead(stage: Stage, *, patience: float = PATIENCE_S) -> GeneratorAhead:
    """The generator of a `from_generator` stage in a process of its own. Raises
    Refused where that cannot be the same."""
    import tensorflow as tf

    from feedline.job.tfdata.functions import closure
    from feedline.job.tfdata.recognised import Found

    found = stage.handle
    if stage.op != ops.FROM_GENERATOR or not isinstance(found, Found):
        raise Refused(f"{stage.label()} is not a generator that was read")
    ((traced, original),) = found.users
    spec = found.dataset.element_spec
    for part in tf.nest.flatten(spec):
        if not isinstance(part, tf.TensorSpec):
            raise Refused(f"the generator yields a {type(part).__name__}")
    name = getattr(original, "__qualname__", type(original).__name__)
    if used := tensorflow_in(original):
        raise Refused(
            f"the generator {name} cannot run in a process of its own, where "
            f"TensorFlow is not at hand: {used}"
        )
    if held := bound_to_here(original):
        raise Refused(f"the generator {name} cannot be moved: {held}")
    around = closure(closure(tf_private.func(traced))["get_iterator_id_fn"])
    args = tuple(around.get("args", ()))
    return GeneratorAhead(
        original, purity(original), stage, spec, args, patience=patience
    )


class _Sender:
    """In the child: elements in parcels, over one line after the other. A line is
    used again when its parcel was taken up.

    An element is copied the moment it is yielded: the generator may well use the
    same array for the next one."""

    def __init__(self, lines: Sequence[Inside]) -> None:
        self._turns = itertools.cycle(lines)
        self._unused = len(lines)
        self._parcel: list[bytes] = []
        self._size = 0
        self._began = time.monotonic()

    def add(self, element: Any) -> None:
        size = _bytes(element)
        if size >= _ALONE_BYTES:
            self.flush()
            self._line().answer(([element], False, False))
            return
        try:
            self._parcel.append(pickle.dumps(element, protocol=5))
        except Exception as error:  # the job can yield it all the same
            raise CannotSend(f"{type(error).__name__}: {error}") from error
        self._size += size
        slow = time.monotonic() - self._began > _SLOW_S
        if slow or self._size > _PARCEL_BYTES or len(self._parcel) >= _MOST_IN_PARCEL:
            self.flush()

    def flush(self, *, ended: bool = False) -> None:
        if self._parcel or ended:
            self._line().answer((self._parcel, True, ended))
        self._parcel, self._size, self._began = [], 0, time.monotonic()

    def fail(self, error: BaseException) -> None:
        self.flush()
        self._line().fail(error)

    def _line(self) -> Inside:
        line = next(self._turns)
        if self._unused:
            self._unused -= 1
        else:
            line.take()
        return line


def _sending(original: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    def serve(lines: Sequence[Inside]) -> None:
        sender = _Sender(lines)
        elements = None
        try:
            elements = iter(original(*args))
            for element in elements:
                sender.add(element)
            sender.flush(ended=True)
        except (BrokenPipeError, EOFError, ConnectionResetError):
            # The job does not want more: the generator may still clean up.
            getattr(elements, "close", lambda: None)()
            raise
        except BaseException as error:
            sender.fail(error)
        while True:  # until the parent has taken all and closes
            lines[0].take()

    return serve


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["it failed"])[-1]


def _bytes(element: Any) -> int:
    """About; for knowing when a parcel is full."""
    if isinstance(element, dict):
        return sum(map(_bytes, element.values()))
    if isinstance(element, tuple | list):
        return sum(map(_bytes, element))
    size = getattr(element, "nbytes", None)
    if size is None:
        size = len(element) if isinstance(element, bytes | str) else 16
    return int(size)
