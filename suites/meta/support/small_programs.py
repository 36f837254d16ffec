"""Small programs of one operation, run on a backend."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from conformance.backends.session import open_session
from reference.ir.program import Dense, Program, TensorType, Value, single_op
from reference.ir.types import ELEMENT_TYPES, Array, to_bits


def tensor_of(*shape: int, of: str = "f32") -> TensorType:
    return TensorType(shape, ELEMENT_TYPES[of])


def op_program(
    op: str, operands: Sequence[TensorType | Dense], result: TensorType, **given
) -> Program:
    values = tuple(
        Value(f"a{i}", of) if isinstance(of, TensorType) else of for i, of in enumerate(operands)
    )
    return single_op(op, values, (result,), given)


def array(values, of: str = "f32") -> Array:
    return np.array(values).astype(ELEMENT_TYPES[of].storage)


def execute(backend: str, program: Program, *inputs: Array) -> list[Array]:
    return open_session(backend).compile(program).run(inputs)


def are_same(left: Sequence[Array], right: Sequence[Array]) -> bool:
    return len(left) == len(right) and all(
        a.dtype == b.dtype and a.shape == b.shape and np.array_equal(to_bits(a), to_bits(b))
        for a, b in zip(left, right, strict=True)
    )
