"""What the names of a scope stand for, as Python's own compiler sees them, and which
of them other code can see."""

from __future__ import annotations

import ast
import symtable
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

Scope: TypeAlias = ast.Module | ast.FunctionDef

# Run where they stand.
_AT_ONCE = {"listcomp", "setcomp", "dictcomp", "<listcomp>", "<setcomp>", "<dictcomp>"}
_MAKES_SCOPE = (
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda),
    *(ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
)
# They see or change the names of other frames, or take code apart.
_NAMES = {"locals", "globals", "exec", "eval", "__import__", "breakpoint"}
_OF_THIS_SCOPE = {"vars", "dir"}  # where they are called with nothing
_WORDS = {
    *("_getframe", "_current_frames", "currentframe", "inspect", "traceback"),
    *("f_locals", "f_globals", "f_back", "tb_frame", "gi_frame", "cr_frame"),
    *("settrace", "setprofile", "set_trace", "pdb", "bdb", "faulthandler"),
    *("__code__", "__closure__", "__globals__", "__main__", "getrefcount"),
    *("get_referrers", "get_objects", "cloudpickle", "dill", "import_module"),
}


@dataclass(frozen=True)
class Names:
    """`local` are kept in the frame of the scope (none at the top of a file, where all
    are global), `own` those of them that belong to it alone; `shared` are read or set
    by functions inside as well, `set_elsewhere` are those that functions may set."""

    local: frozenset[str]
    own: frozenset[str]
    shared: frozenset[str]
    set_elsewhere: frozenset[str]


class Tables:
    """The names of all scopes of one text."""

    def __init__(self, text: str, path: str) -> None:
        self._module = symtable.symtable(text, path, "exec")
        self._functions: dict[tuple[str, int], list[symtable.SymbolTable]] = {}
        self._nonlocal: set[str] = set()  # what functions set of those around them
        for table in _below(self._module):
            self._nonlocal |= {
                each.get_name()
                for each in table.get_symbols()
                if each.is_free() and each.is_assigned()
            }
            if table.get_type() == "function":
                key = (table.get_name(), table.get_lineno())
                self._functions.setdefault(key, []).append(table)

    def names(self, scope: Scope) -> Names | None:
        """None where it cannot be told which table is the scope's."""
        if isinstance(scope, ast.Module):
            shared, changed = _mentions(self._module, of_module=True)
            return Names(frozenset(), frozenset(), shared, changed)
        tables = self._functions.get((scope.name, scope.lineno), [])
        if len(tables) != 1:
            return None
        symbols = tables[0].get_symbols()
        own = {each.get_name() for each in symbols if each.is_local()}
        free = {each.get_name() for each in symbols if each.is_free()}
        shared, changed = _mentions(tables[0], of_module=False)
        return Names(
            frozenset(own | free), frozenset(own), shared, changed | self._nonlocal
        )


def _below(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    for child in table.get_children():
        yield child
        yield from _below(child)


def _mentions(
    table: symtable.SymbolTable, *, of_module: bool
) -> tuple[frozenset[str], frozenset[str]]:
    """The names of this scope that functions in it read or set, and those they set."""
    read: set[str] = set()
    changed: set[str] = set()

    def look(inner: symtable.SymbolTable, *, at_once: bool) -> None:
        here = at_once and inner.get_name() in _AT_ONCE
        for symbol in inner.get_symbols() if not here else ():
            if symbol.is_global() if of_module else symbol.is_free():
                read.add(symbol.get_name())
                if symbol.is_assigned() or symbol.is_imported():
                    changed.add(symbol.get_name())
        for child in inner.get_children():
            look(child, at_once=here)

    for child in table.get_children():
        look(child, at_once=True)
    return frozenset(read), frozenset(changed)


def bound(node: ast.AST) -> set[str]:
    """All names that this sets or deletes, in whatever way; those of functions,
    classes and comprehensions in it are their own."""
    found: set[str] = set()
    waiting: list[ast.AST] = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load):
            found.add(one.id)
        elif isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(one.name)
        elif isinstance(one, ast.Import | ast.ImportFrom):
            found |= {(a.asname or a.name).partition(".")[0] for a in one.names}
        elif isinstance(one, ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
            found.add(one.name or "")
        elif isinstance(one, ast.MatchMapping):
            found.add(one.rest or "")
        if isinstance(one, _MAKES_SCOPE):
            # All that a comprehension sets outside of itself is by `:=`.
            found |= {
                inner.target.id
                for inner in ast.walk(one)
                if isinstance(inner, ast.NamedExpr)
            }
            continue
        waiting += ast.iter_child_nodes(one)
    return found - {""}


def looked_at(tree: ast.Module) -> bool:
    """May anything in this file look at names, frames or code, other than by the
    names themselves?"""
    harmless: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and _is_main(node):
            harmless |= {id(each) for each in ast.walk(node)}
        if isinstance(node, ast.Call) and node.args:
            harmless.add(id(node.func))  # `vars(arguments)`
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            bare = node.id in _OF_THIS_SCOPE and id(node) not in harmless
            if node.id in _NAMES or bare:
                return True
        elif isinstance(node, ast.Attribute) and node.attr == "modules":
            if isinstance(node.value, ast.Name) and node.value.id == "sys":
                return True
        elif id(node) not in harmless and not _WORDS.isdisjoint(_words(node)):
            return True
    return False


def _is_main(node: ast.Compare) -> bool:
    """`__name__ == "__main__"`."""
    return isinstance(node.left, ast.Name) and node.left.id == "__name__"


def _words(node: ast.AST) -> set[str]:
    if isinstance(node, ast.Attribute):
        return {node.attr}
    if isinstance(node, ast.Constant):
        return {node.value} if isinstance(node.value, str) else set()
    if isinstance(node, ast.alias):
        return {*node.name.split(".")}
    if isinstance(node, ast.ImportFrom):
        found = {*(node.module or "").split("."), *(a.name for a in node.names)}
        return {*found, "__main__"} if {"sys", "modules"} <= found else found
    return set()
