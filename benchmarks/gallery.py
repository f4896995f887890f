"""Claim: real public scripts end sooner, wall to wall, with the same weights.

    python benchmarks/gallery.py DIR [NAME ...] [--only plain|first|run|why|hand]
           [--rounds N] [--allow numeric] [--json FILE] [--work FOLDER]

DIR holds git repositories (mirrors or checkouts) as DIR/owner+name or DIR/owner/name.
`gallery.toml` says which scripts are taken from them, what is changed so that each
takes about twenty seconds on two cores and reads data that our own code makes, what a
person would change to make it fast, and why it is slow. For each script are timed, in
turn, from the start of the process to its end: plain Python; `feedline run` with an
empty cache folder (first) and again with the same one (second); the script tuned by
hand. `--only why` asks `feedline why` too, which gives a verdict also where a training
is too short for `run` to measure it. The digest is a hash of the trained arrays,
printed by a line at the end of the script. Results are kept in FOLDER/results.json,
and runs that are there already are not made again (`--again` makes them again).
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from real import data, entries, running, source, table
from real.results import KINDS, Results

WORK = Path(tempfile.gettempdir()) / "gallery"
ONLY = {
    "plain": ("plain",),
    "run": ("first", "second"),
    "first": ("first",),
    "why": ("why",),
    "hand": ("hand", "hand_numeric"),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--only", choices=ONLY, action="append")
    parser.add_argument("--allow", default="", help="grades for feedline run")
    parser.add_argument("--json", type=Path, help="write the results there too")
    parser.add_argument("--work", type=Path, default=WORK)
    parser.add_argument("--again", action="store_true", help="forget kept results")
    parser.add_argument("--make", action="store_true", help="only write the scripts")
    parser.add_argument("--show", action="store_true", help="only print kept results")
    parser.add_argument("--truth", action="store_true", help="measure why each is slow")
    arguments = parser.parse_intermixed_args()
    known = entries.load()
    if unknown := [name for name in arguments.names if name not in known]:
        parser.error(f"unknown: {', '.join(unknown)}; known: {', '.join(known)}")
    chosen = [known[name] for name in arguments.names or known]
    work = arguments.work.absolute()
    work.mkdir(parents=True, exist_ok=True)
    results = Results(work / f"results{arguments.allow and '-' + arguments.allow}.json")
    rows = []
    for entry in chosen:
        try:
            made = make(entry, arguments.folder.absolute(), work)
        except (source.Missing, source.NoMatch) as error:
            print(error, file=sys.stderr)
            continue
        if arguments.make:
            print(made.plain)
            continue
        if arguments.truth:
            measure(entry, made, work)
            continue
        if arguments.again:
            results.of(entry.name, made.texts())
            results.forget(entry.name, kinds(arguments))
        runs = results.of(entry.name, made.texts())
        if not arguments.show:
            rounds(entry, made, runs, results, arguments, work)
        rows.append(table.row(entry, runs))
        print("\n".join(table.lines(rows[-1:])[bool(rows[1:]) :]), flush=True)
    if rows:
        print()
        print("\n".join(table.totals(rows)))
    if arguments.json:
        results.write(arguments.json)


def make(entry: entries.Entry, repositories: Path, work: Path) -> source.Made:
    place = data.made(entry.data, work / "data") if entry.data else work
    return source.make(entry, repositories, work / "scripts" / entry.name, place)


def measure(entry: entries.Entry, made: source.Made, work: Path) -> None:
    """Why it is slow, measured without feedline; kept next to the script's runs."""
    from real import truth

    folder = work / "runs" / entry.name / "truth"
    shutil.rmtree(folder, ignore_errors=True)
    found = truth.measured(made.plain, folder, entry.arguments)
    print(f"{entry.name} {found}", flush=True)


def kinds(arguments: argparse.Namespace) -> tuple[str, ...]:
    chosen = arguments.only or ["plain", "run", "hand"]
    wanted = {kind for each in chosen for kind in ONLY[each]}
    return tuple(kind for kind in KINDS if kind in wanted)


def rounds(entry, made, runs, results, arguments, work) -> None:
    """Runs what is missing, one of each kind in turn."""
    options = ("--allow", arguments.allow) if arguments.allow else ()
    scripts = {"hand": made.hand, "hand_numeric": made.hand_numeric}
    base = work / "runs" / entry.name
    for number in range(arguments.rounds):
        cache = base / f"cache{number}"
        for kind in kinds(arguments):
            script = scripts.get(kind, made.plain)
            watched = kind in ("first", "second", "why")
            if runs[kind] and runs[kind][-1]["code"] != 0 and not watched:
                runs[kind].pop()  # mended meanwhile, or to be mended
            if script is None or len(runs[kind]) > number:
                continue
            if kind == "first":
                shutil.rmtree(cache, ignore_errors=True)
            found = running.run(
                script,
                base / kind,
                arguments=entry.arguments,
                cache=cache if watched else None,
                options=options if watched and kind != "why" else (),
                command="why" if kind == "why" else "run",
            )
            shown = running.comparable(found.pop("output"), entry.ignore)
            (base / f"{kind}{number}.shown").write_text(shown, encoding="utf-8")
            results.add(entry.name, kind, {**found, "shown": running.short_hash(shown)})


if __name__ == "__main__":
    main()
