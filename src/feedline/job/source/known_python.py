"""What is known of Python, NumPy and libraries for images: a closed list, for both
judges (`purity.py`, `graph_safe.py`).

Everything here gives the same for the same arguments and changes nothing, if it is not
said to. What is not listed may print, write, count, draw or change its arguments, and
is taken to do so. A thing is known by what it is, not by the name that the script has
for it. A step may use less than a pure function: in a graph the value of a tensor is
not there, so that what makes text or bytes of it would mean something else.
"""

from __future__ import annotations

import builtins
import collections
import datetime
import decimal
import fractions
import inspect
import io
import pathlib
import re
import struct
import sys
import types
from typing import Any

import numpy as np


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...), slice, range)
NEVER_CHANGING = (
    *(*PLAIN, decimal.Decimal, fractions.Fraction, datetime.date, datetime.datetime),
    *(datetime.timedelta, re.Pattern, struct.Struct, np.dtype),
    *(pathlib.PurePosixPath, pathlib.PureWindowsPath, pathlib.PosixPath),
    pathlib.WindowsPath,
)

CONTAINERS = (
    *(list, dict, set, frozenset, tuple, collections.OrderedDict, collections.Counter),
    *(collections.deque, types.MappingProxyType),
)
"""Objects that may be read. A `defaultdict` is none: to ask it is to change it."""

NAMESPACES = ("argparse.Namespace", "types.SimpleNamespace")
"""Classes of libraries whose objects only hold attributes."""

WRITTEN = ("out", "dst", "file", "mask_out")
"""Names of arguments that a function writes into."""

READING = words("""
    as_list astype copy count difference endswith format get get_shape index
    intersection is_integer items join keys lower max mean min replace reshape split
    startswith strip sum union upper values
""")
"""Methods that only read, in a graph as well."""

METHODS = READING | words("""
    all any argmax argmin argsort choose clip conj conjugate cumprod cumsum diagonal dot
    flatten item nonzero numpy prod ptp ravel repeat round searchsorted squeeze std
    swapaxes take tobytes tolist trace transpose var view bit_length to_bytes

    capitalize casefold center decode encode expandtabs find format_map hex isalnum
    isalpha isascii isdecimal isdigit isidentifier islower isnumeric isprintable isspace
    istitle isupper ljust lstrip maketrans partition removeprefix removesuffix rfind
    rindex rjust rpartition rsplit rstrip splitlines swapcase title translate zfill

    issubset issuperset isdisjoint symmetric_difference most_common elements

    findall finditer fullmatch group groups match search span start end sub digest
    hexdigest unpack pack with_suffix with_name joinpath relative_to as_posix
    is_absolute isoformat toordinal total_seconds weekday getvalue

    convert crop filter getbbox getchannel getdata getpixel resize rotate transform
""")
"""Methods that change nothing: of arrays and tensors, text and bytes, lists, dicts and
sets, patterns, hashes, structs, paths and dates, images."""

PATHS_READ = words("read_bytes read_text")

ATTRIBUTES = words("""
    T char day denominator dims dtype fields flat format height imag info itemsize kind
    mode month name names nbytes ndim numerator parent parents parts pattern pos rank
    real shape size start stem step stop strides string suffix suffixes width year
""")
"""Attributes of the same that are values."""

_BUILTINS = words("""
    abs all any bool callable complex dict divmod enumerate filter float frozenset int
    isinstance issubclass len list map max min pow range reversed round set slice sorted
    str sum tuple zip
""")
_BUILTINS_IN_STEPS = _BUILTINS | {"super", "hasattr"}
_BUILTINS_IN_PYTHON = _BUILTINS | words(
    "ascii bin bytearray bytes chr format hex memoryview oct ord repr"
)
_ARITHMETIC = words("""
    add and_ attrgetter eq floordiv ge getitem gt itemgetter le lt mod mul ne neg or_
    sub truediv
""")
_PATHS = words("basename dirname join normpath split splitext")
_FUNCTIONS: dict[str, frozenset[str] | None] = {
    **dict.fromkeys(("math", "cmath", "unicodedata", "binascii", "html"), None),
    **dict.fromkeys(("operator", "_operator"), _ARITHMETIC),
    **dict.fromkeys(("posixpath", "ntpath"), _PATHS),
    **dict.fromkeys(("functools", "_functools"), words("reduce")),
    "_bisect": words("bisect bisect_left bisect_right"),
    "base64": words("b64decode b64encode b32decode b32encode b16decode"),
    "copy": words("copy deepcopy"),
    "genericpath": words("commonprefix"),
    "json": words("loads dumps"),
    "re": words(
        "compile escape findall finditer fullmatch match search split sub subn"
    ),
    "statistics": words("mean median mode pstdev stdev variance"),
    "_struct": words("calcsize pack unpack unpack_from iter_unpack"),
    "textwrap": words("dedent fill indent shorten wrap"),
    "time": words("sleep"),
    "zlib": words("adler32 compress crc32 decompress"),
    "_hashlib": words("openssl_md5 openssl_sha1 openssl_sha256 openssl_sha512"),
    "posix": words("fspath"),
    "os": words("fspath fsdecode fsencode"),
    "PIL.Image": words("fromarray frombytes new open"),
    "PIL.ImageOps": words("""
        autocontrast crop equalize exif_transpose expand fit flip grayscale invert
        mirror pad posterize solarize
    """),
}
# How many arguments each takes before the one that it would write into.
_CV2 = {
    **dict.fromkeys(("imread", "imdecode", "resize", "cvtColor", "flip", "rotate"), 2),
    **dict.fromkeys(("blur", "medianBlur", "transpose", "bitwise_not", "split"), 1),
    **dict.fromkeys(("GaussianBlur", "warpAffine", "warpPerspective", "filter2D"), 3),
    **dict.fromkeys(("getRotationMatrix2D", "Canny"), 3),
    **dict.fromkeys(("copyMakeBorder",), 6),
}
_NUMPY_IN_STEPS = words("prod shape ndim mean arange linspace")
_NUMPY = _NUMPY_IN_STEPS | words("""
    all allclose any append apply_along_axis argmax argmin argpartition argsort argwhere
    around array array_equal array_split asarray ascontiguousarray astype atleast_1d
    atleast_2d atleast_3d average bincount block broadcast_arrays broadcast_to ceil
    choose clip column_stack compress concatenate convolve corrcoef correlate
    count_nonzero cov cross cumprod cumsum delete diag diagonal diff digitize dot dsplit
    dstack ediff1d einsum empty empty_like errstate expand_dims extract eye fix
    flatnonzero flip fliplr flipud float_power frombuffer fromfunction fromiter
    fromstring full full_like geomspace gradient histogram hsplit hstack identity imag
    in1d indices inner insert interp intersect1d isclose iscomplexobj isin isrealobj
    isscalar kron log1p logspace matmul max median meshgrid mgrid min moveaxis
    nan_to_num nanargmax nanargmin nanmax nanmean nanmedian nanmin nanstd nansum nonzero
    ogrid ones ones_like outer packbits pad partition percentile piecewise polyfit
    polyval ptp quantile ravel real repeat require reshape resize roll rollaxis rot90
    round searchsorted select setdiff1d setxor1d size sort split squeeze stack std sum
    swapaxes take take_along_axis tensordot tile trace transpose tri tril trim_zeros
    triu union1d unique unpackbits unravel_index vander var vdot vectorize vsplit vstack
    where zeros zeros_like
""")
_OUT_AT = {"dot": 2, "concatenate": 2}  # which do not tell their signature
_NUMPY_READS = words("load fromfile loadtxt genfromtxt")
_NUMPY_ROOMS = ("numpy.linalg", "numpy.fft", "numpy.strings", "numpy.char")
_CLASSES = {
    *(collections.Counter, collections.OrderedDict, collections.deque),
    *(collections.defaultdict, io.BytesIO, io.StringIO, pathlib.Path),
    *(pathlib.PurePath, decimal.Decimal, fractions.Fraction, datetime.timedelta),
    *(datetime.date, datetime.datetime, struct.Struct, types.SimpleNamespace),
}
_MODULES = words("""
    math cmath numpy itertools functools operator struct re collections string json
    base64 zlib hashlib os binascii statistics bisect unicodedata copy textwrap html
    decimal fractions posixpath ntpath time io pathlib datetime PIL cv2 tensorflow types
    random
""")


def may_call(value: Any, *, in_steps: bool = False) -> bool:
    """Is it a function of theirs that only computes?"""
    name = name_of(value)
    if is_builtin(value):
        return name in (_BUILTINS_IN_STEPS if in_steps else _BUILTINS_IN_PYTHON)
    if _is_numpy(value):
        known = _NUMPY_IN_STEPS if in_steps else _NUMPY | _NUMPY_READS
        return isinstance(value, np.ufunc) or name in known
    home = _home(value)
    if getattr(sys.modules.get(home), name, None) is not value:
        return False
    if in_steps:
        return home == "math"
    names = _FUNCTIONS.get(home, frozenset())
    return home in _NUMPY_ROOMS or names is None or name in names


def may_make(kind: type, *, in_steps: bool = False) -> bool:
    """May objects of it be made?"""
    if is_builtin(kind):
        raised = Exception if in_steps else BaseException
        return may_call(kind, in_steps=in_steps) or issubclass(kind, raised)
    if issubclass(kind, np.generic):
        return kind.__module__ == "numpy" or (
            in_steps and kind.__module__ == "ml_dtypes"
        )
    known = kind in _CLASSES or kind in (np.dtype, np.vectorize)
    return not in_steps and (known or kind.__module__ == "itertools")


def may_name(module: types.ModuleType) -> bool:
    """What is taken from it counts."""
    return module.__name__.partition(".")[0] in _MODULES


def name_of(value: Any) -> str:
    return str(getattr(value, "__name__", ""))


def is_builtin(value: Any) -> bool:
    return vars(builtins).get(name_of(value), is_builtin) is value


def _is_numpy(value: Any) -> bool:
    return vars(np).get(name_of(value), _is_numpy) is value


def _home(value: Any) -> str:
    """The module that it belongs to."""
    owner = getattr(value, "__self__", None)
    if isinstance(owner, types.ModuleType):
        return owner.__name__
    home = str(getattr(value, "__module__", None) or "")
    if home.startswith("numpy."):
        for room in _NUMPY_ROOMS:
            if getattr(sys.modules.get(room), name_of(value), None) is value:
                return room
    return home


def reads_files(value: Any) -> bool:
    """Does it open a file by its name?"""
    return _is_numpy(value) and name_of(value) in _NUMPY_READS


def is_of_opencv(value: Any) -> bool:
    """A function of OpenCV that computes, unless it is given an array to write into."""
    cv2, name = sys.modules.get("cv2"), name_of(value)
    return cv2 is not None and getattr(cv2, name, None) is value and name in _CV2


def writes_from(value: Any) -> int | None:
    """From which position on its arguments are arrays to write into."""
    name = name_of(value)
    if is_of_opencv(value):
        return _CV2[name]
    if isinstance(value, np.ufunc):
        return int(value.nin)
    if not _is_numpy(value):
        return None
    if name in _OUT_AT:
        return _OUT_AT[name]
    try:
        parameters = list(inspect.signature(vars(np)[name]).parameters)
    except (TypeError, ValueError):
        return None
    return parameters.index("out") if "out" in parameters else None
