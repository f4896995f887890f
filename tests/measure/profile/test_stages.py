"""The input's stages: which they are, what they cost, whose work it was."""

from __future__ import annotations

import numpy as np
import pytest

from feedline.measure.profile.examine import examine
from feedline.measure.profile.parse import read_space
from feedline.measure.profile.stages import before, path_of
from tests.measure.profile.build import Space

ROOT = "Iterator::Root::Prefetch::MapAndBatch"


def capture_of(space: Space):
    return examine(read_space(np.frombuffer(space.bytes(), np.uint8)), "planted")


def fused(steps: int = 4) -> Space:
    """A prefetch over a map and a batch that TensorFlow made one; 10 elements a
    step, each 6 ms in the map's function, read in 1 ms."""
    space = Space()
    host = space.host()
    main, wait = host.line("python"), host.line("tf_data_iterator_get_next/1")
    ahead, pool = host.line("tf_data_iterator_resource/2"), host.line("tf_Compute/3")
    for step in range(steps + 1):
        at = 100.0 * step
        main.add("train", at, at + 100, step_num=step)
        main.add("EagerKernelExecute", at, at + 100)
        wait.add("IteratorGetNextOp::DoCompute", at, at + 90, id=1)
        wait.add("Iterator::Root", at, at + 90, id=11, cpu_budget=8)
        wait.add("Iterator::Root::Prefetch", at, at + 90, id=12)
        pool.add("dense:MatMul", at + 90, at + 98)
        for element in range(10):
            start, run = at + 9 * element, 1000 + 10 * step + element
            ahead.add("MapAndBatchProduce", start, start + 2)
            ahead.add(f"{ROOT}::TensorSlice", start, start + 1, id=14)
            name = "InstantiatedCapturedFunction::RunAsync"
            ahead.add(name, start + 1, start + 1.5, id=run)
            pool.add("ExecutorState::Process", start + 2, start + 8, id=run)
            pool.add("decode:DecodeJpeg", start + 2, start + 8)
        ahead.add(ROOT, at + 95, at + 96, id=13, parallelism=1)
    return space


def test_stages_of_a_fused_pipeline():
    capture = capture_of(fused())
    found = [(c.name, round(c.ms_per_batch, 3), c.asynchronous) for c in capture.stages]
    assert found == [
        ("from_tensor_slices", 10.0, False),
        ("map", 60.0, True),
        ("batch", 0.0, True),
        ("prefetch", 0.0, True),
    ]
    assert capture.stages[1].elements_per_batch == 10.0
    assert capture.stages[1].ms_per_element == pytest.approx(6.0)
    assert [s.op for s in capture.pipeline.stages()] == [c[0] for c in found]
    assert capture.cores == 8


def test_which_stage_ran_while_the_step_waited():
    capture = capture_of(fused())
    assert capture.waited[0] == ("map", pytest.approx(60.0))
    assert capture.parts["input"] == 90.0
    assert capture.parts["compute"] == 8.0


def test_a_generator_in_python_is_one_stage():
    space = Space()
    host = space.host()
    main, data = host.line("python"), host.line("tf_data_iterator_resource/2")
    pool = host.line("tf_Compute/3")
    for step in range(4):
        at = 100.0 * step
        main.add("train", at, at + 100, step_num=step)
        data.add("Iterator::Model::FlatMap", at, at + 80, id=1)
        data.add("Iterator::Model::FlatMap[0]::Generator", at + 1, at + 79, id=2)
        data.add("InstantiatedCapturedFunction::Run", at + 2, at + 78, id=50 + step)
        pool.add("ExecutorState::Process", at + 3, at + 77, id=50 + step)
        pool.add("PyFunc:PyFunc", at + 4, at + 76)
    capture = capture_of(space)
    (cost,) = capture.stages
    (stage,) = capture.pipeline.stages()
    assert stage.op == "from_generator"
    assert stage.python
    assert cost.ms_per_batch == pytest.approx(80.0)


def test_readers_inside_an_interleave_count_for_it():
    space = Space()
    host = space.host()
    main, data = host.line("python"), host.line("tf_data_iterator_resource/2")
    for step in range(4):
        at = 100.0 * step
        main.add("train", at, at + 100, step_num=step)
        for file in range(5):
            outer = at + 10 * file
            data.add("Iterator::Model::Interleave", outer, outer + 9, id=1)
            inner = f"Iterator::Model::Interleave[{5 * step + file}]::TFRecord"
            data.add(inner, outer + 1, outer + 8, id=2)
    capture = capture_of(space)
    (cost,) = capture.stages
    assert cost.name == "interleave"
    assert cost.ms_per_batch == pytest.approx(45.0)


def test_paths():
    assert path_of("Iterator::Root::Zip[1]::Map") == ("Root", "Zip[1]", "Map")
    assert path_of("Iterator::A::FlatMap[17]::B") == ("A", "FlatMap[]", "B")
    assert path_of("EagerExecute") == ()
    assert before(("Root", "Zip[1]", "Map")) == ("Root", "Zip")
    assert before(("Root",)) == ()
