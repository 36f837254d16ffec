"""Programs whose results hang on what a decomposition leaves open, judged all the same.

The backend shows what it has chosen: the program is run again with the operands and results of the
decompositions in main as outputs. Their equations are put to these, and the rest of the program is
judged with the backend's own results in the place of the calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from conformance import nearby
from conformance.backends.base import BackendError
from conformance.compare import Judgement, malformed
from conformance.equations import top_k_violation, violation
from conformance.locate import Run
from conformance.parts import returning
from conformance.permitted import Permitted
from conformance.perturb import judge_program
from conformance.verdict import Errors, Verdict
from reference.errors import EvaluationError
from reference.lapack import TOP_K, direction
from reference.program import Operation, Program, Region, TensorType, Value
from reference.types import Array, ElementType, to_bits

NO_SOLUTION = "not a solution"
"""The class of results of a decomposition that its equations refute."""


@dataclass(frozen=True, slots=True)
class View:
    """A program that says the same of a backend with less left open, and the judgement on it.

    `operation` is the call whose equations do not hold, if there is one.
    """

    program: Program
    inputs: tuple[Array, ...]
    actual: Sequence[Array]
    judgement: Judgement
    operation: Operation | None = None


def calls_of(program: Program) -> list[Operation]:
    """The decompositions in main, as far as their values can be outputs."""
    found: list[Operation] = []
    for operation in program.main.body.operations:
        known = nearby.family(operation) is not None or (
            operation.attribute("call_target_name") == TOP_K
        )
        if known and all(map(_shows, (*operation.operands, *operation.results))):
            found.append(operation)
    return found


def _shows(value: Value) -> bool:
    of = value.type
    return isinstance(of, TensorType) and of.is_static and isinstance(of.element_type, ElementType)


def viewed(
    program: Program,
    inputs: Sequence[Array],
    actual: Sequence[Array],
    judgement: Judgement,
    run: Run,
    platform: str,
) -> View | None:
    """What the backend's own decompositions say of its results.

    None when the judgement on the program as it is should stand: there are no such calls, they
    cannot be shown, or the results are others when they are shown and right then.
    """
    calls = calls_of(program)
    if not calls:
        return None
    ends = program.main.body.operations[-1].operands
    shown = list(dict.fromkeys(v for one in calls for v in (*one.operands, *one.results)))
    try:
        (arrays,) = run(returning(program, [*ends, *shown]), [inputs])
    except BackendError:
        return None
    if len(arrays) != len(ends) + len(shown):
        return None
    outputs, values = arrays[: len(ends)], dict(zip(shown, arrays[len(ends) :], strict=True))
    bare, given = _without(program, calls), [v for one in calls for v in one.results]
    wide_inputs = (*inputs, *(values[value] for value in given))
    for operation in calls:
        wrong = _wrong(operation, values, program)
        if wrong is not None:
            found = _refuted(wrong, actual)
            return View(bare, wide_inputs, outputs, found, operation)
    same = malformed(outputs, actual) is None and all(
        np.array_equal(to_bits(one), to_bits(other))
        for one, other in zip(outputs, actual, strict=True)
    )
    try:
        permitted = Permitted(bare, wide_inputs, platform)
    except EvaluationError:
        return None
    found = judge_program(permitted, outputs)
    if judgement.verdict.fails and not found.verdict.fails and not same:
        return None
    return View(bare, wide_inputs, outputs, found)


def _wrong(operation: Operation, values: dict[Value, Array], program: Program) -> str | None:
    operands = tuple(values[value] for value in operation.operands)
    results = tuple(values[value] for value in operation.results)
    if operation.attribute("call_target_name") == TOP_K:
        named = operation.attribute("called_computations")
        bodies = tuple(f.body for f in program.functions if (f.name,) == named)
        return top_k_violation(operation, operands, results, largest=direction(bodies) == "GT")
    return violation(operation, operands, results)


def _refuted(wrong: str, actual: Sequence[Array]) -> Judgement:
    total = sum(array.size for array in actual)
    return Judgement(Verdict.DIVERGENT, NO_SOLUTION, wrong, total, total, None, None, (), Errors())


def _without(program: Program, calls: Sequence[Operation]) -> Program:
    """The program with the results of calls as further parameters."""
    main = program.main
    left = tuple(one for one in main.body.operations if one not in calls)
    given = tuple(value for one in calls for value in one.results)
    body = Region((*main.arguments, *given), left)
    others = tuple(function for function in program.functions if function is not main)
    return Program((replace(main, body=body), *others))
