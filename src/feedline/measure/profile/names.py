"""What an event's name says: the vocabulary of TensorFlow's and JAX's profilers.

Pure text in, a word out. The names have been the same from TensorFlow 2.3 to 2.21;
where a version or XLA differs, both stand here. A name that is not known says
nothing, and its time ends up as `unknown` rather than as something wrong.
"""

from __future__ import annotations

import re
from functools import lru_cache

DERIVED_LINES = (
    *("Steps", "TensorFlow Ops", "TensorFlow Name Scope", "Framework Ops"),
    *("Framework Name Scope", "XLA Modules", "Source code", "Launch Stats"),
    *("XLA TraceMe", "Async XLA Ops", "Scope", "HLO", "Tensor Core"),
)
"""Lines that a profiler derives from others: the same time once more."""

_DEVICE = re.compile(
    r"^/device:(?!CPU)[A-Za-z_]+:\d+|^/?(gpu|tpu|cuda|rocm|metal|xpu)[: ]\d+", re.I
)
_COLLECTIVE = re.compile(
    r"nccl|rccl|all-?_?reduce|all-?_?gather|reduce-?_?scatter|collective|all-?to-?all"
    r"|memcpyp2p|peer",
    re.I,
)
_COPY_IN = re.compile(
    r"memcpyh2d|memcpy ?htod|h2d|hosttodevice|copyhosttodevice|^infeed", re.I
)
_COPY_OUT = re.compile(
    r"memcpyd2h|memcpy ?dtoh|d2h|devicetohost|copydevicetohost|^outfeed", re.I
)
_OP = re.compile(r"^[\w./\-<>=@+]+:(_?[A-Za-z][A-Za-z0-9_>]*)$")


def is_device(plane: str) -> bool:
    """/device:GPU:0, /device:TPU:3, also as JAX writes it."""
    return bool(_DEVICE.match(plane)) and "SparseCore" not in plane


def is_data_thread(line: str) -> bool:
    return line.startswith(("tf_data_", "tf_data/"))


@lru_cache(maxsize=100_000)
def on_device(name: str) -> str:
    """What a device does: compute, exchange, copy-in or copy-out."""
    if _COPY_IN.search(name):
        return "copy-in"
    if _COPY_OUT.search(name):
        return "copy-out"
    if _COLLECTIVE.search(name):
        return "exchange"
    return "compute"


NO_WORK = frozenset(
    (
        *("_Send", "_Recv", "_HostSend", "_HostRecv", "_Arg", "_Retval", "NoOp"),
        *("_DeviceArg", "_DeviceRetval", "Const", "Placeholder", "VarHandleOp"),
        *("ReadVariableOp", "Identity", "IdentityN", "Merge", "Switch", "Enter"),
        *("Exit", "NextIteration", "LoopCond", "While", "StatelessWhile", "If"),
        *("StatelessIf", "PartitionedCall", "StatefulPartitionedCall", "RemoteCall"),
        *("OptionalHasValue", "OptionalGetValue", "OptionalFromValue", "OptionalNone"),
        *("IteratorFromStringHandleV2", "MultiDeviceIteratorFromStringHandle"),
        *("DestroyResourceOp", "AnonymousIteratorV3", "MakeIterator"),
        *("_EagerConst", "XlaLaunch", "_XlaRun", "_XlaCompile", "XlaLocalLaunch"),
    )
)
"""Operations that pass on, call or wait, and compute nothing themselves."""

_ITERATORS = ("IteratorGetNext", "MultiDeviceIteratorGetNext")
_COMPILES = (
    *("tf.function-graph_building", "XlaCompil", "_XlaCompile", "BuildExecutable"),
    *("OptimizeFunctionGraph", "MetaOptimizer", "InstantiateMultiDevice"),
    *("backend_compile", "trace_to_jaxpr", "lower_jaxpr", "PjRtClient::Compile"),
    *("XlaCompiler", "HloPassPipeline", "LLVM", "XlaBackend", "CompileAndLoad"),
    *("PyClient::Compile", "xla::Compile", "TfrtCpuClient::Compile", "JitCompile"),
)
_SYNCS = (
    *("cuStreamSynchronize", "cuEventSynchronize", "cuCtxSynchronize"),
    *("cudaStreamSynchronize", "cudaDeviceSynchronize", "hipStreamSynchronize"),
    *("np.asarray(jax.Array)", "BlockHostUntilReady", "block_until_ready"),
)
_SENDS = (
    *("BufferFromHost", "TransferToDevice", "TransferToServer", "InfeedEnqueue"),
    *("TransferBufferToDevice", "EnqueueInfeed", "TransferToInfeed", "device_put"),
    "H2D Dispatch",
)
_FETCHES = (
    *("TransferFromDevice", "TransferFromServer", "OutfeedDequeue", "ToLiteral"),
    *("TransferFromOutfeed", "CopyToHost", "DequeueOutfeed", "D2H Dispatch"),
)
_CALLS = (
    *("TFE_Py_", "EagerExecute", "EagerLocalExecute"),
    *("PjitFunction", "pjit", "jit("),
)
_BLOCKED = ("EagerKernelExecute", "KernelAndDeviceFunc::Run")
_LAUNCHES = (
    *("ExecutorState::", "ExecutorPropagate", "ExecutorDoneCallback", "FunctionRun"),
    *("MemoryAllocation", "MemoryDeallocation", "EagerCopyToDevice", "TensorHandle::"),
    *("ValidateInputTypeAndPlacement", "RemoteCallOp", "KernelLaunch", "cuLaunch"),
    *("cudaLaunch", "hipLaunch", "cuMem", "cudaMem", "cuEvent", "cuGraph"),
    *("PjRt", "Execute", "TfrtGpu", "TfrtCpu", "CommonPjRt", "Thunk", "BatchedDevice"),
    *("ParseArguments", "XlaLaunch", "convert_to_tensor", "tf.constant", "RunGraph"),
    *("SameWorkerRecvDone", "Gpu", "DirectSession", "InstantiatedCaptured", "BFCAlloc"),
)


@lru_cache(maxsize=200_000)
def op_type(name: str) -> str | None:
    """`dense/MatMul:MatMul` is an operation, of the type behind the colon."""
    found = _OP.match(name)
    if found is None or "::" in name:
        return None
    return found.group(1)


@lru_cache(maxsize=200_000)
def on_host(name: str) -> str:
    """What a host thread does:

    wait       asks the iterator for a batch
    stage      works inside a tf.data pipeline
    op         runs an operation (where: that is not in the name)
    copy-in, copy-out   hands a buffer to the device, or takes one, itself
    exchange   talks to other devices
    compile    traces or compiles
    launch     schedules, allocates, enqueues
    call       is inside a call of the runtime, on its way in or out
    blocked    has started a function and may be waiting for its end
    sync       waits for the device
    python     Python, as the Python tracer saw it
    kernel     a kernel being launched, if the driver says so; else some other name
    none       nothing that is worth telling
    """
    if name.startswith("$"):
        return "python"
    if name.startswith(_ITERATORS) and "::" in name:
        return "wait"
    if name.startswith(("Iterator::", "InstantiatedCaptured")) or name.endswith(
        ("Produce", "Consume")
    ):
        return "stage"
    kind = op_type(name)
    if kind is not None:
        return _operation(kind)
    for word, starts in (
        ("compile", _COMPILES),
        ("sync", _SYNCS),
        ("copy-in", _SENDS),
        ("copy-out", _FETCHES),
        ("call", _CALLS),
        ("blocked", _BLOCKED),
        ("launch", _LAUNCHES),
    ):
        if name.startswith(starts):
            return word
    if name.startswith("ThreadpoolListener"):
        return "none"
    if name.startswith(("Memcpy", "cuMemcpy", "Memset")):
        return "kernel"  # the call to the driver; the copy itself is the device's
    if "Collective" in name or name.startswith(("Nccl", "nccl")):
        return "exchange"
    return "kernel"


def _operation(kind: str) -> str:
    if kind.startswith(_ITERATORS):
        return "wait"
    if kind in NO_WORK:
        return "launch"
    return "exchange" if kind.startswith(("Collective", "Nccl")) else "op"
