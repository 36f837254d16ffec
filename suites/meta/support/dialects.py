"""Constructs that the installed jaxlib's dialect, older than the specification, cannot read."""

import re

from conformance.stablehlo.parse import diagnose
from reference.ir.program import Program

_NEWER = re.compile(
    r"unregistered operation 'stablehlo\.collective_reduce'"
    r"|'stablehlo\.collective_broadcast' op requires (?:a single operand|one result)"
)


def is_newer(text: str) -> bool:
    """Return whether a module has an op, or a form of one, that the dialect does not have yet."""
    return _NEWER.search(diagnose(text) or "") is not None


def waits_for_several(program: Program) -> bool:
    """Return whether a future of several values is waited for, which StableHLO's
    verifier refuses.
    """
    return any(
        operation.name == "async_done" and len(operation.results) > 1
        for operation in program.walk()
    )
