"""The plan's change made in the user's source: the fix says how, with these tools.

`At` is the `Source` of `fixes/patching.py`, over libcst's tree. A fix is asked for its
edit; none is known here by name.
"""

from __future__ import annotations

from collections.abc import Iterator

from feedline import fixes
from feedline.fixes.patching import BY_HAND, CannotEdit
from feedline.fixes.place import Place
from feedline.report.patches import arguments, chains, models, names
from feedline.report.patches.document import Document
from feedline.report.patches.find import find
from feedline.report.patches.predicates import may_stand_before
from feedline.report.patches.tree import Call, Tree

_HERE = "here"


def locate(tree: Tree, place: Place, together: int) -> Call:
    """The call that the edit is about."""
    fix = fixes.all().get(place.edit.fix)
    if fix is None or fix.patch.edit is None:
        raise CannotEdit(BY_HAND)
    if fix.kind == "step":
        return models.compile_call(tree, place)
    return find(tree, place, together)


def edit(document: Document, place: Place, call: Call) -> None:
    change = fixes.all()[place.edit.fix].patch.edit
    if change is None:
        raise CannotEdit(BY_HAND)
    document.marks[_HERE] = call.at
    try:
        change(At(document), place)
    finally:
        document.marks.pop(_HERE, None)


class At:
    """The source at the call that is marked."""

    def __init__(self, document: Document) -> None:
        self.document = document

    @property
    def _tree(self) -> Tree:
        return self.document.tree

    @property
    def _call(self) -> Call:
        found = self._tree.call_at(self.document.marks[_HERE])
        if found is None:
            raise CannotEdit("an earlier change took its place")
        return found

    @property
    def name(self) -> str:
        return self._call.name

    @property
    def text(self) -> bytes:
        return self._tree.text

    def autotune(self) -> str:
        return names.autotune(self._tree, self._call.node)

    def data_module(self) -> str | None:
        return names.data_module(self._tree, self._call.node)

    def tensorflow_module(self) -> str | None:
        return names.tensorflow_module(self._tree, self._call.node)

    # --------------------------------------------------------------- arguments

    def takes(self, parameter: str) -> bool:
        return parameter in arguments.PARAMETERS.get(self.name, ())

    def argument(self, parameter: str) -> str | None:
        given = arguments.argument(self._call, parameter)
        return None if given is None else self._tree.code(given.value)

    def set_argument(self, parameter: str, value: str) -> None:
        arguments.put(self.document, self._call, parameter, value)

    # ------------------------------------------------------------------ chains

    def append(self, method: str, given: str = "", /) -> None:
        chains.append(self.document, self._call, method, given)

    def append_before(self, method: str) -> None:
        before = chains.preceding(self._tree, self._call)
        if before is not None:
            chains.append(self.document, before, method)

    def to_end(self) -> None:
        self.document.marks[_HERE] = chains.end_of(self.document, self._call).at

    def to_next(self) -> bool:
        after = chains.following(self._tree, self._call)
        if after is not None:
            self.document.marks[_HERE] = after.at
        return after is not None

    def before(self) -> str | None:
        found = chains.preceding(self._tree, self._call)
        return None if found is None else found.name

    def move_up(self) -> None:
        chains.move_up(self.document, self._call)

    def passed_by(self, links: tuple[str, ...], /) -> Iterator[str]:
        while True:
            after = chains.following(self._tree, self._call)
            if after is None or after.name not in links:
                return
            chains.move_up(self.document, after)
            yield after.name

    def may_stand_before(self) -> bool:
        before = chains.preceding(self._tree, self._call)
        return before is not None and may_stand_before(self._tree, self._call, before)

    # ------------------------------------------------------------------ models

    def set_compile(self, parameter: str, value: str) -> None:
        models.check_own_compile(self._tree, parameter)
        self.set_argument(parameter, value)

    def set_attribute(self, attribute: str, value: str) -> bool:
        receiver = self._call.receiver
        model = "" if receiver is None else self._tree.code(receiver)
        return models.set_attribute(self.document, model, attribute, value)

    def call_after(
        self, module: str, function: str, known: tuple[str, ...], given: str, /
    ) -> None:
        models.after_compile(self.document, self._call, module, function, known, given)
