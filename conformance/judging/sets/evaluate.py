"""Evaluation of a program on sets of values: what its results may be.

The sets know no relation between values, so that they are wider than the results that any execution
gives. A value outside is one that none gives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from conformance.judging.sets.collectives import sets_of_collective
from conformance.judging.sets.enclosures import Enclosures
from conformance.judging.sets.facts import anything, static_shape
from conformance.judging.sets.value_set import Unknown, ValueSet, union_of
from conformance.transforms.substitute import embed_free_values
from conformance.transforms.values import free_values, nested_operations
from reference.interpreter.evaluate import split_by_process
from reference.ir.op import Structure
from reference.ir.processes import ProcessGrid
from reference.ir.program import (
    Operation,
    Program,
    Region,
    TensorType,
    TokenType,
    TupleType,
    Value,
    ValueType,
)
from reference.ir.types import Array
from reference.ops.structure import COMMUNICATION, is_structure, structure_of

MOST_OPERATIONS = 12_000
"""Largest number of operations that are evaluated, with those of each iteration of a loop."""

MOST_UNDECIDED = 3
"""Largest number of iterations of a loop whose condition is not decided."""

Held = ValueSet | tuple["Held", ...] | None
"""The set of a value: of a tensor, of each element of a tuple, None for a token."""

_NOTHING: Mapping[str, Array] = {}


def evaluate_sets(
    program: Program,
    inputs: Sequence[Array],
    platform: str,
    taken: Mapping[str, Array] | None = None,
    *,
    is_strict: bool = False,
    flushes: bool = False,
) -> list[ValueSet] | None:
    """Return the sets of main's results; None if the program cannot be followed.

    `taken` are values of main that replace those that operations give, as in `PermittedResults`;
    results stay what their operations give. There are none in programs of several processes. The
    evaluation `is_strict` if nothing is left out and nothing is done otherwise than operations say,
    within their own tolerances. If it `flushes`, zero stands beside subnormal inputs and results
    of operations in a program of one process.
    """
    if taken and program.process_count > 1:
        return None
    names = [argument.name for argument in program.main.arguments]
    values: list[dict[str, Held]] = [
        dict(zip(names, map(ValueSet.of, given), strict=True))
        for given in split_by_process(program, inputs)
    ]
    evaluator, body = _Evaluator(Enclosures(platform, is_strict), flushes), program.main.body
    try:
        if program.process_grid is None or program.process_count == 1:
            held = {name: evaluator.flush(one) for name, one in values[0].items()}
            found = evaluator.run(body, held, taken or {})
        else:
            found = evaluator.run_together(body, values, program.process_grid)
        return [_of_tensor(one) for one in found]
    except Unknown:
        return None


@dataclass(slots=True)
class _Evaluator:
    enclosures: Enclosures
    flushes: bool = False
    count: int = 0

    def run(
        self, region: Region, values: dict[str, Held], taken: Mapping[str, Array] = _NOTHING
    ) -> list[Held]:
        """Return the sets that a region returns; later operations take the values in `taken`."""
        made: dict[str, Held] = {}
        for operation in region.operations[:-1]:
            self.count += 1
            if self.count > MOST_OPERATIONS:
                raise Unknown
            results = map(self.flush, self._results(operation, values))
            for value, result in zip(operation.results, results, strict=True):
                made[value.name] = values[value.name] = result
                if value.name in taken:
                    values[value.name] = ValueSet.of(taken[value.name])
        ends = region.operations[-1].operands
        return [made.get(end.name, values[end.name]) for end in ends]

    def flush(self, held: Held) -> Held:
        """Return a value, with zeros beside subnormal numbers if the evaluation flushes."""
        return held.flushed() if self.flushes and isinstance(held, ValueSet) else held

    def run_together(
        self, region: Region, values: Sequence[dict[str, Held]], grid: ProcessGrid
    ) -> list[Held]:
        """Return the sets that a region returns in each process, where all processes run it."""
        for operation in region.operations[:-1]:
            self.count += len(values)
            if self.count > MOST_OPERATIONS or any(
                map(_communicates, nested_operations(operation))
            ):
                raise Unknown
            results: Sequence[Sequence[Held]]
            if _communicates(operation):
                given = [
                    [_of_tensor(self._value(operand, mine)) for operand in operation.operands]
                    for mine in values
                ]
                results = sets_of_collective(operation, given, grid)
            else:
                results = [self._results(operation, mine) for mine in values]
            for mine, made in zip(values, results, strict=True):
                mine.update(zip((result.name for result in operation.results), made, strict=True))
        ends = region.operations[-1].operands
        return [mine[end.name] for mine in values for end in ends]

    def _results(self, operation: Operation, values: dict[str, Held]) -> Sequence[Held]:
        operands = [self._value(operand, values) for operand in operation.operands]
        structure = structure_of(operation)
        if structure is Structure.BRANCHES:
            return self._branch(operation, _of_tensor(operands[0]), values)
        if structure is Structure.LOOPS:
            return self._loop(operation, operands, values)
        if structure is Structure.FORWARDS:
            return _forwarded(operation, operands)
        if is_structure(operation) and structure is not Structure.CONSTANT:
            raise Unknown
        tensors = [operand for operand in operands if isinstance(operand, ValueSet)]
        are_tensors = all(isinstance(result.type, TensorType) for result in operation.results)
        if not are_tensors or len(tensors) < len(operands):
            return [_anything_of(result.type) for result in operation.results]
        if operation.regions:
            free = {value.name for region in operation.regions for value in free_values(region)}
            known = {name: _of_tensor(values[name]).loose for name in free if name in values}
            if not all(one.is_point for one in known.values()):
                return anything(operation)
            points = {name: one.point for name, one in known.items()}
            operation = embed_free_values(operation, points)
        return self.enclosures.of(operation, tensors)

    def _value(self, value: Value, values: Mapping[str, Held]) -> Held:
        if value.name not in values:
            raise Unknown
        return values[value.name]

    def _branch(self, operation: Operation, index: ValueSet, values: dict[str, Held]) -> list[Held]:
        """Return the results of each region that may be run."""
        low, high = (int(end) for end in index.hull().intervals[0])
        count = len(operation.regions)
        if index.element_type.is_boolean:
            low, high = 1 - high, 1 - low  # `true` is the first region
        inside = range(max(low, 0), min(high, count - 1) + 1)
        chosen = {*inside, *([count - 1] if low < 0 or high >= count else [])}
        found = [self.run(operation.regions[one], dict(values)) for one in sorted(chosen)]
        return [_union(each) for each in zip(*found, strict=True)]

    def _loop(
        self, operation: Operation, operands: list[Held], values: dict[str, Held]
    ) -> list[Held]:
        """Return what a loop carries at the end.

        After an iteration whose condition is not decided, it may end or go on. If that happens too
        often, the loop may carry anything.
        """
        condition, body = operation.regions
        ended: list[list[Held]] = []
        while len(ended) <= MOST_UNDECIDED:
            goes_on = _of_tensor(self.run(condition, _with(values, condition, operands))[0])
            if not goes_on.is_point:
                ended.append(operands)
            elif not bool(goes_on.point):
                return [_union(each) for each in zip(*ended, operands, strict=True)]
            operands = self.run(body, _with(values, body, operands))
        return [_anything_of(result.type) for result in operation.results]


def _communicates(operation: Operation) -> bool:
    return operation.name in COMMUNICATION


def _of_tensor(one: Held) -> ValueSet:
    """Return the set of a tensor; raise Unknown for other values."""
    if not isinstance(one, ValueSet):
        raise Unknown
    return one


def _forwarded(operation: Operation, operands: Sequence[Held]) -> Sequence[Held]:
    """Return operands as they are stored, packed into a tuple, or an element of one."""
    stored = [operand.rounded if isinstance(operand, ValueSet) else operand for operand in operands]
    index, types = operation.attribute("index"), [result.type for result in operation.results]
    if isinstance(index, int) and isinstance(stored[0], tuple):
        return [stored[0][index]]
    if types == [operand.type for operand in operation.operands]:
        return stored
    if isinstance(types[0], TupleType):
        return [tuple(stored)]
    return [*map(_anything_of, types)]


def _anything_of(of: ValueType) -> Held:
    """Return the set of all values of a type."""
    if isinstance(of, TokenType):
        return None
    if isinstance(of, TupleType):
        return tuple(map(_anything_of, of.types))
    if not isinstance(of, TensorType):
        raise Unknown
    return ValueSet.everything(static_shape(of), of.stored)


def _union(several: Sequence[Held]) -> Held:
    """Return what any of several branches gives."""
    first = several[0]
    if len(several) == 1 or first is None:
        return first
    if isinstance(first, tuple):
        tuples = [one for one in several if isinstance(one, tuple)]
        return tuple(map(_union, zip(*tuples, strict=True)))
    sets = [_of_tensor(one) for one in several]
    stored = union_of([one.rounded for one in sets])
    return stored.with_unrounded(union_of([one.loose for one in sets]))


def _with(values: Mapping[str, Held], region: Region, arguments: Sequence[Held]) -> dict[str, Held]:
    names = (argument.name for argument in region.arguments)
    return {**values, **dict(zip(names, arguments, strict=True))}
