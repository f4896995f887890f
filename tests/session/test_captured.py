"""From a capture to the report: the causes that were planted are named."""

from __future__ import annotations

import json

import pytest

from feedline.measure.profile import source
from feedline.report.json import from_json, to_json
from feedline.report.terminal import render
from feedline.session.captured import report_of
from tests.measure.profile.build import PARTS, Space, planted
from tests.measure.profile.test_stages import fused


def report(space: Space, tmp_path):
    return report_of(space.save(tmp_path / "planted.xplane.pb"))


def causes(report) -> list[str]:
    return [finding.cause for finding in report.findings]


def test_the_report_of_a_capture(tmp_path):
    made = report(planted(), tmp_path)
    assert made.shares == {
        "input": 0.2,
        "transfer": 0.15,
        "overhead": 0.27,
        "compute": 0.38,
    }
    assert made.bound == "compute"
    assert made.step.observed_ms == 100.0
    assert made.step.ceiling_ms == 65.0
    assert {part.kind: part.ms for part in made.trace.parts if part.ms} == PARTS
    assert made.trace.unknown == 0.02
    assert made.proof.same == "observed"
    assert "nothing was changed" in made.proof.text
    assert {"blocking-transfer", "host-device-pingpong"} <= set(causes(made))
    assert from_json(to_json(made)) == made
    assert len(made.timeline.rows) > 3


def test_what_a_person_sees(tmp_path):
    made = report(planted(), tmp_path)
    text = render(made)
    assert max(map(len, text.splitlines())) <= 80
    assert "unknown" in text
    assert "nothing was tried" in text
    assert "imports" not in text
    flat = " ".join(text.split())
    assert "50.0 MB go to the device in each step from pageable memory" in flat
    for width in (40, 60):
        narrow = render(made, width=width, encoding="ascii")
        assert max(map(len, narrow.splitlines())) <= width
        narrow.encode("ascii")


def test_a_serial_map(tmp_path):
    made = report(fused(), tmp_path)
    assert made.bound == "input"
    assert causes(made)[0] == "serial-map"
    assert made.machine.cores == 8


def step_of(kernel: str, ms: float, **stats):
    """Steps of 100 ms in which one kernel runs for some time."""
    space = Space()
    main = space.host().line("python")
    stream = space.gpu(**stats).line("Stream #1")
    for step in range(4):
        at = 100.0 * step
        main.add("train", at, at + 100, step_num=step)
        main.add("EagerKernelExecute", at, at + 100)
        stream.add(kernel, at, at + ms).add("relu", at + ms, at + 100)
    return space


@pytest.mark.parametrize(
    ("kernel", "capability", "named"),
    [
        ("volta_sgemm_128x64_nn", 7, ["precision"]),
        ("maxwell_sgemm_128x64_nn", 6, []),
        ("volta_h884gemm_128x64_nn", 7, []),
        ("ampere_fp16_s16816gemm_fp16_64x64_ldg8_nn", 8, []),
        ("cutlass_80_tensorop_f16_s16816gemm_f16_64x64_nn_align2", 8, ["misaligned"]),
        ("void Eigen::TensorConversionOp<Eigen::half>", 7, []),
    ],
)
def test_precision_by_the_kernels_names(kernel, capability, named, tmp_path):
    made = report(step_of(kernel, 60.0, compute_cap_major=capability), tmp_path)
    assert [name.partition("-")[0] for name in causes(made)] == named
    assert all(finding.cost_ms == 30.0 for finding in made.findings)


def test_launches(tmp_path):
    space = Space()
    host = space.host()
    main, work = host.line("python"), host.line("tf_Compute/1")
    stream = space.gpu().line("Stream #1")
    for step in range(4):
        at = 100.0 * step
        main.add("train", at, at + 100, step_num=step)
        work.add("ExecutorState::Process", at, at + 100, id=1)
        for kernel in range(100):
            stream.add("tiny", at + kernel, at + kernel + 0.1)
    made = report(space, tmp_path)
    assert made.bound == "overhead"
    assert causes(made) == ["launch-overhead"]
    assert "100 kernels" in made.findings[0].evidence


def test_retracing(tmp_path):
    space = Space()
    main = space.host().line("python")
    for step in range(5):
        at = 100.0 * step
        main.add("step", at, at + 90, tf_function_call="traced-nonXla")
        main.add("tf.function-graph_building", at, at + 70)
        main.add("EagerKernelExecute", at + 70, at + 90)
        main.add("dense:MatMul", at + 70, at + 90)
    made = report(space, tmp_path)
    assert causes(made)[0] == "retracing"
    assert "in the capture" in made.findings[0].evidence


def test_starved_replicas(tmp_path):
    space = Space()
    main = space.host().line("python")
    streams = [space.gpu(n).line("Stream #1") for n in range(2)]
    for step in range(4):
        at = 100.0 * step
        main.add("train", at, at + 100, step_num=step)
        main.add("EagerKernelExecute", at, at + 100)
        for stream in streams:
            stream.add("relu", at, at + 20).add("ncclAllReduce", at + 20, at + 100)
    made = report(space, tmp_path)
    assert causes(made) == ["starved-replicas"]
    assert made.findings[0].cost_ms == 80.0


def test_a_job_that_only_computes_has_no_finding(tmp_path):
    made = report(step_of("volta_h884gemm_128x64_nn", 50.0), tmp_path)
    assert made.findings == ()
    assert made.bound == "compute"


def test_every_host_of_a_run_has_its_report(tmp_path):
    for host in "ab":
        planted(2).save(tmp_path / "plugins" / "profile" / "r" / f"{host}.xplane.pb")
    assert len([report_of(file) for file in source.find(tmp_path)]) == 2


def test_hostile_names_are_data(tmp_path):
    space = step_of("\x1b[2J<script>alert(1)</script>sgemm" + "x" * 5000, 60.0)
    made = report(space, tmp_path)
    assert "\x1b" not in render(made)
    assert json.loads(to_json(made))["trace"]["steps"] == 3
