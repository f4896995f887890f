"""A script of `ready/`, and the forms in which it is run.

Comments in it say what it needs, each on a line of its own:

    # args: --epochs 4            its arguments; a{0..9} stands for ten of them
    # stdin: epochs 4             a line of its standard input
    # beside: helpers.py          a file of `beside/` that lies next to it

and what becomes of a line in another form of the script:

    # tune: ds = feedline.tune(ds, model=model, seconds=6)
    ds = ds.shuffle(64)  # later: ds = ds.shuffle(64, seed=4)

`tune` is the form that calls feedline itself; `later` is how the script reads after
its plan was made.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
READY, BESIDE = HERE / "ready", HERE / "beside"


@dataclass(frozen=True)
class Script:
    name: str
    text: str

    @property
    def about(self) -> str:
        """The first sentence of its docstring."""
        words = " ".join((ast.get_docstring(ast.parse(self.text)) or "").split())
        return re.split(r"(?<=\.) ", words)[0].rstrip(".")

    @property
    def args(self) -> list[str]:
        words = [word for line in self._said("args") for word in line.split()]
        return [each for word in words for each in _expanded(word)]

    @property
    def stdin(self) -> str:
        return "".join(f"{line}\n" for line in self._said("stdin"))

    @property
    def beside(self) -> list[Path]:
        return [BESIDE / name for name in self._said("beside")]

    def has(self, form: str) -> bool:
        return f"# {form}: " in self.text

    def form(self, form: str) -> str:
        """Its text with each line that says so replaced."""
        line = re.compile(rf"^([ \t]*).*# {form}: (.*)$", re.M)
        ours = "import feedline; " if form == "tune" else ""
        return line.sub(lambda found: f"{found[1]}{ours}{found[2]}", self.text)

    def _said(self, word: str) -> list[str]:
        return re.findall(rf"^# {word}: (.*)$", self.text, re.M)


def _expanded(word: str) -> list[str]:
    found = re.fullmatch(r"(.*)\{(\d+)\.\.(\d+)\}(.*)", word)
    if found is None:
        return [word]
    before, first, last, after = found.groups()
    return [f"{before}{n}{after}" for n in range(int(first), int(last) + 1)]


def scripts(names: list[str] | None = None) -> list[Script]:
    """All of them, or those named; a part of a name will do."""
    known = {path.stem: path for path in sorted(READY.glob("*.py"))}
    wanted = [name.removesuffix(".py") for name in names or []]
    unknown = [name for name in wanted if not any(name in each for each in known)]
    if unknown:
        raise SystemExit(f"no script in {READY.name}/ has {unknown[0]!r} in its name")
    return [
        Script(name, path.read_text())
        for name, path in known.items()
        if not wanted
        or name in wanted
        or any(part in name and part not in known for part in wanted)
    ]
