"""Run a script by Python and by feedline, and say what is not the same.

Both runs have the same folder, emptied in between, so that paths are the same too. A
script prints the digests of its weights, its optimizers and whatever else it keeps; so
standard output, the files left in the folder and the exit code are all there is to
compare.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tests.scripts.folder import files_in
from tests.scripts.script import Script

WAYS = ("run", "rehearse", "tune", "plan", "python")
SECONDS = "10"
LONGEST = 400
# What `fit` and `evaluate` say of the time they took.
TIMES = re.compile(r"\b\d+(s|ms|us|μs)\b")
# The only trace of what `feedline.tune` did is its log.
LISTEN = """\
import logging, os
told = logging.FileHandler(os.environ["TUNED"], delay=True)
log = logging.getLogger("feedline.session.tuning")
log.addHandler(told)
log.setLevel(logging.INFO)
log.propagate = False
"""


@dataclass(frozen=True)
class Ran:
    """One run of a script, as its user sees it: a signal's exit code is the shell's."""

    code: int
    out: str
    err: str
    files: dict[str, str]
    seconds: float


@dataclass(frozen=True)
class Compared:
    script: Script
    way: str
    plain: Ran
    ours: Ran
    fixes: tuple[str, ...]
    differs: tuple[str, ...]

    @property
    def diff(self) -> str:
        """The lines of standard output that differ."""
        before, after = self.plain.out.splitlines(), self.ours.out.splitlines()
        return "\n".join(difflib.unified_diff(before, after, "", "", "", "", 0, ""))


class Compare:
    """Where scripts are run: `root` holds one folder for each."""

    def __init__(self, root: Path, seconds: str = SECONDS) -> None:
        self.root, self.seconds = root, seconds

    def __call__(self, script: Script, way: str = "run") -> Compared:
        with tempfile.TemporaryDirectory(dir=self.root, prefix=script.name) as folder:
            return self._compare(script, way, Path(folder))

    def _compare(self, script: Script, way: str, base: Path) -> Compared:
        for name in ("home", "temp", "cache", "site"):
            (base / name).mkdir()
        report, tuned, plan = base / "report.json", base / "tuned.log", base / "plan"
        feedline = ["-m", "feedline", "run", "--seconds", self.seconds]
        text = script.form("later") if way == "plan" else script.text
        plain = self._run(script, text, base)
        if way == "python":  # is the script itself the same each time?
            ours = self._run(script, text, base)
        elif way == "tune":
            (base / "site" / "sitecustomize.py").write_text(LISTEN)
            ours = self._run(script, script.form("tune"), base, TUNED=str(tuned))
        elif way == "plan":
            self._run(script, script.text, base, *feedline, "--plan", str(plan))
            feedline += ["--plan", str(plan), "--json", str(report)]
            ours = self._run(script, text, base, *feedline)
        else:
            more = ["--rehearse"] if way == "rehearse" else []
            feedline += [*more, "--json", str(report)]
            ours = self._run(script, text, base, *feedline)
        fixes = _tuned(tuned) if way == "tune" else _applied(report)
        return Compared(script, way, plain, ours, fixes, differences(plain, ours))

    def _run(
        self, script: Script, text: str, base: Path, *before: str, **more: str
    ) -> Ran:
        folder = base / "job"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        (folder / "train.py").write_text(text)
        for path in script.beside:
            shutil.copy(path, folder)
        paths = [str(base / "site"), *_python_path()]
        environment = {
            **os.environ,
            "HOME": str(base / "home"),
            "TMPDIR": str(base / "temp"),
            "FEEDLINE_CACHE": str(base / "cache"),
            "PYTHONPATH": os.pathsep.join(paths),
            "PYTHONIOENCODING": "utf-8",
            "TF_CPP_MIN_LOG_LEVEL": "3",
            **more,
        }
        began = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, *before, "train.py", *script.args],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        with process:
            try:
                out, err = process.communicate(script.stdin, timeout=LONGEST)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                out, err = process.communicate()
                out += f"\nnot over after {LONGEST} s\n"
            finally:
                if process.returncode is None:
                    os.killpg(process.pid, signal.SIGKILL)
        seconds = time.monotonic() - began
        code = (
            process.returncode if process.returncode >= 0 else 128 - process.returncode
        )
        files = files_in(folder)
        if (folder / "train.py").read_text() == text:
            del files["train.py"]  # as it was; tuned by Python, it has another text
        return Ran(code, out, err, files, seconds)


def differences(plain: Ran, ours: Ran) -> tuple[str, ...]:
    found = []
    if plain.code != ours.code:
        found.append(f"exit code {ours.code} instead of {plain.code}")
    if TIMES.sub("T", plain.out) != TIMES.sub("T", ours.out):
        found.append(f"output ({_first_line(plain.out, ours.out)})")
    changed = sorted(
        name
        for name in plain.files.keys() | ours.files.keys()
        if plain.files.get(name) != ours.files.get(name)
    )
    if changed:
        more = f" and {len(changed) - 2} more" if len(changed) > 2 else ""
        found.append(f"files ({', '.join(changed[:2])}{more})")
    return tuple(found)


def _first_line(before: str, after: str) -> str:
    """The first line that differs, as it should read, and how often that happens."""
    had, has = before.splitlines(), after.splitlines()
    if len(has) > len(had) and after.endswith(before):
        return f"{len(has) - len(had)} lines more before it"
    wrong = [one for one, other in zip(had, has, strict=False) if one != other]
    first = wrong[0] if wrong else (had + has)[min(len(had), len(has))]
    return f"{len(wrong) + abs(len(had) - len(has))} of {len(had)} lines: {first[:40]}"


def _applied(report: Path) -> tuple[str, ...]:
    if not report.exists():
        return ()
    found = json.loads(report.read_text()).get("fixes", [])
    return tuple(each["fix"] for each in found if each["applied"])


def _tuned(log: Path) -> tuple[str, ...]:
    lines = log.read_text().splitlines() if log.exists() else []
    found = [line[7:].split(", ") for line in lines if line.startswith("tuned: ")]
    return tuple(
        dict.fromkeys(fix for each in found for fix in each if fix != "nothing")
    )


def _python_path() -> list[str]:
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return [os.path.abspath(path) for path in given if path]
