"""Programs that end their process, made smaller by answers that come one by one."""

from __future__ import annotations

import pytest

from conformance.campaign.fuzzing.shrinking import TRIES, Shrinking
from conformance.campaign.fuzzing.trials import Hit
from conformance.check.outcome import Outcome
from conformance.triage.minimise.minimise import minimise
from conformance.verdict import Verdict
from generators.chains.strategy import program_at
from generators.values.contents import materialise
from reference.ir.program import Program
from reference.ops.xla.lowering import lower_program

OP = "multiply"


def hits() -> list[Hit]:
    """Programs of several operations, one of which is to blame."""
    found = []
    for number in range(80):
        case = program_at(11, number)
        program = lower_program(case.program)
        names = [one.name for one in program.walk()]
        if OP in names and len(names) > 8:
            inputs = materialise(program, case.inputs[0])
            outcome = Outcome(Verdict.CRASHED, "abort", "the process ended with SIGABRT")
            found.append(Hit(number, program, inputs, outcome))
    return found[:4]


def fails(program: Program) -> bool:
    return any(one.name == OP for one in program.walk())


@pytest.mark.parametrize("hit", hits(), ids=lambda hit: str(hit.number))
def test_answers_one_by_one_lead_to_the_same_program_as_all_at_once(hit: Hit) -> None:
    small, count = Shrinking(hit), 0
    while (tried := small.next()) is not None:
        small.answer(fails(tried[0]), 0.01)
        count += 1
    assert small.fails_again
    at_once = minimise(lambda p, _: fails(p), hit.program, hit.inputs, 60.0, TRIES)
    assert small.program == at_once.program
    assert 1 < count <= TRIES + 1
    assert len(list(small.program.walk())) < len(list(hit.program.walk()))


def test_what_does_not_fail_again_is_not_made_smaller() -> None:
    small = Shrinking(hits()[0])
    assert small.next() == (small.hit.program, small.hit.inputs)
    small.answer(fails=False, seconds=0.1)
    assert small.next() is None
    assert not small.fails_again


def test_time_that_is_over_leaves_the_smallest_so_far() -> None:
    small = Shrinking(hits()[0], 10.0)
    small.answer(fails=True, seconds=1.0)
    tried = None
    while tried is None or not fails(tried[0]):
        tried = small.next()
        assert tried is not None
        small.answer(fails(tried[0]), 0.0)
    small.answer(fails=False, seconds=9.0)
    assert small.next() is None
    assert small.fails_again
