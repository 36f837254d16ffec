"""The fake backend: the reference itself, which can be told to misbehave.

It is how the harness is tested: a right backend must never be accused, and one that is wrong in
any of the ways of `conformance.backends.fake.faults.FAULTS` must be caught. A program is evaluated
operation by operation, so that a fault can take any one operation's place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import version

import numpy as np

from conformance.backends.base import BackendError, Description, Failed, Rejected, Unsupported
from conformance.backends.fake.faults import Execution, Fault, chosen
from conformance.backends.fake.steps import Step
from reference.interpreter.evaluate import EvaluationError, check, evaluate
from reference.ir.program import Function, Program, TensorType
from reference.ir.structure import HOST
from reference.ir.types import Array
from reference.ops.table import OPS

_STRUCTURE = frozenset({"return", "func.return", "func.call", "call"})


class ReferenceBackend:
    """`reference`; `reference:FAULT` for one with that fault, `reference:FAULT@OP` for one that
    has it in operations of that op only."""

    def __init__(self, name: str = "reference") -> None:
        """Choose the fault by the part of the name after the colon.

        Raises:
            KeyError: when there is no such fault, with the names there are; see `faults.chosen`.
        """
        self.name = name
        self._fault = chosen(name.partition(":")[2] or "right")

    def describe(self) -> Description:
        """What is wrong with it, and the version of numpy that it computes with."""
        versions = (("numpy", version("numpy")), ("ml_dtypes", version("ml_dtypes")))
        return Description(self.name, "reference", self._fault.description, versions)

    def refusal(self, program: Program) -> BackendError | None:
        """Programs with a host to talk to, as operations are evaluated one by one here."""
        named = {operation.name for operation in program.walk()} & HOST
        return Unsupported(f"{min(named)}: nothing plays the host here") if named else None

    def compile(self, text: str, program: Program) -> ReferenceExecutable:
        """Check the program (see `conformance.backends.base.Backend`); the text is not read."""
        del text
        if self._fault.compile is not None:
            self._fault.compile(program)
        unknown = {op.name for op in program.walk()} - OPS.keys() - _STRUCTURE
        if unknown:
            raise Unsupported(f"the reference does not know {', '.join(sorted(unknown))}")
        broken = [] if self._fault.accepts_invalid else check(program)
        if broken:
            operation, ids = broken[0]
            raise Rejected(f"{operation.name} breaks {', '.join(ids)}")
        return ReferenceExecutable(program, self._fault)


@dataclass(slots=True)
class ReferenceExecutable:
    """A checked program and the fault it is run with."""

    program: Program
    fault: Fault
    executions: int = 0
    previous: list[Array] = field(default_factory=list[Array])

    def execute(self, inputs: Sequence[Array]) -> list[Array]:
        """Run main (see `conformance.backends.base.Executable`)."""
        self.executions += 1
        if self.fault.start is not None:
            self.fault.start(inputs)
        with np.errstate(all="ignore"):  # faults meet overflow and NaN as the reference does
            try:
                right = list(self._evaluated(inputs))
            except EvaluationError as error:
                raise Failed(str(error)) from error
            execution = Execution(self.program, self.executions, self.previous, right)
            self.previous = right
            return right if self.fault.results is None else self.fault.results(execution)

    def _evaluated(self, inputs: Sequence[Array]) -> tuple[Array, ...]:
        if any(operation.name in HOST for operation in self.program.walk()):
            return evaluate(
                self.program, inputs
            )  # one after the other they share the host's queues
        return self._call(self.program.main, inputs)

    def _call(self, function: Function, inputs: Sequence[Array]) -> tuple[Array, ...]:
        parameters = (argument.name for argument in function.arguments)
        values = dict(zip(parameters, inputs, strict=True))
        constants: set[str] = set()
        for operation in function.body.operations:
            operands = tuple(values[value.name] for value in operation.operands)
            if operation.name in ("return", "func.return"):
                return operands
            names = [value.name for value in operation.results]
            if operation.name in ("func.call", "call", "composite"):
                named = "decomposition" if operation.name == "composite" else "callee"
                callee = self.program.function(str(operation.attribute(named)))
                results = self._call(callee, operands)
            else:
                known = any(value.name in constants for value in operation.operands)
                results = self._compute(Step(operation, values, known), operands)
            values.update(zip(names, results, strict=True))
            if operation.name == "constant":
                constants.update(names)
        raise EvaluationError(f"{function.name} does not end with return")

    def _compute(self, step: Step, operands: tuple[Array, ...]) -> tuple[Array, ...]:
        """The results of an operation; faults take the place of those on tensors alone."""
        values = (*step.operation.operands, *step.operation.results)
        tensors = all(isinstance(value.type, TensorType) for value in values)
        if self.fault.operation is None or step.operation.name == "constant" or not tensors:
            return step.right(operands)
        return self.fault.operation(step, operands)
