"""Near misses as cells: refused by a right backend, accepted by a backend that checks nothing."""

import pytest

from conformance.campaign.planning import MISSES_PER_ID, Options, plan_of
from conformance.campaign.replay import find, replay
from conformance.campaign.runner import run
from conformance.campaign.tasks import Task
from conformance.catalog import CATALOG, Cell, cells
from conformance.verdict import Verdict
from generators.case.columns import INVALID, column
from generators.cells.columns import miss_count, ordered_misses
from reference.ops.table import OPS
from suites.meta.support.one_task import run_task


def test_every_op_with_constraints_has_a_cell_of_near_misses() -> None:
    found = {cell.op for cell in cells() if cell.element_type == INVALID}
    assert found >= {op for op in CATALOG if OPS[op].constraints}
    assert column("invalid") == INVALID


@pytest.mark.parametrize("profile", MISSES_PER_ID)
def test_every_profile_has_a_near_miss_of_every_id(profile) -> None:
    for op in ("pad", "gather", "while", "convolution"):
        tasks = plan_of(Cell(op, INVALID, "cpu"), profile, 0)
        count = sum(map(len, tasks))
        misses = ordered_misses(op)
        assert {id_ for id_, _ in misses[:count]} == {id_ for id_, _ in misses}
        assert count == miss_count(op, MISSES_PER_ID[profile])


@pytest.mark.parametrize("op", ["abs", "pad", "reduce", "sort", "while", "dot_general"])
def test_a_right_backend_refuses_and_a_careless_one_accepts(op) -> None:
    count = min(10, len(ordered_misses(op)))
    right = run_task(Task(Cell(op, INVALID, "reference"), 0, 0, count))
    assert {record.verdict for record in right.records} == {Verdict.PASS}
    careless = run_task(Task(Cell(op, INVALID, "reference:accepts_invalid"), 0, 0, count))
    assert [record.verdict for record in careless.records] == [Verdict.ACCEPTED] * count
    assert [record.kind for record in careless.records] == [
        id_ for id_, _ in ordered_misses(op)[:count]
    ]
    assert all(record.detail.program for record in careless.records)


def test_accepted_programs_are_stored_and_replayed(tmp_path) -> None:
    backend = "reference:accepts_invalid"
    made = run(
        Options(
            out=tmp_path,
            backends=(backend,),
            ops=("pad",),
            element_types=("invalid",),
            profile="smoke",
            jobs=1,
            expectations="none",
        )
    )
    assert {record.verdict for record in made.records} == {Verdict.ACCEPTED}
    case = find(tmp_path, f"pad-invalid-{backend}-0")
    assert case.record == made.records[0]
    again = replay(case)
    assert (again.record.verdict, again.record.kind) == (Verdict.ACCEPTED, case.record.kind)
    assert "stablehlo.pad" in again.program
