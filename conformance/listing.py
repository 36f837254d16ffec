"""The tables and the JSON that the commands `ops` and `backends` print."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from conformance.backends.registry import BACKENDS, Choice, parse, parse_all
from conformance.catalog import CATALOG, Row
from conformance.errors import NotAvailable
from conformance.text import join_versions, one_line
from reference.ops.table import OPS
from reference.ops.xla.page import UNSUPPORTED_HEADINGS

if TYPE_CHECKING:  # loads what opens a backend
    from conformance.backends.self_test import Finding

SECONDS = 30.0
"""Seconds that a check of a backend may take."""


def op_entry(row: Row) -> dict[str, Any]:
    """Return all facts of the catalog about an op as a JSON object."""
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
        "constraints_of_twin": {ours: list(theirs) for ours, theirs in semantics.restates},
        "waived_of_twin": list(semantics.waives),
        "readings": list(semantics.readings),
        "constraints_tested": constraints_tested(row.name),
        "operands": list(semantics.operands),
        "attributes": list(semantics.attributes),
        "regions": list(semantics.regions),
        "columns": [column.name for column in row.columns],
        "in_specification": OPS[row.name].specified,
        "weight": float(row.weight),
    }


def coverage_entry(row: Row) -> dict[str, Any]:
    """Return the dimensions of variation of an op's cases, and the coverage of `standard`."""
    from conformance.campaign.planning import cases_of
    from generators.cells import plan  # loads every builder, the table does without

    cases = range(cases_of(row, "standard"))
    columns = [column.name for column in plan.valid_columns(row.name)]
    reached = plan.coverage_report(row.name, 0, dict.fromkeys(columns, cases))
    return {
        "dimensions": plan.coverage(row.name, 0).dimensions(),
        "reached_in_standard": asdict(reached),
    }


def constraints_tested(op: str) -> list[str]:
    """Return the ids of constraints that some near miss breaks, in order."""
    from generators.invalid.table import NEAR_MISSES, near_misses  # the table does without

    tested = {id_ for id_, _ in near_misses(op)} if op in NEAR_MISSES else set[str]()
    semantics = OPS[op]
    return [id_ for id_ in (*semantics.constraints, *semantics.inputs) if id_ in tested]


def _ids(row: Row) -> str:
    """Return a row's constraint ids, with the counterpart's ids for a row that has a
    counterpart.
    """
    theirs = dict(OPS[row.name].restates)
    return " ".join(
        f"{id_} ({', '.join(theirs[id_])})" if id_ in theirs else id_ for id_ in row.constraints
    )


def ops_table() -> Table:
    """Return the catalog as a table, a line per op."""
    table = Table(box=None, pad_edge=False)
    for heading in ("op", "dialect", "family", "types", "rule", "constraints"):
        table.add_column(heading, justify="right" if heading == "types" else "left")
    for row in CATALOG.values():
        ids = _ids(row)
        table.add_row(
            row.name, row.dialect, row.family, str(len(row.element_types)), row.tolerance.name, ids
        )  # fmt: skip
    return table


def op_table(row: Row) -> Table:
    """Return a table of one op, a line per property."""
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    for name, value in op_entry(row).items():
        shown = _spell_property(value)
        table.add_row(name.replace("_", " "), Text(shown or "none"))
    covered = coverage_entry(row)
    for dimension, values in covered["dimensions"].items():
        table.add_row(f"varies: {dimension}", Text(", ".join(values)))
    table.add_row("reached in standard", Text(_reached_text(covered["reached_in_standard"])))
    return table


def _spell_property(value: Any) -> str:
    """Return a property of an op as text."""
    if isinstance(value, dict):
        pairs = value.items()  # pyright: ignore[reportUnknownVariableType]
        return "; ".join(f"{name}: {', '.join(ids)}" for name, ids in pairs)
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)  # pyright: ignore[reportUnknownArgumentType]


def _reached_text(reached: dict[str, Any]) -> str:
    text = "{values} of {declared_values} values, {pairs} of {declared_pairs} pairs of them"
    return text.format(**reached)


def coverage_page() -> str:
    """Return the page on coverage, as Markdown: for each document, every op with
    its cells, and the omitted sections.
    """
    lines = [
        "# Coverage", "",
        "Made by `hlo-conformance ops --format markdown`.", "",
    ]  # fmt: skip
    for dialect, title in _DOCUMENTS.items():
        rows = [row for row in CATALOG.values() if row.dialect == dialect]
        ids = sum(len(row.constraints) for row in rows)
        cells = sum(len(row.columns) for row in rows)
        tested = sum(len(set(row.constraints) & set(constraints_tested(row.name))) for row in rows)
        lines += [
            f"## {title}", "",
            f"{len(rows)} ops, {cells} cells, {ids} constraints: {tested} of them are tested.", "",
            "| op | family | element types | rule | constraints |",
            "| --- | --- | ---: | --- | --- |",
            *(f"| {row.name} | {row.family} | {len(row.element_types)} | {row.tolerance.name} | "
              f"{_ids(row)} |" for row in rows), "",
        ]  # fmt: skip
    lines += ["## Headings of XLA's page that are not ops here", "", "| heading | why |"]
    lines += [
        "| --- | --- |",
        *(f"| {name} | {why} |" for name, why in UNSUPPORTED_HEADINGS.items()),
        "",
    ]
    lines += ["## Texts that can be read in two ways", "", "| ops | reading |", "| --- | --- |"]
    lines += [*_readings(), "", "## Tolerance rules", ""]
    lines += ["| rule | permitted | source |", "| --- | --- | --- |", *_rules()]
    return "\n".join([*lines, ""])


def _readings() -> list[str]:
    """Return a line for each reading of the specification, with the ops that have it."""
    ops: dict[str, list[str]] = {}
    for name in CATALOG:
        for reading in OPS[name].readings:
            ops.setdefault(reading, []).append(name)
    return [f"| {', '.join(names)} | {reading} |" for reading, names in ops.items()]


def _rules() -> list[str]:
    """Return a line for each tolerance rule."""
    rules = {row.tolerance.name: row.tolerance for row in CATALOG.values()}
    return [
        f"| {name} | {_safe_cell(rule.text)} | {_safe_cell(rule.source)} |"
        for name, rule in sorted(rules.items())
    ]


def _safe_cell(text: str) -> str:
    """Return a text that is safe in a cell of a table."""
    return text.replace("|", "&#124;").replace("<", "&lt;").replace(">", "&gt;").replace("*", "\\*")


_DOCUMENTS = {
    "stablehlo": "The StableHLO specification",
    "xla": "XLA's operation semantics",
    "chlo": "CHLO, StableHLO's dialect for clients",
}


def backend_entries(names: Sequence[str]) -> list[dict[str, Any]]:
    """Return the backends of these names, or all backends. Each backend is opened in its own
    worker. A name that ends with its colon stands for what may follow, such as `reference:`.

    Raises:
        UsageError: if a name is no backend.
    """
    if names:
        opened = [name for name in names if not _choices(name)]
        listed = [entry for name in names for entry in _choices(name)]
        return [*(_backend_entry(choice) for choice in parse_all(opened)), *listed]
    return [
        _unnamed_entry(name) if family.needs_argument else _backend_entry(parse(name))
        for name, family in BACKENDS.items()
    ]


def _choices(name: str) -> list[dict[str, Any]]:
    """Return the entries of what may follow the colon at the end of a name; empty for others."""
    family = BACKENDS.get(name.removesuffix(":")) if name.endswith(":") else None
    if family is None or family.choices is None:
        return []
    return [
        {"name": f"{name}{choice}", "available": True, "reason": "", "platform": "",
         "device": description, "versions": {}}
        for choice, description in family.choices().items()
    ]  # fmt: skip


def _unnamed_entry(name: str) -> dict[str, Any]:
    """Return the entry of a family that has no backend without an argument."""
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
        said = str(error).removeprefix(f"{name}: ").removeprefix(f"{choice.family}: ")
        reason = one_line(said)
        return entry | {
            "available": False, "reason": reason, "platform": "", "device": "", "versions": {},
        }  # fmt: skip
    versions = dict(found.versions)
    return entry | {"platform": found.platform, "device": found.device, "versions": versions}


def self_test_entries(names: Sequence[str]) -> list[dict[str, str]]:
    """Return the findings of the self-test of backends.

    Raises:
        NotAvailable: if a backend is not available.
        UsageError: if a name is no backend.
    """
    return [
        {"backend": choice.name, **asdict(finding)}
        for choice in parse_all(names)
        for finding in self_test(choice)
    ]


def self_test(choice: Choice) -> Iterator[Finding]:
    """Yield the finding of each check of a backend, whose worker may end or hang in any of them.

    Raises:
        NotAvailable: if the backend is not available.
    """
    from conformance.backends.self_test import Finding, checks, run_check
    from conformance.executors.backend_workers import describe, executor_of
    from conformance.executors.local import Call, WorkerCrash

    with executor_of(choice, jobs=1, functions=[run_check]) as executor:
        describe(executor, choice)
        for check in checks():
            call = Call(check, run_check, (choice.spelling, check), SECONDS)
            answer = executor.one(call)
            if isinstance(answer, Finding):
                yield answer
            elif isinstance(answer, WorkerCrash):
                words = f"the process ended: {answer.reason} {answer.last_words}"
                yield Finding(check, words.strip())
            else:
                yield Finding(check, f"no answer within {SECONDS:g} s")


def self_test_table(entries: Sequence[dict[str, str]]) -> Table:
    """Return the findings of self-tests as a table, a line each."""
    table = Table(box=None, pad_edge=False)
    for heading in ("backend", "check", "result"):
        table.add_column(heading)
    for entry in entries:
        unsupported = entry["unsupported"] and f"unsupported: {entry['unsupported']}"
        table.add_row(
            entry["backend"], Text(entry["check"]), Text(entry["problem"] or unsupported or "ok")
        )
    return table


def backends_table(entries: list[dict[str, Any]]) -> Table:
    """Return the backends as a table, a line each."""
    table = Table(box=None, pad_edge=False)
    for heading in ("backend", "here", "what"):
        table.add_column(heading)
    for entry in entries:
        versions = join_versions(entry["versions"].items())
        known = [part for part in (entry["device"], versions) if part]
        what = "; ".join(known) if entry["available"] else entry["reason"]
        # as text: a reason may hold brackets, which rich would take for its markup
        table.add_row(entry["name"], "yes" if entry["available"] else "no", Text(what))
    return table
