"""Programs that take libtpu's compiler much longer than others.

Source: libtpu 0.0.50, measured. TPUs have words of 32 bits, and no f64:

- A quotient of integers of 64 bits becomes some thousand operations, and the time of the fusion
  pass grows with the square of their number: one program takes over 20 s, and two take 3 s of
  processor time without that pass. Fusion groups operations and changes none of them.
- A function of f64 becomes up to fifteen thousand operations on pairs of f32. Fusion is worth its
  time there, as code would be generated for each operation otherwise. But it takes several times as
  long for two such programs in one module: one atan2 of complex<f64> takes 8 s.
"""

from __future__ import annotations

from reference.ir.op import Rounding
from reference.ir.program import Operation, Program, TensorType
from reference.ops.table import OPS

FUSION = "tpu_fusion"
"""The pass that groups operations, by libtpu's name."""

_DIVISIONS = frozenset({"divide", "remainder"})
_WORD = 32


def is_costly(program: Program) -> bool:
    """Return whether a program is compiled faster in a module of its own."""
    return any(
        _divides_wide_integers(operation) or _approximates_wide_numbers(operation)
        for operation in program.walk()
    )


def _divides_wide_integers(operation: Operation) -> bool:
    if operation.name not in _DIVISIONS:
        return False
    return any(of.stored.is_integer and of.stored.bits > _WORD for of in _result_types(operation))


def _approximates_wide_numbers(operation: Operation) -> bool:
    """Return whether an operation is a function of real or complex numbers of f64."""
    record = OPS.get(operation.name)
    if record is None or record.rounding is not Rounding.APPROXIMATES:
        return False
    parts = (of.stored.part for of in _result_types(operation))
    return any(part.is_float and part.bits > _WORD for part in parts)


def _result_types(operation: Operation) -> list[TensorType]:
    types = (value.type for value in operation.results)
    return [of for of in types if isinstance(of, TensorType)]


def passes_to_omit(program: Program) -> tuple[str, ...]:
    """Return the passes that the compiler for TPUs omits for a program."""
    return (FUSION,) if any(map(_divides_wide_integers, program.walk())) else ()
