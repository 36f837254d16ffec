"""The collective that a program of one operation is about, wherever it stands."""

from __future__ import annotations

from conformance.transforms.values import nested
from reference.ir.program import Operation, Program
from reference.ops.structure import COMMUNICATION


def collective_of(program: Program) -> Operation | None:
    """The last operation of main that communicates, those in its branches, loops and starts
    included; None where there is none."""
    for operation in reversed(program.main.body.operations[:-1]):
        for one in (operation, *nested(operation)):
            if one.name in COMMUNICATION:
                return one
    return None
