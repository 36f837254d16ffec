"""The headings of XLA's operation semantics page, and the ops that each of them is.

Source: the newest version of the page; where older ones differ, that is said.
"""

from __future__ import annotations

_INTERNAL = "may appear in dumps of HLO; the page says that nobody builds it by hand"
_PART = "a part of what XlaBuilder's call is decomposed into within XLA"

_SEVERAL: dict[str, tuple[str, ...]] = {
    name: (name, f"{name}TotalOrder") for name in ("Eq", "Ne", "Ge", "Gt", "Le", "Lt")
} | {"Select": ("Select", "Select (tuples)")}

_OPS = (
    "Abs", "Add", "AfterAll", "AllGather", "AllReduce", "CrossReplicaSum", "AllToAll", "And",
    "Atan2", "BatchNormGrad", "BatchNormInference", "BatchNormTraining", "BitcastConvertType",
    "Broadcast", "BroadcastInDim", "Call", "CompositeCall", "Cbrt", "Ceil", "Cholesky", "Clamp",
    "Collapse", "Clz", "CollectiveBroadcast", "CollectivePermute", "Eq", "Ne", "Ge", "Gt", "Le",
    "Lt", "Complex", "ConcatInDim", "Conditional", "Constant", "ConvertElementType", "Conv",
    "ConvWithGeneralPadding", "ConvWithGeneralDimensions", "ConvGeneral", "ConvGeneralDilated",
    "Cos", "Cosh", "CustomCall", "Div", "Dot", "DotGeneral", "DynamicReshape", "DynamicSlice",
    "DynamicUpdateSlice", "Erf", "Exp", "Expm1", "Fft", "Floor", "Gather", "GetDimensionSize",
    "GetTupleElement", "Imag", "Infeed", "Iota", "IsFinite", "Log", "Log1p", "Logistic", "Map",
    "Max", "Min", "Mul", "Neg", "Not", "OptimizationBarrier", "Or", "Outfeed", "Pad",
    "PartitionID", "PopulationCount", "Pow", "RaggedAllToAll", "RaggedDot", "Real", "Recv",
    "Reduce", "ReducePrecision", "ReduceScatter", "ReduceWindow", "Rem", "ReplicaId", "Reshape",
    "Rev", "RngNormal",
    "RngUniform", "RngBitGenerator", "Round", "RoundNearestAfz", "RoundNearestEven", "Rsqrt",
    "Scan", "Scatter", "Select", "SelectAndScatter", "Send", "SetDimensionSize", "ShiftLeft",
    "ShiftRightArithmetic", "ShiftRightLogical", "Sign", "Sin", "Slice", "Sort", "Sqrt", "Sub",
    "Tan", "Tanh", "TopK", "Transpose", "TriangularSolve", "Tuple", "While", "Xor",
)  # fmt: skip

HEADINGS: dict[str, tuple[str, ...]] = {
    **{name: _SEVERAL.get(name, (name,)) for name in _OPS},
    "Reshape (explicit)": ("Reshape (explicit)",),
}
"""The ops of each heading of which there are any."""

_BOUNDED = (
    "sizes below a bound, which SetDimensionSize and DynamicReshape may give, do not come out of "
    "jaxlib, which returns buffers of the bound: cases of one op have static results; `check` "
    "reads programs of several whose results are static, and a test has the page's example"
)
LEFT_OUT: dict[str, str] = {
    "AddDependency": _INTERNAL,
    "AllGatherStart, AllGatherDone": _PART,
    "AllReduceStart, AllReduceDone": _PART,
    "AsyncStart, AsyncUpdate, AsyncDone": _INTERNAL,
    "Bitcast": _INTERNAL,
    "CollectivePermuteStart, CollectivePermuteDone": _PART,
    "Compare": "stands for Eq, Ne, Ge, Gt, Le and Lt, which have headings of their own",
    "Copy, CopyStart, CopyDone": _INTERNAL,
    "Domain": _INTERNAL,
    "Fusion": _INTERNAL,
    "Parameter": "the argument of a computation: what every program here has",
    "RecvDone": _PART,
    "RngBernoulli": "stands on an older page only: XlaBuilder has no such call any more",
    "RngGetAndUpdateState": _INTERNAL,
    "ScaledDot": "the page says that it is like DotGeneral, and not what the scales do: how they "
    "meet operands of other sizes, in which type, and what is rounded; jax writes it as a "
    "composite that brings its own decomposition (xla.scaled_dot), which `check` reads and judges",
    "SetDimensionSize, DynamicReshape: bounded sizes": _BOUNDED,
    "SendDone": _PART,
}
"""Headings, or parts of what one says, without an op: the reason."""
