"""Evaluation of a program on sets of values: what its results may be.

The sets know no relation between values, so that they are wider than the results that any execution
gives. A value outside is one that none gives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from conformance.judging.sets.enclosures import Enclosures
from conformance.judging.sets.facts import anything
from conformance.judging.sets.value_set import Unknown, ValueSet, union_of
from conformance.transforms.substitute import embed_free_values
from conformance.transforms.values import free_values
from reference.ir.op import Structure
from reference.ir.program import Operation, Program, Region, TensorType, Value
from reference.ir.types import Array
from reference.ops.structure import is_structure, structure_of

MOST_OPERATIONS = 20_000
"""Largest number of operations that are evaluated, with those of each iteration of a loop."""


_NOTHING: Mapping[str, Array] = {}


def evaluate_sets(
    program: Program,
    inputs: Sequence[Array],
    platform: str,
    taken: Mapping[str, Array] | None = None,
) -> list[ValueSet] | None:
    """Return the sets of main's results; None if the program cannot be followed.

    `taken` are values of main that replace those that operations give, as in `PermittedResults`;
    results stay what their operations give.
    """
    if program.process_count > 1:
        return None
    main = program.main
    values = dict(zip((one.name for one in main.arguments), map(ValueSet.of, inputs), strict=True))
    try:
        return _Evaluator(Enclosures(platform)).run(main.body, values, taken or {})
    except Unknown:
        return None


@dataclass(slots=True)
class _Evaluator:
    enclosures: Enclosures
    count: int = 0

    def run(
        self, region: Region, values: dict[str, ValueSet], taken: Mapping[str, Array] = _NOTHING
    ) -> list[ValueSet]:
        """Return the sets that a region returns; later operations take the values in `taken`."""
        made: dict[str, ValueSet] = {}
        for operation in region.operations[:-1]:
            self.count += 1
            if self.count > MOST_OPERATIONS:
                raise Unknown
            results = self._results(operation, values)
            for value, one in zip(operation.results, results, strict=True):
                made[value.name] = values[value.name] = one
                if value.name in taken:
                    values[value.name] = ValueSet.of(taken[value.name])
        ends = region.operations[-1].operands
        return [made.get(one.name, values[one.name]) for one in ends]

    def _results(self, operation: Operation, values: dict[str, ValueSet]) -> Sequence[ValueSet]:
        if not all(isinstance(one.type, TensorType) for one in operation.results):
            raise Unknown
        operands = [self._value(one, values) for one in operation.operands]
        structure = structure_of(operation)
        if structure is Structure.BRANCHES:
            return self._branch(operation, operands[0], values)
        if structure is Structure.LOOPS:
            return self._loop(operation, operands, values)
        if structure is Structure.FORWARDS and len(operands) == len(operation.results):
            return [one.rounded for one in operands]
        if is_structure(operation) and structure is not Structure.CONSTANT:
            raise Unknown
        if operation.regions:
            free = {one.name for region in operation.regions for one in free_values(region)}
            known = {name: values[name].loose for name in free if name in values}
            if not all(one.is_point for one in known.values()):
                return anything(operation)
            points = {name: one.point for name, one in known.items()}
            operation = embed_free_values(operation, points)
        return self.enclosures.of(operation, operands)

    def _value(self, value: Value, values: Mapping[str, ValueSet]) -> ValueSet:
        if value.name not in values:
            raise Unknown
        return values[value.name]

    def _branch(
        self, operation: Operation, index: ValueSet, values: dict[str, ValueSet]
    ) -> list[ValueSet]:
        """Return the results of each region that may be run."""
        low, high = (int(end) for end in index.hull().intervals[0])
        count = len(operation.regions)
        if index.element_type.is_boolean:
            low, high = 1 - high, 1 - low  # `true` is the first region
        inside = range(max(low, 0), min(high, count - 1) + 1)
        chosen = {*inside, *([count - 1] if low < 0 or high >= count else [])}
        found = [self.run(operation.regions[one], dict(values)) for one in sorted(chosen)]
        if len(found) == 1:
            return found[0]
        return [
            union_of([one.rounded for one in each]).with_unrounded(
                union_of([one.loose for one in each])
            )
            for each in zip(*found, strict=True)
        ]

    def _loop(
        self, operation: Operation, operands: list[ValueSet], values: dict[str, ValueSet]
    ) -> list[ValueSet]:
        """Return what a loop carries, if its condition is decided in every iteration."""
        condition, body = operation.regions
        while True:
            (goes_on,) = self.run(condition, _with(values, condition, operands))
            if not goes_on.is_point:
                raise Unknown
            if not bool(goes_on.point):
                return operands
            operands = self.run(body, _with(values, body, operands))


def _with(
    values: Mapping[str, ValueSet], region: Region, arguments: Sequence[ValueSet]
) -> dict[str, ValueSet]:
    names = (one.name for one in region.arguments)
    return {**values, **dict(zip(names, arguments, strict=True))}
