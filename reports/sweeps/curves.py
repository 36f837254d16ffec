"""Errors over the whole axis as a picture: the largest error by exponent of the argument."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from reference.ir.types import ElementType

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 720, 200, 40, 24, 24
"""The size of a picture and its margins, in units of the drawing."""

_TICKS = 5
"""Approximate number of labelled exponents on each side."""


@dataclass(frozen=True, slots=True)
class Curve:
    """The largest errors in ulp by exponent, of negative and of positive arguments."""

    label: str
    colour: str
    negative: tuple[float, ...]
    positive: tuple[float, ...]

    @property
    def highest(self) -> float:
        """The largest error."""
        return max((*self.negative, *self.positive), default=0.0)


@dataclass(frozen=True, slots=True)
class Palette:
    """The colours of a picture: CSS colours, or variables of the page that holds it."""

    ground: str
    axis: str
    text: str
    budget: str


ON_PAPER = Palette("#fff", "#999", "#000", "#555")
IN_A_PAGE = Palette("none", "var(--strong)", "var(--muted)", "var(--budget)")


def exponents_of(element_type: ElementType) -> tuple[int, int]:
    """Return the least and the largest exponent of a type's numbers, subnormal numbers included."""
    form = element_type.float_format
    return form.min_exponent - form.mantissa_bits, form.max_exponent


def errors_by_exponent(
    axis: Sequence[tuple[float, float]], sign: float, exponents: tuple[int, int]
) -> tuple[float, ...]:
    """Return the largest error for each exponent, of arguments with a sign.

    `axis` has pairs of argument and error; zero counts as the least exponent.
    """
    lowest, highest = exponents
    errors = [0.0] * (highest - lowest + 1)
    for argument, error in axis:
        if math.copysign(1.0, argument) == sign:
            exponent = math.frexp(argument)[1] - 1 if argument else lowest
            place = min(max(exponent, lowest), highest) - lowest
            errors[place] = max(errors[place], round(error, 2))
    return tuple(errors)


def picture(
    title: str, curves: Sequence[Curve], exponents: tuple[int, int], budget: float | None,
    palette: Palette = ON_PAPER,
) -> str:  # fmt: skip
    """Return the curves as one SVG element, with the permitted error as a dashed line."""
    top = max(1.0, budget or 0.0, *(curve.highest for curve in curves)) * 1.05
    body = [*_frame(top, budget or 0.0, exponents, palette)]
    for index, curve in enumerate(curves):
        errors = [*reversed(curve.negative), *curve.positive]
        step = (WIDTH - LEFT) / len(errors)
        points = " ".join(
            f"{LEFT + n * step:.0f},{_height(error, top):.0f}" for n, error in enumerate(errors)
        )
        body.append(
            f'<polyline points="{points}" fill="none" stroke="{curve.colour}"><title>'
            f"{escape(curve.label)}</title></polyline>"
        )
        x = LEFT + 8 + 300 * index
        body.append(f'<text x="{x}" y="14" fill="{curve.colour}">{escape(curve.label)}</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'role="img" font-family="sans-serif" font-size="11"><title>{escape(title)}'
        f'</title><rect width="{WIDTH}" height="{HEIGHT}" fill="{palette.ground}"/>'
        + "".join(body)
        + "</svg>\n"
    )


def _height(error: float, top: float) -> float:
    return HEIGHT - BOTTOM - error / top * (HEIGHT - BOTTOM - TOP)


def _frame(
    top: float, budget: float, exponents: tuple[int, int], palette: Palette
) -> Iterator[str]:
    base, middle = HEIGHT - BOTTOM, (WIDTH + LEFT) / 2
    axes = f"M{LEFT},{TOP}V{base}H{WIDTH}M{middle},{TOP}V{base}"
    yield f'<path d="{axes}" fill="none" stroke="{palette.axis}"/>'
    for part in (0.0, 0.5, 1.0):
        error = top / 1.05 * part
        y = f"{_height(error, top) + 4:.0f}"
        yield (
            f'<text x="{LEFT - 4}" y="{y}" text-anchor="end" fill="{palette.text}">{error:.3g}'
            "</text>"
        )
    if budget:
        y = f"{_height(budget, top):.0f}"
        yield (f'<path d="M{LEFT},{y}H{WIDTH}" stroke="{palette.budget}" stroke-dasharray="4 4"/>')
    half = (WIDTH - LEFT) / 2
    lowest, highest = exponents
    for exponent in _ticks(lowest, highest):
        along = (exponent - lowest) / (highest - lowest + 1) * half
        for sign, x in (("-", middle - along), ("", middle + along)):
            label = f"{sign}2^{exponent}"
            yield (
                f'<text x="{x:.0f}" y="{base + 14}" text-anchor="middle" fill="{palette.text}">'
                f"{label}</text>"
            )


def _ticks(lowest: int, highest: int) -> list[int]:
    """Return round exponents, 0 among them, spread over the range."""
    span = (highest - lowest) / (_TICKS + 2)
    unit = next(step for step in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if step >= span)
    first = -(-(lowest + unit // 3) // unit) * unit
    return [tick for tick in range(first, highest - unit // 3 + 1, unit) if lowest < tick < highest]
