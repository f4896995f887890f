"""Only what matters is parsed.

libcst takes a second for a thousand lines, and a file is parsed anew after every
edit. Functions and classes that no edit can be about are blanked out before: all
that is left stands at the same offsets, and the file's own text is what is edited.
"""

from __future__ import annotations

import ast
from collections.abc import Collection

from feedline.report.patches import lines

_BLANK = bytes(each if each in b"\r\n" else ord(" ") for each in range(256))
# What an edit of the step looks for, wherever it stands.
_WORDS = (b"compile", b"run_eagerly", b"row_sparse")


def focused(text: bytes, module: ast.Module, offsets: Collection[int]) -> bytes:
    """The text without the definitions that hold none of these offsets."""
    starts = lines.starts(text)
    for node in module.body:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
        start = starts[first - 1]
        end = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        held = any(start <= offset <= end for offset in offsets)
        if not held and not any(word in text[start:end] for word in _WORDS):
            text = text[:start] + text[start:end].translate(_BLANK) + text[end:]
    return text
