"""The classes of failures, by the names that expectation files use.

Accepted near misses have the id of a constraint as their class (`C3`, `I1`).
"""

from __future__ import annotations

NOT_DETERMINISTIC = "not deterministic"
"""The class of results that change when a program is executed again on the same inputs."""

EVERYWHERE = (
    # values that are taken for others
    "flushed in f32", "kept in eight bits", "NaN taken for infinity", "taken for iota",
    "two bits beside a negative constant", "zero left out", "f64 as pairs of f32",
    # what code is generated for types, and for operations that follow each other
    "digits cancelled", "exponential taken into a sum unrounded",
    "operands rounded to the result's type", "order by the real part alone",
    "overflow or underflow on the way", "product taken into a sum unrounded",
    "quotient taken into a sum unrounded", "result rounded to the operands' type",
    "sums kept in bf16",
)  # fmt: skip
"""Classes that have the same cause in every operation, whatever makes the divergence disappear."""

ANY_BITS = (
    "NaN", "NaN bits", "bits that are not uniform", "distribution", "infinity",
    "no order of the updates", "no permutation of the elements", "not a solution", "out of range",
    "out of the function's range", "saturation", "sign", "signed zero", "wrong value",
)  # fmt: skip
"""Classes of elements that are explained by arbitrary bits in memory."""

UNEXPLAINED = (
    *ANY_BITS, "accuracy", "expectation", "missing result", "no answer", NOT_DETERMINISTIC,
    "only in batch", "sizes", "wrong element type", "wrong shape",
)  # fmt: skip
"""Classes that describe how results are wrong but predict nothing."""

UNPREDICTED = frozenset(UNEXPLAINED) - {NOT_DETERMINISTIC, "no answer", "only in batch"}
"""Classes of wrong results that no class predicts, which rewritings may explain."""

OF_ONE_OPERATION = ("double rounding", "of a subnormal operand")
"""Classes that describe the backend's computation, with a different cause in each op."""

CLASSES = (
    # elements, whatever the op
    "NaN", "NaN bits", "accuracy", "double rounding", "flushed in f32", "infinity",
    "operands swapped", "other reading", "out of the function's range", "reciprocal", "saturation",
    "sign", "signed zero", "subnormal comparison", "subnormal input", "subnormal intermediate",
    "subnormal result", "taken for iota", "tie rounding", "truncated to 32 bits", "wrong value",
    # elements, of some ops
    "base for the power", "batch groups added up",
    "batch groups masked by products", "batching dimensions rotated", "bits that are not uniform",
    "body in the operands' type", "bound that the index type has no room for",
    "bytes reduced as words", "canonical NaN",
    "device_ids of a mesh ignored", "digits cancelled", "dilation left out",
    "dimension counted from the last", "distribution",
    "dropped window read elsewhere", "elements of a byte not written",
    "elements of a shared byte not sorted", "elements of two bits sorted as bytes",
    "exponent cut to six bits", "f64 as pairs of f32",
    "first pair of a byte read for the second", "first updates sent",
    "feature groups masked by products",
    "gathered along the first dimension", "gathered by a sum", "image read beyond its end",
    "index truncated to 32 bits", "index vectors of no components",
    "integers added up in float64", "kernel dilated with zeros", "largest number for an overflow",
    "logarithm of few digits", "memory behind the operand transformed",
    "NaN for a zero of f8E8M0FNU",
    "NaN left out", "NaN sorted as the largest number", "NaN taken for infinity",
    "NaN truncated to infinity",
    "no order of the updates",
    "no permutation of the elements", "of a subnormal operand", "one element a byte",
    "one truth value a byte",
    "offset clamped as a whole",
    "operands rounded to the result's type", "operands taken for parts",
    "order by the real part alone", "order of the codes", "order of the elements",
    "order of the process group", "order of the tiles", "out of range",
    "overflow of three products", "overflow or underflow on the way", "padding left out",
    "padding multiplied by the image", "pair of elements stored as a byte",
    "product with an inverse",
    "products added twice", "products rounded before they are added",
    "products with padding left out", "remainder of random bits",
    "result rounded to the operands' type", "reversal left out",
    "rounded product", "selected by a product",
    "negative constant compared without its sign", "rounded in a small loop", "rounded up in f16",
    "shifted right with its sign",
    "sign over the elements above", "signs of two bits over the elements after them",
    "six bits read as a byte", "source without elements",
    "stated algorithm not kept", "subnormal taken for -0", "summed from +0", "sums kept in bf16",
    "sums kept in f16",
    "total order not kept", "transform of a part", "transformed convolution",
    "two results in one buffer", "two transforms as one",
    "unsigned index taken for signed", "update copied in whole bytes", "upper limit reached",
    "window out of bounds in part",
    "zero left out", "zeros taken for equal", "zeros taken for equal in a body",
    # elements, on StableHLO's interpreter
    "bits of another format", "constant over the largest number",
    "direct sum of a transform", "function of the C library",
    "group sizes of the first dimensions",
    "products added one by one", "textbook formula",
    "zero point subtracted in 32 bits",
    # operations of a program together
    "+0 for zeros before a reduction", "other operand for NaN before a reduction",
    "angle of zeros as a quotient",
    "columns of a product taken from before", "common factor taken out of a sum",
    "constants added first", "constants multiplied first",
    "conversion left out", "counter after one iteration", "disjunction with itself as false",
    "cut element reduced",
    "difference undone", "ended after one iteration", "exponent of one bit less ignored",
    "exponential of a constant NaN", "exponential taken into a sum unrounded",
    "first of a sort in total order",
    "initial value of a loop left out",
    "kept in eight bits", "kept in f16", "kept in f32",
    "logarithm of a power as a product", "logarithm of an exponential as its argument",
    "negation moved out of a sum", "not a solution",
    "one padded element for every window",
    "padding reshaped", "power of an exponential as one", "product of exponentials as one",
    "product taken into a sum unrounded", "products with parts added",
    "quotient by a power as a product", "quotient by a root as a product",
    "logistic taken apart in a quotient", "magnitude left out of a maximum",
    "quotient by an exponential as a product",
    "quotient taken into a sum unrounded", "quotients made one", "reductions made one",
    "root of a square as a magnitude",
    "start added to a reversal's", "start clamped to the bound", "starts added up",
    "sum of products taken apart",
    "taken for not negative", "truth value as a selection", "turns miscounted",
    "two bits beside a negative constant", "update read while it is written",
    "what a pad cut off under windows", "windows miscounted",
    # results, and how they came about
    "expectation", "missing result", NOT_DETERMINISTIC, "only in batch", "sizes",
    "unsigned element type", "wrong element type", "wrong shape",
    # no results
    "abort", "arithmetic exception", "bus error", "device error", "illegal instruction",
    "internal error", "killed", "no answer", "out of memory", "refused as invalid",
    "segmentation fault",
)  # fmt: skip
