"""The pass after which a program has another meaning: stages of a compiler, evaluated.

If the optimised module is right, code generation or the runtime is wrong: the module that the
results come from is evaluated first, and needs no compilation. Otherwise one compilation is enough,
if the modules between passes can be read back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property, partial
from typing import Any

import numpy as np

from conformance.backends.base import NotReadBack, Unsupported
from conformance.backends.compiled.modules import RewrittenProgram, read_back
from conformance.backends.compiled.stages import Stage, dump_folder, dumped_stages
from conformance.backends.session import Session
from conformance.executors.limit import TooSlow, limit_evaluation
from conformance.judging.compare import judge_operation
from conformance.judging.judgement import Judgement
from conformance.judging.perturbation.evaluations import PermittedResults
from conformance.judging.perturbation.judge import is_single, judge_program
from conformance.transforms.inline import inline
from reference.interpreter.evaluate import EvaluationError, evaluate
from reference.ir.program import Program
from reference.ir.types import Array
from reference.numerics.alike import different_bits, equal_results


class Step(Enum):
    """A step of a compilation: a pass, code generation, or execution."""

    TRANSLATION = "rewriting: the translation to HLO changes the meaning"
    PASS = "rewriting"  # noqa: S105 - a pass of a compiler
    CODE_GENERATION = "code generation or run time: no pass changes the meaning"


@dataclass(frozen=True, slots=True)
class Culprit:
    """The step of a compiler that changes the meaning of the program.

    Attributes:
        step: the kind of step.
        name: the pass, "" where the step is none.
        pipeline: the pipeline of that pass.
        others: passes before it that may be the culprit, too, as the modules after them cannot be
            evaluated.
    """

    step: Step
    name: str = ""
    pipeline: str = ""
    others: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return the culprit in a line."""
        if self.step is not Step.PASS:
            return self.step.value
        said = f"rewriting: pass {self.name} of pipeline {self.pipeline} changes the meaning"
        if self.others:
            names = ", ".join(self.others)
            said += f", or one of {names}, after which the module cannot be evaluated"
        return said


def find_culprit(
    session: Session,
    program: Program,
    inputs: Sequence[Array],
    actual: Sequence[Array],
    seconds: float,
    text: str = "",
    *,
    optimised: bytes = b"",
    is_failure: bool = False,
) -> Culprit | None:
    """Return the step of a session's compiler that makes results of a program wrong.

    Args:
        session: a session of the backend that gave the results.
        program: the program that was compiled.
        inputs: the arguments of its main function.
        actual: the results of the backend.
        seconds: the limit on one evaluation by the reference.
        text: the program as it was compiled, if it was given as text.
        optimised: the optimised module that gave the results, as a serialised proto, if the session
            does not have it.
        is_failure: whether `actual` has been judged, and is wrong. A single operation is not judged
            again then. Results of several operations are, as a single one of them may have failed.

    Returns:
        None where the stages do not answer: the backend has no compiler that dumps them, the
        optimised module cannot be evaluated, or the program as a whole permits the results.
    """
    judge = ResultJudge(program, inputs, session)
    try:
        if is_failure and judge.is_single and not judge.is_expected(actual):
            judge.add_wrong(actual)
        if judge.is_right(actual):
            return None

        def is_right(read: Callable[[], RewrittenProgram]) -> bool | None:
            try:
                with limit_evaluation(seconds):
                    results = read().evaluate(inputs)
            except (NotReadBack, TooSlow):
                return None
            return judge.is_right(results)

        module = optimised or session.optimised_module(program, text)
        if module and is_right(partial(read_back, module, program)):
            return Culprit(Step.CODE_GENERATION)
        with dump_folder() as folder:
            stages = dumped_stages(session, program, folder, text)
            return culprit_among(stages, lambda stage: is_right(partial(stage.read, program)))
    except (Unsupported, EvaluationError, TooSlow):
        return None


def culprit_among(
    stages: Sequence[Stage], is_right: Callable[[Stage], bool | None]
) -> Culprit | None:
    """Return the step between a right stage and the wrong stage after it, found by bisection.

    Args:
        stages: the stages of a compilation, in order.
        is_right: whether a stage means what the program does; None where it cannot be evaluated.
    """
    if not stages:
        return None
    last = len(stages) - 1
    ended = is_right(stages[last])
    if ended is None:
        return None
    if ended:
        return Culprit(Step.CODE_GENERATION)
    answers = ((number, is_right(stages[number])) for number in range(last))
    first, begun = next((answer for answer in answers if answer[1] is not None), (last, False))
    if not begun:
        return Culprit(Step.TRANSLATION) if first == 0 else None
    right, wrong = bisect_stages(first, last, lambda number: is_right(stages[number]))
    others = dict.fromkeys(stage.name for stage in stages[right + 1 : wrong])
    return Culprit(Step.PASS, stages[wrong].name, stages[wrong].pipeline, tuple(others))


def bisect_stages(
    right: int, wrong: int, is_right: Callable[[int], bool | None]
) -> tuple[int, int]:
    """Return the numbers of a right stage and of a wrong stage after it, with no stage between them
    that can be evaluated.
    """
    unknown = set[int]()
    while between := [n for n in range(right + 1, wrong) if n not in unknown]:
        middle = between[len(between) // 2]
        answer = is_right(middle)
        if answer is None:
            unknown.add(middle)
        elif answer:
            right = middle
        else:
            wrong = middle
    return right, wrong


class ResultJudge:
    """Judge of a program's results; equal results are judged once."""

    def __init__(self, program: Program, inputs: Sequence[Array], session: Session) -> None:
        """Judge results of a program on these inputs, by the tolerances of a session's hardware."""
        flat = inline(program).program
        self._program, self._inputs, self._hardware = flat, tuple(inputs), session.hardware
        self._judged: list[tuple[Sequence[Array], bool]] = []

    @property
    def is_single(self) -> bool:
        """Whether the program is a single operation, which is judged by its rule."""
        return is_single(self._program)

    @cached_property
    def _expected(self) -> Sequence[Any]:
        return evaluate(self._program, self._inputs)

    def is_expected(self, results: Sequence[Array]) -> bool:
        """Return whether results are arrays with the bits of the reference's results."""
        return len(results) == len(self._expected) and all(
            isinstance(want, np.ndarray)
            and (want.dtype, want.shape) == (got.dtype, got.shape)
            and not different_bits(want, got).any()
            for want, got in zip(self._expected, results, strict=True)
        )

    def add_wrong(self, results: Sequence[Array]) -> None:
        """Add results that are known to be wrong."""
        self._judged.append((results, False))

    def is_right(self, results: Sequence[Array]) -> bool:
        """Return whether the program permits these results."""
        for others, is_right in self._judged:
            if equal_results(results, others):
                return is_right
        if self.is_expected(results):
            return True
        is_right = not self._judge(results).verdict.fails
        self._judged.append((results, is_right))
        return is_right

    def _judge(self, results: Sequence[Array]) -> Judgement:
        if self.is_single:
            return judge_operation(
                self._program, self._inputs, self._expected, results, self._hardware
            )
        permitted = PermittedResults(self._program, self._inputs, self._hardware)
        return judge_program(permitted, results)
