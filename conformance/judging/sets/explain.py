"""Explanations of what a program may give at its worst element: its set, its evaluations, and what
a compiler must have left out.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from conformance.judging.differences import decimal
from conformance.judging.perturbation.evaluations import PermittedResults
from conformance.judging.sets.value_set import ValueSet, is_nan
from conformance.tolerance.ulp import ulp_distances
from reference.ir.types import Array, element_type_of
from reference.numerics.alike import equal_elements
from reference.numerics.rounding import to_float64


def explain_worst_element(permitted: PermittedResults, actual: Sequence[Array]) -> str:
    """Return what a program may give at the element that is farthest off, "" if none differs."""
    worst = _worst_element(permitted.expected, actual)
    if worst is None:
        return ""
    number, flat = worst
    given = actual[number].reshape(-1)[flat : flat + 1]
    index = [int(one) for one in np.unravel_index(flat, actual[number].shape)]
    where = f"result {number} at {index}, {decimal(given)}"
    samples = [sample[number].reshape(-1)[flat : flat + 1] for sample in permitted.moved_samples()]
    told = [_set_text(permitted, number, flat, given), _samples_text(samples, given)]
    return f"{where}: {'; '.join(filter(None, told))}"


def _worst_element(expected: Sequence[object], actual: Sequence[Array]) -> tuple[int, int] | None:
    """Return result and flat index of the element farthest off, in ulp if these are numbers."""
    found: list[tuple[float, int, int]] = []
    for index, (want, got) in enumerate(zip(expected, actual, strict=True)):
        if not isinstance(want, np.ndarray) or want.shape != got.shape:
            continue
        where = np.flatnonzero(~equal_elements(want, got))
        if where.size:
            element_type = element_type_of(want)
            one, other = (array.reshape(-1)[where] for array in (want, got))
            has_ulp = element_type.is_float or element_type.is_complex
            apart = ulp_distances(one, other) if has_ulp else np.full(where.size, np.inf)
            at = int(np.argmax(apart))
            found.append((float(apart[at]), index, int(where[at])))
    if not found:
        return None
    return max(found)[1:]


def _set_text(permitted: PermittedResults, number: int, flat: int, given: Array) -> str:
    at = np.array([flat])
    whole = permitted.sets
    if whole is None:
        return "the program cannot be followed on sets"
    permits = whole[number].rounded.at(at)
    text = f"the program may give {describe_set(permits)}"
    if not permits.holds(given).all():
        return text
    strict = permitted.strict_sets
    if strict is None or strict[number].rounded.at(at).holds(given).all():
        return f"{text}, with every operation rounded as it stands"
    return f"{text}, this only where a compiler contracts, or leaves out a rounding"


def _samples_text(samples: Sequence[Array], given: Array) -> str:
    element_type = element_type_of(given)
    numbers = [sample for sample in samples if not is_nan(sample).any()]
    if not numbers or element_type.is_complex or not element_type.is_float:
        return ""
    order = np.argsort([float(to_float64(number)[0]) for number in numbers])
    low, high = (decimal(numbers[order[end]]) for end in (0, -1))
    return f"evaluations that move its intermediate results give {low} to {high}"


def describe_set(one: ValueSet) -> str:
    """Return a set of a single element as text: `0.0 or 100.0`, `1.0 to 1.5 or NaN`."""
    element_type = one.element_type
    everything = ValueSet.everything(one.shape, element_type)
    told: dict[str, None] = {}
    for low, high in one.intervals:
        if is_nan(low).any():
            continue
        if np.array_equal(low, everything.point) and np.array_equal(
            high, everything.intervals[0][1]
        ):
            return f"any {element_type}"
        ends = decimal(low), decimal(high)
        told[ends[0] if low.tobytes() == high.tobytes() else " to ".join(ends)] = None
    if one.nan.any():
        told["NaN"] = None
    return " or ".join(told)
