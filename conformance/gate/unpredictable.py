"""Entries with `unpredictable`: elements that no program predicts.

They are memory outside the program, or change when the program is compiled or executed again. The
entry states which elements it matches: by classes, or by a `computes` that returns a mask. Elements
for which the mask is false may have any value if all others are as computed.
"""

from __future__ import annotations

from conformance.gate.classes import FLUSHED, NOT_DETERMINISTIC, ONLY_IN_BATCH, UNPREDICTED
from conformance.gate.expectations import WITHOUT_RESULTS, Expectation


def check(found: Expectation) -> None:
    """Check that an entry is unpredictable if and only if its classes are.

    Raises:
        ValueError: if not; the message says how to mend the entry.
    """
    if found.predicts:
        return
    if not found.unpredictable:
        for kind in found.kinds:
            if kind == NOT_DETERMINISTIC and not found.flaky:
                raise ValueError(
                    f"class {kind!r} has elements that no program predicts: "
                    "write 'unpredictable = true', and why in 'reason'"
                )
        return
    without = [verdict for verdict in found.verdicts if verdict in WITHOUT_RESULTS]
    if without:
        raise ValueError(f"'unpredictable' applies to results, and {without[0]!r} has none")
    permitted = UNPREDICTED | {NOT_DETERMINISTIC, ONLY_IN_BATCH, FLUSHED}
    for kind in found.kinds:
        if kind not in permitted:
            listed = ", ".join(map(repr, sorted(permitted)))
            raise ValueError(
                f"class {kind!r} does not say which elements are 'unpredictable': "
                f"name one of {listed}, or predict the other elements by 'computes' with a mask"
            )
