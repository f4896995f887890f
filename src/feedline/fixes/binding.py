"""What a plan was proved on, part by part, and what of it is no longer so.

A plan is applied only to the job that it was made for. Each part of that job is kept
under its name, so that a refusal can say which of them changed. Pure: what the parts
are is told by `feedline.fixes.identity`, here they are compared and kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from feedline.fixes.identity.part import UNTOLD, Part, digest

_IN_WORDS = ("versions", "machine")
_STEP = "step"


class NotBound(ValueError):
    """What is kept in a file does not say what the plan was proved on."""


@dataclass(frozen=True)
class Binding:
    """The parts of a job that a plan rests on."""

    parts: tuple[Part, ...] = ()

    @property
    def pipeline(self) -> str:
        """A mark of the pipeline alone: the same as long as nothing in it changes."""
        told = [each for each in self.parts if _of_pipeline(each)]
        return digest([(each.key, sorted(each.facts.items())) for each in told])

    @property
    def of_step(self) -> bool:
        """Does it hold the step as well?"""
        return any(each.key == _STEP for each in self.parts)

    def changes(self, now: Binding) -> Iterator[str]:
        """What is another now, one phrase for each part. Versions come first: another
        TensorFlow may trace another graph."""
        known = {each.key: each for each in now.parts}
        for part in sorted(self.parts, key=lambda each: each.key not in _IN_WORDS):
            other = known.pop(part.key, None)
            if other is None:
                yield f"{part.name}, which is no longer there"
            else:
                yield from _differs(part, other)
        for part in known.values():
            yield f"a job without {part.name}"

    def refusal(self, now: Binding, cure: str = "remove the plan's file") -> str | None:
        """Why a plan with this binding may not be applied to the job as it is now;
        None where it may."""
        first = next(self.changes(now), None)
        if first is None:
            return None
        return f"the plan was made for {first}; measuring is needed again: {cure}"

    def to_list(self) -> list[dict[str, Any]]:
        return [
            {"part": each.key, "name": each.name, "facts": dict(each.facts)}
            for each in self.parts
        ]

    @classmethod
    def from_list(cls, data: Any) -> Binding:
        """Raises `NotBound`, naming the field, where `data` is none."""
        if not isinstance(data, list):
            raise NotBound(f"made_for must be a list, not {data!r:.60}")
        found = tuple(_part(each, f"made_for[{n}]") for n, each in enumerate(data))
        keys = [each.key for each in found]
        if len(set(keys)) != len(keys):
            raise NotBound("made_for names a part twice")
        for needed in ("pipeline", *_IN_WORDS):
            if needed not in keys:
                raise NotBound(f"made_for has no part {needed!r}")
        return cls(found)


def without_step(binding: Binding) -> Binding:
    return Binding(tuple(each for each in binding.parts if each.key != _STEP))


def only_step(binding: Binding) -> Binding:
    return Binding(tuple(each for each in binding.parts if each.key == _STEP))


def _of_pipeline(part: Part) -> bool:
    return part.key == "pipeline" or part.key.startswith("stage ")


def _differs(part: Part, other: Part) -> Iterator[str]:
    facts = dict(other.facts)
    names = [*part.facts, *(name for name in facts if name not in part.facts)]
    changed = [
        name
        for name in names
        if part.facts.get(name) != facts.get(name) or part.facts[name] == UNTOLD
    ]
    if not changed:
        return
    if part.key in _IN_WORDS:
        name = changed[0]
        was, is_ = part.facts.get(name, "unset"), facts.get(name, "unset")
        yield f"{name} {was}, and here it is {is_}"
        return
    pairs = {name: (part.facts.get(name), facts.get(name)) for name in changed}
    untold = [name for name in changed if UNTOLD in pairs[name]]
    if untold:
        yield f"{part.name}, and whether that changed ({_aspects(untold)}) {UNTOLD}"
        return
    yield f"another version of {part.name} (other {_aspects(changed)})"


def _aspects(changed: Sequence[str]) -> str:
    """`code 0` is the code of its first function: a person needs no number."""
    names = dict.fromkeys(name.rstrip("0123456789").strip() for name in changed)
    return ", ".join(names)


def _part(data: Any, at: str) -> Part:
    if not isinstance(data, dict) or set(data) != {"part", "name", "facts"}:
        raise NotBound(f"{at} must have part, name and facts, not {data!r:.60}")
    for name in ("part", "name"):
        if not isinstance(data[name], str):
            raise NotBound(f"{at}.{name} must be a text, not {data[name]!r:.60}")
    facts = data["facts"]
    if not isinstance(facts, dict):
        raise NotBound(f"{at}.facts must be an object, not {facts!r:.60}")
    for name, value in facts.items():
        if not isinstance(value, str):
            raise NotBound(f"{at}.facts.{name} must be a text, not {value!r:.60}")
    return Part(data["part"], data["name"], facts)
