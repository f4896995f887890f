"""keep-results: what is proposed, what is refused, what needs no trial."""

from __future__ import annotations

import numpy as np
import pytest

from feedline import fixes
from feedline.fixes.fix import CannotFix, Case, Edit
from feedline.job.job import Job
from feedline.job.tfdata.pipeline import Pipeline, Stage
from feedline.job.tfdata.read import read
from feedline.job.tfdata.rebuild import rebuild
from feedline.measure.measurement import StageCost
from tests.causes.build import case, part


def parsed(line):
    return np.array([float(each) for each in line.split()], np.float32)


def rows():
    for line in ("1 2", "3 4", "5 6"):
        yield parsed(line)


def _dataset():
    tf = pytest.importorskip("tensorflow")
    spec = tf.TensorSpec((2,), tf.float32)
    return tf.data.Dataset.from_generator(rows, output_signature=spec)


def _proposed(epochs):
    pipeline = read(_dataset()).numbered()
    measured = case(part("from_generator", 60.0)).measured
    cost = StageCost(index=0, name="from_generator", ms_per_batch=60.0)
    job = Job(kind="fit", pipeline=pipeline, epochs=epochs)
    found = fixes.all()["keep-results"].propose(Case(job, measured, pipeline, (cost,)))
    return list(found)


@pytest.mark.tensorflow
def test_it_is_proposed_where_the_data_is_read_again():
    (proposal,) = _proposed(epochs=5)
    assert proposal.grade == "exact"
    assert proposal.costs is not None
    assert proposal.costs[0].ms_per_batch < 60.0
    assert not _proposed(epochs=1)


@pytest.mark.tensorflow
def test_applied_it_gives_the_same_elements():
    dataset = _dataset()
    before = read(dataset).numbered()
    after = rebuild(fixes.apply(before, [Edit("keep-results", 0)]))
    for _ in range(3):
        ours = [each.numpy().tobytes() for each in after]
        assert ours == [each.numpy().tobytes() for each in dataset]


@pytest.mark.tensorflow
def test_it_needs_no_trial_and_says_what_it_did():
    dataset = _dataset()
    pipeline = read(dataset).numbered()
    (found,) = fixes.at_once(pipeline)
    after = rebuild(fixes.apply(pipeline, [found.proposal.edit]))
    for _ in range(3):
        list(after)
    assert found.counts() == (6, 3)
    assert "6 of 9 results of parsed were found again" in found.came_to()
    found.stop()
    list(after)
    assert found.counts() == (6, 3)


def test_a_stage_that_nobody_has_read_is_refused():
    pipeline = Pipeline(Stage("from_generator", number=0))
    with pytest.raises(CannotFix, match="was not read"):
        fixes.apply(pipeline, [Edit("keep-results", 0)])
