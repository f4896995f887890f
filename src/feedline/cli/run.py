"""`feedline run`: measure a script, fix what is allowed, run it to its end."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from feedline.cli.options import (
    Arguments,
    Budget,
    Color,
    Force,
    Html,
    Json,
    Loop,
    Module,
    Script,
)

_MOST_SECONDS = 60.0


def run(
    script: Script,
    args: Arguments = None,
    module: Module = False,
    allow: Annotated[
        str,
        typer.Option(
            metavar="GRADES",
            help="What fixes may change: exact, reordered, numeric; with commas.",
        ),
    ] = "exact",
    json: Json = None,
    html: Html = None,
    plan: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Apply the plan in FILE without measuring; if there is none, save it.",
        ),
    ] = None,
    patch: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Save the same changes as a diff of your source."
        ),
    ] = None,
    rehearse: Annotated[
        bool,
        typer.Option(
            "--rehearse",
            help="Measure in a hidden run first (may write files), then start clean.",
        ),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Say what would be applied, then stop."),
    ] = False,
    live: Annotated[
        bool,
        typer.Option("--live", help="Show speed and waiting while it trains."),
    ] = False,
    fresh: Annotated[
        bool,
        typer.Option("--fresh", help="Measure again; use nothing from earlier runs."),
    ] = False,
    seconds: Budget = None,
    loop: Loop = None,
    force: Force = False,
    color: Color = None,
) -> None:
    """Make a training script fast, and run it to its end.

    Measures the job as `feedline why` does and tries the fixes that should help.
    It keeps those that are allowed, give the same result and are measured faster,
    and lets the script run to its end with them. Output, callbacks, checkpoints
    and exit code are the script's own; feedline writes to standard error. The next
    run of the same script applies at once what was found.

    \b
    Grades, strictest first:
      exact      the same data and arithmetic, bit for bit (always allowed)
      reordered  the order of elements inside an epoch may change
      numeric    rounding, or the optimizer's treatment of untouched rows

    \b
    Examples:
      feedline run train.py
      feedline run --allow numeric train.py --epochs 3
      feedline run --dry-run train.py             what would be done
      feedline run --plan train.plan train.py     measure once, then use the plan
      feedline run --live train.py                and watch it train
      feedline run --patch fast.diff train.py     and `git apply fast.diff`
      feedline run --html report.html train.py    what was found, as a page

    \b
    Exit codes: the script's own; 2 bad usage or bad input, before it is started.
    """
    from feedline.cli.outputs import outputs

    save = outputs(json, html, force=force)
    wanted = [name.strip() for name in allow.split(",") if name.strip()]
    diff = None if patch is None else _writable(patch, force=force)

    from feedline.fixes import saved
    from feedline.fixes.fix import grades
    from feedline.report import plans

    grades(wanted)
    known = plans.load(plan.absolute()) if plan is not None and plan.exists() else None
    place = None if plan is None else _in_a_folder(plan)

    from feedline.session import parent

    ran = parent.run_script(
        [script, *(args or ())],
        module,
        _MOST_SECONDS if seconds is None else seconds,
        loop,
        allow=wanted,
        plan=known,
        rehearse=rehearse,
        dry=dry_run,
        live=live,
        given=seconds is not None,
        fresh=fresh or plan is not None,
    )
    # The script has ended; nothing that fails from here on changes how.
    with _said_only():
        if ran.report is not None and sys.stderr is not None:
            ran.report.show(sys.stderr, color=color)
    with _said_only():
        if ran.report is not None:
            save(ran.report)
        elif json is not None or html is not None:
            names = " and ".join(str(each) for each in (json, html) if each)
            _say(f"nothing was measured, so {names} is not written")
    with _said_only():
        if ran.plan is not None and place is not None and known is None:
            saved.save(ran.plan, place)
    with _said_only():
        if diff is not None and ran.plan is not None:
            _save_patch(ran.plan.places, diff)
    if ran.balance:
        _say(ran.balance)
    raise typer.Exit(ran.code)


@contextmanager
def _said_only() -> Iterator[None]:
    from feedline.errors import FeedlineError, one_sentence

    try:
        yield
    except FeedlineError as error:
        _say(str(error))
    except Exception as error:
        _say(f"{type(error).__name__}: {one_sentence(error)}")


def _say(text: str) -> None:
    with suppress(OSError):
        typer.echo(f"feedline: {text}", err=True)


def _save_patch(found: Sequence[Mapping[str, Any]], target: Path) -> None:
    from feedline.report import patch

    places = [patch.Place.from_dict(place) for place in found]
    made = patch.make(places, patch.root_of(places))
    if made.text:
        patch.save(made.text, target)
    else:
        _say("no line of the source changes: no patch")
    for each in made.left:
        _say(f"{each.place.edit.fix} is not in the patch: {each.reason}")


def _in_a_folder(path: Path) -> Path:
    """Before the script is run: it may run for days."""
    from feedline.cli.outputs import can_write
    from feedline.errors import FeedlineError

    target = path.absolute()
    if not target.parent.is_dir():
        raise FeedlineError(
            f"cannot write {path}: there is no directory {target.parent}"
        )
    can_write(target, path)
    return target


def _writable(path: Path, *, force: bool) -> Path:
    from feedline.errors import OutputExists

    target = _in_a_folder(path)
    if target.exists() and not force and target.stat().st_size:
        start = target.read_bytes()[:4]
        if start not in (b"--- ", b"diff"):
            raise OutputExists(
                f"{path} exists and is not a diff; give another name, or --force to "
                "overwrite it"
            )
    return target
