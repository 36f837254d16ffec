"""The headings of XLA's operation semantics page, and the ops of each.

Source: the newest version of the page; differences of older versions are noted.
"""

from __future__ import annotations

_INTERNAL = "may appear in dumps of HLO; the page says that nobody builds it by hand"
_LAYOUT = (
    "says how elements lie in memory, and nothing of their values; StableHLO has no place for it, "
    "and inputs and results of programs here have the backend's own layout"
)
_PART = "a part of what XlaBuilder's call is decomposed into within XLA"

_SEVERAL: dict[str, tuple[str, ...]] = {
    name: (name, f"{name}TotalOrder") for name in ("Eq", "Ne", "Ge", "Gt", "Le", "Lt")
} | {
    "Reshape": ("Reshape", "Reshape (ordered)"),
    "Select": ("Select", "Select (tuples)"),
}

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
    "Rev", "RngBernoulli", "RngNormal", "RngUniform", "RngBitGenerator", "Round",
    "RoundNearestAfz", "RoundNearestEven", "Rsqrt", "ScaledDot", "Scan", "Scatter", "Select",
    "SelectAndScatter", "Send", "SetDimensionSize", "ShiftLeft", "ShiftRightArithmetic",
    "ShiftRightLogical", "Sign", "Sin", "Slice", "Sort", "Sqrt", "Sub", "Tan", "Tanh",
    "TopK", "Transpose", "TriangularSolve", "Tuple", "While", "Xor",
)  # fmt: skip

HEADINGS: dict[str, tuple[str, ...]] = {
    **{name: _SEVERAL.get(name, (name,)) for name in _OPS},
    "Reshape (explicit)": ("Reshape (explicit)",),
}
"""The ops of each heading that has any."""

UNSUPPORTED_HEADINGS: dict[str, str] = {
    "AddDependency": _INTERNAL,
    "AllGather, AllToAll, ReduceScatter: layout": _LAYOUT,
    "AllGatherStart, AllGatherDone": _PART,
    "AllReduce, Outfeed: shape_with_layout": _LAYOUT,
    "AllReduceStart, AllReduceDone": _PART,
    "AsyncStart, AsyncUpdate, AsyncDone": _INTERNAL,
    "Bitcast": _INTERNAL,
    "CollectivePermute: inplace": "says in which buffer the result is, and nothing of its values; "
    "StableHLO has no place for it",
    "CollectivePermuteStart, CollectivePermuteDone": _PART,
    "Compare": "stands for Eq, Ne, Ge, Gt, Le and Lt, which have headings of their own",
    "Copy, CopyStart, CopyDone": _INTERNAL,
    "Domain": _INTERNAL,
    "Fusion": _INTERNAL,
    "Infeed: the layout of its shape": _LAYOUT,
    "Map: static_operands": "XlaBuilder answers that it does not support them, and the page's own "
    "signature has no place for them",
    "Parameter": "the argument of a computation: what every program here has",
    "RecvDone": _PART,
    "RngGetAndUpdateState": _INTERNAL,
    "SetDimensionSize, DynamicReshape: results of bounded sizes": "jaxlib returns buffers of the "
    "bound, and not the size: what these ops leave is looked at within the program instead (its "
    "size, some of its elements, all of them added up), in the cells of both",
    "SendDone": _PART,
    "Sort(operand), without a comparator": "on an older version of the page alone, which says "
    "neither in which order nor along which dimension; Sort with a comparator says both",
}
"""Headings, or parts of a heading's text, without an op, and the reason."""
