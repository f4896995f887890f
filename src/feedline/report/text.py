"""Foreign text made harmless and made to fit.

File names, source lines and evidence come from the user's script. They are
data: a control character must not reach the terminal, and a long path must not
break the layout. Widths are terminal cells, so a wide character counts two.
"""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size


def printable(text: str, encoding: str = "utf-8") -> str:
    """The text on one line, what cannot be shown written as an escape.

    The caller's encoding counts here and not at the very end, because an escape
    is longer than what it stands for and the layout must know.
    """
    line = _escaped(" ".join(text.split()))
    return line.encode(encoding, "backslashreplace").decode(encoding)


def printable_lines(text: str) -> str:
    """The same for text of several lines, which keeps its lines and indents."""
    return "\n".join(map(_escaped, text.expandtabs().splitlines()))


def _escaped(line: str) -> str:
    return "".join(c if c.isprintable() else _escape(c) for c in line)


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


def shorten(text: str, width: int, ellipsis: str = "...") -> str:
    """At most `width` cells; what is too much is taken from the middle."""
    if cell_len(text) <= width:
        return text
    keep = width - cell_len(ellipsis)
    if keep < 2:
        return set_cell_size(text, max(0, width)).rstrip()
    tail = keep // 2
    head = set_cell_size(text, keep - tail)
    return head + ellipsis + set_cell_size(text[::-1], tail)[::-1]
