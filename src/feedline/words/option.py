"""An option of training: written once, read by all who need it.

A dataclass declares its options as fields:

    dim: int = option(100, "Dimension of the vectors.", "Model", 1, 65_536, "100")

From that come the check of a value, the error that names the option, the command
line with its help (cli/words/options.py), the signature of the Python function
(`takes`) and the table in the documentation (docs/generate.py).
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, ParamSpec, TypeVar

from feedline.errors import TrainingError

T = TypeVar("T")
R = TypeVar("R")
P = ParamSpec("P")
_KEY = "option"


@dataclass(frozen=True)
class Option:
    """What is known of an option besides its name."""

    default: Any
    help: str
    group: str
    """The heading that it stands under."""
    kind: type
    value: str
    """What stands for its value in the help, as N in `--dim N`."""
    choices: tuple[str, ...]
    low: float
    high: float
    usual: str
    """What people give, for the error."""
    unless: str
    """The default in words, where it depends on others."""
    flags: tuple[str, ...]
    """On the command line, where it is not the name."""

    def check(self, name: str, value: Any) -> None:
        """Raise an error that says the option, the value and what is usual."""
        if self.choices and value not in self.choices:
            known = ", ".join(self.choices)
            raise TrainingError(f"{name} is {value!r}; it can be {known}.")
        if self.kind not in (int, float) or self.low == -math.inf:
            return
        whole = self.kind is int
        fits = isinstance(value, int) if whole else is_number(value)
        finite = fits and not isinstance(value, bool) and math.isfinite(value)
        if not finite or not self.low <= value <= self.high:
            what = "a whole number" if whole else "a number"
            low, high = (f"{x:.0f}" if whole else f"{x:g}" for x in self.bounds)
            usual = f" ({self.usual})" if self.usual else ""
            raise TrainingError(
                f"{name} is {value!r}; it must be {what} from {low} to {high}{usual}."
            )

    @property
    def bounds(self) -> tuple[float, float]:
        return self.low, self.high


def option(
    default: T,
    help: str,  # noqa: A002
    group: str,
    low: float = -math.inf,
    high: float = math.inf,
    usual: str = "",
    *,
    kind: type | None = None,
    value: str = "N",
    choices: tuple[str, ...] = (),
    unless: str = "",
    flags: tuple[str, ...] = (),
) -> T:
    """A field of a dataclass. `kind` is needed where the default is None."""
    found = Option(
        default,
        help,
        group,
        kind or type(default),
        value,
        choices,
        low,
        high,
        usual,
        unless,
        flags,
    )
    made: T = field(default=default, metadata={_KEY: found})
    return made


def options(owner: type) -> dict[str, Option]:
    """The options of a dataclass, by name, as they stand in it."""
    found = ((one.name, one.metadata.get(_KEY)) for one in fields(owner))
    return {name: known for name, known in found if known is not None}


def check(owner: type, values: Any) -> None:
    """Check what an object holds against the options of a dataclass. None stands
    for a default, where the object's own class has that."""
    own = {one.name: one.default for one in fields(values)}
    for name, known in options(owner).items():
        value = getattr(values, name)
        if value is not None or own[name] is not None:
            known.check(name, value)


def part(values: Any, owner: Callable[..., T]) -> T:
    """The fields of a smaller dataclass, taken from a larger one."""
    names = (one.name for one in fields(owner))  # type: ignore[arg-type]
    return owner(**{name: getattr(values, name) for name in names})


def given(owner: type, what: str, values: dict[str, Any]) -> dict[str, Any]:
    """The values that are not None; an error where there is no such option."""
    known = [one.name for one in fields(owner)]
    unknown = sorted(set(values) - set(known))
    if unknown:
        raise TrainingError(
            f"there is no {what} option {unknown[0]!r}; there are: {', '.join(known)}."
        )
    return {name: value for name, value in values.items() if value is not None}


def is_number(value: object) -> bool:
    """A number, and no truth value."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def takes(owner: Callable[P, T]) -> Callable[[Callable[[T], R]], Callable[P, R]]:
    """A function of one dataclass becomes one of its fields.

    Type checkers and editors see the fields with their types and defaults, because
    the dataclass lends its parameters; `inspect.signature` sees them as well.
    """
    signature = inspect.signature(owner)

    def wrap(run: Callable[[T], R]) -> Callable[P, R]:
        @functools.wraps(run)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                signature.bind(*args, **kwargs)
            except TypeError as error:
                raise TypeError(f"{run.__name__}() {error}") from None
            return run(owner(*args, **kwargs))

        returns = run.__annotations__.get("return", inspect.Signature.empty)
        full = signature.replace(return_annotation=returns)
        call.__signature__ = full  # type: ignore[attr-defined]
        call.__annotations__ = {
            name: one.annotation for name, one in full.parameters.items()
        } | {"return": returns}
        return call

    return wrap
