"""Judgement of operations with regions: the regions are run as programs on the backend.

Loops are followed with the backend's own body, branches as the backend takes them. The region of a
manual computation is a program of several processes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from conformance.backends.base import BackendError
from conformance.judging.judgement import Judgement
from conformance.judging.perturbation.hull import is_within
from conformance.transforms.outline import device_shards, outline, outline_devices
from conformance.transforms.values import definition_index
from reference.interpreter.evaluate import EvaluationError
from reference.ir.op import Structure
from reference.ir.program import Operation, Program, Region, Value
from reference.ir.types import Array, element_type_of
from reference.numerics.alike import equal_elements, equal_results
from reference.ops.structure import structure_of

Run = Callable[[Program, Sequence[Sequence[Array]]], Iterator[list[Array]]]
"""A function run(program, input sets) that yields the backend's results on each; raises
BackendError.
"""

ITERATIONS = 500
"""Largest number of iterations of a loop that are judged."""

FAULTY_ITERATIONS = 8
"""Largest number of wrong iterations that are judged; later iterations seldom show another fault.
"""


@dataclass(frozen=True, slots=True)
class WrongOperation:
    """An operation whose results are wrong for its operands, and the judgement on them.

    `program` and `values` are its surroundings: main, or the body of a loop or a branch in one
    iteration. `within` are the loops, branches and manual computations around it, the outermost
    first.
    """

    operation: Operation
    judgement: Judgement
    program: Program = field(repr=False)
    values: Mapping[str, Array] = field(repr=False)
    within: tuple[Operation, ...] = ()

    @property
    def results(self) -> list[Array]:
        """The operation's results that have values."""
        return [self.values[one.name] for one in self.operation.results if one.name in self.values]


class RegionJudge(ABC):
    """Judge of the regions of a program's operations, given each process's values by name."""

    def __init__(
        self, run: Run, program: Program, processes: Sequence[Mapping[str, Array]]
    ) -> None:
        """Begin with no wrong operations."""
        self._run, self._program, self._processes = run, program, processes
        self._operations = program.main.body.operations[:-1]
        self._makers = definition_index(program)
        self._wrong: list[WrongOperation] = []
        self.unsettled: list[Operation] = []

    @abstractmethod
    def _judge_region(
        self,
        operation: Operation,
        program: Program,
        inputs: Sequence[Array],
        actual: Sequence[Array],
    ) -> bool:
        """Return whether the results of a region are right, or its faults are recorded."""

    def _judge_regions(
        self,
        operation: Operation,
        expected: Sequence[Array],
        got: Sequence[Array],
        judgement: Judgement,
    ) -> Judgement | None:
        """Return None if an operation's regions are right, or their faults are recorded."""
        before = len(self._wrong)
        try:
            if structure_of(operation) is Structure.LOOPS:
                told = self._judge_loop(operation, expected, got)
            elif structure_of(operation) is Structure.BRANCHES:
                told = self._judge_branch(operation, got)
            elif structure_of(operation) is Structure.SHARDS:
                told = self._judge_devices(operation, got)
            elif structure_of(operation) is Structure.AWAITS:
                told = self._judge_start(operation, got)
            else:
                return judgement
        except (BackendError, EvaluationError, KeyError):
            told = len(self._wrong) > before
        if told:
            return None
        self.unsettled.append(operation)
        return judgement

    def _values_of(self, values: Iterable[Value]) -> list[Array]:
        """Return the backend's values, process by process."""
        return [known[value.name] for known in self._processes for value in values]

    def _outline(self, region: Region) -> tuple[Program, list[list[Array]]]:
        """Return a region as a program, and the values of its last parameters in each process."""
        outlined = [outline(self._program, region, known) for known in self._processes]
        program = replace(outlined[0][0], process_grid=self._program.process_grid)
        return program, [around for _, around in outlined]

    def _judge_branch(self, operation: Operation, got: Sequence[Array]) -> bool:
        regions = [taken_branch(operation, known) for known in self._processes]
        if any(one is not regions[0] for one in regions):
            raise EvaluationError("processes take different branches")
        program, around = self._outline(regions[0])
        return self._judge_region(operation, program, _join([], around), got)

    def _judge_start(self, operation: Operation, got: Sequence[Array]) -> bool:
        """Judge the operation that was started and is now awaited."""
        start = self._operations[self._makers[operation.operands[0].name]]
        program, around = self._outline(start.regions[0])
        inputs = _join(self._values_of(start.operands), around)
        return self._judge_region(start, program, inputs, got)

    def _judge_devices(self, operation: Operation, got: Sequence[Array]) -> bool:
        operands = self._values_of(operation.operands)
        inputs = device_shards(operation, operands, "in_shardings")
        actual = device_shards(operation, got, "out_shardings")
        return self._judge_region(operation, outline_devices(operation), inputs, actual)

    def _judge_loop(
        self, operation: Operation, expected: Sequence[Array], got: Sequence[Array]
    ) -> bool:
        """Return whether the backend's own condition and body, iterated, give its results.

        Every iteration must be right, or its faults are recorded.
        """
        (condition, around), (body, inside) = map(self._outline, operation.regions)
        carried = self._values_of(operation.operands)
        faulty, before = 0, len(self._wrong)
        noted = before
        for _ in range(ITERATIONS):
            inputs = _join(carried, around)
            (goes_on,) = self._run(condition, [inputs])
            if not self._judge_region(operation, condition, inputs, goes_on):
                return False
            if len({bool(one) for one in goes_on}) > 1:
                raise EvaluationError("processes leave a loop at different iterations")
            if not bool(goes_on[0]):
                break
            inputs = _join(carried, inside)
            (carried,) = self._run(body, [inputs])
            if not self._judge_region(operation, body, inputs, carried):
                return False
            if len(self._wrong) > noted:
                faulty, noted = faulty + 1, len(self._wrong)
            if faulty == FAULTY_ITERATIONS:
                return True
        else:
            return noted > before
        if noted > before:
            return is_consequence(expected, carried, got)
        return equal_results(carried, got)


def _join(first: Sequence[Array], last: Sequence[Sequence[Array]]) -> list[Array]:
    """Return the arguments of all processes, given the last arguments of each."""
    count = len(first) // len(last)
    shares = (first[number * count : (number + 1) * count] for number in range(len(last)))
    return [array for share, own in zip(shares, last, strict=True) for array in (*share, *own)]


def is_consequence(
    expected: Sequence[Array], shown: Sequence[Array], actual: Sequence[Array]
) -> bool:
    """Return whether recorded faults explain all errors of the results.

    Each result is as in the audit, or as expected, or no further from these two than they are from
    each other.
    """
    for want, one, got in zip(expected, shown, actual, strict=True):
        of = element_type_of(got)
        right = equal_elements(want, got) | equal_elements(one, got)
        if of.is_float or of.is_complex:
            right = right | is_within([want, one], got, of)
        if not right.all():
            return False
    return True


def taken_branch(operation: Operation, values: Mapping[str, Any]) -> Region:
    """Return the branch of an `if` or a `case` that is taken."""
    index = np.asarray(values[operation.operands[0].name])
    if index.dtype == np.bool_:
        return operation.regions[0 if index else 1]
    index = int(index)
    last = len(operation.regions) - 1
    return operation.regions[index if 0 <= index <= last else last]
