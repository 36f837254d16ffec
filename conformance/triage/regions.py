"""Loops and branches that fail as a whole: their regions are run as programs and explained.

A compiler rewrites the operations of a region like operations of main. If it does so only while no
value of the region is observed, no operation of the region is wrong in isolation, and the search
for the cause continues in the region as in a program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from conformance.backends.base import BackendError
from conformance.transforms.extract import extract_operation
from conformance.transforms.outline import outline
from conformance.transforms.single_iteration import replace_loop_by_body
from conformance.triage.region_judge import (
    FAULTY_ITERATIONS,
    ITERATIONS,
    Run,
    WrongOperation,
    taken_branch,
)
from reference.interpreter.evaluate import EvaluationError, evaluate
from reference.ir.op import Structure
from reference.ir.program import Program
from reference.ir.types import Array
from reference.numerics.alike import equal_results
from reference.ops.structure import structure_of

Explain = Callable[[Program, Sequence[Array], Sequence[Array]], tuple[str, ...] | None]
"""A function explain(program, inputs, results): the expectations that match all failures of the
results.

Empty if the results are right, None if a failure is not matched.
"""


def match_in_regions(run: Run, wrong: WrongOperation, explain: Explain) -> tuple[str, ...]:
    """Return the expectations that match all failures in the regions of an operation.

    Empty if its results differ from the results of its regions, run one after the other.
    """
    got = [wrong.values.get(one.name) for one in wrong.operation.results]
    results = [one for one in got if one is not None]
    if len(results) < len(got):
        return ()
    match structure_of(wrong.operation):
        case Structure.BRANCHES:
            ways = (_explain_branch,)
        case Structure.LOOPS:
            ways = (_explain_single_iteration, _explain_iterations)
        case _:
            return ()
    for way in ways:
        try:
            found = way(run, wrong, results, explain)
        except (BackendError, EvaluationError, KeyError):
            continue
        if found:
            return found
    return ()


def _explain_branch(
    run: Run, wrong: WrongOperation, got: Sequence[Array], explain: Explain
) -> tuple[str, ...] | None:
    region = taken_branch(wrong.operation, wrong.values)
    program, inputs = outline(wrong.program, region, wrong.values)
    (actual,) = run(program, [inputs])
    return explain(program, inputs, actual) if equal_results(actual, got) else None


def _explain_single_iteration(
    run: Run, wrong: WrongOperation, got: Sequence[Array], explain: Explain
) -> tuple[str, ...] | None:
    """Explain a loop of a single iteration by its body: compilers unroll loops of one iteration."""
    taken = extract_operation(wrong.program, wrong.operation, wrong.values)
    if taken is None:
        return None
    (program, inputs), other = taken, replace_loop_by_body(taken[0], wrong.operation)
    (actual,) = run(other, [inputs])
    is_alike = equal_results(evaluate(other, inputs), evaluate(program, inputs))
    return explain(other, inputs, actual) if is_alike and equal_results(actual, got) else None


def _explain_iterations(
    run: Run, wrong: WrongOperation, got: Sequence[Array], explain: Explain
) -> tuple[str, ...] | None:
    """Explain every iteration of a loop, with the backend's own values between them."""
    of, values = wrong.operation, wrong.values
    (condition, around), (body, inside) = (
        outline(wrong.program, region, values) for region in of.regions
    )
    carried: Sequence[Array] = [values[value.name] for value in of.operands]
    known, faulty = dict[str, None](), 0
    for _ in range(ITERATIONS):
        inputs = [*carried, *around]
        (goes_on,) = run(condition, [inputs])
        found = explain(condition, inputs, goes_on)
        if found is None or not goes_on[0]:
            return tuple(known) if found is not None and equal_results(carried, got) else None
        inputs = [*carried, *inside]
        (carried,) = run(body, [inputs])
        within = explain(body, inputs, carried)
        if within is None:
            return None
        known |= dict.fromkeys((*found, *within))
        faulty += bool(found or within)
        if faulty > FAULTY_ITERATIONS:
            return None
    return None
