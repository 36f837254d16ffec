"""Operands that a compiler computes once more, with other roundings than where it returns them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from conformance.backends.base import BackendError
from conformance.judging.perturbation.evaluations import PermittedResults
from conformance.judging.perturbation.judge import judge_program
from conformance.transforms.dead_code import restrict_to
from conformance.verdict import Verdict
from reference.interpreter.evaluate import EvaluationError, evaluate
from reference.ir.op import Rounding
from reference.ir.program import Operation, Program
from reference.ir.types import Array
from reference.numerics.alike import equal_results
from reference.ops.table import OPS


def is_operand_recomputed(
    run: Callable[[Program, Sequence[Sequence[Array]]], Iterator[list[Array]]],
    platform: str,
    around: tuple[Program, Sequence[Array]],
    operation: Operation,
    taken: tuple[Program, tuple[Array, ...]],
    got: Sequence[Array],
) -> bool:
    """Return whether an operation that never rounds had other operands than those returned.

    It has no rounding error of its own. So if it is right in isolation, and the rounding errors of
    all operations before it explain its results, its operands were computed once more. `around`
    are its program with inputs, `taken` is the operation in isolation with its operands.
    """
    if OPS[operation.name].rounding not in (Rounding.MOVES, Rounding.EXACT):
        return False
    try:
        program, inputs = around
        permitted = PermittedResults(restrict_to(program, operation.results), inputs, platform)
        if judge_program(permitted, got).verdict is not Verdict.PASS:
            return False
        (alone,) = run(taken[0], [taken[1]])
        return equal_results(evaluate(*taken), alone)
    except (BackendError, EvaluationError):
        return False
