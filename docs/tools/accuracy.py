"""The page of errors, docs/accuracy.md, and its pictures, from sweeps kept in docs/accuracy.

    python -m docs.tools.accuracy FOLDER...

adds the sweeps in these folders to the file of their version of jaxlib, and writes the pictures. A
sweep over all arguments of a function replaces a sweep over a sample. `python -m docs.tools` writes
the page.
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
from conformance.sweep.summary import UNTRIED
from docs.tools.pages import PAGES
from reference.ir.types import ELEMENT_TYPES
from reference.ops.table import OPS
from reports.sweeps.curves import Curve, errors_by_exponent, exponents_of, picture
from reports.text import worst_error

FOLDER = PAGES / "accuracy"
LITERATURE = FOLDER / "literature.json"

HEAD = """# Errors of XLA

Written by `python -m docs.tools` from sweeps.

Worst errors in ulp of the exact result, as [`sweep`](sweep.md) measures them. Bold: all values of
the type were tried. Else a sample was, and the true worst error may be larger. `≤ 0.5` is correctly
rounded at every value tried; `> 0.5` is not, by less than a thousandth of an ulp. Results that are
flushed, unspecified or divergent are not measured, nor are failing results that involve subnormal
numbers.
`-` is not supported, or not swept.
"""

_DRAWN = "f32"
_PAIR, _BITS = 2, 32
_ALL = 1 << _BITS
_EXPONENTS = exponents_of(ELEMENT_TYPES[_DRAWN])


class MeasuredFunction(msgspec.Struct, frozen=True, kw_only=True):
    """The errors of a swept function in one measurement."""

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
    """The largest error by exponent of the argument, for positive f32 arguments."""
    negative: tuple[float, ...] = ()


class Large(msgspec.Struct, frozen=True, kw_only=True):
    """A function swept over blocks of its 2^32 arguments."""

    name: str
    values: int
    correctly_rounded: int
    worst_ulp: float | None
    failures: tuple[tuple[str, int, str], ...]
    """Verdict, results, and the expectation that matches them."""
    seconds: float | None
    """Wall time in seconds, if the function was swept by itself."""


class Measurement(msgspec.Struct, frozen=True, kw_only=True):
    """The errors of functions in one version of jaxlib, on one machine."""

    jaxlib: str
    device: str
    instruction_sets: str
    date: str
    functions: tuple[MeasuredFunction, ...]
    large: tuple[Large, ...] = ()
    backend: str = "cpu"

    @property
    def label(self) -> str:
        """The version, and the device where that is not the CPU."""
        return self.jaxlib if self.backend == "cpu" else f"{self.jaxlib}, {self.device}"

    @property
    def title(self) -> str:
        """The backend with the version."""
        return f"XLA {self.backend.upper()} {self.label}"


def measurements() -> list[Measurement]:
    """Return the stored sweeps by backend, the oldest version of each first."""
    files = sorted(FOLDER.glob("*-*.json"))
    return [msgspec.json.decode(path.read_bytes(), type=Measurement) for path in files]


def add(folder: Path, version: str = "") -> Path:
    """Add the sweep in a folder to the file of its version; return that file.

    `version` is the name of the file, if it is not the version of jaxlib.
    """
    sweep = msgspec.json.decode((folder / SUMMARY).read_bytes(), type=Sweep)
    axes: dict[str, list[tuple[float, float]]] = json.loads((folder / AXIS).read_text())
    version = version or sweep.backend.versions["jaxlib"]
    backend = sweep.backend.name.partition(":")[0]
    path = FOLDER / f"{backend}-{version}.json"
    before = msgspec.json.decode(path.read_bytes(), type=Measurement) if path.exists() else None
    kept = {(one.op, one.element_type): one for one in before.functions} if before else {}
    large = {one.name: one for one in before.large} if before else {}
    for function in sweep.functions:
        key = function.op, function.element_type
        if _is_large(function) and function.state not in UNTRIED:
            found = _large_function(function, sweep)
            former = large.get(function.name)
            if former is None or former.values <= found.values:
                large[function.name] = found
        if sweep.shard != "1/1":
            continue
        is_better = key not in kept or function.values >= kept[key].values
        if any(function.histogram) and not function.form and is_better:
            kept[key] = _measure_accuracy(function, axes.get(function.name, []))
    measurement = Measurement(
        jaxlib=version,
        device=sweep.backend.device,
        instruction_sets=sweep.backend.versions.get("instruction sets", ""),
        date=sweep.started[:10],
        functions=tuple(kept[key] for key in sorted(kept)),
        large=tuple(large[name] for name in sorted(large)),
        backend=backend,
    )
    functions = ",\n".join(
        json.dumps(msgspec.to_builtins(one), separators=(",", ":")) for one in measurement.functions
    )
    blocks = ",\n".join(
        json.dumps(msgspec.to_builtins(one), separators=(",", ":")) for one in measurement.large
    )
    whole = json.dumps(msgspec.to_builtins(measurement) | {"functions": 0, "large": 1})
    whole = whole.replace('"functions": 0', f'"functions": [\n{functions}\n]')
    whole = whole.replace('"large": 1', f'"large": [\n{blocks}\n]')
    path.write_text(f"{whole}\n", encoding="utf-8")
    return path


def _is_large(function: SweptFunction) -> bool:
    """Return whether a conversion, or an op on pairs, has 2^32 arguments that were all planned."""
    bits, arity = ELEMENT_TYPES[function.element_type].bits, len(OPS[function.op].operands)
    is_shown = bool(function.form) or arity == _PAIR
    return is_shown and function.arguments == "all" and bits * arity == _BITS


def _large_function(function: SweptFunction, sweep: Sweep) -> Large:
    return Large(
        name=function.name,
        values=function.values,
        correctly_rounded=function.correctly_rounded,
        worst_ulp=None if function.worst_ulp is None else round(function.worst_ulp, 5),
        failures=tuple(
            (one.verdict.value, one.count, one.known)
            for one in function.classes
            if one.verdict.fails
        ),
        seconds=round(sweep.seconds, 1) if len(sweep.functions) == 1 else None,
    )


def _measure_accuracy(
    function: SweptFunction, axis: Sequence[tuple[float, float]]
) -> MeasuredFunction:
    worst = function.worst
    is_drawn = function.element_type == _DRAWN and bool(axis)
    return MeasuredFunction(
        op=function.op,
        element_type=function.element_type,
        arguments=function.arguments,
        values=function.values,
        correctly_rounded=function.correctly_rounded,
        worst_ulp=None if function.worst_ulp is None else round(function.worst_ulp, 5),
        at=() if worst is None else tuple(argument.decimal for argument in worst.arguments),
        inversions=function.inversions,
        budget_ulp=function.budget_ulp,
        positive=errors_by_exponent(axis, 1.0, _EXPONENTS) if is_drawn else (),
        negative=errors_by_exponent(axis, -1.0, _EXPONENTS) if is_drawn else (),
    )


def page() -> str:
    """Return the page docs/accuracy.md as text."""
    found = measurements()
    parts = [
        HEAD,
        *_conditions(found),
        *_table(found),
        *_details(found),
        *_blocks(found),
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
    present = {function.element_type for measurement in found for function in measurement.functions}
    types = [name for name in ELEMENT_TYPES if name in present]
    wide = [name for name in types if ELEMENT_TYPES[name].part.bits > 8]
    narrow = [name for name in types if name not in wide]
    for title, columns in (("16 bits and more", wide), ("Up to 8 bits", narrow)):
        yield f"## {title}\n"
        yield f"| op | jaxlib | {' | '.join(columns)} |"
        yield f"| --- | --- |{' ---: |' * len(columns)}"
        for op in sorted(
            {function.op for measurement in found for function in measurement.functions}
        ):
            for measurement in found:
                cells = {
                    function.element_type: _cell(function)
                    for function in measurement.functions
                    if function.op == op
                }
                if not cells.keys() & set(columns):
                    continue
                row = " | ".join(cells.get(name, "-") for name in columns)
                yield f"| `{op}` | {measurement.label} | {row} |"
        yield ""


def _cell(one: MeasuredFunction) -> str:
    error = worst_error(one.worst_ulp)
    return f"**{error}**" if one.arguments == "all" else error


def _details(found: Sequence[Measurement]) -> Iterator[str]:
    yield "## f32 in detail\n"
    yield from _tried(found)
    yield "| op | jaxlib | values | correctly rounded | worst error | at | not monotonic |"
    yield "| --- | --- | ---: | ---: | ---: | --- | ---: |"
    chosen = [
        (function, each.label)
        for each in found
        for function in each.functions
        if function.element_type == _DRAWN
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


def _tried(found: Sequence[Measurement]) -> Iterator[str]:
    """Yield which functions of one operand were swept over all f32, and which over a sample."""
    for each in found:
        unary = [
            function
            for function in each.functions
            if function.element_type == _DRAWN and len(OPS[function.op].operands) == 1
        ]
        whole = ", ".join(f"`{one.op}`" for one in unary if one.values == _ALL)
        sample = ", ".join(f"`{one.op}`" for one in unary if one.values != _ALL)
        yield f"- {each.label}: all f32 of {whole or 'no function'}"
        if sample:
            yield f"- {each.label}: a sample of {sample}"
    yield ""


def _blocks(found: Sequence[Measurement]) -> Iterator[str]:
    yield "## Pairs of 16 bits, and conversions of 32\n"
    yield (
        "These have 2^32 arguments each. Either all were tried (bold), or blocks of 4,194,304 "
        "spread evenly over them.\nTimes are wall time of two workers on a busy machine.\n"
    )
    yield "| function | jaxlib | values | correctly rounded | worst error | failures | time |"
    yield "| --- | --- | ---: | ---: | ---: | --- | ---: |"
    for each in found:
        for one in each.large:
            mark = "**" if one.values == _ALL else ""
            share = f"{math.floor(1e6 * one.correctly_rounded / one.values) / 1e4:.4f} %"
            failures = ", ".join(
                f"{count:,} {verdict} ({known or 'new'})" for verdict, count, known in one.failures
            )
            worst = worst_error(one.worst_ulp)
            time = "" if one.seconds is None else f"{one.seconds:,.0f} s"
            cells = (
                f"`{one.name}`", each.label, f"{mark}{one.values:,}{mark}", share, worst,
                failures, time,
            )  # fmt: skip
            yield f"| {' | '.join(cells)} |"
    yield ""


def _literature(found: Sequence[Measurement]) -> Iterator[str]:
    told: dict[str, Any] = json.loads(LITERATURE.read_text("utf-8"))
    yield "## Other libraries, f32\n"
    yield (
        "Worst errors in ulp of the exact result, measured or stated by others. Columns of whole "
        "ulp are distances to\nthe correctly rounded result. Bold: all f32 were tried.\n"
    )
    sources: list[dict[str, Any]] = told["sources"]
    columns = {source["column"]: _figures(source) for source in sources}
    yield from _compare_libraries(found, columns)
    for source in sources:
        yield f"- {source['column']}: [{source['text']}]({source['link']})"
    bounds: dict[str, Any] = told["bounds"]
    yield f"\n[{bounds['text']}]({bounds['link']}):\n"
    columns = {
        name: {op: str(row[index]) for op, row in bounds["figures"].items()}
        for index, name in enumerate(bounds["columns"])
    }
    yield from _compare_libraries(found, columns)
    paper: dict[str, str] = told["paper"]
    yield f"For measured errors of many more libraries see [{paper['text']}]({paper['link']}).\n"


def _figures(source: dict[str, Any]) -> dict[str, str]:
    """Return the figures of a source by op, bold if all values were tried."""
    mark = "**" if source["kind"] == "measured" else ""
    return {op: f"{mark}{figure}{mark}" for op, figure in source["figures"].items()}


def _compare_libraries(
    found: Sequence[Measurement], columns: dict[str, dict[str, str]]
) -> Iterator[str]:
    """Yield a table of other libraries' figures beside XLA's own."""
    own = {
        one.title: {x.op: _cell(x) for x in one.functions if x.element_type == _DRAWN}
        for one in found
    }
    table = {**own, **columns}
    yield f"| op | {' | '.join(table)} |\n| --- |{' ---: |' * len(table)}"
    for op in sorted({op for column in columns.values() for op in column}):
        yield f"| `{op}` | {' | '.join(column.get(op, '-') for column in table.values())} |"
    yield ""


def _pictures(found: Sequence[Measurement]) -> Iterator[str]:
    yield "## Errors over the axis, f32\n"
    yield (
        "The largest error in ulp among arguments of the same exponent and sign: negative ones on "
        "the left, the largest\nin magnitude first. The dashed line is what the "
        "[tolerance rule](tolerances.md) permits.\n"
    )
    for op in drawn_ops(found):
        yield f"### {op}\n\n![Errors of {op}](accuracy/{op}.svg)\n"


def drawn_ops(found: Sequence[Measurement]) -> list[str]:
    """Return the ops that have a picture."""
    return sorted(
        {function.op for each in found for function in each.functions if function.positive}
    )


_COLOURS = ("#1f77b4", "#d95f02", "#7570b3", "#1b9e77")


def draw_picture(op: str, found: Sequence[Measurement]) -> str:
    """Return the picture of an op as SVG."""
    chosen = [
        (each.label, function)
        for each in found
        for function in each.functions
        if function.op == op and function.positive
    ]
    curves = [
        Curve(
            f"jaxlib {version}, "
            + ("all values" if one.arguments == "all" else f"a sample of {one.values:,}"),
            colour,
            one.negative,
            one.positive,
        )
        for (version, one), colour in zip(chosen, _COLOURS, strict=False)
    ]
    return picture(f"Errors of {op}, f32, in ulp", curves, _EXPONENTS, chosen[0][1].budget_ulp)


def write_pictures() -> None:
    """Write the picture of every op that has a picture."""
    found = measurements()
    for op in drawn_ops(found):
        (FOLDER / f"{op}.svg").write_text(draw_picture(op, found), encoding="utf-8")


if __name__ == "__main__":
    for folder in sys.argv[1:]:
        sys.stdout.write(f"{add(Path(folder))}\n")
    write_pictures()
