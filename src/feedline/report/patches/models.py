"""The `compile` that belongs to a `fit`, and what is to follow it."""

from __future__ import annotations

import libcst as cst

from feedline.fixes.patching import CannotEdit
from feedline.fixes.place import Place
from feedline.report.patches import lines
from feedline.report.patches.document import Document, Splice
from feedline.report.patches.tree import Call, Tree


def compile_call(tree: Tree, place: Place) -> Call:
    """The call that compiles the model which this line trains."""
    here = [call for call in tree.calls if tree.line(call.at) == place.line]
    if place.op == "compile":
        direct = [call for call in here if call.name == "compile"]
        if len(direct) == 1:
            return direct[0]
        raise CannotEdit("the call of compile is not on this line")
    fits = [call for call in here if call.name == "fit" and call.receiver is not None]
    if len(fits) != 1 or fits[0].receiver is None:
        raise CannotEdit("this line does not show which model is trained")
    model = tree.code(fits[0].receiver)
    calls = [
        call
        for call in tree.calls
        if call.name == "compile"
        and call.receiver is not None
        and tree.code(call.receiver) == model
    ]
    return _belonging(tree, fits[0], calls, model)


def _belonging(tree: Tree, fit: Call, calls: list[Call], model: str) -> Call:
    if not calls:
        raise CannotEdit(f"no call of {model}.compile in this file")
    scope = tree.function(fit.node)
    near = [
        call for call in calls if tree.function(call.node) is scope and call.at < fit.at
    ]
    if not near and len(calls) == 1:
        return calls[0]
    if len(near) == 1:
        return near[0]
    # Of several the last before fit counts, if it is always run before it.
    around = list(tree.around(fit.node))
    if near and _block(tree, near[-1].node) in around:
        return near[-1]
    raise CannotEdit(f"several calls of {model}.compile could be meant")


def _block(tree: Tree, node: cst.CSTNode) -> cst.CSTNode | None:
    blocks = cst.Module | cst.IndentedBlock | cst.SimpleStatementSuite
    return next((up for up in tree.around(node) if isinstance(up, blocks)), None)


def check_own_compile(tree: Tree, name: str) -> None:
    """A `compile` of the user's own may not take this keyword."""
    for node in tree.nodes():
        if isinstance(node, cst.FunctionDef) and node.name.value == "compile":
            params = node.params
            known = {p.name.value for p in (*params.params, *params.kwonly_params)}
            if name not in known and params.star_kwarg is None:
                raise CannotEdit(f"a compile of your own does not take {name}")


def set_attribute(document: Document, model: str, name: str, value: str) -> bool:
    """`model.name = value` where the script has such a line with another value."""
    tree = document.tree
    for node in tree.nodes():
        if not isinstance(node, cst.Assign) or len(node.targets) != 1:
            continue
        if tree.code(node.targets[0].target) == f"{model}.{name}":
            start, end = tree.span(node.value)
            if tree.code(node.value) != value:
                document.splice(Splice(start, end, value.encode()))
            return True
    return False


def after_compile(
    document: Document,
    call: Call,
    module: str,
    function: str,
    names: tuple[str, ...],
    arguments: str,
) -> None:
    """`name(model, arguments)` as the statement after compile, and its import under
    the first of these names that is free."""
    tree = document.tree
    if call.receiver is None:
        raise CannotEdit("the model has no name")
    model = tree.code(call.receiver)
    text = f"from {module} import {function} as "
    imports = {name: text + name for name in names}
    name, is_imported = _import_name(tree, imports)
    new = f"{name}({model}, {arguments})"
    if any(tree.code(each.node) == new for each in tree.calls):
        return
    statement = tree.parent(call.node)
    line = statement and tree.parent(statement)
    if not isinstance(statement, cst.Expr) or line is None:
        raise CannotEdit("compile is not a statement of its own")
    splices = [_statement_after(tree, statement, line, new.encode())]
    if not is_imported:
        splices.append(_import(tree, call, imports[name].encode()))
    document.splice(*splices)


def _statement_after(
    tree: Tree, statement: cst.Expr, line: cst.CSTNode, new: bytes
) -> Splice:
    start, end = tree.span(statement)
    if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1:
        at = tree.line_end(end)
        indent = lines.indent(tree.before(start))
        return Splice(at, at, tree.newline + indent + new)
    return Splice(end, end, b"; " + new)


def _import_name(tree: Tree, imports: dict[str, str]) -> tuple[str, bool]:
    """A name that is free in this file; or the one that it already imports."""
    for node in tree.nodes():
        if isinstance(node, cst.ImportFrom):
            for name, statement in imports.items():
                if tree.code(node) == statement:
                    return name, True
    taken = {node.value for node in tree.nodes() if isinstance(node, cst.Name)}
    for name in imports:
        if name not in taken:
            return name, False
    first = next(iter(imports))
    raise CannotEdit(f"{first} means something else in this file")


def _import(tree: Tree, call: Call, new: bytes) -> Splice:
    """After the last import of the module that is run before `call`; where there
    is none, before the first statement."""
    body = tree.module.body
    outermost = [up for up in tree.around(call.node) if up in body]
    last = None
    for node in body:
        if node in outermost:
            break
        if isinstance(node, cst.SimpleStatementLine) and all(
            isinstance(each, cst.Import | cst.ImportFrom) for each in node.body
        ):
            last = node
    if last is not None:
        at = tree.line_end(tree.span(last)[1])
        return Splice(at, at, tree.newline + new)
    first = body[1] if len(body) > 1 and tree.module.get_docstring() else body[0]
    at = tree.line_start(tree.span(first)[0])
    return Splice(at, at, new + tree.newline)
