"""Runs a script, plain or under `feedline run`, and says how it went."""

from __future__ import annotations

import hashlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

LIMIT = 900.0
ENVIRONMENT = {
    "MPLBACKEND": "Agg",
    "KERAS_BACKEND": "tensorflow",
    "TF_CPP_MIN_LOG_LEVEL": "2",
    "CUDA_VISIBLE_DEVICES": "-1",
    "PYTHONHASHSEED": "0",
}
# "12/12 ━━━━ 1s 3ms/step - loss: 0.1": how far, and how long it took.
PROGRESS = re.compile(r"^\s*(\d+)/(\d+|Unknown)\b")
TIMES = re.compile(r"\b\d+(:\d+)*(\.\d+)?(s|ms|us|µs)(/step|/epoch)?(?![\w])")
CLOCK = re.compile(r"\b\d+:\d\d(:\d\d)?\b")
COLOUR = re.compile("\x1b\\[[0-9;]*[A-Za-z]")
BAR = re.compile(r"[━╸╺=>.\[\]-]*[━]+|\[[=>.]*\]")


def run(
    script: Path,
    folder: Path,
    *,
    arguments: tuple[str, ...] = (),
    cache: Path | None = None,
    options: tuple[str, ...] = (),
    command: str = "run",
) -> dict[str, object]:
    """One run in an empty folder; under `feedline COMMAND` where a cache is given."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    environment = {**os.environ, **ENVIRONMENT}
    program = [sys.executable, str(script), *arguments]
    report = folder.parent / f"{folder.name}.json"
    if cache is not None:
        environment["FEEDLINE_CACHE"] = str(cache)
        environment["XDG_CACHE_HOME"] = str(cache / "xdg")
        report.unlink(missing_ok=True)
        ours = [command, "--no-color", "--json", str(report), *options]
        program = [sys.executable, "-m", "feedline", *ours, str(script), *arguments]
    with (
        open(folder.parent / f"{folder.name}.out", "w+b") as out,
        open(folder.parent / f"{folder.name}.err", "w+b") as err,
    ):
        start, cpu = time.perf_counter(), _cpu()
        code = _wait(program, folder, environment, out, err)
        seconds, cpu = time.perf_counter() - start, _cpu() - cpu
        out.seek(0)
        said = out.read().decode("utf-8", errors="replace")
    found: dict[str, object] = {
        "seconds": round(seconds, 2),
        "cpu": round(cpu, 2),
        "code": code,
        "digest": digest_of(said),
        "output": said,
    }
    if cache is not None:
        found |= verdict(report)
    return found


def _cpu() -> float:
    """Processor seconds of the children that have ended: what a busy machine does not
    stretch."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _wait(command, folder, environment, out, err) -> int | None:
    """Its exit code, or None where it had to be ended."""
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=err,
        start_new_session=True,
    )
    try:
        return process.wait(LIMIT)
    except BaseException as error:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if isinstance(error, subprocess.TimeoutExpired):
            return None
        raise


def digest_of(said: str) -> str:
    plain = COLOUR.sub("", said)
    found = re.findall(r"^digest ([0-9a-f]{64})$", plain, re.MULTILINE)
    return found[-1] if found else ""


def verdict(report: Path) -> dict[str, object]:
    """What a report says, as far as the gallery asks; nothing where there is none."""
    try:
        said = json.loads(report.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {"report": False}
    fixes = [fix for fix in said.get("fixes", []) if fix.get("applied")]
    return {
        "report": True,
        "causes": [finding["cause"] for finding in said.get("findings", [])],
        "bound": said.get("bound"),
        "shares": said.get("shares"),
        "step": said.get("step"),
        "run": said.get("run"),
        "fixes": [fix["fix"] for fix in fixes],
        "speedup": (said.get("after") or {}).get("speedup"),
        "measuring": said.get("seconds"),
    }


def comparable(said: str, ignore: tuple[str, ...] = ()) -> str:
    """Standard output without what differs between two plain runs: the times, and how
    often Keras showed its progress, which depends on them."""
    kept: list[str] = []
    for line in re.split(r"[\r\n]+", COLOUR.sub("", said.replace("\b", ""))):
        bare = line.strip()
        if not bare or any(re.search(pattern, bare) for pattern in ignore):
            continue
        if progress := PROGRESS.match(bare):
            if progress[1] != progress[2]:
                continue  # on the way: how often it is shown depends on the time
            bare = CLOCK.sub("", BAR.sub("", bare))
        short = " ".join(TIMES.sub("", bare).split())
        if progress and kept and PROGRESS.match(kept[-1]):
            kept[-1] = short  # the same epoch, now with its validation
        else:
            kept.append(short)
    return "\n".join(kept)


def short_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
