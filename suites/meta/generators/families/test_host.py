"""Transfers to the host and between processes, and operations that are started and awaited."""

from __future__ import annotations

import numpy as np
import pytest

from generators.families.host import BUILDERS, SELF
from generators.values.contents import materialise
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Dense
from suites.meta.support.built_cases import assert_valid, built, operations


@pytest.mark.parametrize("op", BUILDERS)
def test_every_case_is_valid_and_has_the_op(op: str) -> None:
    cases = built(BUILDERS[op], "f32", 25)
    assert_valid(cases)
    assert len(operations(cases, op)) >= 25


def test_what_is_fed_to_the_host_comes_back() -> None:
    cases = built(BUILDERS["infeed"], "si32", 20, {"grid": "of one process"})
    for case in cases:
        fed = operations([case], "outfeed")
        got = operations([case], "infeed")
        assert len(fed) == len(got)
        given = [[value.type for value in one.operands[:-1]] for one in fed]
        assert given == [[value.type for value in one.results[:-1]] for one in got]
        assert evaluate(case.program, materialise(case.program, case.inputs[0]))


def test_each_process_sends_to_one_and_receives_from_one() -> None:
    for case in built(BUILDERS["send"], "f32", 60, {"is_host_transfer": "no"}):
        (sent,) = operations([case], "send")
        pairs = sent.attribute("source_target_pairs")
        assert isinstance(pairs, Dense)
        if case.program.process_grid is None:
            assert pairs == SELF
        sources, targets = np.asarray(pairs.array).T.tolist()
        everyone = list(range(max(case.program.process_grid or (1, 1))))
        assert sources == sorted(targets) == everyone


def test_slices_and_collectives_are_started() -> None:
    cases = built(BUILDERS["async_start"], "f32", 80)
    started = {
        one.regions[0].operations[0].name for one in operations(cases, "async_start") if one.regions
    }
    assert {"slice", "dynamic_slice", "dynamic_update_slice", "all_reduce"} <= started
