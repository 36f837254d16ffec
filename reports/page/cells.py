"""Cells and ops as rows of the page's data: lists without keys, because there are thousands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from conformance.results.differences import REFERENCE
from conformance.results.standings import CellStatus, status_of
from conformance.results.store import CellKey
from conformance.results.summary import DIALECTS
from conformance.verdict import Errors, Verdict
from reference.ir.op import Dialect
from reference.ops.table import OPS
from reports import squares, text, view
from reports.squares import Square
from reports.view import OpResults, View

STATES: tuple[str, ...] = (*(verdict.value for verdict in Verdict), squares.UNTESTED)
STATUSES: tuple[str, ...] = tuple(status.value for status in CellStatus)
NEAR_MISSES = "invalid"
"""The column of a matrix that holds an op's near misses: `generators.case.columns.INVALID`."""
_LONGEST = 160


class Tables:
    """The names that rows refer to by number: backends, columns, ops, and texts of refusals."""

    def __init__(self, seen: View) -> None:
        """Assign numbers to the planned ops, and to columns and backends with a planned cell."""
        self.seen = seen
        self.cells = [c for c in seen.cells.values() if c.state != squares.FILTERED]
        self.refusals: dict[str, int] = {}
        self.ops = [op for op in seen.ops if op.is_planned]
        planned = {cell.element_type for cell in self.cells}
        self.types = [name for name in seen.element_types if name in planned]
        self._ops = {op.name: index for index, op in enumerate(self.ops)}
        self._types = {name: index for index, name in enumerate(self.types)}
        self._backends = {name: index for index, name in enumerate(seen.backends)}

    @cached_property
    def number_of(self) -> Mapping[CellKey, int]:
        """The number of each planned cell's row."""
        return {cell.key: index for index, cell in enumerate(self.cells)}

    def op(self, name: str) -> int:
        """Return the number by which rows refer to an op."""
        return self._ops[name]

    def column(self, name: str) -> int:
        """Return the number by which rows refer to an element type."""
        return self._types[name]

    def backend(self, name: str) -> int:
        """Return the number by which rows refer to a backend."""
        return self._backends[name]

    def voter(self, name: str) -> int:
        """Return the number by which rows refer to a backend; the reference's is the next one."""
        return len(self._backends) if name == REFERENCE else self._backends[name]

    def refusal(self, message: str) -> int:
        """Return the number of the message with which a backend refuses a case."""
        return self.refusals.setdefault(text.clip_line(message, _LONGEST), len(self.refusals))


def cell_rows(tables: Tables) -> list[list[Any]]:
    """Return a row for each planned cell, without the zeros and blanks at its end."""
    return [_trim_row(_cell_row(tables, cell)) for cell in tables.cells]


CELL_FIELDS = (
    "op", "type", "backend", "state", "status", "cases", "pairs", "values", "new", "known",
    "worst", "budget", "share", "verdicts", "histogram", "refusals", "nearest", "input",
    "leftOut", "cached",
)  # fmt: skip
"""The fields of a cell's row.

The errors are texts; `share` is the percentage of the budget that is used, -1 where there is none;
`verdicts` are pairs of state and number of cases, empty if all cases have the cell's state;
`histogram` are pairs of bin and values; `nearest` is the index of the case with the worst error, -1
where there is none, and `input` the input that gives it. `leftOut` is the largest number of cases
that `--budget` left out, `cached` the number of cases from a cache.
"""


def _cell_row(tables: Tables, cell: Square) -> list[Any]:
    status = status_of(cell)
    run = tables.seen.run
    errors = view.errors_of(run, cell)
    refused = dict.fromkeys(r.message for r in cell.records if not r.verdict.is_tested)
    measured = cell.worst is not None or cell.budget is not None
    nearest = cell.nearest if measured else None
    share = cell.share
    return [
        tables.op(cell.op), tables.column(cell.element_type), tables.backend(cell.backend),
        STATES.index(cell.state), STATUSES.index(status) if status else 0,
        len(cell.records), cell.pairs, cell.values, cell.new, cell.known,
        "" if cell.worst is None else text.ulp(cell.worst),
        "" if cell.budget is None else text.ulp(cell.budget),
        -1 if share is None else round(100 * share),
        _verdicts(cell), _sparse(errors), [tables.refusal(message) for message in [*refused][:3]],
        -1 if nearest is None else nearest.index, worst_input(cell, errors),
        run.left_out_cases.get(cell.key, 0), run.cached_cases.get(cell.key, 0),
    ]  # fmt: skip


def _trim_row(row: list[Any]) -> list[Any]:
    while row and row[-1] in (0, "", []):
        row.pop()
    return row


def _verdicts(cell: Square) -> list[int]:
    if len(cell.verdicts) < 2:
        return []
    counts = sorted((STATES.index(verdict), n) for verdict, n in cell.verdicts.items())
    return [number for pair in counts for number in pair]


def _sparse(errors: Errors | None) -> list[int]:
    if errors is None:
        return []
    return [part for bin_, count in enumerate(errors.histogram) if count for part in (bin_, count)]


def worst_input(cell: Square, errors: Errors | None) -> str:
    """Return the input that gives a cell's worst error, "" if none was kept.

    It belongs to a failing case's element, or to a sample of a unary function.
    """
    record = cell.nearest
    worst = cell.worst
    if record is None or not worst:
        return ""
    for element in record.detail.elements if record.detail else ():
        if element.ulp is not None and abs(element.ulp) == worst and element.inputs:
            return text.clip_line(", ".join(decimal for _, decimal, _ in element.inputs), 80)
    points = errors.points if errors else ()
    at = next((x for x, error in points if abs(error) == worst), None)
    return "" if at is None else f"{at:.9g}"


def batch_rows(tables: Tables) -> list[list[Any]]:
    """Return a row for each batch that failed as a whole: its planned cells, and its message."""
    rows: list[list[Any]] = []
    for batch in tables.seen.run.lost_batches:
        keys = dict.fromkeys((op, of, batch.backend) for op, of, _ in batch.cases)
        numbers = [tables.number_of[key] for key in keys if key in tables.number_of]
        known = f" (known by {batch.known})" if batch.known else ""
        rows.append([numbers, text.clip_line(batch.line, 600) + text.clip_line(known)])
    return rows


def op_rows(tables: Tables) -> list[dict[str, Any]]:
    """Return the catalog's data for each planned op."""
    return [_op_row(tables, op) for op in tables.ops]


def _op_row(tables: Tables, op: OpResults) -> dict[str, Any]:
    record = OPS.get(op.name)
    return {
        "name": text.escape_controls(op.name), "family": text.escape_controls(op.family),
        "dialect": dialect_of(op),
        "rule": text.clip_line(op.rule, 80), "text": text.escape_controls(op.rule_text),
        "source": text.escape_controls(op.source), "unit": squares.unit_of(op.name),
        "constraints": len(op.constraints), "attributes": list(record.attributes) if record else [],
        **_coverage_data(tables, op),
    }  # fmt: skip


def dialect_of(op: OpResults) -> str:
    """Return which document specifies an op."""
    record = OPS.get(op.name)
    return DIALECTS[Dialect.STABLEHLO if record is None else record.dialect]


def _coverage_data(tables: Tables, op: OpResults) -> dict[str, Any]:
    reached = tables.seen.run.coverage.get(op.name)
    if reached is None or not reached.declared_values:
        return {}
    return {
        "reached": [reached.values, reached.declared_values, reached.out_of_reach, reached.pairs,
                    reached.declared_pairs],
        "missing": list(reached.missing[:5]),
        "varied": [[text.escape_controls(name), *counts]
                   for name, counts in reached.dimensions.items()],
    }  # fmt: skip


def families(ops: Iterable[OpResults]) -> list[str]:
    """Return the families of ops, in the catalog's order."""
    return list(dict.fromkeys(op.family for op in ops))
