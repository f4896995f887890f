"""What the kernels' names tell: how precise, on which units, how well aligned.

Only matrix products and convolutions matter here, and only the names that NVIDIA's
libraries and XLA have used for years. A kernel of another name counts as none of
these. Pure text and numbers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

_MATRIX = re.compile(
    r"gemm|gemv|conv(?!ert|ersion)|winograd|wgrad|dgrad|fprop|_nn_v|_nt_v|_tn_v|dot_kernel|fft2d"
    r"|xmma|cutlass",
    re.I,
)
_HALF = re.compile(
    r"f16|fp16|bf16|half|hgemm|h884|h1688|s884|s1688(?!_?tf32)|16816|_h_|hmma", re.I
)
_TF32 = re.compile(r"tf32|s1688gemm_f32|s1688fprop_f32", re.I)
_TENSOR = re.compile(r"884|1688|16816|16832|tensorop|hmma|wgmma|xmma", re.I)
_ALIGN = re.compile(r"align([124])(?!\d)")


@dataclass(frozen=True)
class Kernels:
    """Per step: how many launches, and the ms of matrix kernels by precision.

    single      in float32 on the ordinary cores
    half        in float16 or bfloat16
    misaligned  in half precision, but on the ordinary cores or in narrow accesses
    choosing    trial runs by which cuDNN chooses its algorithm (a first step)
    """

    launches: float = 0.0
    mean_us: float = 0.0
    single: float = 0.0
    half: float = 0.0
    misaligned: float = 0.0
    choosing: bool = False
    longest: tuple[tuple[str, float], ...] = ()


@lru_cache(maxsize=100_000)
def precision(name: str) -> str | None:
    """single, half or misaligned for a matrix kernel; None for any other."""
    if not _MATRIX.search(name) or "Eigen::" in name or "functor::" in name:
        return None
    if _TF32.search(name):
        return "tf32"
    if not _HALF.search(name):
        return "single"
    if _ALIGN.search(name) or not _TENSOR.search(name):
        return "misaligned"
    return "half"
