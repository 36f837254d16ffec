"""Tables of sweeps: worst errors by op and element type, and failures, of one or several sweeps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from conformance.outputs.sweep import Point, ResultClass, Sweep, SweptFunction
from conformance.sweep.summary import UNTRIED, WHOLE, is_new
from conformance.text import join_versions
from reference.ir.types import ELEMENT_TYPES
from reports import text


@dataclass(frozen=True, slots=True)
class Cell:
    """The worst error of an op on an element type: text, and whether all values were tried."""

    error: str
    is_exhaustive: bool
    hint: str


Row = tuple[str, list[Cell | None]]
"""An op and its cells."""


@dataclass(frozen=True, slots=True)
class FailingClass:
    """A failing verdict and class of a swept function, with an example."""

    function: str
    found: ResultClass
    is_new: bool
    example: str


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables of all sweeps of one backend with the same versions.

    `versions` describes the backend. `functions` and `values` count the tried arguments.
    """

    backend: str
    versions: str
    functions: int
    values: int
    types: list[str]
    rows: list[Row]
    failures: list[FailingClass]

    @property
    def new(self) -> int:
        """The number of classes of failures that no expectation matches."""
        return sum(failure.is_new for failure in self.failures)


def tables_of(sweeps: Sequence[Sweep]) -> list[Tables]:
    """Return the tables of each backend, in the order of the sweeps."""
    groups: dict[tuple[str, str], list[Sweep]] = {}
    for sweep in sweeps:
        groups.setdefault((sweep.backend.name, _versions(sweep)), []).append(sweep)
    return [_tables(*name, group) for name, group in groups.items()]


def _versions(sweep: Sweep) -> str:
    backend = sweep.backend
    return ", ".join(filter(None, (backend.device, join_versions(backend.versions.items()))))


def _tables(backend: str, versions: str, sweeps: Sequence[Sweep]) -> Tables:
    """Return the tables of several sweeps; of a function swept twice, the larger sweep counts."""
    best: dict[str, tuple[SweptFunction, bool]] = {}
    for sweep in sweeps:
        for one in tried_of(sweep.functions):
            if one.name not in best or best[one.name][0].values < one.values:
                best[one.name] = one, sweep.shard == WHOLE
    functions = [one for one, _ in best.values()]
    return Tables(
        backend,
        versions,
        len(functions),
        sum(function.values for function in functions),
        *error_matrix([*best.values()]),
        failures_of(functions),
    )


def tried_of(functions: Iterable[SweptFunction]) -> list[SweptFunction]:
    """Return the functions that the backend computed."""
    return [function for function in functions if function.state not in UNTRIED]


def error_matrix(tried: Sequence[tuple[SweptFunction, bool]]) -> tuple[list[str], list[Row]]:
    """Return the element types, and for each op with errors in ulp its cells.

    Each function comes with whether its sweep was whole, and no shard.
    """
    cells = {
        (one.op, one.element_type): _cell(one, is_whole=is_whole)
        for one, is_whole in tried
        if any(one.histogram) and not one.form
    }
    present = {of for _, of in cells}
    types = [name for name in ELEMENT_TYPES if name in present]
    ops = sorted({op for op, _ in cells})
    return types, [(op, [cells.get((op, of)) for of in types]) for op in ops]


def _cell(one: SweptFunction, *, is_whole: bool) -> Cell:
    error = text.worst_error(one.worst_ulp)
    is_exhaustive = is_whole and one.arguments == "all" and one.values == one.planned
    hint = f"{one.values:,} values" if one.worst is None else f"at {numbers_of(one.worst)}"
    return Cell(error, is_exhaustive, hint)


def numbers_of(point: Point) -> str:
    """Return the arguments of a result as text."""
    return ", ".join(argument.decimal for argument in point.arguments)


def failures_of(functions: Iterable[SweptFunction]) -> list[FailingClass]:
    """Return the failing classes of each function, new classes first."""
    failures = [
        FailingClass(function.name, found, is_new(found), _example(found))
        for function in functions
        for found in function.classes
        if found.verdict.fails
    ]
    return sorted(failures, key=lambda failure: not failure.is_new)


def _example(found: ResultClass) -> str:
    if found.example is None:
        return text.clip_line(found.message, 300)
    point = found.example
    return (
        f"at {numbers_of(point)}: {point.expected.decimal} expected, {point.actual.decimal} "
        "computed"
    )
