"""What the page shows of a report: sections that are there or not, bars, tiles and
the data of the charts. Pure; the template only lays it out.

A section whose data the report lacks is None or empty, and is left out.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from markupsafe import Markup, escape

from feedline.measure.profile.kinds import KINDS, LABELS
from feedline.report.fitted import model_of
from feedline.report.format import ms, number, ratio, seconds, times
from feedline.report.html.assumptions import assumptions
from feedline.report.html.diagram import Node, dearest, nodes
from feedline.report.html.timeline import Lane, lanes
from feedline.report.report import SHARES, FixRow, Report, ValidationRow
from feedline.report.text import printable
from feedline.report.verdict import how_often, worth_a_line
from feedline.report.whatif import Model

_MEANINGS = {
    "input": "waiting for the next batch",
    "transfer": "copying it to the device",
    "overhead": "starting the step",
    "compute": "the model itself",
}

_GRADES = {
    "exact": "the same elements and the same arithmetic, bit for bit",
    "reordered": "the same but for the order of elements inside an epoch",
    "numeric": "the same but for rounding, or the optimizer's treatment of rows "
    "that a batch does not touch",
}


@dataclass(frozen=True)
class Tile:
    """A number that is to be seen first."""

    name: str
    value: str
    note: str = ""


@dataclass(frozen=True)
class Bar:
    """A step, or a run: how long it takes and its parts in the same unit."""

    name: str
    total: float
    parts: dict[str, float]


@dataclass(frozen=True)
class View:
    """`verdict` is text and code in turn."""

    title: str
    verdict: tuple[Markup, ...]
    tiles: tuple[Tile, ...]
    bars: tuple[Bar, ...]
    run: Bar | None
    nodes: tuple[Node, ...]
    step_width: float
    lanes: tuple[Lane, ...]
    step_ends: tuple[float, ...]
    model: Model | None
    assumptions: tuple[str, ...]
    charted_fixes: tuple[FixRow, ...]
    meanings: dict[str, str]
    proof_title: str
    has_fixes: bool
    has_proof: bool

    @property
    def sections(self) -> list[tuple[str, str]]:
        """The page's sections after the first: their anchors and names."""
        return [
            (anchor, name)
            for anchor, name, there in (
                ("step", "The step", True),
                ("findings", "Findings", True),
                ("fixes", "Fixes", self.has_fixes),
                ("pipeline", "Pipeline", bool(self.nodes)),
                ("timeline", "Timeline", bool(self.lanes)),
                ("whatif", "What if", self.model is not None),
                ("run", "The run", self.run is not None),
                ("proof", "Proof", self.has_proof),
                ("about", "About", True),
            )
            if there
        ]

    def charts(self) -> dict[str, Any]:
        """What the scripts draw, as JSON; every text in it may be shown."""
        return {
            "bars": [_bar(bar) for bar in self.bars],
            "run": None if self.run is None else [_bar(self.run)],
            "fixes": [
                {
                    "name": printable(fix.fix),
                    "where": printable(fix.where or ""),
                    "predicted": _finite(fix.predicted_gain),
                    "measured": _finite(fix.measured_gain),
                    "interval": None
                    if fix.interval is None
                    else [_finite(end) for end in fix.interval],
                    "applied": fix.applied,
                }
                for fix in self.charted_fixes
            ],
            "lanes": [asdict(lane) for lane in self.lanes],
            "stepEnds": list(self.step_ends),
            "kinds": {kind: [share, LABELS[kind]] for kind, share in KINDS.items()},
            "model": None if self.model is None else self.model.to_dict(),
        }


def view(report: Report) -> View:
    model = model_of(report)
    return View(
        title=printable(report.script) or "training job",
        verdict=_in_turn(report.verdict),
        tiles=tuple(_tiles(report)),
        bars=tuple(_bars(report)),
        run=_run(report),
        nodes=nodes(report),
        step_width=_step_width(report),
        lanes=lanes(report.timeline),
        step_ends=_step_ends(report),
        model=model,
        assumptions=() if model is None else assumptions(model, report),
        charted_fixes=tuple(
            fix
            for fix in report.fixes
            if _finite(fix.predicted_gain) or _finite(fix.measured_gain)
        ),
        meanings=_MEANINGS,
        proof_title=_proof_title(report),
        has_fixes=bool(report.fixes),
        has_proof=report.proof is not None,
    )


def _in_turn(verdict: str) -> tuple[Markup, ...]:
    """What stands between backticks is code, if they come in pairs. Escaped here: a
    blank at the end of a part is to stay."""
    whole = printable(verdict)
    parts = whole.split("`")
    return tuple(map(escape, parts if len(parts) % 2 else [whole]))


def _tiles(report: Report) -> list[Tile]:
    step = report.step
    low, high = step.interval_ms
    batch = f", batch of {step.batch_size:,}" if step.batch_size is not None else ""
    steps = f"in {step.steps:,} step{'s' if step.steps != 1 else ''}{batch}"
    if low != high:
        steps = f"{number(low)} to {number(high)} {steps}"
    tiles = [Tile("Step observed", ms(step.observed_ms), steps)]
    after = report.after
    if after is not None:
        low, high = after.interval
        gain = f"{times(after.speedup)} as fast ({number(low)} to {number(high)})"
        if _apart(after.before_ms, step.observed_ms):
            gain += f", in turns with {ms(after.before_ms)} before"
        tiles.append(Tile("With the fixes", ms(after.observed_ms), gain))
    gain_left = ratio(step.observed_ms, step.ceiling_ms)
    if report.only_observed:
        note = "the step without waiting for input and copies"
    elif gain_left is None:
        note = "what the best input could give is not known"
    elif gain_left < 1.05:
        note = "no input pipeline could make the step faster"
    else:
        note = f"at most {times(gain_left)} as fast with the best input"
    tiles.append(Tile("Ceiling", ms(step.ceiling_ms), note))
    if step.input_alone_ms is not None:
        tiles.append(
            Tile("Input alone", ms(step.input_alone_ms), "for one batch, no model")
        )
    if report.validation is not None and worth_a_line(report.validation):
        tiles.append(_validation(report.validation))
    if after is not None and after.saved_s is not None and after.saved_s > 0:
        took = f"the training took {seconds(after.seconds)}"
        tiles.append(Tile("Saved", seconds(after.saved_s), took))
    return tiles


def _validation(row: ValidationRow) -> Tile:
    note = f"after {how_often(row)}"
    if row.input_s is not None:
        note += f", {seconds(row.input_s)} of it waiting for its input"
    if row.fixed and row.after_s is not None:
        note += f"; {seconds(row.after_s)} with {printable(', '.join(row.fixed))}"
    return Tile("Validation", seconds(row.seconds), note)


def _apart(turns: float | None, observed: float) -> bool:
    """Was the job slower or faster in turns with its fixes than when observed?"""
    gain = None if turns is None else ratio(turns, observed)
    return gain is not None and not 0.9 < gain < 1.1


def _bars(report: Report) -> list[Bar]:
    """The step before the fixes and after them."""
    observed = report.step.observed_ms
    if not math.isfinite(observed):
        return []
    after = report.after
    name = "Observed" if after is None or after.shares is None else "Before"
    bars = [Bar(name, observed, _parts(report.shares, observed))]
    if after is not None and after.shares is not None:
        parts = _parts(after.shares, after.observed_ms)
        bars.append(Bar("After", after.observed_ms, parts))
    return bars


def _parts(shares: dict[str, float], total: float) -> dict[str, float]:
    return {name: shares.get(name, 0.0) * total for name in SHARES}


def _step_width(report: Report) -> float:
    """The step alone beside the stages, in percent of the dearest."""
    alone, most = report.step.ceiling_ms, dearest(report)
    return round(100 * alone / most, 1) if math.isfinite(alone) and most > 0 else 0.0


def _step_ends(report: Report) -> tuple[float, ...]:
    """Where steps end, as far as the lanes go: a capture may break off."""
    if report.timeline is None:
        return ()
    spans = (span.end_ms for row in report.timeline.rows for span in row.spans)
    last = max((end for end in spans if math.isfinite(end)), default=0.0)
    return tuple(end for _, end in report.timeline.steps if end <= last * 1.01)


def _proof_title(report: Report) -> str:
    if report.only_observed and report.trace is None:
        return "Observed while it trained, not tried"
    if report.only_observed:
        return "Observed in a capture, not tried"
    same = report.proof.same if report.proof is not None else ""
    return f"Graded {same}: {_GRADES[same]}" if same in _GRADES else f"Graded {same}"


def _run(report: Report) -> Bar | None:
    run = report.run
    parts = {
        "imports": run.import_s,
        "preparing": run.prepare_s,
        "tracing": run.trace_s,
        "training": run.train_s or 0.0,
    }
    known = {name: s for name, s in parts.items() if math.isfinite(s) and s > 0}
    return Bar("Run", sum(known.values()), known) if known else None


def _bar(bar: Bar) -> dict[str, Any]:
    return {"name": bar.name, "total": bar.total, "parts": bar.parts}


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
