"""The page of errors, docs/accuracy.md, and its pictures, from sweeps kept in docs/accuracy.

    python -m docs.tools.accuracy FOLDER...

adds the sweeps in these folders to the file of their version of jaxlib, and writes the pictures. A
function swept over all its arguments replaces one of a sample. `python -m docs.tools` writes the
page.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from conformance.outputs.sweep import Sweep, SweptFunction
from conformance.sweep.saving import AXIS, SUMMARY
from docs.tools.pages import PAGES
from reference.ir.types import ELEMENT_TYPES

FOLDER = PAGES / "accuracy"
LITERATURE = FOLDER / "literature.json"

HEAD = """# Errors of XLA's CPU

Written by `python -m docs.tools` from sweeps; a test compares the two.

Worst errors in ulp of the exact result, as [`sweep`](sweep.md) measures them. Bold: all values of
the type were tried. Else a sample was, and the true worst error may be larger. `≤ 0.5` is correctly
rounded at every value tried. Results that are flushed, unspecified or divergent are not measured,
nor are failing results that involve subnormal numbers.
`-` is not supported, or not swept.
"""

_DRAWN = "f32"
_LOWEST, _HIGHEST = -149, 127
"""The exponents of f32."""


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """The errors of a function."""

    op: str
    element_type: str
    arguments: str
    values: int
    correctly_rounded: int
    worst_ulp: float | None
    at: tuple[str, ...]
    inversions: int | None
    budget_ulp: float | None
    positive: tuple[float, ...] = ()
    """The largest error by exponent of the argument, for positive arguments of f32."""
    negative: tuple[float, ...] = ()


class Measurement(msgspec.Struct, frozen=True, kw_only=True):
    """The errors of functions in one version of jaxlib, on one machine."""

    jaxlib: str
    device: str
    instruction_sets: str
    date: str
    functions: tuple[Measured, ...]


def measurements() -> list[Measurement]:
    """Return what is kept, the oldest version first."""
    files = sorted(FOLDER.glob("cpu-*.json"))
    return [msgspec.json.decode(path.read_bytes(), type=Measurement) for path in files]


def add(folder: Path, version: str = "") -> Path:
    """Add the sweep in a folder to the file of its version; return that file.

    `version` is what the file is called by, where it is not the version of jaxlib.
    """
    sweep = msgspec.json.decode((folder / SUMMARY).read_bytes(), type=Sweep)
    axes: dict[str, list[tuple[float, float]]] = json.loads((folder / AXIS).read_text())
    version = version or sweep.backend.versions["jaxlib"]
    path = FOLDER / f"cpu-{version}.json"
    before = msgspec.json.decode(path.read_bytes(), type=Measurement) if path.exists() else None
    kept = {(one.op, one.element_type): one for one in before.functions} if before else {}
    for function in sweep.functions:
        key = function.op, function.element_type
        is_better = key not in kept or function.values >= kept[key].values
        if function.state not in ("unsupported", "untested") and not function.form and is_better:
            kept[key] = _measured(function, axes.get(function.name, []))
    measurement = Measurement(
        jaxlib=version,
        device=sweep.backend.device,
        instruction_sets=sweep.backend.versions.get("instruction sets", ""),
        date=sweep.started[:10],
        functions=tuple(kept[key] for key in sorted(kept)),
    )
    functions = ",\n".join(
        json.dumps(msgspec.to_builtins(one), separators=(",", ":")) for one in measurement.functions
    )
    whole = msgspec.to_builtins(measurement) | {"functions": []}
    path.write_text(json.dumps(whole).replace("[]", f"[\n{functions}\n]") + "\n", encoding="utf-8")
    return path


def _measured(function: SweptFunction, axis: Sequence[tuple[float, float]]) -> Measured:
    worst = function.worst
    is_drawn = function.element_type == _DRAWN and bool(axis)
    return Measured(
        op=function.op,
        element_type=function.element_type,
        arguments=function.arguments,
        values=function.values,
        correctly_rounded=function.correctly_rounded,
        worst_ulp=None if function.worst_ulp is None else round(function.worst_ulp, 5),
        at=() if worst is None else tuple(one.decimal for one in worst.arguments),
        inversions=function.inversions,
        budget_ulp=function.budget_ulp,
        positive=_by_exponent(axis, 1.0) if is_drawn else (),
        negative=_by_exponent(axis, -1.0) if is_drawn else (),
    )


def _by_exponent(axis: Sequence[tuple[float, float]], sign: float) -> tuple[float, ...]:
    errors = [0.0] * (_HIGHEST - _LOWEST + 1)
    for argument, error in axis:
        if math.copysign(1.0, argument) == sign:
            exponent = math.frexp(argument)[1] - 1 if argument else _LOWEST
            place = max(exponent, _LOWEST) - _LOWEST
            errors[place] = max(errors[place], round(error, 2))
    return tuple(errors)


def page() -> str:
    """Return the page."""
    found = measurements()
    parts = [
        HEAD,
        *_conditions(found),
        *_table(found),
        *_details(found),
        *_literature(found),
        *_pictures(found),
    ]
    return "\n".join(parts).rstrip("\n") + "\n"


def _conditions(found: Sequence[Measurement]) -> Iterator[str]:
    yield "| jaxlib | device | instruction sets | swept on |\n| --- | --- | --- | --- |"
    for one in found:
        yield f"| {one.jaxlib} | {one.device} | {one.instruction_sets} | {one.date} |"
    yield ""


def _table(found: Sequence[Measurement]) -> Iterator[str]:
    present = {one.element_type for measurement in found for one in measurement.functions}
    types = [name for name in ELEMENT_TYPES if name in present]
    wide = [name for name in types if ELEMENT_TYPES[name].part.bits > 8]
    narrow = [name for name in types if name not in wide]
    for title, columns in (("16 bits and more", wide), ("Up to 8 bits", narrow)):
        yield f"## {title}\n"
        yield f"| op | jaxlib | {' | '.join(columns)} |"
        yield f"| --- | --- |{' ---: |' * len(columns)}"
        for op in sorted({one.op for measurement in found for one in measurement.functions}):
            for measurement in found:
                cells = {
                    one.element_type: _cell(one) for one in measurement.functions if one.op == op
                }
                row = " | ".join(cells.get(name, "-") for name in columns)
                yield f"| `{op}` | {measurement.jaxlib} | {row} |"
        yield ""


def _cell(one: Measured) -> str:
    error = (
        "≤ 0.5"
        if one.worst_ulp is None
        else f"{one.worst_ulp:.3f}"
        if one.worst_ulp < 100
        else f"{one.worst_ulp:.3g}"
    )
    return f"**{error}**" if one.arguments == "all" else error


def _details(found: Sequence[Measurement]) -> Iterator[str]:
    yield "## f32 in detail\n"
    yield "| op | jaxlib | values | correctly rounded | worst error | at | not monotonic |"
    yield "| --- | --- | ---: | ---: | ---: | --- | ---: |"
    chosen = [
        (one, each.jaxlib) for each in found for one in each.functions if one.element_type == _DRAWN
    ]
    for one, version in sorted(chosen, key=lambda pair: pair[0].op):
        share = f"{math.floor(1e6 * one.correctly_rounded / one.values) / 1e4:.4f} %"
        inverted = "-" if one.inversions is None else f"{one.inversions:,}"
        at = ", ".join(one.at)
        cells = (f"`{one.op}`", version, f"{one.values:,}", share, _cell(one), at, inverted)
        yield f"| {' | '.join(cells)} |"
    yield (
        "\nThe last column counts neighbouring arguments whose results are in the wrong order, of "
        "monotonic functions.\n"
    )


def _literature(found: Sequence[Measurement]) -> Iterator[str]:
    told: dict[str, Any] = json.loads(LITERATURE.read_text("utf-8"))
    yield "## Other libraries, f32\n"
    yield (
        "XLA's figures are measured here. Those of other libraries are bounds in whole ulp, from "
        f"[{told['name']}]({told['link']}),\nwhich sums up {told['sources']}.\n"
    )
    versions = [f"XLA CPU {one.jaxlib}" for one in found]
    columns = [*versions, *told["libraries"]]
    yield f"| op | {' | '.join(columns)} |\n| --- |{' ---: |' * len(columns)}"
    for op, figures in told[_DRAWN].items():
        own = [
            next((_cell(x) for x in one.functions if (x.op, x.element_type) == (op, _DRAWN)), "-")
            for one in found
        ]
        yield f"| `{op}` | {' | '.join([*own, *map(str, figures)])} |"
    yield ""
    yield (
        "For measured errors of these libraries see Gladman, Innocente, Mather and Zimmermann, "
        "[Accuracy of Mathematical\nFunctions in Single, Double, Double Extended, and Quadruple "
        "Precision](https://inria.hal.science/hal-03141101).\n"
    )


def _pictures(found: Sequence[Measurement]) -> Iterator[str]:
    yield "## Errors over the axis, f32\n"
    yield (
        "The largest error in ulp among arguments of the same exponent and sign: negative ones on "
        "the left, the largest\nin magnitude first. The dashed line is what the "
        "[tolerance rule](tolerances.md) permits.\n"
    )
    for op in drawn(found):
        yield f"### {op}\n\n![Errors of {op}](accuracy/{op}.svg)\n"


def drawn(found: Sequence[Measurement]) -> list[str]:
    """Return the ops that have a picture."""
    return sorted({one.op for each in found for one in each.functions if one.positive})


_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 720, 200, 40, 24, 24
_COLOURS = ("#1f77b4", "#d95f02", "#7570b3", "#1b9e77")
_TICKS = (100, 50, 0, -50, -100)


def picture(op: str, found: Sequence[Measurement]) -> str:
    """Return the picture of an op as SVG."""
    chosen = [
        (each.jaxlib, one)
        for each in found
        for one in each.functions
        if one.op == op and one.positive
    ]
    budget = chosen[0][1].budget_ulp or 0.0
    top = max(1.0, budget, *(max(*one.positive, *one.negative) for _, one in chosen)) * 1.05
    body = [*_frame(top, budget)]
    for (version, one), colour in zip(chosen, _COLOURS, strict=False):
        errors = [*reversed(one.negative), *one.positive]
        step = (_WIDTH - _LEFT) / len(errors)
        points = " ".join(
            f"{_LEFT + n * step:.0f},{_y(error, top):.0f}" for n, error in enumerate(errors)
        )
        body.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}"><title>jaxlib {version}'
            "</title></polyline>"
        )
    names = zip(chosen, _COLOURS, strict=False)
    for number, ((version, one), colour) in enumerate(names):
        kind = "all values" if one.arguments == "all" else f"a sample of {one.values:,}"
        x = _LEFT + 8 + 300 * number
        body.append(f'<text x="{x}" y="14" fill="{colour}">jaxlib {version}, {kind}</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'role="img" font-family="sans-serif" font-size="11"><title>Errors of {op}, f32, in ulp'
        f'</title><rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>'
        + "".join(body)
        + "</svg>\n"
    )


def _y(error: float, top: float) -> float:
    return _HEIGHT - _BOTTOM - error / top * (_HEIGHT - _BOTTOM - _TOP)


def _frame(top: float, budget: float) -> Iterator[str]:
    base, middle = _HEIGHT - _BOTTOM, (_WIDTH + _LEFT) / 2
    axes = f"M{_LEFT},{_TOP}V{base}H{_WIDTH}M{middle},{_TOP}V{base}"
    yield f'<path d="{axes}" fill="none" stroke="#999"/>'
    for part in (0.0, 0.5, 1.0):
        error = top / 1.05 * part
        y = f"{_y(error, top) + 4:.0f}"
        yield f'<text x="{_LEFT - 4}" y="{y}" text-anchor="end">{error:.3g}</text>'
    if budget:
        y = f"{_y(budget, top):.0f}"
        yield f'<path d="M{_LEFT},{y}H{_WIDTH}" stroke="#555" stroke-dasharray="4 4"/>'
    half = (_WIDTH - _LEFT) / 2
    for exponent in _TICKS:
        along = (exponent - _LOWEST) / (_HIGHEST - _LOWEST + 1) * half
        for sign, x in (("-", middle - along), ("", middle + along)):
            label = f"{sign}2^{exponent}"
            yield f'<text x="{x:.0f}" y="{base + 14}" text-anchor="middle">{label}</text>'


def write_pictures() -> None:
    """Write the picture of every op that has one."""
    found = measurements()
    for op in drawn(found):
        (FOLDER / f"{op}.svg").write_text(picture(op, found), encoding="utf-8")


if __name__ == "__main__":
    for folder in sys.argv[1:]:
        sys.stdout.write(f"{add(Path(folder))}\n")
    write_pictures()
