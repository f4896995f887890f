"""Takes a script from its repository and makes it one that runs here."""

from __future__ import annotations

import ast
import hashlib
import json
import re
import subprocess
import warnings
from dataclasses import dataclass
from pathlib import Path

from real.entries import Entry, Replacements

SEED = "import keras; keras.utils.set_random_seed(1)"
DIGEST = """

import hashlib as _hashlib
import numpy as _numpy
_digest = _hashlib.sha256()
for _array in {expression}:
    _digest.update(_numpy.ascontiguousarray(_array).tobytes())
print("digest", _digest.hexdigest())
"""


# Cells of another language; `%%time` and its like stand over Python.
FOREIGN = re.compile(r"%%(bash|sh|html|javascript|js|writefile|latex|svg|markdown)\b")


class Missing(Exception):
    """What an entry needs is not there; the text says how to get it."""


class NoMatch(Exception):
    """A text to replace is not in the script exactly once."""


@dataclass(frozen=True)
class Made:
    """The scripts of one entry, as files."""

    plain: Path
    hand: Path | None
    hand_numeric: Path | None
    folder: Path

    def texts(self) -> str:
        """A hash that changes when one of them does."""
        found = hashlib.sha256()
        for path in (self.plain, self.hand, self.hand_numeric):
            found.update(path.read_bytes() if path else b"-")
        return found.hexdigest()


def make(entry: Entry, repositories: Path, folder: Path, data: Path) -> Made:
    """Writes the script, and its manually tuned forms, into `folder`."""
    text = read(entry, repositories)
    folder.mkdir(parents=True, exist_ok=True)
    for other in entry.also:
        name = folder / Path(other).name
        name.write_text(_file(entry, repositories, other), encoding="utf-8")
    if entry.until:
        text = cut(text, entry.until, entry.name)
    small = replaced(text, entry.shrink, data, f"{entry.name}, shrink")
    made: dict[str, Path | None] = {"hand": None, "hand_numeric": None}
    versions = {"plain": small}
    if entry.by_hand:
        versions["hand"] = replaced(
            small, entry.by_hand, data, f"{entry.name}, by_hand"
        )
    if entry.by_hand_numeric:
        versions["hand_numeric"] = replaced(
            small, entry.by_hand_numeric, data, f"{entry.name}, by_hand_numeric"
        )
    for which, version in versions.items():
        suffix = "" if which == "plain" else f"_{which}"
        path = folder / f"{entry.name.replace('-', '_')}{suffix}.py"
        text = finished(version, entry.digest)
        _check(text, f"{entry.name}, {which}")
        path.write_text(text, encoding="utf-8")
        made[which] = path
    return Made(folder=folder, **made)  # type: ignore[arg-type]


def _check(text: str, what: str) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except SyntaxError as error:
        line = text.splitlines()[(error.lineno or 1) - 1]
        raise NoMatch(f"{what}: the changed script is not Python: {line!r}") from error


def read(entry: Entry, repositories: Path) -> str:
    """The script as it was published; a notebook as a script."""
    text = _file(entry, repositories, entry.path)
    script = script_of(text) if entry.path.endswith(".ipynb") else text
    # Lines of ours come before it, where these may not stand; they ask for what is.
    return re.sub(r"(?m)^from __future__ import .*$", "", script)


def script_of(notebook: str) -> str:
    """The code cells in order, without magics and shell lines."""
    cells = json.loads(notebook)["cells"]
    code = [_source(cell) for cell in cells if cell["cell_type"] == "code"]
    return "\n\n".join(_plain(cell) for cell in code if not FOREIGN.match(cell))


def _source(cell: dict[str, object]) -> str:
    source = cell["source"]
    return source if isinstance(source, str) else "".join(source)  # type: ignore[arg-type]


def _plain(code: str) -> str:
    lines = []
    for line in code.splitlines():
        bare = line.lstrip()
        indent = line[: len(line) - len(bare)]
        magic = bare.startswith(("%", "!"))
        lines.append(f"{indent}pass  # {bare}" if magic and indent else line)
        if magic and not indent:
            lines[-1] = f"# {bare}"
    return "\n".join(lines)


def cut(text: str, until: str, what: str) -> str:
    """What stands before the first `until`."""
    before, found, _ = text.partition(until)
    if not found:
        raise NoMatch(f"{what}: there is no {until!r} to end before")
    return before


def replaced(text: str, changes: Replacements, data: Path, what: str) -> str:
    """`text` with every change made; each old text must be there exactly once.

    `{data}` in a new text stands for the folder with the data.
    """
    for number, (old, new) in enumerate(changes, 1):
        count = text.count(old)
        if count != 1:
            raise NoMatch(
                f"{what}: replacement {number} must match once, and matches {count} "
                f"times: {old[:200]!r}"
            )
        text = text.replace(old, new.replace("{data}", str(data)))
    return text


def finished(text: str, expression: str) -> str:
    """Seeded at its start, and with a digest of what it trained at its end."""
    return f"{SEED}\n{text}{DIGEST.format(expression=expression)}"


def _file(entry: Entry, repositories: Path, path: str) -> str:
    if entry.sha256:
        return _text_of_issue(entry, repositories)
    folder = git_folder(repositories, entry.repository)
    command = ["git", f"--git-dir={folder}", "show", f"{entry.commit}:{path}"]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        raise Missing(
            f"{entry.name}: {entry.repository} has no {path} at {entry.commit[:9]}: "
            f"{done.stderr.decode(errors='replace').strip()}. Get it with\n"
            f"  git --git-dir={folder} fetch origin {entry.commit}"
        )
    return done.stdout.decode("utf-8").replace("\r\n", "\n")


def _text_of_issue(entry: Entry, repositories: Path) -> str:
    path = repositories / "issues" / f"{entry.name}.py"
    if not path.exists():
        raise Missing(
            f"{entry.name}: save the program in https://github.com/{entry.repository}/"
            f"{entry.path} as {path}"
        )
    written = path.read_bytes()
    found = hashlib.sha256(written).hexdigest()
    if found != entry.sha256:
        raise Missing(f"{entry.name}: {path} is another text: {found}")
    return written.decode("utf-8")


def git_folder(repositories: Path, repository: str) -> Path:
    """The git folder of a repository: a mirror or a checkout, under either name."""
    owner, name = repository.split("/")
    for place in (
        repositories / f"{owner}+{name}",
        repositories / f"{owner}+{name}" / "repo",
        repositories / owner / name,
        repositories / owner / f"{name}.git",
    ):
        for folder in (place, place / ".git"):
            if (folder / "HEAD").is_file() and (folder / "objects").is_dir():
                return folder
    raise Missing(
        f"{repository} is not under {repositories}. Get it with\n"
        f"  git clone --mirror https://github.com/{repository} "
        f"{repositories / f'{owner}+{name}'}"
    )
