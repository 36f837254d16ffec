"""Several operands of all_gather, gathered along their first dimension, whichever is asked for.

What each process gives then stands as a block in the result's memory, one behind the other: the
elements are in other places, unless the dimension asked for is the first. The blocks may be in
XLA's order of the process group beside that (process_order.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from conformance.tolerance.models.operands_as_parts import alike
from conformance.tolerance.models.process_order import replica_by_replica
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Program, TensorType, Value, attributes
from reference.ir.types import Array

LABEL = "gathered along the first dimension"


def explains(program: Program, inputs: Sequence[Array], actual: Sequence[Array]) -> bool:
    """Whether a program of several processes gives just what that mistake makes of its inputs."""
    return any(_makes(one, inputs, actual) for one in (program, replica_by_replica(program)) if one)


def _makes(program: Program, inputs: Sequence[Array], actual: Sequence[Array]) -> bool:
    subject, main = program.subject, program.main
    dimension = subject.attribute("all_gather_dim", 0)
    returned = main.body.operations[-1].operands
    if not isinstance(dimension, int) or not dimension or returned != subject.results:
        return False
    pairs = zip(subject.operands, subject.results, strict=True)
    results = tuple(_gathered(*pair, dimension) for pair in pairs)
    if len(results) < 2:
        return False
    given = attributes(**{**dict(subject.attributes), "all_gather_dim": 0})
    gather = replace(subject, results=results, attributes=given)
    *before, _, end = main.body.operations
    operations = (*before, gather, replace(end, operands=results))
    types = tuple(result.type for result in results)
    other = replace(main, body=replace(main.body, operations=operations), result_types=types)
    functions = tuple(other if one is main else one for one in program.functions)
    predicted = evaluate(replace(program, functions=functions), inputs)
    return len(predicted) == len(actual) and all(map(alike, predicted, actual))


def _gathered(operand: Value, result: Value, dimension: int) -> Value:
    """The result with the sizes that it has when gathered along the first dimension."""
    taken, given = operand.type, result.type
    assert isinstance(taken, TensorType)
    assert isinstance(given, TensorType)
    count = given.static_shape[dimension] // max(1, taken.static_shape[dimension])
    first, *others = taken.static_shape
    return replace(result, type=replace(given, shape=(first * count, *others)))
