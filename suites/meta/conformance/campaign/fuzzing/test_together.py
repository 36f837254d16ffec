"""Programs of a trial on a backend: taken apart where they are refused, judged where they ran."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np
import pytest

from conformance.backends.base import Failed
from conformance.campaign.fuzzing.seeds.material import case_of
from conformance.campaign.fuzzing.singles import PER_TRIAL, is_single
from conformance.campaign.fuzzing.together import Prepared, ran
from conformance.campaign.fuzzing.trial import run_trial
from conformance.campaign.fuzzing.trials import KNOWN_TO_CRASH, Trial
from conformance.gate.expectations import Expectation
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Program, TensorType, Value, single_op
from reference.ir.types import ELEMENT_TYPES

_OF = TensorType((2,), ELEMENT_TYPES["f32"])


class _Refusing:
    """A session of a backend that refuses an op, and says so in some words; it counts modules."""

    def __init__(self, op: str, words: str) -> None:
        self.op, self.words, self.sizes = op, words, list[int]()

    def compile(self, program: Program) -> Any:
        names = [one.name for one in program.walk()]
        self.sizes.append(len(program.main.result_types))
        if self.op in names:
            raise Failed(self.words)
        return _Compiled(lambda inputs: list(evaluate(program, inputs)))


class _Compiled:
    def __init__(self, run: Callable[[Any], Any]) -> None:
        self.run = run


def _prepared(*ops: str) -> list[Prepared]:
    found: list[Prepared] = []
    for number, op in zip(count(), ops):
        program = single_op(op, (Value("x", _OF),), (_OF,))
        inputs = (np.array([number, 0.5], np.float32),)
        found.append(Prepared(number, program, [inputs], [evaluate(program, inputs)]))
    return found


@pytest.mark.parametrize(
    ("words", "most"),
    [("'stablehlo.cosine' op can't be translated", 4), ("HLO opcode `cosine` is not there", 4),
     ("no", 11)],
)  # fmt: skip
def test_who_is_refused_is_found_by_the_words_or_by_halving(words: str, most: int) -> None:
    ops = ["abs", "sine", "cosine", "abs", "tan", "negate", "cosine", "sine"]
    session = _Refusing("cosine", words)
    found = ran(session, _prepared(*ops))  # type: ignore[arg-type]
    assert [one.number for one, _ in found] == [*range(len(ops))]
    for one, results in found:
        if ops[one.number] == "cosine":
            assert isinstance(results, Failed)
        else:
            assert isinstance(results, list)
            (((got,),), ((want,),)) = results, one.expected
            assert got.tobytes() == want.tobytes()
    assert len(session.sizes) <= most + 1


def test_where_all_have_what_is_refused_each_is_tried_alone() -> None:
    session = _Refusing("cosine", "cosine")
    ran(session, _prepared(*["cosine"] * 8))  # type: ignore[arg-type]
    assert session.sizes == [8, *[1] * 8]


def test_a_single_operation_is_judged_by_its_own_rule() -> None:
    """Within longer programs a root may be off by a unit in the last place; alone it may not.

    The fault changes the last element of a result, where there is one.
    """
    fault, ops = "reference:off_by_one_last_element", frozenset({"sqrt"})
    passing = 0
    for number in filter(is_single, range(40 * PER_TRIAL)):
        trial = Trial(fault, 3, number, number + 1, ops)
        if "pass" in run_trial(trial).counts:
            assert _may_be_off(case_of(trial, number).program)
            passing += 1
    assert passing < 40


def _may_be_off(program: Program) -> bool:
    """Whether a program has no element, or a quantized one: its code may be off by one."""
    (of,) = program.main.result_types
    return isinstance(of, TensorType) and (0 in of.shape or "quant" in str(of))


def test_programs_are_left_out_whose_operations_are_known_to_end_their_process() -> None:
    counts: list[int] = []
    for where in ("stablehlo.", "no such operation"):
        ends = Expectation("ends", ("*",), "", verdicts=("crashed",), where=(where,))
        tried = run_trial(Trial("reference:right", 3, 0, 6, expectations=(ends,)))
        counts.append(tried.counts.get(KNOWN_TO_CRASH, 0))
    assert counts[0] > 0
    assert counts[1] == 0
