"""What to change: one file per fix, found here by its presence.

A fix's file holds its page (the module docstring) and

    propose(case)      the edits that may help this job, with expected costs: pure
    apply(pipeline, edit)   the altered pipeline (pipeline fixes): pure
    install(target, edit)   changes a live model and says how to undo it (step
                            fixes); the only part that touches TensorFlow
    TAKES              what an edit of it may say: see `args.py`
    check(...)         raises `CannotFix` unless the fix may be applied: what `propose`
                       asks and `apply` or `install` ask again of what is at hand
    PATCH              how it reads in the source: see `patching.py`
    KEEPS              True where it fills a cache, so that it is tried on a full one
    compared(edit)     how the elements are compared, where order or values may change
    own_loop(edit)     what it asks of a loop of the script's own
    at_once(pipeline)  the edits to use where nothing may be tried: see `AtOnce`
    least(edit)        the best grade that such an edit can have, where that is not
                       `exact`: a plan in a file cannot claim a better one

It lies in `pipeline/`, `step/` or `advice/`; a page in `advice/` needs none of these:
it is for a person to follow, by the example of its cause where it shows none. Whether
a fix keeps the data, and whether it is faster, is not decided here: `prove` does, by
comparing and by measuring.
"""

from __future__ import annotations

import importlib
import inspect
import logging
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType, ModuleType
from typing import Any

from feedline import causes
from feedline.errors import FeedlineError
from feedline.fixes import advice, conditions, pipeline, step
from feedline.fixes.args import Takes
from feedline.fixes.fix import (
    GRADES,
    AtOnce,
    CannotFix,
    Case,
    Edit,
    Grade,
    Kind,
    Order,
    OwnLoop,
    Proposal,
    grades,
)
from feedline.fixes.patching import Patch
from feedline.job.tfdata.pipeline import Pipeline

__all__ = [
    "GRADES",
    "AtOnce",
    "CannotFix",
    "Case",
    "Edit",
    "Fix",
    "Grade",
    "OwnLoop",
    "Patch",
    "Proposal",
    "all",
    "apply",
    "at_once",
    "compared",
    "grades",
    "keeps",
    "own_loop",
    "proposals",
]

log = logging.getLogger(__name__)
_EXAMPLE = "## Example\n"


@dataclass(frozen=True)
class Fix:
    """One known cure; `page` is markdown, `title` its first line."""

    name: str
    title: str
    page: str
    propose: Callable[[Case], Iterable[Proposal]]
    apply: Callable[[Pipeline, Edit], Pipeline] | None = None
    install: Callable[[Any, Edit], Callable[[], None]] | None = None
    takes: Takes = field(default_factory=Takes)
    least: Callable[[Edit], Grade] = field(default=lambda _: "exact")
    patch: Patch = field(default_factory=Patch)
    compared: Callable[[Edit], Order] = field(default=lambda _: "same")
    own_loop: Callable[[Edit], OwnLoop] = field(default=lambda _: OwnLoop())
    keeps: bool = False
    at_once: Callable[[Pipeline], Iterable[AtOnce]] = field(default=lambda _: ())

    @property
    def kind(self) -> Kind:
        """What it changes; advice counts as a change of the step."""
        if self.apply is not None:
            return "pipeline" if self.install is None else "both"
        return "step"


@cache
def all() -> Mapping[str, Fix]:  # noqa: A001 - read as `fixes.all()`
    """Every fix by its name, in the order of the alphabet."""
    found = {}
    for code in _modules():
        name = code.__name__.rpartition(".")[2].replace("_", "-")
        page = _page(code, name)
        least = getattr(code, "least", _exact)
        found[name] = Fix(
            name=name,
            title=page.partition("\n")[0],
            page=page,
            propose=getattr(code, "propose", _nothing),
            apply=getattr(code, "apply", None),
            install=getattr(code, "install", None),
            takes=getattr(code, "TAKES", Takes()),
            patch=getattr(code, "PATCH", Patch()),
            compared=getattr(code, "compared", _same),
            own_loop=getattr(code, "own_loop", _no_loop),
            keeps=getattr(code, "KEEPS", False),
            at_once=getattr(code, "at_once", _none_at_once),
            least=_advice if code.__package__ == advice.__name__ else least,
        )
    return MappingProxyType(dict(sorted(found.items())))


def _modules() -> Iterator[ModuleType]:
    for folder in (pipeline, step, advice):
        for module in pkgutil.iter_modules(folder.__path__):
            yield importlib.import_module(f"{folder.__name__}.{module.name}")


def _page(code: ModuleType, name: str) -> str:
    """Advice without an example of its own has that of the first cause it cures."""
    page = inspect.cleandoc(code.__doc__ or "")
    if code.__package__ != advice.__name__ or _EXAMPLE in page:
        return page
    shown = (cause.page for cause in causes.all().values() if name in cause.fixes)
    example = next(shown, "").partition(_EXAMPLE)[2].partition("## Fix")[0]
    return f"{page.rstrip()}\n\n{_EXAMPLE}{example.rstrip()}" if example else page


def _exact(_: Edit) -> Grade:
    return "exact"


def _advice(_: Edit) -> Grade:
    return "advice"


def _same(_: Edit) -> Order:
    return "same"


def _no_loop(_: Edit) -> OwnLoop:
    return OwnLoop()


def _nothing(_: Case) -> Iterator[Proposal]:
    return iter(())


def _none_at_once(_: Pipeline) -> Iterator[AtOnce]:
    return iter(())


def at_once(pipeline: Pipeline) -> list[AtOnce]:
    """All that may be used without a trial. A broken fix is left out."""
    found: list[AtOnce] = []
    for fix in all().values():
        try:
            found += fix.at_once(pipeline)
        except Exception:
            log.exception("the fix %s failed and is left out", fix.name)
    return found


def proposals(case: Case, allowed: tuple[Grade, ...]) -> Iterator[Proposal]:
    """Everything that may help and is allowed. A broken fix is left out."""
    for fix in all().values():
        if case.input_only and fix.kind != "pipeline":
            continue
        try:
            for proposal in fix.propose(case):
                if proposal.grade in allowed and proposal.edit not in case.edits:
                    yield proposal
        except CannotFix as reason:
            log.info("%s does not fit: %s", fix.name, reason)
        except Exception:
            log.exception("the fix %s failed and is left out", fix.name)


def compared(edits: Iterable[Edit]) -> Order:
    """How elements are compared under all of these: by the loosest of them."""
    asked = {all()[edit.fix].compared(edit) for edit in edits}
    if "values may differ" in asked:
        return "values may differ"
    return "any" if "any" in asked else "same"


def own_loop(edits: Iterable[Edit]) -> OwnLoop:
    """What all of these ask of a loop of the script's own."""
    asked = [all()[edit.fix].own_loop(edit) for edit in edits]
    return OwnLoop(
        any(each.as_graph for each in asked),
        any(each.fused for each in asked),
        max((each.steps for each in asked), default=1),
        any(each.open_shapes for each in asked),
    )


def keeps(edit: Edit) -> bool:
    """Does it fill a cache?"""
    fix = all().get(edit.fix)
    return fix is not None and fix.keeps


def apply(pipeline: Pipeline, edits: Iterable[Edit]) -> Pipeline:
    """The pipeline with these edits, in this order; edits of the step are not
    about it. Applying none gives the same pipeline back."""
    for edit in edits:
        fix = all().get(edit.fix)
        if fix is None:
            raise CannotFix(f"feedline has no fix named {edit.fix!r}")
        if fix.apply is not None:
            try:
                before, pipeline = pipeline, fix.apply(pipeline, edit)
                conditions.repeats_draw_alike(before, pipeline)
            except KeyError as missing:
                raise CannotFix(f"the edit {edit.fix} lacks {missing}") from None
            except FeedlineError as reason:  # a rewriting that is not possible here
                raise CannotFix(str(reason)) from reason
    return pipeline
