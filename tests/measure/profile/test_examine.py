"""The attribution finds what was planted, in every dialect of a capture."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedline.measure.profile.examine import examine
from feedline.measure.profile.kinds import KINDS
from feedline.measure.profile.parse import read_space
from tests.measure.profile.build import PARTS, STEP_MS, Space, planted


def capture_of(space: Space):
    return examine(read_space(np.frombuffer(space.bytes(), np.uint8)), "planted")


def parts_of(capture) -> dict[str, float]:
    return {kind: round(ms, 3) for kind, ms in capture.parts.items() if ms}


@pytest.mark.parametrize("markers", ["step_num", "function", "iterator", "steps-line"])
@pytest.mark.parametrize("devices", [1, 3])
def test_every_part_of_a_step_is_found(markers, devices):
    capture = capture_of(planted(markers=markers, devices=devices))
    assert parts_of(capture) == PARTS
    assert capture.total == pytest.approx(STEP_MS)
    assert set(capture.step_ms) == {STEP_MS}
    assert len(capture.units) == devices


@pytest.mark.parametrize(
    "gpu", ["/device:GPU:{}", "/device:TPU:{}", "/gpu:{}", "GPU {}", "cuda:{}"]
)
def test_devices_by_any_name(gpu):
    capture = capture_of(planted(gpu=gpu))
    assert parts_of(capture) == PARTS


def test_lines_that_start_at_different_times():
    assert parts_of(capture_of(planted(shift_ns=12_345_000))) == PARTS


def test_without_a_host_the_kernels_tell_the_steps():
    capture = capture_of(planted(markers="kernels"))
    assert capture.boundaries == "kernels that repeat"
    known = {"compute": 30.0, "copy-in": 10.0, "copy-out": 5.0, "unknown": 55.0}
    assert parts_of(capture) == known


def test_one_step_lasts_until_its_work_is_done_and_no_longer():
    space = Space()
    main = space.host().line("python3")
    stream = space.gpu().line("Stream #1")
    main.add("train_function", 0, 10, tf_function_call="notTraced-nonXla")
    main.add("EagerKernelExecute", 0, 10)
    main.add("kernel", 1, 2, correlation_id=1)
    main.add("other", 70, 71, correlation_id=2)
    main.add("WriteSummary:WriteSummary", 90, 95)
    stream.add("kernel", 5, 30, correlation_id=1).add("other", 71, 72, correlation_id=2)
    capture = capture_of(space)
    assert capture.step_ms == (30.0,)
    assert parts_of(capture)["compute"] == 25.0
    assert any(
        "65 ms after" in note and "TensorBoard" in note for note in capture.notes
    )


def test_a_host_that_runs_ahead_does_not_shorten_the_steps():
    space = Space()
    main = space.host().line("python3")
    stream = space.gpu().line("Stream #1")
    for step in range(10):
        main.add("PjitFunction(step)", step, step + 1)
        main.add("k", step + 0.2, step + 0.4, correlation_id=step + 1)
        stream.add("k", 50 * step + 2, 50 * step + 52, correlation_id=step + 1)
    capture = capture_of(space)
    assert capture.step_ms == pytest.approx((50.2,) * 10, abs=0.01)
    assert capture.busy > 0.99


def test_work_for_the_pipeline_is_not_the_steps():
    """The same thread pool runs both; the id of the function's run tells."""
    space = Space()
    host = space.host()
    main, work = host.line("python"), host.line("tf_Compute/1")
    data = host.line("tf_data_iterator_resource/2")
    for step in range(3):
        at = 100.0 * step
        main.add("fit", at, at + 100, step_num=step)
        data.add("InstantiatedCapturedFunction::Run", at + 1, at + 60, id=500 + step)
        work.add("ExecutorState::Process", at + 1, at + 60, id=500 + step)
        work.add("decode:DecodeJpeg", at + 2, at + 59)
        work.add("ExecutorState::Process", at + 60, at + 90, id=7)
        work.add("dense:MatMul", at + 60, at + 90)
    capture = capture_of(space)
    assert parts_of(capture)["compute"] == 30.0


def test_an_operation_that_only_launches_is_not_the_hosts():
    space = Space()
    host, gpu = space.host(), space.gpu()
    main, work = host.line("python"), host.line("tf_Compute/1")
    stream = gpu.line("Stream #1")
    for step in range(3):
        at = 100.0 * step
        main.add("train", at, at + 100, step_num=step)
        work.add("a:MatMul", at, at + 40)  # the device says that it ran this one
        work.add("b:Relu", at + 40, at + 60)  # a kernel is launched inside
        work.add("some_kernel", at + 41, at + 42, correlation_id=step)
        work.add("c:Where", at + 60, at + 70)
        stream.add("gemm", at + 80, at + 99, tf_op="a:MatMul")
    capture = capture_of(space)
    assert parts_of(capture)["host-op"] == 10.0
    assert parts_of(capture)["launch"] > 50.0
    assert [name for name, _ in capture.host_ops] == ["c:Where"]


def test_copies_are_counted_with_their_bytes_and_what_the_bus_allows():
    capture = capture_of(planted())
    copies = capture.copy("copy-in")
    assert copies.count == 1.0
    assert copies.bytes == 50_000_000
    assert copies.ms == 10.0
    assert copies.gb_per_s == pytest.approx(5.0)
    assert copies.pinned is False
    assert copies.bus == 12.0


def test_waiting_for_another_device():
    space = Space()
    main = space.host().line("python")
    streams = [space.gpu(n).line("Stream #1") for n in range(2)]
    for step in range(3):
        at = 100.0 * step
        main.add("train", at, at + 100, step_num=step).add("blocked", at, at + 100)
        main.add("EagerKernelExecute", at, at + 100)
        streams[0].add("gemm", at, at + 80).add("ncclAllReduce", at + 80, at + 100)
        streams[1].add("gemm", at, at + 30).add("ncclAllReduce", at + 80, at + 100)
    capture = capture_of(space)
    assert parts_of(capture) == {"compute": 55.0, "exchange": 45.0}
    assert [round(unit.busy, 2) for unit in capture.units] == [0.8, 0.3]


def test_the_timeline_is_in_order_and_within_its_steps():
    capture = capture_of(planted(devices=2))
    assert [lane.name for lane in capture.lanes][:2] == ["step", "host"]
    assert "copies" in {lane.name for lane in capture.lanes}
    assert {"GPU:0", "GPU:1"} <= {lane.name for lane in capture.lanes}
    for lane in capture.lanes:
        assert all(span.kind in KINDS for span in lane.spans)
        starts = [span.start_ms for span in lane.spans]
        assert starts == sorted(starts)
        for one, two in zip(lane.spans, lane.spans[1:], strict=False):
            assert one.end_ms <= two.start_ms + 1e-9
        assert lane.spans[-1].end_ms <= 3 * STEP_MS
    kernels = next(lane for lane in capture.lanes if lane.name == "GPU:0")
    assert kernels.spans[0].label == "volta_sgemm_128x64_nn"


_NAMES = (
    *("train", "IteratorGetNextOp::DoCompute", "MemcpyH2D", "volta_sgemm", "a:MatMul"),
    *("ExecutorState::Process", "EagerKernelExecute", "Iterator::Root::Prefetch"),
    *("Iterator::Root::FlatMap[3]::TFRecord", "ncclAllReduce", "$python.py:1 f"),
    *("cuStreamSynchronize", "ParallelMapProduce", "InstantiatedCapturedFunction::Run"),
    *("tf.function-graph_building", "", "::", "x:y", "[]", "Iterator::", "日本"),
)
_stats = st.dictionaries(
    st.sampled_from(
        ["id", "step_num", "correlation_id", "tf_function_call", "memcpy_details"]
    ),
    st.integers(-(2**63), 2**63 - 1) | st.sampled_from(["traced", "size:99", ""]),
    max_size=2,
)
_line = st.tuples(
    st.sampled_from(["python", "tf_Compute/1", "tf_data_x", "Stream #1", "Steps", ""]),
    st.lists(
        st.tuples(
            st.sampled_from(_NAMES),
            st.integers(-5, 10**6),
            st.integers(-5, 10**6),
            _stats,
        ),
        max_size=8,
    ),
)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["/host:CPU", "/device:GPU:0", "/device:TPU:1", "x"]),
            st.lists(_line, max_size=3),
        ),
        max_size=4,
    )
)
@settings(max_examples=60, deadline=None)
def test_whatever_the_events_say_the_parts_add_up(planes):
    space = Space()
    for name, lines in planes:
        plane = space.plane(name)
        for title, events in lines:
            line = plane.line(title)
            for event, start, length, stats in events:
                line.add(event, start / 1e4, (start + length) / 1e4, **stats)
    capture = capture_of(space)
    assert set(capture.parts) == set(KINDS)
    assert all(ms >= 0 for ms in capture.parts.values())
    assert sum(capture.parts.values()) > 0
    assert sum(map(capture.share, KINDS)) == pytest.approx(1.0)
    assert sum(capture.four().values()) == pytest.approx(capture.total)
