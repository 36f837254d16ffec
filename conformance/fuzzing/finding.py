"""Findings: minimised failing programs, with everything that is reported about them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from conformance.fuzzing.attribution.cause import Cause, Vote
from conformance.pipeline.outcome import Outcome
from conformance.transforms.values import working_operations
from reference.ir.program import Operation, Program, TensorType, Value
from reference.ir.types import Array


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding(Outcome):
    """The outcome of a failing program, with its inputs, and expected and actual results if any.

    `text` is the program as people read it. `cause` has the outcomes of the program's variants,
    `vote` the third vote on it. `number` distinguishes findings whose programs have the same
    operations, but not the same cause. `optimised` is the HLO module that the actual results come
    from, as a serialised proto, until the finding has a cause; b"" if the backend gives none.
    """

    program: Program
    text: str
    inputs: tuple[Array, ...]
    expected: tuple[Array, ...]
    actual: tuple[Array, ...]
    backend: str = ""
    cause: Cause = field(default_factory=Cause)
    vote: Vote = field(default_factory=Vote)
    number: int = 1
    optimised: bytes = field(default=b"", compare=False, repr=False)

    @property
    def signature(self) -> str:
        """The operations with their types, verdict and class, and the operation that goes wrong.

        Findings of one cause have several (`conformance.fuzzing.grouping`).
        """
        parts = (self.verdict.value, self.kind, self.culprit, operations_of(self.program))
        return " | ".join(parts)

    @property
    def name(self) -> str:
        """A short name that is safe in paths: its operations, and a digest of the signature."""
        ops = [operation.name for operation in working_operations(self.program)][-2:]
        stem = "-".join(name.replace(".", "_") for name in ops) or "program"
        number = f"-{self.number}" if self.number > 1 else ""
        return f"{stem}-{digest(self.signature)}{number}"


def digest(signature: str) -> str:
    """Return a short digest of a signature: hex digits."""
    return hashlib.sha256(signature.encode()).hexdigest()[:8]


def operations_of(program: Program) -> str:
    """Return the operations of main in order, with element types of operands and results."""
    return "; ".join(map(_typed_operation, working_operations(program)))


def names_in(signature: str) -> list[str]:
    """Return the names of the operations in a finding's signature, in order."""
    told = signature.rpartition(" | ")[2]
    return [one.partition(" ")[0] for one in told.split("; ")]


def _typed_operation(operation: Operation) -> str:
    taken = ",".join(_type_names(operation.operands)) or "-"
    made = ",".join(_type_names(operation.results))
    return f"{operation.name} {taken}>{made}"


def _type_names(values: Sequence[Value]) -> list[str]:
    return [
        str(value.type.element_type) if isinstance(value.type, TensorType) else "-"
        for value in values
    ]
