"""The classes of failures, by the names that expectation files use.

Accepted near misses have the id of a constraint as their class (`C3`, `I1`).
"""

from __future__ import annotations

NOT_DETERMINISTIC = "not deterministic"
"""The class of results that change when a program is executed again on the same inputs."""

ONLY_IN_BATCH = "only in batch"
"""The class of a divergence that does not show when the case is compiled in isolation."""

EVERYWHERE = ("flushed in f32",)
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

OF_SUBNORMALS = (
    "subnormal comparison", "subnormal input", "subnormal intermediate", "subnormal result",
)  # fmt: skip
"""Classes of elements that are right if subnormal numbers are zero."""

OF_ONE_OPERATION = ("double rounding",)
"""Classes that describe the backend's computation, with a different cause in each op."""

CLASSES = (
    # elements, whatever the op
    "NaN", "NaN bits", "accuracy", "double rounding", "flushed in f32", "infinity",
    "operands swapped", "other reading", "out of the function's range", "reciprocal", "saturation",
    "sign", "signed zero", *OF_SUBNORMALS, "tie rounding", "truncated to 32 bits", "wrong value",
    # elements, of some ops
    "bits that are not uniform", "distribution", "no order of the updates",
    "no permutation of the elements", "not a solution", "out of range", "upper limit reached",
    # operations of a program together
    "conversion left out",
    # results, and how they came about
    "expectation", "missing result", NOT_DETERMINISTIC, ONLY_IN_BATCH, "sizes",
    "unsigned element type", "wrong element type", "wrong shape",
    # no results
    "abort", "arithmetic exception", "device error", "illegal instruction", "internal error",
    "killed", "no answer", "out of memory", "refused as invalid", "segmentation fault",
)  # fmt: skip
