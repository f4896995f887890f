"""Operations of TensorFlow by what can be done with them, as plain lists.

An operation in no list is one of which nothing is promised.
"""

from __future__ import annotations


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Each result from numbers at the same place; NumPy's rules for unequal shapes.
_EXACT_BROADCAST = _names(
    """AddV2 Add Sub Mul Div RealDiv DivNoNan MulNoNan TruncateDiv FloorDiv FloorMod
    TruncateMod Mod Maximum Minimum Equal NotEqual Less LessEqual Greater GreaterEqual
    LogicalAnd LogicalOr BitwiseAnd BitwiseOr BitwiseXor LeftShift RightShift
    SquaredDifference SelectV2 NextAfter Complex"""
)
# Rounded: the last bits may depend on how many numbers lie side by side, as in sums,
# products of matrices, and what is computed by a polynomial for eight numbers at once
# and by another for the odd ones left over.
_ROUNDED_BROADCAST = _names("Pow Atan2 Xdivy Xlogy Xlog1py")
BROADCAST = _EXACT_BROADCAST | _ROUNDED_BROADCAST

# Each result from the number or string at the same place in the first input. The
# other inputs (a pattern, a table, a range) are the same for all.
_EXACT_UNARY = _names(
    """Cast Abs Neg Sign Square Sqrt Reciprocal Inv Relu Relu6 LeakyRelu Floor Ceil Rint
    Round LogicalNot Invert IsNan IsInf IsFinite Identity StopGradient PreventGradient
    Real Imag Conj ComplexAbs ZerosLike OnesLike Bucketize CheckNumerics Bitcast
    StringLower StringUpper StringStrip StringLength StringToHashBucket
    StringToHashBucketFast StringToHashBucketStrong StringToNumber AsString
    StaticRegexReplace StaticRegexFullMatch RegexReplace RegexFullMatch EncodeBase64
    DecodeBase64 DecodeCompressed UnicodeTranscode UnicodeScript DecodeRaw
    DecodePaddedRaw RGBToHSV HSVToRGB Substr ClipByValue"""
)
_ROUNDED_UNARY = _names(
    """Exp Expm1 Log Log1p Sin Cos Tan Asin Acos Atan Sinh Cosh Tanh Asinh Acosh Atanh
    Sigmoid Softplus Softsign Elu Selu Erf Erfc Erfinv Lgamma Digamma Rsqrt"""
)
FIRST_INPUT = _EXACT_UNARY | _ROUNDED_UNARY

RESHAPES = frozenset({"Reshape", "ExpandDims", "Squeeze", "EnsureShape"})
SHAPES = frozenset({"Shape", "ShapeN", "Size", "Rank"})
PICTURES = frozenset(
    {"ResizeBilinear", "ResizeNearestNeighbor", "ResizeBicubic", "ResizeArea"}
)

_EXACT_CONVERTED = _names(
    """GatherV2 GatherNd Slice StridedSlice Pack Unpack ConcatV2 Split SplitV Transpose
    ReverseV2 Tile Pad PadV2 BroadcastTo Roll OneHot Max Min All Any ArgMax ArgMin Fill
    Select AddN IdentityN DepthToSpace SpaceToDepth MatrixBandPart MatrixDiagV3
    MatrixDiagPartV3 DecodeCSV ParseSingleExample TopKV2 LowerBound UpperBound
    MaxPool"""
)
_ROUNDED_CONVERTED = _names(
    """Sum Mean Prod Cumsum Cumprod MatMul BatchMatMul BatchMatMulV2 Einsum BiasAdd
    Conv2D DepthwiseConv2dNative AvgPool Softmax LogSoftmax AdjustContrastv2 AdjustHue
    AdjustSaturation"""
)
CONVERTED = _EXACT_CONVERTED | _ROUNDED_CONVERTED

GUARD = frozenset({"Assert", "Identity", "NoOp", "Const", "Placeholder"})

# These check what is in a tensor.
_CHECKS_VALUES = _names(
    """CheckNumerics StringToNumber DecodeBase64 DecodeCompressed DecodeRaw Substr
    DecodePaddedRaw UnicodeTranscode UnicodeScript RegexReplace RegexFullMatch
    ClipByValue Pow"""
)
DIVIDES = _names("Div TruncateDiv FloorDiv FloorMod TruncateMod Mod")
NEVER_FAIL = (BROADCAST | FIRST_INPUT) - _CHECKS_VALUES - DIVIDES
NEVER_FAIL |= _names("Const Placeholder NoOp Shape ShapeN Size Rank OneHot")

# Shapes and constants decide, and they are known since tracing.
NEVER_FAIL_IF_STATIC = _names(
    """Reshape ExpandDims Squeeze EnsureShape Pack Unpack ConcatV2 Split SplitV
    Transpose ReverseV2 Tile Pad PadV2 BroadcastTo Slice StridedSlice Fill Range Sum
    Mean Prod Max Min All Any ArgMax ArgMin Cumsum MatMul BatchMatMulV2 BiasAdd Softmax
    LogSoftmax
    ResizeBilinear ResizeNearestNeighbor ResizeBicubic ResizeArea Conv2D Select AddN
    IdentityN StringJoin AdjustContrastv2 AdjustHue AdjustSaturation"""
)
ALL_DATA = _names("Pack ConcatV2 AddN IdentityN StringJoin")
