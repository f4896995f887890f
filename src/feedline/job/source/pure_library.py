"""What pure Python may use of Python, NumPy, TensorFlow and libraries for images: a
closed list.

Everything here gives the same for the same arguments and changes nothing. What is not
listed may print, write, count, draw or change its arguments, and is taken to do so. A
thing is known by what it is, not by the name that the script has for it.
"""

from __future__ import annotations

import builtins
import collections
import datetime
import decimal
import fractions
import inspect
import io
import math
import pathlib
import re
import struct
import sys
import types
from typing import Any

import numpy as np

from feedline.job.source import allowed

WRITTEN = ("out", "dst", "file", "mask_out")
"""Names of arguments that a function writes into."""

PLAIN = (
    *(bool, int, float, complex, str, bytes, type(None), type(...), slice, range),
    *(decimal.Decimal, fractions.Fraction, datetime.date, datetime.datetime),
    *(datetime.timedelta, re.Pattern, struct.Struct, np.dtype),
    *(pathlib.PurePosixPath, pathlib.PureWindowsPath, pathlib.PosixPath),
    pathlib.WindowsPath,
)
"""Objects that never change."""

CONTAINERS = (
    *(list, dict, set, frozenset, tuple, collections.OrderedDict, collections.Counter),
    *(collections.deque, types.MappingProxyType),
)
"""Objects that may be read. A `defaultdict` is none: to ask it is to change it."""

NAMESPACES = ("argparse.Namespace", "types.SimpleNamespace")
"""Classes of libraries whose objects only hold attributes."""

_BUILTINS = {
    *("abs", "all", "any", "ascii", "bin", "bool", "bytearray", "bytes", "callable"),
    *("chr", "complex", "dict", "divmod", "enumerate", "filter", "float", "format"),
    *("frozenset", "hex", "int", "isinstance", "issubclass", "len", "list", "map"),
    *("max", "memoryview", "min", "oct", "ord", "pow", "range", "repr", "reversed"),
    *("round", "set", "slice", "sorted", "str", "sum", "tuple", "zip"),
}
_FUNCTIONS: dict[str, set[str] | None] = {
    **dict.fromkeys(("math", "cmath", "unicodedata", "binascii", "html"), None),
    "_bisect": {"bisect", "bisect_left", "bisect_right"},
    "base64": {"b64decode", "b64encode", "b32decode", "b32encode", "b16decode"},
    "copy": {"copy", "deepcopy"},
    "functools": {"reduce"},
    "_functools": {"reduce"},
    "genericpath": {"commonprefix"},
    "json": {"loads", "dumps"},
    "operator": {"add", "and_", "attrgetter", "eq", "floordiv", "ge", "getitem", "gt"}
    | {"itemgetter", "le", "lt", "mod", "mul", "ne", "neg", "or_", "sub", "truediv"},
    "posixpath": {"basename", "dirname", "join", "normpath", "split", "splitext"},
    "ntpath": {"basename", "dirname", "join", "normpath", "split", "splitext"},
    "re": {"compile", "escape", "findall", "finditer", "fullmatch", "match", "search"}
    | {"split", "sub", "subn"},
    "statistics": {"mean", "median", "mode", "pstdev", "stdev", "variance"},
    "_struct": {"calcsize", "pack", "unpack", "unpack_from", "iter_unpack"},
    "textwrap": {"dedent", "fill", "indent", "shorten", "wrap"},
    "time": {"sleep"},
    "zlib": {"adler32", "compress", "crc32", "decompress"},
    "_hashlib": {"openssl_md5", "openssl_sha1", "openssl_sha256", "openssl_sha512"},
    "posix": {"fspath"},
    "os": {"fspath", "fsdecode", "fsencode"},
    "PIL.Image": {"fromarray", "frombytes", "new", "open"},
    "PIL.ImageOps": {"autocontrast", "crop", "equalize", "exif_transpose", "expand"}
    | {"fit", "flip", "grayscale", "invert", "mirror", "pad", "posterize", "solarize"},
}
_FUNCTIONS["_operator"] = _FUNCTIONS["operator"]
# How many arguments each takes before the one that it would write into.
_CV2 = {
    **dict.fromkeys(("imread", "imdecode", "resize", "cvtColor", "flip", "rotate"), 2),
    **dict.fromkeys(("blur", "medianBlur", "transpose", "bitwise_not", "split"), 1),
    **dict.fromkeys(("GaussianBlur", "warpAffine", "warpPerspective", "filter2D"), 3),
    **dict.fromkeys(("getRotationMatrix2D", "Canny"), 3),
    **dict.fromkeys(("copyMakeBorder",), 6),
}
_NUMPY = {
    *("all", "allclose", "any", "append", "arange", "argmax", "argmin", "argpartition"),
    *(
        "argsort",
        "argwhere",
        "around",
        "array",
        "array_equal",
        "array_split",
        "asarray",
    ),
    *("ascontiguousarray", "astype", "atleast_1d", "atleast_2d", "atleast_3d"),
    *("average", "bincount", "block", "broadcast_arrays", "broadcast_to", "ceil"),
    *("choose", "clip", "column_stack", "compress", "concatenate", "convolve"),
    *("corrcoef", "correlate", "count_nonzero", "cov", "cross", "cumprod", "cumsum"),
    *("delete", "diag", "diagonal", "diff", "digitize", "dot", "dsplit", "dstack"),
    *("ediff1d", "einsum", "empty", "empty_like", "expand_dims", "extract", "eye"),
    *("fix", "flatnonzero", "flip", "fliplr", "flipud", "frombuffer", "fromiter"),
    *("fromstring", "full", "full_like", "geomspace", "gradient", "histogram"),
    *("hsplit", "hstack", "identity", "imag", "in1d", "indices", "inner", "insert"),
    *("interp", "intersect1d", "isclose", "iscomplexobj", "isin", "isrealobj"),
    *("isscalar", "kron", "linspace", "log1p", "logspace", "matmul", "max", "mean"),
    *("median", "meshgrid", "mgrid", "min", "moveaxis", "nan_to_num", "nanargmax"),
    *("nanargmin", "nanmax", "nanmean", "nanmedian", "nanmin", "nanstd", "nansum"),
    *("ndim", "nonzero", "ogrid", "ones", "ones_like", "outer", "packbits", "pad"),
    *("partition", "percentile", "piecewise", "polyfit", "polyval", "prod", "ptp"),
    *("quantile", "ravel", "real", "repeat", "require", "reshape", "resize", "roll"),
    *("rollaxis", "rot90", "round", "searchsorted", "select", "setdiff1d", "setxor1d"),
    *("shape", "size", "sort", "split", "squeeze", "stack", "std", "sum", "swapaxes"),
    *("take", "take_along_axis", "tensordot", "tile", "trace", "transpose", "tri"),
    *("tril", "trim_zeros", "triu", "union1d", "unique", "unpackbits", "unravel_index"),
    *("vander", "var", "vdot", "vectorize", "vsplit", "vstack", "where", "zeros"),
    *("zeros_like", "apply_along_axis", "fromfunction", "errstate", "float_power"),
}
_OUT_AT = {"dot": 2, "concatenate": 2}  # which do not tell their signature
_NUMPY_READS = {"load", "fromfile", "loadtxt", "genfromtxt"}
_NUMPY_ROOMS = ("numpy.linalg", "numpy.fft", "numpy.strings", "numpy.char")
_CLASSES = {
    *(collections.Counter, collections.OrderedDict, collections.deque),
    *(collections.defaultdict, io.BytesIO, io.StringIO, pathlib.Path),
    *(pathlib.PurePath, decimal.Decimal, fractions.Fraction, datetime.timedelta),
    *(datetime.date, datetime.datetime, struct.Struct, types.SimpleNamespace),
}

METHODS = frozenset(
    {
        # of arrays and tensors
        *("all", "any", "argmax", "argmin", "argsort", "astype", "choose", "clip"),
        *("conj", "conjugate", "copy", "cumprod", "cumsum", "diagonal", "dot"),
        *("flatten", "item", "max", "mean", "min", "nonzero", "numpy", "prod", "ptp"),
        *("ravel", "repeat", "reshape", "round", "searchsorted", "squeeze", "std"),
        *("sum", "swapaxes", "take", "tobytes", "tolist", "trace", "transpose", "var"),
        *("view", "get_shape", "as_list", "is_integer", "bit_length", "to_bytes"),
        # of text and bytes
        *("capitalize", "casefold", "center", "count", "decode", "encode", "endswith"),
        *("expandtabs", "find", "format", "format_map", "hex", "index", "isalnum"),
        *("isalpha", "isascii", "isdecimal", "isdigit", "isidentifier", "islower"),
        *("isnumeric", "isprintable", "isspace", "istitle", "isupper", "join", "ljust"),
        *("lower", "lstrip", "partition", "removeprefix", "removesuffix", "replace"),
        *("rfind", "rindex", "rjust", "rpartition", "rsplit", "rstrip", "split"),
        *("splitlines", "startswith", "strip", "swapcase", "title", "translate"),
        *("upper", "zfill", "maketrans"),
        # of lists, dicts and sets, which these only read
        *("items", "keys", "values", "get", "union", "intersection", "difference"),
        *("issubset", "issuperset", "isdisjoint", "symmetric_difference"),
        *("most_common", "elements"),
        # of patterns, hashes, structs, paths and images
        *("findall", "finditer", "fullmatch", "group", "groups", "match", "search"),
        *("span", "start", "end", "sub", "digest", "hexdigest", "unpack", "pack"),
        *("with_suffix", "with_name", "joinpath", "relative_to", "as_posix"),
        *("convert", "crop", "filter", "getbbox", "getchannel", "getdata", "getpixel"),
        *("resize", "rotate", "transform", "getvalue", "isoformat", "toordinal"),
        *("total_seconds", "weekday", "is_absolute"),
    }
)
"""Methods that change nothing, of whatever the listed libraries give."""

"""Methods of a file that the function opened itself."""

PATHS_READ = frozenset({"read_bytes", "read_text"})

ATTRIBUTES = frozenset(
    {
        *("T", "dtype", "flat", "imag", "itemsize", "nbytes", "ndim", "real", "shape"),
        *("size", "strides", "height", "width", "mode", "info", "format", "name"),
        *("parent", "parents", "parts", "stem", "suffix", "suffixes", "rank", "dims"),
        *("pattern", "string", "pos", "year", "month", "day", "numerator"),
        *("denominator", "start", "stop", "step", "char", "kind", "names", "fields"),
    }
)
"""Attributes of the same that are values."""


def is_pure_function(value: Any) -> bool:
    """Is it a function of theirs that only computes?"""
    name = str(getattr(value, "__name__", ""))
    if getattr(builtins, name, None) is value:
        return name in _BUILTINS
    if isinstance(value, np.ufunc):
        return vars(np).get(name) is value
    if vars(np).get(name) is value and name in _NUMPY | _NUMPY_READS:
        return True
    home = _home(value)
    if home in _NUMPY_ROOMS:
        return True
    if home in _FUNCTIONS:
        names = _FUNCTIONS[home]
        return names is None or name in names
    return home.partition(".")[0] == "tensorflow" and _is_pure_tensorflow(value)


def _home(value: Any) -> str:
    owner = getattr(value, "__self__", None)
    if isinstance(owner, types.ModuleType):
        return owner.__name__
    home = str(getattr(value, "__module__", None) or "")
    if home.startswith("numpy."):
        for room in _NUMPY_ROOMS:
            module = sys.modules.get(room)
            if getattr(module, str(getattr(value, "__name__", "")), None) is value:
                return room
    return home


def _is_pure_tensorflow(value: Any) -> bool:
    """One that a step may call too, and that draws nothing."""
    from feedline.job.private.tensorflow import tf_export

    path = str(tf_export.get_canonical_name_for_symbol(value, "tensorflow") or "")
    drawing = "random" in path or "dropout" in path or "sampler" in path
    return bool(path) and not drawing and allowed.may_call(value)


def reads_files(value: Any) -> bool:
    """Does it open a file by its name?"""
    name = str(getattr(value, "__name__", ""))
    return vars(np).get(name) is value and name in _NUMPY_READS


def is_of_opencv(value: Any) -> bool:
    """A function of OpenCV that computes, unless it is given an array to write into."""
    cv2 = sys.modules.get("cv2")
    name = str(getattr(value, "__name__", ""))
    return cv2 is not None and getattr(cv2, name, None) is value and name in _CV2


def writes_from(value: Any) -> int | None:
    """From which position on its arguments are arrays to write into."""
    name = str(getattr(value, "__name__", ""))
    if is_of_opencv(value):
        return _CV2[name]
    if isinstance(value, np.ufunc):
        return value.nin
    if vars(np).get(name) is not value:
        return None
    if name in _OUT_AT:
        return _OUT_AT[name]
    try:
        parameters = list(inspect.signature(vars(np)[name]).parameters)
    except (TypeError, ValueError):
        return None
    return parameters.index("out") if "out" in parameters else None


def is_pure_class(kind: type) -> bool:
    """May objects of it be made?"""
    if getattr(builtins, kind.__name__, None) is kind:
        return kind.__name__ in _BUILTINS or issubclass(kind, BaseException)
    if issubclass(kind, np.generic) or kind is np.dtype:
        return kind.__module__ == "numpy"
    return kind in _CLASSES or kind is np.vectorize or kind.__module__ == "itertools"


def is_module(module: types.ModuleType) -> bool:
    """May be named; what is taken from it counts."""
    return module is math or module.__name__.partition(".")[0] in {
        *("math", "cmath", "numpy", "itertools", "functools", "operator", "struct"),
        *("re", "collections", "string", "json", "base64", "zlib", "hashlib", "os"),
        *("binascii", "statistics", "bisect", "unicodedata", "copy", "textwrap"),
        *("html", "decimal", "fractions", "posixpath", "ntpath", "time", "io"),
        *("pathlib", "datetime", "PIL", "cv2", "tensorflow", "types", "random"),
    }
