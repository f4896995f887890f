"""`feedline why` measures every kind of loop to the end."""

from __future__ import annotations

import pytest

from feedline.report.json import load
from tests.job.script.test_capture import DISTRIBUTED, LOOPS
from tests.job.scripts import DATA, MODEL, STEP
from tests.place import Place

pytestmark = [pytest.mark.slow, pytest.mark.tensorflow]

KINDS = {name: (MODEL, DATA, STEP, text) for name, (text, _) in LOOPS.items()}
KINDS |= {f"mirrored {name}": parts for name, parts in DISTRIBUTED.items()}
KINDS["zip"] = (
    MODEL,
    DATA,
    STEP,
    "for (x, y), (u, v) in zip(ds, ds):  #: loop\n    step(x, y)\n",
)


@pytest.mark.parametrize("name", KINDS)
def test_it_is_measured(place, name):
    text = "".join(KINDS[name])
    for short, long in (
        ("range(160)", "range(200_000)"),
        ("range(3)", "range(1000)"),
        ("range(40)", "range(50_000)"),
    ):
        text = text.replace(short, long)
    place.write('EPOCHS = 1000\nsettings = {"epochs": 1000}\n', text)
    watched = place.why("--seconds", "3", "--json", "r.json")
    assert watched.returncode == 0, watched.stderr
    report = load(place.root / "r.json")
    assert report.loop.endswith(f"at {where(place, 'loop')}")
    assert 0 < report.step.ceiling_ms <= report.step.observed_ms
    stages = [stage.where for stage in report.stages[:2]]
    assert stages == [where(place, "range"), where(place, "map")]


def where(place: Place, mark: str) -> str:
    lines = place.script.read_text("utf-8").splitlines()
    marked = [n for n, line in enumerate(lines, 1) if line.endswith(f"#: {mark}")]
    return f"train.py:{marked[0]}"
