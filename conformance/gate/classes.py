"""The classes of failures, by the names that expectation files use.

Accepted near misses have the id of a constraint as their class (`C3`, `I1`).
"""

from __future__ import annotations

NOT_DETERMINISTIC = "not deterministic"
"""The class of results that change when a program is executed again on the same inputs."""

ONLY_IN_BATCH = "only in batch"
"""The class of a divergence that does not show when the case is compiled in isolation."""

EVERYWHERE = (
    "exponential taken into a sum unrounded", "flushed in f32", "kept in eight bits",
    "product taken into a sum unrounded", "quotient taken into a sum unrounded", "taken for iota",
    "two bits beside a negative constant",
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
    ONLY_IN_BATCH, "sizes", "wrong element type", "wrong shape",
)  # fmt: skip
"""Classes that describe how results are wrong but predict nothing."""

UNPREDICTED = frozenset(UNEXPLAINED) - {NOT_DETERMINISTIC, "no answer", ONLY_IN_BATCH}
"""Classes of wrong results that no class predicts, which rewritings may explain."""

OF_ONE_OPERATION = ("double rounding",)
"""Classes that describe the backend's computation, with a different cause in each op."""

CLASSES = (
    # elements, whatever the op
    "NaN", "NaN bits", "accuracy", "double rounding", "flushed in f32", "infinity",
    "operands swapped", "other reading", "out of the function's range", "reciprocal", "saturation",
    "sign", "signed zero", "subnormal comparison", "subnormal input", "subnormal intermediate",
    "subnormal result", "taken for iota", "tie rounding", "truncated to 32 bits", "wrong value",
    # elements, of some ops
    "bits that are not uniform", "distribution", "no order of the updates",
    "no permutation of the elements", "not a solution", "out of range", "upper limit reached",
    # operations of a program together
    "+0 for zeros before a reduction", "angle of zeros as a quotient",
    "columns of a product taken from before", "common factor taken out of a sum",
    "constants added first", "constants multiplied first", "conversion left out",
    "difference undone", "disjunction with itself as false", "exponent of one bit less ignored",
    "exponential of a constant NaN", "exponential taken into a sum unrounded",
    "first of a sort in total order", "kept in eight bits", "kept in f16", "kept in f32",
    "logarithm of a power as a product", "logarithm of an exponential as its argument",
    "logistic taken apart in a quotient", "magnitude left out of a maximum",
    "negation moved out of a sum", "one padded element for every window",
    "other operand for NaN before a reduction", "power of an exponential as one",
    "product of exponentials as one", "product taken into a sum unrounded",
    "products with parts added", "quotient by a power as a product",
    "quotient by a root as a product", "quotient by an exponential as a product",
    "quotient taken into a sum unrounded", "quotients made one", "reductions made one",
    "root of a square as a magnitude", "starts added up", "sum of products taken apart",
    "taken for not negative", "truth value as a selection", "two bits beside a negative constant",
    "update read while it is written", "what a pad cut off under windows", "zeros taken for equal",
    # results, and how they came about
    "expectation", "missing result", NOT_DETERMINISTIC, ONLY_IN_BATCH, "sizes",
    "unsigned element type", "wrong element type", "wrong shape",
    # no results
    "abort", "arithmetic exception", "bus error", "device error", "illegal instruction",
    "internal error", "killed", "no answer", "out of memory", "refused as invalid",
    "segmentation fault",
)  # fmt: skip
