"""Collectives in branches, in loops and in asynchronous operations are reached by every process."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.catalog import CATALOG
from conformance.judging.compare import judge
from conformance.transforms.collective import collective_of
from conformance.verdict import Verdict
from generators.case.case import Case
from generators.case.choices import Pick
from generators.case.stream import stream
from generators.families.distribution import IN_MAIN
from generators.programs.constructs import CASE, IF, LOOP, STARTED, put_in_construct
from generators.values.contents import materialise
from reference.interpreter.evaluate import check, evaluate
from reference.ir.types import element_type
from reference.ops.host import COLLECTIVES

F32 = element_type("f32")
DRAWN = 4
"""Cases of each op in each construct."""

OF_NAME = {IF: "if", CASE: "case", LOOP: "while", STARTED: "async_start"}
EVERY = [(op, way) for op in sorted(IN_MAIN) for way in OF_NAME
         if way != STARTED or op in COLLECTIVES]  # fmt: skip


def drawn(op: str, way: str) -> list[Case]:
    """Return some cases of an op in a construct."""
    picks = [stream(77, index, {}, index) for index in range(DRAWN)]
    return [put_in_construct(IN_MAIN[op](element_type("ui32"), pick), way, pick)
            if op.endswith("_id") else put_in_construct(IN_MAIN[op](F32, pick), way, pick)
            for pick in picks]  # fmt: skip


@pytest.mark.parametrize(("op", "way"), EVERY)
def test_collective_is_in_the_construct_and_all_processes_finish(op: str, way: str) -> None:
    for made in drawn(op, way):
        program = made.program
        assert OF_NAME[way] in {one.name for one in program.main.body.operations}
        assert op not in {one.name for one in program.main.body.operations}
        assert getattr(collective_of(program), "name", "") == op
        assert check(program) == []
        for recipe in made.inputs[:2]:
            evaluate(program, materialise(program, recipe))


@pytest.mark.slow
@pytest.mark.parametrize(("op", "way"), EVERY)
def test_a_wrong_element_is_found(op: str, way: str) -> None:
    rule, wrong = CATALOG[op].tolerance, 0
    for made in drawn(op, way):
        inputs = materialise(made.program, made.inputs[0])
        expected = evaluate(made.program, inputs)
        assert judge(made.program, inputs, expected, expected, rule).verdict is Verdict.PASS
        actual = [np.zeros_like(array) for array in expected]
        if any((array != 0).any() for array in expected):
            found = judge(made.program, inputs, expected, actual, rule).verdict
            assert found in (Verdict.DIVERGENT, Verdict.FLUSHED, Verdict.UNSPECIFIED)
            wrong += found is Verdict.DIVERGENT
    assert wrong


def test_choices_are_drawn_where_nothing_is_planned() -> None:
    pick = Pick(lambda _: 0)
    made = put_in_construct(IN_MAIN["all_gather"](F32, pick), IF, pick)
    predicate = made.program.main.arguments[-1]
    assert str(predicate.type) == "tensor<i1>"
    assert [recipe.profiles[-1] for recipe in made.inputs] == ["values:1"]
