"""A folder under git with a script in it, for tests of patches."""

from __future__ import annotations

import os
import subprocess
import textwrap

import pytest

from feedline.fixes.fix import Edit
from feedline.report import patch
from feedline.report.patch import Place

# Neither the user's settings nor a repository that the tests are started from.
BARE = {
    **{name: value for name, value in os.environ.items() if name[:4] != "GIT_"},
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}


class Repository:
    """A folder under git with one script in it."""

    def __init__(self, root, name="train.py"):
        self.root = root
        self.file = root / name
        self.file.parent.mkdir(parents=True, exist_ok=True)
        if not (root / ".git").exists():
            self.git("init", "--quiet", "--template=")

    def git(self, *command, cwd=None):
        done = subprocess.run(
            ["git", *command],
            cwd=cwd or self.root,
            env=BARE,
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def write(self, source):
        if isinstance(source, str):
            source = textwrap.dedent(source).encode("utf-8")
        self.file.write_bytes(source)

    def place(self, fix, line, op="map", label="", args=None, **more):
        return Place(Edit(fix, 0, args or {}), str(self.file), line, op, label, **more)

    def apply(self, places):
        """Patch, and let git apply it."""
        self.made = patch.make(places, patch.root_of(places))
        if self.made.text:
            target = self.root / "fast.diff"
            patch.save(self.made.text, target)
            self.git("apply", "--whitespace=nowarn", "fast.diff")
            target.unlink()
        return self.file.read_bytes()

    def hows(self):
        return [outcome.how for outcome in self.made.outcomes]


@pytest.fixture
def repository(tmp_path):
    return Repository(tmp_path)


@pytest.fixture
def patched(repository):
    """(source, places as tuples) -> the source after `git apply`"""

    def run(source, *given):
        repository.write(source)
        places = [
            repository.place(*one[:2], **one[2])
            if len(one) == 3
            else repository.place(*one)
            for one in given
        ]
        return repository.apply(places).decode()

    run.repository = repository
    return run


def at(fix, line, **more):
    return fix, line, more
