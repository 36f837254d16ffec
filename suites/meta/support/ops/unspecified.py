"""The elements of an op's result that are unspecified."""

from __future__ import annotations

import numpy as np

from reference.interpreter.evaluate import apply
from reference.ir.program import Attribute, Region, TensorType, Value, single_op
from reference.ir.types import Array, element_type, element_type_of
from reference.numerics.arithmetic import quiet
from reference.ops.table import OPS
from reference.unspecified.table import unspecified_elements

Found = dict[str, list[bool]]
"""The mask of a result's elements, flat, by the label of the reason; without empty masks."""


def array(of: str, numbers: object) -> Array:
    """Return numbers as an array of a type."""
    with np.errstate(all="ignore"):
        return np.array(numbers).astype(element_type(of).storage)


@quiet
def unspecified_by(
    op: str,
    *operands: Array,
    to: TensorType | None = None,
    regions: tuple[Region, ...] = (),
    number: int = 0,
    **given: Attribute,
) -> Found:
    """Return the unspecified elements of an op's result `number`, by the label of the reason.

    `to` is the result type if operands do not imply it.
    """
    types = [TensorType(operand.shape, element_type_of(operand)) for operand in operands]
    stated = {} if to is None else {"results": (to,)} if OPS[op].several else {"result": to}
    results = OPS[op].infer(*types, regions=regions, **stated, **given)
    values = tuple(Value(f"v{n}", of) for n, of in enumerate(types))
    program = single_op(op, values, results if OPS[op].several else (results,), given, regions)
    result = apply(program.subject, operands)[number]
    found = unspecified_elements(program.subject, operands, result, number)
    return {label: mask.reshape(-1).tolist() for label, mask in found}
