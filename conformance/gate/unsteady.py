"""Entries about results that may change when a program is compiled or executed again."""

from __future__ import annotations

from conformance.gate.classes import NOT_DETERMINISTIC
from conformance.gate.expectations import Expectation
from conformance.tolerance.rules import RULES

UNSTEADY = {
    NOT_DETERMINISTIC,
    "exponential of a constant NaN",
    *(one.label for rule in RULES.values() for one in rule.deviations if one.unsteady),
}
"""Classes of results that may be others, right ones too, each time."""


def is_unsteady(expectation: Expectation) -> bool:
    """Tell whether an entry names a class that need not show each time."""
    return not UNSTEADY.isdisjoint(expectation.kinds)
