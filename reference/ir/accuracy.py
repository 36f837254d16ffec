"""The accuracy that a program requests for an elementary function.

Source: StableHLO's dialect, `result_accuracy`; XLA operation semantics, the functions that accept
it.
"""

from __future__ import annotations

from typing import NamedTuple

DEFAULT, HIGHEST, TOLERANCE = "DEFAULT", "HIGHEST", "TOLERANCE"
MODES = (DEFAULT, HIGHEST, TOLERANCE)


class ResultAccuracy(NamedTuple):
    """A requested accuracy.

    TOLERANCE permits an error of at most atol + rtol |result| + ulps of the result. DEFAULT and
    HIGHEST leave the error to the implementation and state no figure.
    """

    mode: str = DEFAULT
    atol: float = 0.0
    rtol: float = 0.0
    ulps: int = 0
