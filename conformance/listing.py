"""What there is: the catalog of ops, and the backends of this machine, as data and as tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from conformance.backends.registry import BACKENDS, Choice, parse, parse_all
from conformance.catalog import CATALOG, Row
from conformance.errors import NotAvailable
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
    from generators.invalid.table import NEAR_MISSES, near_misses  # the table does without

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


def backend_entries(names: Sequence[str]) -> list[dict[str, Any]]:
    """The backends of these names, or all that there are: each is asked in a worker of its own.

    Raises:
        UsageError: when there is no backend of a name.
    """
    if names:
        return [_backend_entry(choice) for choice in parse_all(names)]
    return [
        _unnamed_entry(name) if family.needs_argument else _backend_entry(parse(name))
        for name, family in BACKENDS.items()
    ]


def _unnamed_entry(name: str) -> dict[str, Any]:
    """What is said of a family of which there is no backend until one is named."""
    family = BACKENDS[name]
    spelling, _, meaning = family.arguments.partition(": ")
    reason = f"{family.meaning}, as {name}:{spelling} ({meaning})"
    return {
        "name": name, "available": False, "reason": reason, "platform": "", "device": "",
        "versions": {},
    }  # fmt: skip


def _backend_entry(choice: Choice) -> dict[str, Any]:
    from conformance.executors.backend_workers import describe, executor_of

    name = choice.name
    entry: dict[str, Any] = {"name": name, "available": True, "reason": ""}
    try:
        with executor_of(choice, jobs=1) as executor:
            found = describe(executor, choice)
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
