"""Error curves: signed error against input, of one op and element type on every backend.

This module computes positions, the page's script draws them. A position is a number from 0 to 4095;
a point is two positions, written as four characters of base 64.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from reports import text, view
from reports.page.cells import Tables
from reports.squares import Square

MOST_POINTS = 300
"""The largest number of points that the picture can show; the worst are always kept."""
FEWEST_POINTS = 16
CHARACTERS = 700_000
"""The approximate size of all curves of a page, in characters."""

_STEPS = 4095
_DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

Point = tuple[float, float]


def curves(tables: Tables) -> dict[str, dict[str, Any]]:
    """Return the curves by "op/column", with numbers for the names; backends share the axes."""
    together: dict[tuple[int, int], list[tuple[Square, list[Point]]]] = defaultdict(list)
    for cell in tables.cells:
        errors = view.errors_of(tables.seen.run, cell)
        points = [p for p in errors.points if _is_finite(p)] if errors else []
        if len(points) > 1:
            at = (tables.op(cell.op), tables.column(cell.element_type))
            together[at].append((cell, points))
    together = {at: found for at, found in together.items() if _has_errors(found)}
    count = sum(map(len, together.values()))
    limit = min(MOST_POINTS, max(FEWEST_POINTS, CHARACTERS // (4 * max(count, 1))))
    return {
        f"{op}/{column}": _curve(tables, found, limit) for (op, column), found in together.items()
    }


def _has_errors(found: Sequence[tuple[Square, list[Point]]]) -> bool:
    return any(error for _, points in found for _, error in points)


def _is_finite(point: Point) -> bool:
    return math.isfinite(point[0]) and math.isfinite(point[1])


def _curve(
    tables: Tables, found: Sequence[tuple[Square, list[Point]]], limit: int
) -> dict[str, Any]:
    budget = next((cell.budget for cell, _ in found if cell.budget), None)
    every = [point for _, points in found for point in points]
    inputs = _input_scale([x for x, _ in every])
    errors = _error_scale(max(abs(y) for _, y in every), budget)
    series: dict[str, list[int]] = {}
    for cell, points in found:
        drawn = _encode_points(thin_points(points, limit), inputs, errors)
        series.setdefault(drawn, []).append(tables.backend(cell.backend))
    of = [[who, drawn] for drawn, who in series.items()]
    made: dict[str, Any] = {"x": _ticks(inputs), "y": _ticks(errors), "of": of}
    if budget is not None:
        made["budget"] = [errors.position(budget), errors.position(-budget)]
        made["label"] = text.ulp(budget)
    return made


def thin_points(points: Sequence[Point], limit: int) -> list[Point]:
    """Return at most `limit` points: the worst half, and every n-th of the others."""
    if len(points) <= limit:
        return sorted(points)
    ranked = sorted(points, key=lambda point: (-abs(point[1]), point))
    half = limit // 2
    rest = sorted(ranked[half:])
    return sorted(ranked[:half] + rest[:: math.ceil(len(rest) / (limit - half))])


def _encode_points(points: Sequence[Point], inputs: Scale, errors: Scale) -> str:
    numbers = [n for x, y in points for n in (inputs.position(x), errors.position(y))]
    return "".join(_DIGITS[n >> 6] + _DIGITS[n & 63] for n in numbers)


def _ticks(scale: Scale) -> list[list[Any]]:
    return [[scale.position(at), name] for at, name in scale.ticks]


@dataclass(frozen=True, slots=True)
class Scale:
    """The scale of an axis, a symmetric logarithm: linear up to ±unit, which is ±width decades from
    0.

    Without `width`, the scale is linear. `low` and `high` end the axis, `ticks` have labels.
    """

    unit: float
    width: float | None
    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]

    def _position(self, value: float) -> float:
        """Return the position of a value in decades."""
        if self.width is None:
            return value
        if abs(value) <= self.unit:
            return value / self.unit * self.width
        decades = math.log10(abs(value)) - math.log10(self.unit)  # their quotient may overflow
        return math.copysign(self.width + decades, value)

    def position(self, value: float) -> int:
        """Return the position of a value on the axis, from 0 to 4095."""
        low, high = self._position(self.low), self._position(self.high)
        share = (self._position(value) - low) / ((high - low) or 1.0)
        return round(_STEPS * min(1.0, max(0.0, share)))


def _input_scale(inputs: Sequence[float]) -> Scale:
    magnitudes = [math.log10(abs(x)) for x in inputs if x]
    low = math.floor(min(magnitudes, default=0.0))
    high = max(math.ceil(max(magnitudes, default=0.0)), low + 1)
    unit, top = max(_power_of_ten(low), 5e-324), _power_of_ten(high)
    ticks: list[tuple[float, str]] = [(0.0, "0")]
    for exponent in _exponents(low, high):
        if exponent <= 308:
            size, name = 10.0**exponent, _power(exponent)
            ticks += [(size, name), (-size, text.MINUS + name)]
    left = -top if min(inputs, default=0.0) < 0 else -unit / 2
    right = top if max(inputs, default=0.0) > 0 else unit / 2
    shown = tuple(tick for tick in ticks if left <= tick[0] <= right)
    return Scale(unit, max(0.5, (high - low) / 12), left, right, shown)


def _power_of_ten(exponent: int) -> float:
    return min(10.0 ** min(exponent, 308), 1.7e308)


def _error_scale(worst: float, budget: float | None) -> Scale:
    unit, top = budget or 1.0, max(worst, budget or 0.0, 0.5)
    names = {unit: f"{unit:.3g}".replace("e+0", "e")}
    width = None
    if top > 8 * unit:
        decades = math.log10(top) - math.log10(unit)
        width = max(1.0, decades / 2.5)
        exponent = math.floor(math.log10(top))
        names[10.0**exponent] = _power(exponent) if exponent > 3 else f"{10**exponent}"
    negative = ((-at, text.MINUS + name) for at, name in names.items())
    ticks = [(0.0, "0"), *names.items(), *negative]
    top = min(top * (1.15 if width is None else 2.0), 1.7e308)
    return Scale(unit, width, -top, top, tuple(ticks))


def _exponents(low: int, high: int) -> list[int]:
    """Return the powers of ten to label between low and high: high, and 1 or one halfway."""
    middle = 0 if low < 0 < high else (low + high) // 2
    return [middle, high] if high - middle >= (high - low) / 4 and middle > low else [high]


def _power(exponent: int) -> str:
    return "1" if exponent == 0 else f"1e{exponent}".replace("-", text.MINUS)
