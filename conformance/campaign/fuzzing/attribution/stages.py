"""The pass that changes the meaning of a finding's program: each stage evaluated by the reference.

One compilation answers, where the optimised modules can be read back. It also answers for a right
optimised module: then the error is in code generation or at run time.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.backends.base import NotReadBack, Unsupported
from conformance.backends.compiled.backend import evaluated
from conformance.backends.compiled.stages import Stage, dumped_stages
from conformance.backends.session import Session, open_session
from conformance.campaign.fuzzing.attribution.cause import RIGHT, WRONG, Cause
from conformance.campaign.fuzzing.finding import Finding
from conformance.campaign.fuzzing.trials import Trial
from conformance.executors.limit import TooSlow, limited
from conformance.gate.expectations import hypotheses_of
from conformance.judging.compare import judge_operation
from conformance.judging.perturbation.evaluations import PermittedResults
from conformance.judging.perturbation.judge import is_single, judge_program
from conformance.known.in_force import in_force
from conformance.phases import phase
from conformance.transforms.inline import inlined
from reference.interpreter.evaluate import EvaluationError
from reference.ir.program import Program
from reference.ir.types import Array
from reference.numerics.alike import equal_elements

AS_OPTIMISED = "as the optimised module, evaluated by the reference"
BEFORE_PASSES = "as HLO before all passes, evaluated by the reference"


def before(name: str) -> str:
    """Return what the way is called in which a program is evaluated as it is before a pass."""
    return f"before pass {name}"


def after(name: str) -> str:
    """Return what the way is called in which a program is evaluated as it is after a pass."""
    return f"after pass {name}"


@dataclass(frozen=True, slots=True)
class _Evaluated:
    """A stage and its results; none where it cannot be evaluated."""

    stage: Stage
    results: tuple[Array, ...] | None
    is_right: bool = False


def cause_by_stages(trial: Trial, finding: Finding) -> Cause | None:
    """Return the pass after which a finding's program has another meaning, or that none does.

    Returns:
        None where the stages do not answer: the backend has no compiler that dumps them, too few of
        them can be evaluated, or the finding is not wrong by what the program permits as a whole.

    Raises:
        NotAvailable: when the backend cannot be had.
    """
    if not finding.actual:
        return None
    session = open_session(trial.backend, phase)
    with in_force(hypotheses_of(trial.expectations, session.name)):
        judge = _Judge(finding.program, finding.inputs, session)
        try:
            if judge.is_right(finding.actual):
                return None
            with tempfile.TemporaryDirectory(prefix="hlo-conformance-") as folder:
                stages = dumped_stages(session, finding.program, Path(folder))
                found = [_evaluate(one, finding, judge, trial.seconds) for one in stages]
        except (Unsupported, EvaluationError, TooSlow):
            return None
    return _cause(found)


class _Judge:
    """Tells whether results of a program are permitted; the same results are judged once."""

    def __init__(self, program: Program, inputs: Sequence[Array], session: Session) -> None:
        flat = inlined(program).program
        self._program, self._inputs, self._hardware = flat, tuple(inputs), session.hardware
        self._judged: list[tuple[Sequence[Array], bool]] = []

    def is_right(self, results: Sequence[Array]) -> bool:
        """Tell whether these results are permitted."""
        for others, is_right in self._judged:
            if _same(results, others):
                return is_right
        permitted = PermittedResults(self._program, self._inputs, self._hardware)
        if is_single(self._program):
            judgement = judge_operation(
                self._program, self._inputs, permitted.expected, results, self._hardware
            )
        else:
            judgement = judge_program(permitted, results)
        self._judged.append((results, not judgement.verdict.fails))
        return not judgement.verdict.fails


def _same(one: Sequence[Array], other: Sequence[Array]) -> bool:
    return len(one) == len(other) and all(
        a.shape == b.shape and a.dtype == b.dtype and bool(equal_elements(a, b).all())
        for a, b in zip(one, other, strict=True)
    )


def _evaluate(stage: Stage, finding: Finding, judge: _Judge, seconds: float) -> _Evaluated:
    try:
        with limited(seconds):
            results = evaluated(stage.program(finding.program), finding.inputs)
    except (NotReadBack, TooSlow):
        return _Evaluated(stage, None)
    return _Evaluated(stage, results, judge.is_right(results))


def _cause(found: Sequence[_Evaluated]) -> Cause | None:
    """Return what evaluated stages say: the pass between the last right stage and a wrong one."""
    known = [number for number, one in enumerate(found) if one.results is not None]
    if not known or known[-1] != len(found) - 1:
        return None  # what the compiler made in the end cannot be evaluated
    right = [number for number in known if found[number].is_right]
    if not right:
        ways = {BEFORE_PASSES: WRONG} if known[0] == 0 else {}
        return (
            Cause(ways, "rewriting: the translation to HLO changes the meaning") if ways else None
        )
    if right[-1] == known[-1]:
        note = "code generation or run time: no pass changes the meaning"
        return Cause({AS_OPTIMISED: RIGHT}, note)
    first = next(number for number in known if number > right[-1])
    suspects = [one.stage for one in found[right[-1] + 1 : first + 1]]
    culprit = suspects[-1]
    note = f"rewriting: pass {culprit.name} of pipeline {culprit.pipeline} changes the meaning"
    if len(suspects) > 1:
        others = ", ".join(dict.fromkeys(one.name for one in suspects[:-1]))
        note += f", or one of {others}, after which the module cannot be evaluated"
    return Cause({before(culprit.name): RIGHT, after(culprit.name): WRONG}, note)
