"""Captures of XLA's: a CPU whose operations have XLA's names, a TPU's lines."""

from __future__ import annotations

from feedline.measure.profile.names import is_device, on_device, on_host
from tests.measure.profile.build import Space
from tests.measure.profile.test_examine import capture_of, parts_of


def test_xla_on_the_cpu_as_jax_records_it():
    space = Space()
    host = space.host()
    main, client = host.line("python"), host.line("tf_XLAPjRtCpuClient/1")
    for step in range(4):
        at = 100.0 * step
        main.add("$train.py:1 loop", at, at + 100)
        main.add("PjitFunction(step)", at, at + 20)
        main.add("$array.py:1 block_until_ready", at + 20, at + 90)
        client.add("H2D Dispatch", at + 10, at + 15)
        client.add("ynn_fusion", at + 15, at + 60, hlo_op="ynn_fusion")
        client.add("tanh", at + 60, at + 85, hlo_op="tanh")
    capture = capture_of(space)
    assert capture.boundaries == "calls of PjitFunction(step)"
    known = {"copy-in": 5.0, "compute": 70.0, "launch": 10.0, "python": 15.0}
    assert parts_of(capture) == known


def test_a_tpu_has_its_operations_in_one_line():
    space = Space()
    tpu = space.plane("/device:TPU:0")
    marks = tpu.line("Steps")
    for step in range(4):
        marks.add(str(step), 100.0 * step, 100.0 * step + 100)
    for line, name in (("XLA Modules", "jit_step"), ("XLA Ops", "fusion.1")):
        added = tpu.line(line)
        for step in range(4):
            added.add(name, 100.0 * step, 100.0 * step + 60)
            if line == "XLA Ops":
                added.add("all-reduce.3", 100.0 * step + 60, 100.0 * step + 80)
                added.add("infeed", 100.0 * step + 80, 100.0 * step + 95)
    capture = capture_of(space)
    known = {"compute": 60.0, "exchange": 20.0, "copy-in": 15.0, "unknown": 5.0}
    assert parts_of(capture) == known


def test_names():
    assert is_device("/device:TPU:3")
    assert is_device("/device:GPU:0")
    assert not is_device("/device:CPU:0")
    assert not is_device("/host:CPU")
    assert on_device("ncclDevKernel_AllReduce_Sum") == "exchange"
    assert on_device("[CUDA memcpy HtoD]") == "copy-in"
    assert on_device("MemcpyD2D") == "compute"
    assert on_host("IteratorGetNextOp::DoCompute") == "wait"
    assert on_host("next:IteratorGetNext") == "wait"
    assert on_host("IteratorGetNext/_3:_Send") == "launch"
    assert on_host("dense/MatMul:MatMul") == "op"
    assert on_host("EagerLocalExecute: MatMul") == "call"
    assert on_host("$train.py:3 loop") == "python"
    assert on_host("cuStreamSynchronize") == "sync"
