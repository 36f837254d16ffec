"""Programs that no XLA translates or survives, whatever the release."""

from __future__ import annotations

from conformance.backends.base import Unsupported
from reference.interpreter.quantized import has_quantized_values
from reference.ir.program import Operation, Program, TensorType
from reference.ops.structure import COMMUNICATION, HOST

BYTE = 8

_HLO = ("cpu", "gpu")
"""Platforms whose client translates to HLO, which has no quantized types: the translation of a
quantized op "can't be translated to XLA HLO", or ends with a type that is "PRIMITIVE_TYPE_INVALID"
(jaxlib 0.10.2 and 0.12.0). To ask XLA about each program would cost as much as to compile it.
"""


def xla_refusal(program: Program, platform: str) -> Unsupported | None:
    """Return the error for programs that wait for ever, that XLA never translates, or that corrupt
    the process.
    """
    operations = list(program.walk())
    waiting = {operation.name for operation in operations} & HOST
    if waiting:
        return Unsupported(f"{min(waiting)}: jaxlib has no interface for host transfers")
    if platform == "cpu" and any(map(_moves_parts_of_bytes, operations)):
        return Unsupported(
            "collectives of elements narrower than a byte write outside their buffers"
        )
    if platform in _HLO and any(map(has_quantized_values, operations)):
        return Unsupported("quantized types can't be translated to XLA HLO")
    return None


def transfer_refusal(of: TensorType, jax_version: str) -> Unsupported | None:
    """Return the error for tensors of f6, which jax before 0.11 cannot move to a device."""
    release = tuple(int(part) for part in jax_version.split(".")[:2])
    if str(of.element_type).startswith("f6E") and release < (0, 11):
        return Unsupported(f"jax {jax_version} cannot transfer {of.element_type}; 0.12 can")
    return None


def _moves_parts_of_bytes(operation: Operation) -> bool:
    """Return whether the operation is a collective of elements of two or four bits.

    These corrupt the process, which then crashes at once, later, or computes other programs wrongly
    (jaxlib 0.10.2 and 0.12.0). So not even a worker may run them.
    """
    types = (value.type for value in (*operation.operands, *operation.results))
    return operation.name in COMMUNICATION and any(
        isinstance(of, TensorType) and of.stored.bits < BYTE and not of.stored.is_boolean
        for of in types
    )
