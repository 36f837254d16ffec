"""The classes of failures, by the names that expectation files use.

Accepted near misses have the id of a constraint as their class (`C3`, `I1`).
"""

from __future__ import annotations

NOT_DETERMINISTIC = "not deterministic"
"""The class of results that change when a program is executed again on the same inputs."""

ONLY_IN_BATCH = "only in batch"
"""The class of a divergence that does not show when the case is compiled in isolation."""

FLUSHED = "flushed"
"""The class of elements that are right if subnormal numbers are zero."""

ANY_BITS = (
    "NaN", "NaN bits", "distribution", "infinity", "no possible order", "not a solution",
    "out of range", "saturation", "sign", "signed zero", "wrong value",
)  # fmt: skip
"""Classes of elements that are explained by arbitrary bits in memory."""

UNEXPLAINED = (
    *ANY_BITS, "accuracy", "expectation", "no answer", NOT_DETERMINISTIC, ONLY_IN_BATCH,
    "wrong type",
)  # fmt: skip
"""Classes that describe how results are wrong but predict nothing."""

UNPREDICTED = frozenset(UNEXPLAINED) - {NOT_DETERMINISTIC, "no answer", ONLY_IN_BATCH}
"""Classes of wrong results that no class predicts, which rewritings may explain."""

OF_ONE_OPERATION = ("double rounding",)
"""Classes that describe the backend's computation, with a different cause in each op."""

CLASSES = (
    # elements, whatever the op
    "NaN", "NaN bits", "accuracy", "double rounding", FLUSHED, "infinity", "operands swapped",
    "out of range", "reciprocal", "saturation", "sign", "signed zero", "tie rounding",
    "truncated to 32 bits", "wrong value",
    # elements, of some ops
    "distribution", "no possible order", "not a solution", "upper limit reached",
    # operations of a program together
    "conversion left out",
    # results, and how they came about
    "expectation", NOT_DETERMINISTIC, ONLY_IN_BATCH, "unsigned element type", "wrong type",
    # no results
    "abnormal exit", "internal error", "no answer", "out of memory", "refused as invalid",
)  # fmt: skip
