"""What there is: the catalog of ops, and the backends of this machine, as data and as tables."""

from __future__ import annotations

from typing import Any

from rich.table import Table
from rich.text import Text

from conformance.backends.registry import BACKENDS
from conformance.catalog import CATALOG, Row
from conformance.errors import NotAvailable
from conformance.executors.backend_workers import describe, executor_of
from generators.invalid.table import NEAR_MISSES, near_misses
from reference.ops.table import OPS


def op_entry(row: Row) -> dict[str, Any]:
    """All that the catalog knows of an op, as JSON can hold it."""
    semantics = OPS[row.name]
    return {
        "name": row.name,
        "dialect": row.dialect,
        "family": row.family,
        "element_types": [of.name for of in row.element_types],
        "tolerance": row.tolerance.name,
        "tolerance_text": row.tolerance.text,
        "tolerance_source": row.tolerance.source,
        "constraints": list(row.constraints),
        "constraints_tested": constraints_tested(row.name),
        "operands": list(semantics.operands),
        "attributes": list(semantics.attributes),
        "regions": list(semantics.regions),
        "columns": [column.name for column in row.columns],
        "in_specification": OPS[row.name].specified,
        "weight": row.weight,
    }


def constraints_tested(op: str) -> list[str]:
    """The ids of which there is a program that breaks just that one, in order."""
    tested = {id_ for id_, _ in near_misses(op)} if op in NEAR_MISSES else set[str]()
    semantics = OPS[op]
    return [id_ for id_ in (*semantics.constraints, *semantics.inputs) if id_ in tested]


def ops_table() -> Table:
    """The catalog, a line per op."""
    table = Table(box=None, pad_edge=False)
    for heading in ("op", "family", "types", "rule", "constraints"):
        table.add_column(heading, justify="right" if heading == "types" else "left")
    for row in CATALOG.values():
        ids = " ".join(row.constraints)
        table.add_row(
            row.name, row.family, str(len(row.element_types)), row.tolerance.name, ids
        )  # fmt: skip
    return table


def op_table(row: Row) -> Table:
    """One op, a line per property."""
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    for name, value in op_entry(row).items():
        shown = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        table.add_row(name.replace("_", " "), Text(shown or "none"))
    return table


def backend_entries() -> list[dict[str, Any]]:
    """Every backend, each asked in a worker of its own: one that dies tells so by that."""
    return [_backend_entry(name) for name in BACKENDS]


def _backend_entry(name: str) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": name, "available": True, "reason": ""}
    try:
        with executor_of(name, jobs=1) as executor:
            found = describe(executor, name)
    except NotAvailable as error:
        reason = " ".join(str(error).removeprefix(f"{name}: ").split())
        return entry | {
            "available": False, "reason": reason, "platform": "", "device": "", "versions": {},
        }  # fmt: skip
    versions = dict(found.versions)
    return entry | {"platform": found.platform, "device": found.device, "versions": versions}


def backends_table(entries: list[dict[str, Any]]) -> Table:
    """The backends, a line each."""
    table = Table(box=None, pad_edge=False)
    for heading in ("backend", "here", "what"):
        table.add_column(heading)
    for entry in entries:
        versions = ", ".join(f"{name} {number}" for name, number in entry["versions"].items())
        what = f"{entry['device']}; {versions}" if entry["available"] else entry["reason"]
        # as text: a reason may hold brackets, which rich would take for its markup
        table.add_row(entry["name"], "yes" if entry["available"] else "no", Text(what))
    return table
