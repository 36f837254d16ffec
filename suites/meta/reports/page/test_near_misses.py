"""Near misses: constraints that were tried, and those whose programs were not refused."""

from __future__ import annotations

from dataclasses import replace

from conformance.verdict import Record, Verdict
from generators.cells.columns import ordered_misses
from reference.ops.table import OPS
from reports import view
from reports.page.cells import Tables
from reports.page.near_misses import near_miss_rows
from suites.meta.support import synthetic_run as synthetic

PASSING = synthetic.run("passing")
IDS = [id_ for id_, _ in ordered_misses("add")]


def miss(index: int, verdict: Verdict, op: str = "add") -> Record:
    return Record(op, "invalid", "cpu", index, f"{index:016x}", verdict)


def rows(*records: Record):  # type: ignore[no-untyped-def]
    planned = (*PASSING.planned, *{(one.op, "invalid", "cpu") for one in records})
    run = replace(PASSING, records=[*PASSING.records, *records], planned=planned)
    tables = Tables(view.build(run))
    return tables, near_miss_rows(tables)


def test_a_near_miss_is_refused_accepted_or_answered_otherwise() -> None:
    tables, found = rows(miss(0, Verdict.PASS), miss(1, Verdict.ACCEPTED), miss(2, Verdict.CRASHED))
    ((op, tried, every, ((backend, refused, accepted, other, others),)),) = found
    assert (op, backend) == (tables.op("add"), tables.backend("cpu"))
    assert (refused, accepted, other) == (1, 1, 1)
    assert others == [[IDS[1], "accepted", 1], [IDS[2], "crashed", 2]]
    assert tried == len({*IDS[:3]} & {*OPS["add"].constraints})
    assert every == len(OPS["add"].constraints)


def test_ops_without_near_misses_have_no_row() -> None:
    assert rows()[1] == []


def test_a_case_of_another_version_has_no_constraint() -> None:
    _, (row,) = rows(miss(10_000, Verdict.ACCEPTED))
    assert row[1] == 0
    assert row[3][0][4] == [["", "accepted", 10_000]]
