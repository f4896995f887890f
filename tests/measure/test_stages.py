"""Stage costs: TensorFlow's nodes beside the stages that the user wrote."""

from __future__ import annotations

import pytest

from feedline.job.tfdata.pipeline import Pipeline, Stage
from feedline.measure.clock import SystemClock
from feedline.measure.nodes import Node, costs, told_rightly
from feedline.measure.stages import watch_stages
from tests.clock import FakeClock

tf = pytest.importorskip("tensorflow")

SOURCE = Stage("from_tensor_slices")
MAP = Stage("map", (SOURCE,))
BATCH = Stage("batch", (MAP,), {"batch_size": 32})


def node(
    name: str,
    *inputs: Node,
    ms: float = 0.0,
    elements: int = 10,
    ratio: float = 1.0,
    parallelism: int = 1,
) -> Node:
    return Node(name, ms, elements, 100 * elements, parallelism, ratio, inputs)


def test_nodes_meet_their_stages_and_additions_are_told_apart() -> None:
    running = node(
        "Prefetch",
        node(
            "BatchV2",
            node(
                "ParallelMapV2",
                node("TensorSlice", ms=32.0, elements=320),
                ms=3200.0,
                elements=320,
                parallelism=2,
            ),
            ms=50.0,
            ratio=32.0,
        ),
        ms=10.0,
    )
    found = costs(Pipeline(BATCH), running)
    assert [cost.name for cost in found] == [
        "from_tensor_slices()",
        "map()",
        "batch(32)",
        "prefetch",
    ]
    assert [cost.injected for cost in found] == [False, False, False, True]
    source, mapped, batched, _ = found
    assert mapped.parallelism == 2
    assert mapped.asynchronous
    assert mapped.ms_per_element == pytest.approx(10.0)
    assert mapped.ms_per_batch == pytest.approx(320.0)
    assert source.ms_per_batch == pytest.approx(3.2)
    assert batched.ms_per_batch == pytest.approx(5.0)
    assert sum(cost.share for cost in found) == pytest.approx(1.0)


def test_a_stage_without_a_node_is_passed_over() -> None:
    pipeline = Pipeline(Stage("with_options", (BATCH,)))
    running = node("BatchV2", node("Map", node("TensorSlice"), ms=5.0), ratio=32.0)
    assert [cost.name for cost in costs(pipeline, running)] == [
        "from_tensor_slices()",
        "map()",
        "batch(32)",
    ]


def test_branches_keep_their_own_costs() -> None:
    left = Stage("map", (Stage("range"),))
    right = Stage("map", (Stage("from_tensors"),))
    running = node(
        "Zip",
        node("Map", node("Range"), ms=10.0),
        node("Map", node("Tensor"), ms=30.0),
    )
    found = costs(Pipeline(Stage("zip", (left, right))), running)
    by_index = {cost.index: cost for cost in found}
    assert by_index[1].ms_per_batch == pytest.approx(1.0)
    assert by_index[3].ms_per_batch == pytest.approx(3.0)


def test_what_an_enumerate_numbers_keeps_its_stages() -> None:
    """TensorFlow zips numbers to the elements, and they come first."""
    running = node(
        "Zip",
        node("Range", ms=1.0),
        node(
            "BatchV2",
            node("Map", node("TensorSlice", elements=320), ms=3200.0, elements=320),
            ratio=32.0,
        ),
    )
    found = costs(Pipeline(Stage("enumerate", (BATCH,))), running)
    assert [cost.index for cost in found] == [0, 1, 2, 3]
    assert found[1].ms_per_batch == pytest.approx(320.0)


def test_the_files_of_an_interleave_count_with_it() -> None:
    pipeline = Pipeline(Stage("interleave", (Stage("list_files"),)))
    running = node(
        "ParallelInterleaveV4",
        node("TensorSlice"),
        node("TFRecord", ms=40.0),
        node("TFRecord", ms=60.0),
        ms=1.0,
    )
    interleave = costs(pipeline, running)[-1]
    assert interleave.ms_per_batch == pytest.approx(10.1)


def test_a_shuffle_is_not_charged_for_waiting() -> None:
    """TensorFlow's model counts that as its work."""
    shuffled = Stage("shuffle", (MAP,), {"buffer_size": 64})
    pipeline = Pipeline(shuffled).numbered()
    running = node(
        "Shuffle", node("ParallelMapV2", node("TensorSlice"), ms=40.0), ms=900.0
    )
    found = costs(pipeline, running)
    assert [cost.ms_per_batch for cost in found] == pytest.approx([0.0, 4.0, 90.0])
    right, unknown = told_rightly(pipeline, found)
    assert [cost.ms_per_batch for cost in right] == pytest.approx([0.0, 4.0, 0.0])
    assert [cost.share for cost in right] == pytest.approx([0.0, 1.0, 0.0])
    assert [text.partition(":")[0] for text in unknown] == ["what shuffle(64) costs"]


def a_real_pipeline() -> Pipeline:
    from feedline.job.tfdata.read import read

    def costly(value):
        for _ in range(30):
            value = tf.sqrt(value * value + 1.0)
        return value + tf.random.uniform([])

    return read(
        tf.data.Dataset.from_tensor_slices(tf.ones((64, 64, 64)))
        .shuffle(1000)
        .map(costly)
        .batch(16)
    )


class TickingClock(FakeClock):
    """Time goes by whenever somebody looks."""

    def now(self) -> float:
        self.time += 0.03
        return self.time

    def cpu(self) -> float:
        self.cpu_time += 0.03
        return self.cpu_time


@pytest.mark.tensorflow
def test_the_stages_of_a_real_pipeline() -> None:
    found = watch_stages(a_real_pipeline(), TickingClock(), 1.5).stages
    assert [cost.index for cost in found if not cost.injected] == [0, 1, 2, 3]
    mapped = found[2]
    assert mapped.name == "map(costly)"
    assert mapped.parallelism == 1
    assert mapped.elements_per_batch == pytest.approx(16)
    assert sum(cost.share for cost in found) == pytest.approx(1.0)


@pytest.mark.slow
@pytest.mark.tensorflow
def test_a_real_pipeline_is_charged_where_the_work_is() -> None:
    found = watch_stages(a_real_pipeline(), SystemClock(), 1.5).stages
    dearest = max(found, key=lambda cost: cost.ms_per_batch)
    assert dearest.name == "map(costly)"
    assert dearest.share > 0.5
