"""Programs of contractions, and operands for them."""

from typing import Any

import numpy as np

from reference.interpreter.evaluate import evaluate
from reference.ir.program import Operation, Program, TensorType, Value, single_op
from reference.ir.types import ELEMENT_TYPES as TYPES
from reference.ir.types import Array, ElementType, element_type_of

SI32, F32, F64, BF16 = (TYPES[name] for name in ("si32", "f32", "f64", "bf16"))


def operation_of(program: Program) -> Operation:
    return program.subject


def dot_general(
    lhs: Array, rhs: Array, to: ElementType | None = None, **given: Any
) -> tuple[Program, Array]:
    """Return the program of a dot_general of matrices (unless told otherwise), and its result."""
    given = {"lhs_contracting_dimensions": (1,), "rhs_contracting_dimensions": (0,), **given}
    types = [TensorType(one.shape, element_type_of(one)) for one in (lhs, rhs)]
    shape = (*np.delete(lhs.shape, given["lhs_contracting_dimensions"]).tolist(),
             *np.delete(rhs.shape, given["rhs_contracting_dimensions"]).tolist())  # fmt: skip
    result = TensorType(shape, to or types[0].element)
    values = tuple(Value(name, of) for name, of in zip(("lhs", "rhs"), types, strict=True))
    program = single_op("dot_general", values, (result,), given)
    return program, evaluate(program, (lhs, rhs))[0]


def old(op: str, *operands: Array, shape: tuple[int, ...], **given: Any) -> Program:
    types = [TensorType(one.shape, element_type_of(one)) for one in operands]
    values = tuple(Value(f"v{n}", of) for n, of in enumerate(types))
    return single_op(op, values, (TensorType(shape, types[0].element),), given)
