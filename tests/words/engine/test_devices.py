"""Several devices, and rows divided among them: the same vectors as on one.

TensorFlow divides a CPU into devices only before it has begun, so this happens in
processes of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

pytest.importorskip("tensorflow")
pytestmark = pytest.mark.tensorflow

PROGRAM = """
import json, sys
import numpy as np
from tests.words import planted
from feedline import words

cases, options = json.loads(sys.argv[1]), json.loads(sys.argv[2])
language = planted.sentences(count=3000)
usual = dict(dim=24, epochs=4, min_count=1, sample=0.0, threads=1, **options)
# The one that needs most devices comes first: they are made then.
ends = {}
for name, case in sorted(cases.items(), key=lambda one: -len(one[1]["devices"])):
    ends[name] = words.train(language, engine="tensorflow", **usual, **case)
one = ends["one"]
print(json.dumps({name: {
    "solved": planted.solved(vectors),
    "loss": vectors.config["losses"][-1],
    "apart": float(np.abs(vectors.matrix - one.matrix).max()),
} for name, vectors in ends.items()}))
"""


def trained(cases, **options):
    paths = os.pathsep.join(path for path in [os.getcwd(), *sys.path] if path)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(cases), json.dumps(options)],
        env={**os.environ, "PYTHONPATH": paths, "TF_CPP_MIN_LOG_LEVEL": "2"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


ONE = {"one": {"devices": "CPU:0"}}
# 198 words of 24 floats, twice, are 38 kB: so these rows fit on two devices only.
DIVIDED = {"divided": {"devices": "CPU:0,CPU:1", "device_memory": 2.5e-5}}


def assert_same(found, apart=2e-3):
    for name, end in found.items():
        assert end["apart"] < apart, (name, found)
        assert end["loss"] == pytest.approx(found["one"]["loss"], rel=1e-3)
        assert end["solved"] == pytest.approx(found["one"]["solved"], abs=0.03)


def test_two_devices_train_as_one():
    two = {"two": {"devices": "CPU:0,CPU:1"}}
    assert_same(trained({**ONE, **two, **DIVIDED}))


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"loss": "hs"},
        {"model": "cbow"},
        {"min_n": 3, "max_n": 4, "bucket": 500},
        {"model": "glove", "x_max": 10.0},
        {"precision": "mixed_bfloat16"},
    ],
    ids=lambda options: "-".join(map(str, options.values())),
)
def test_whatever_the_model(options):
    four = {"four": {"devices": "CPU:0,CPU:1,CPU:2,CPU:3"}}
    divided = {"divided": {"devices": "CPU:0,CPU:1,CPU:2", "device_memory": 2e-5}}
    if options.get("bucket"):
        divided["divided"]["device_memory"] = 6e-5
    if options.get("model") == "glove":
        divided["divided"]["device_memory"] = 5e-5
    found = trained({**ONE, **four, **divided}, **options)
    # Three devices cannot share a step evenly: theirs is a little larger.
    alone = found.pop("divided")
    assert_same(found, 2e-2 if "precision" in options else 2e-3)
    assert alone["solved"] == pytest.approx(found["one"]["solved"], abs=0.1)
