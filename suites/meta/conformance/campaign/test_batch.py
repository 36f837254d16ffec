"""Batches: which cases are compiled as one module."""

from __future__ import annotations

import pytest

from conformance.campaign.batch import Bench, Prepared, bench_of, run_all
from conformance.catalog import Cell
from generators.case.case import Case
from generators.cells.plan import cases
from generators.values.contents import materialise
from reference.interpreter.evaluate import evaluate
from reference.ir.mesh import MeshGroups
from reference.ir.types import ELEMENT_TYPES

F32 = ELEMENT_TYPES["f32"]


def _mesh(case: Case) -> object:
    groups = case.program.subject.attribute("replica_groups")
    return (groups.mesh, groups.device_ids) if isinstance(groups, MeshGroups) else None


def test_modules_are_of_one_grid_and_mesh(monkeypatch: pytest.MonkeyPatch) -> None:
    made = [
        one for column in (F32, ELEMENT_TYPES["si32"], ELEMENT_TYPES["ui8"])
        for one in cases("all_gather", column, 0, 60)
        if one.program.subject.name == "all_gather" and one.program.process_grid == (8, 1)
    ]  # fmt: skip
    wanted = {_mesh(one) for one in made}
    assert len(made) > len(wanted) > 2, (len(made), wanted)
    prepared: list[Prepared] = []
    for number, one in enumerate(made):
        inputs = materialise(one.program, one.inputs[0])
        prepared.append(Prepared(number, one.program, [inputs], [evaluate(one.program, inputs)]))
    modules: list[list[int]] = []
    compiled = Bench.compile

    def counting(self: Bench, group: list[Prepared]) -> object:
        modules.append([one.index for one in group])
        return compiled(self, group)

    monkeypatch.setattr(Bench, "compile", counting)
    run_all(bench_of(Cell("all_gather", F32, "reference")), [prepared[::2], prepared[1::2]])
    assert sorted(number for module in modules for number in module) == list(range(len(made)))
    assert len(modules) == len(wanted)
    assert all(len({_mesh(made[number]) for number in module}) == 1 for module in modules)
