"""Entries with `unpredictable`: elements that no program predicts.

They are made of memory that is not the program's, or change when it is compiled or executed again.
The entry says which elements it is about: by classes whose models tell them (`UNPREDICTABLE`), or
by a `computes` that returns a mask. Elements for which the mask is false may have any value if all
others are as computed.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

from conformance.gate.classes import NOT_DETERMINISTIC, UNEXPLAINED
from conformance.gate.expectations import WITHOUT_RESULTS, Expectation
from conformance.known.programs import PROGRAMS
from conformance.known.rewritings.exponentials import OF_NAN
from conformance.known.table import EVERY
from conformance.known.xla.windows.no_source import LABEL as NO_SOURCE
from conformance.verdict import Verdict

UNPREDICTABLE = frozenset(
    {
        NOT_DETERMINISTIC,
        OF_NAN,
        NO_SOURCE,
        *(one.label for one in (*EVERY, *PROGRAMS) if one.unsteady),
    }
)
"""The classes of elements that may have any value, or others each time."""


_WITH_VALUES = (Verdict.DIVERGENT.value, Verdict.INACCURATE.value)
"""The verdicts whose classes may predict nothing: the others are of zeros and constraints."""


def without_prediction(found: Expectation) -> tuple[str, ...]:
    """Return the classes by which an entry knows elements that nothing predicts.

    An entry that is `unpredictable` says so, and has none.
    """
    if found.unpredictable or not set(found.verdicts) & set(_WITH_VALUES):
        return ()
    return tuple(kind for kind in UNEXPLAINED if any(fnmatchcase(kind, one) for one in found.kinds))


def check(found: Expectation) -> None:
    """Check that an entry is unpredictable exactly where its classes are.

    Raises:
        ValueError: with what is wrong.
    """
    if found.computes:
        return
    if not found.unpredictable:
        for kind in found.kinds:
            if kind in UNPREDICTABLE and not (found.flaky and kind == NOT_DETERMINISTIC):
                raise ValueError(
                    f"class {kind!r} is of elements that no program predicts: "
                    "write 'unpredictable = true', and why in 'reason'"
                )
        return
    without = [verdict for verdict in found.verdicts if verdict in WITHOUT_RESULTS]
    if without:
        raise ValueError(f"'unpredictable' is about results, and {without[0]!r} has none")
    for kind in found.kinds:
        if kind not in UNPREDICTABLE:
            listed = ", ".join(map(repr, sorted(UNPREDICTABLE)))
            raise ValueError(
                f"class {kind!r} does not say which elements are 'unpredictable': "
                f"name one of {listed}; or say by 'computes', with a mask, what the others are"
            )
