"""Programs of contractions, and operands for them."""

from typing import Any

import numpy as np

from reference.interpreter.evaluate import evaluate
from reference.ir.program import Attribute, Operation, Program, TensorType, Value, single_op
from reference.ir.types import ELEMENT_TYPES as TYPES
from reference.ir.types import Array, ElementType, element_type_of

SI32, F32, F64, BF16 = (TYPES[name] for name in ("si32", "f32", "f64", "bf16"))

ROWS: dict[str, Any] = {
    "lhs_contracting_dimensions": (1,), "rhs_contracting_dimensions": (1,),
    "lhs_ragged_dimensions": (0,), "rhs_group_dimensions": (0,),
}  # fmt: skip
DEPTH: dict[str, Any] = {
    "lhs_contracting_dimensions": (0,), "rhs_contracting_dimensions": (0,),
    "lhs_ragged_dimensions": (0,),
}  # fmt: skip
"""Dimensions of a ragged_dot whose rows, or whose products, are in groups."""

ONE_SPATIAL: dict[str, Attribute] = {
    "input_batch_dimension": 0, "input_feature_dimension": 2, "input_spatial_dimensions": (1,),
    "kernel_input_feature_dimension": 1, "kernel_output_feature_dimension": 2,
    "kernel_spatial_dimensions": (0,), "output_batch_dimension": 0,
    "output_feature_dimension": 2, "output_spatial_dimensions": (1,),
    "feature_group_count": 1, "batch_group_count": 1,
}  # fmt: skip
"""Attributes of a convolution along one dimension, without groups: batches first, features last."""


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


def old_op_program(op: str, *operands: Array, shape: tuple[int, ...], **given: Any) -> Program:
    types = [TensorType(operand.shape, element_type_of(operand)) for operand in operands]
    values = tuple(Value(f"v{n}", of) for n, of in enumerate(types))
    return single_op(op, values, (TensorType(shape, types[0].element),), given)
