"""The fake backend: the reference, with seeded faults on request.

It tests the harness. A right backend must pass, and a backend with any fault of
`conformance.backends.fake.faults.FAULTS` must be detected. A fault of operations is an evaluation
hook that replaces right results.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from itertools import chain
from typing import Any

import numpy as np

from conformance.backends.base import (
    Backend,
    BackendError,
    Description,
    Executable,
    Failed,
    Rejected,
    Settings,
    Unsupported,
)
from conformance.backends.fake.computation import Computation
from conformance.backends.fake.faults import Execution, Fault, fault_of
from conformance.backends.fake.wrong_operations import Wrong
from conformance.backends.fake.wrong_processes import compute_in_process
from conformance.tolerance.hardware import Hardware
from conformance.transforms.inline import NotInlined, inline
from conformance.transforms.observe import insert_region_barriers
from conformance.transforms.values import operations_within
from reference.interpreter.evaluate import EvaluationError, check, evaluate, split_by_process
from reference.interpreter.processes import current_process
from reference.ir.processes import ProcessId, processes
from reference.ir.program import Operation, Program, TensorType
from reference.ir.types import Array
from reference.ops.structure import HOST, RETURNS, is_constant, is_inside, structure_of


class ReferenceBackend:
    """The reference as a backend. `reference` has no fault, `reference:FAULT` has that fault."""

    hardware = Hardware.CPU

    def __init__(self, name: str = "reference") -> None:
        """Choose the fault by the part of the name after the colon.

        Raises:
            KeyError: when there is no such fault, with the names there are; see `faults.fault_of`.
        """
        self.name = name
        self._fault = fault_of(name.partition(":")[2] or "right")

    def describe(self) -> Description:
        """Return the fault, and the version of numpy."""
        versions = (("numpy", version("numpy")), ("ml_dtypes", version("ml_dtypes")))
        return Description(self.name, "reference", self._fault.description, versions)

    def configured(self, settings: Settings) -> Backend:
        """Raise Unsupported: the reference has no compiler."""
        del settings
        raise Unsupported(f"the backend {self.name} has no compiler and takes no compiler options")

    def refusal(self, program: Program) -> BackendError | None:
        """Return the error of programs that communicate with a host: there is none here."""
        named = {operation.name for operation in program.walk()} & HOST
        return Unsupported(f"{min(named)}: this backend has no host transfers") if named else None

    def compile(self, text: str, program: Program) -> Executable:
        """Verify the program (see `conformance.backends.base.Backend`); the text is not read."""
        del text
        if self._fault.compile is not None:
            self._fault.compile(program)
        unknown = {one.name for one in program.walk() if structure_of(one) is None} - RETURNS
        if unknown:
            raise Unsupported(f"the reference does not implement {', '.join(sorted(unknown))}")
        broken = [] if self._fault.accepts_invalid else check(program)
        if broken:
            operation, ids = broken[0]
            raise Rejected(f"{operation.name} breaks {', '.join(ids)}")
        return ReferenceExecutable(program, self._fault)


@dataclass(slots=True)
class ReferenceExecutable:
    """A verified program, and the fault to run it with."""

    program: Program
    fault: Fault
    executions: int = 0
    previous: list[Array] = field(default_factory=list[Array])
    _inlined: Program | None = None
    _observed: Program | None = None

    def execute(self, inputs: Sequence[Sequence[Array]]) -> list[list[Array]]:
        """Run main (see `conformance.backends.base.Executable`)."""
        results = self._execute([array for share in inputs for array in share])
        return [list(share) for share in split_by_process(self.program, results)]

    def _execute(self, inputs: Sequence[Array]) -> list[Array]:
        self.executions += 1
        if self.fault.start is not None:
            self.fault.start(inputs)
        with np.errstate(all="ignore"):  # faults meet overflow and NaN as the reference does
            try:
                right = list(self._evaluate_with_hook(inputs))
            except (EvaluationError, NotInlined) as error:
                raise Failed(str(error)) from error
            execution = Execution(self.program, self.executions, self.previous, right)
            self.previous = right
            return right if self.fault.results is None else self.fault.results(execution)

    def _evaluate_with_hook(self, inputs: Sequence[Array]) -> tuple[Array, ...]:
        wrong, process = self.fault.operation, self.fault.process
        if self.fault.rewrite is not None:
            return evaluate(self.fault.rewrite(self.program), inputs)
        if wrong is None and process is None:
            return evaluate(self.program, inputs)
        if self._inlined is None or self._observed is None:
            self._inlined = inline(self.program).program
            self._observed = insert_region_barriers(self._inlined)
        if process is not None:
            return evaluate(self._inlined, inputs, on_result=partial(compute_in_process, process))
        assert wrong is not None
        names = [argument.name for argument in self._inlined.main.arguments]
        grid = processes(self.program.process_grid or (1, 1))
        shares = zip(grid, split_by_process(self.program, inputs), strict=True)
        given = {process: dict(zip(names, share, strict=True)) for process, share in shares}
        hook = _Faulty(wrong, self._inlined, given)
        return evaluate(self._observed, inputs, on_result=hook)


class _Faulty:
    """The evaluation hook that replaces right results by the results of a fault.

    Operations on tensors are faulty, except constants. In place of a branch, a loop or a manual
    computation the operations in its regions are faulty.
    """

    def __init__(
        self, wrong: Wrong, program: Program, values: dict[ProcessId, dict[str, Any]]
    ) -> None:
        self._wrong, self._program, self._by_process = wrong, program, values
        own = map(operations_within, program.main.body.operations)
        self._own = frozenset(map(id, chain.from_iterable(own)))
        self._constants: set[str] = set()

    def __call__(self, operation: Operation, results: tuple[Any, ...]) -> tuple[Any, ...]:
        values = self._by_process.setdefault(current_process(), {})
        names = [value.name for value in operation.results]
        if is_constant(operation):
            self._constants.update(names)
        elif id(operation) in self._own and not is_inside(operation) and _is_on_tensors(operation):
            operands = tuple(values[value.name] for value in operation.operands)
            known = any(value.name in self._constants for value in operation.operands)
            computation = Computation(self._program, operation, operands, results, values, known)
            results = self._wrong(computation, operands)
        values.update(zip(names, results, strict=True))
        return results


def _is_on_tensors(operation: Operation) -> bool:
    values = (*operation.operands, *operation.results)
    return all(isinstance(value.type, TensorType) for value in values)
