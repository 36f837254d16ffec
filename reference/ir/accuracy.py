"""Accuracy that a program asks of an elementary function.

Source: StableHLO's dialect, `result_accuracy`; XLA operation semantics, the functions that take it.
"""

from __future__ import annotations

from typing import NamedTuple

DEFAULT, HIGHEST, TOLERANCE = "DEFAULT", "HIGHEST", "TOLERANCE"
MODES = (DEFAULT, HIGHEST, TOLERANCE)


class ResultAccuracy(NamedTuple):
    """What is asked: by TOLERANCE, an error of at most atol + rtol |result| + ulps of the result.

    DEFAULT and HIGHEST leave it to the implementation, and state no figure.
    """

    mode: str = DEFAULT
    atol: float = 0.0
    rtol: float = 0.0
    ulps: int = 0
