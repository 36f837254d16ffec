"""Near misses of the ops of reference/ops/linear_algebra.py."""

from __future__ import annotations

from collections.abc import Iterator

from generators.invalid.misses import Miss, Misses, program, tensor
from reference.ir.program import Attribute, Program, QuantizedType, TensorType
from reference.ir.types import ELEMENT_TYPES as TYPES

_F32, _F64, _C64 = (TYPES[name] for name in ("f32", "f64", "complex<f32>"))
_PER_AXIS = QuantizedType(TYPES["si8"], -128, 127, _F32, (0.5, 0.25, 1.0), (0, 0, 0), 1)

INSEPARABLE: dict[str, tuple[str, ...]] = {"triangular_solve": ("I1", "I2")}
"""Ids of constraints that are violated only with others, by op.

C1 of `triangular_solve` requires operands of one type, so that an inadmissible operand violates I1,
I2 or both, and C1 or both.
"""


def _cholesky(op: str) -> Iterator[Miss]:
    def write_program(a: TensorType, result: TensorType | None = None) -> Program:
        return program(op, {"a": a}, (result or a,), lower=True)

    for name in ("i1", "si32", "ui8"):
        yield "I1", write_program(tensor(TYPES[name], 3, 3))
    yield "I1", write_program(TensorType((3, 3), _PER_AXIS))
    good = tensor(_F32, 2, 3, 3)
    for shape in ((2, 3, 4), (3, 3), (2, 2, 3, 3), (1, 3, 3), (0, 3, 3)):
        yield "C1", write_program(good, tensor(_F32, *shape))
    for of in (_F64, _C64, TYPES["f16"]):
        yield "C1", write_program(good, tensor(of, 2, 3, 3))
    for shape in ((3,), ()):
        yield "C2", write_program(tensor(_F32, *shape))
    for shape in ((3, 4), (4, 3), (3, 1), (1, 3), (0, 3), (3, 3, 2)):
        yield "C3", write_program(tensor(_F32, *shape))


def _solve(
    op: str, a: TensorType, b: TensorType, result: TensorType | None = None, **changed: Attribute
) -> Program:
    given: dict[str, Attribute] = {
        "left_side": True,
        "lower": True,
        "unit_diagonal": False,
        "transpose_a": "NO_TRANSPOSE",
        **changed,
    }
    return program(op, {"a": a, "b": b}, (result or b,), (), **given)


def _triangular_solve(op: str) -> Iterator[Miss]:
    a, b = tensor(_F32, 2, 3, 3), tensor(_F32, 2, 3, 4)
    for way in ("CONJUGATE", "TRANSPOSE_INVALID"):
        yield "I6", _solve(op, a, b, transpose_a=way)
    for of in (_F64, _C64):
        yield "C1", _solve(op, a, tensor(of, 2, 3, 4))
        yield "C1", _solve(op, tensor(of, 2, 3, 3), b)
    yield "C2", _solve(op, a, tensor(_F32, 3, 4))
    yield "C2", _solve(op, tensor(_F32, 3, 3), b)
    yield "C2", _solve(op, tensor(_F32, 3), tensor(_F32, 3))
    yield "C2", _solve(op, tensor(_F32), tensor(_F32))
    for shape in ((2, 3, 4), (2, 4, 3), (2, 4, 4), (1, 3, 3), (3, 3, 3), (2, 1, 1)):
        yield "C3", _solve(op, tensor(_F32, *shape), b)
    for shape in ((2, 4, 3), (3, 3, 4), (1, 3, 4), (2, 1, 4)):
        yield "C3", _solve(op, a, tensor(_F32, *shape))
    yield "C3", _solve(op, a, b, left_side=False)
    yield "C3", _solve(op, tensor(_F32, 5, 2, 3, 3), tensor(_F32, 4, 2, 3, 4))
    for shape in ((2, 3, 3), (2, 4, 3), (3, 4), (2, 3, 4, 1)):
        yield "C4", _solve(op, a, b, tensor(_F32, *shape))
    for of in (_F64, _C64):
        yield "C4", _solve(op, a, b, tensor(of, 2, 3, 4))


NEAR_MISSES: dict[str, Misses] = {"cholesky": _cholesky, "triangular_solve": _triangular_solve}
"""The generator of each op's near misses."""
