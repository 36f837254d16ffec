"""CHLO's elementwise ops of several shapes: the shapes, and the same results when lowered."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from reference.interpreter.evaluate import evaluate
from reference.ir.constraints import ConstraintViolation
from reference.ir.op import Dialect
from reference.ir.program import TensorType, Value, single_op
from reference.ir.types import ELEMENT_TYPES
from reference.ops.chlo.broadcasting import OPS
from reference.ops.table import OPS as ALL_OPS
from reference.ops.xla.lowering import lower_program

F32 = ELEMENT_TYPES["f32"]


def tensor(*shape: int) -> TensorType:
    return TensorType(shape, F32)


@pytest.mark.parametrize(
    ("lhs", "rhs", "dimensions", "shape"),
    [
        ((2, 3), (3,), None, (2, 3)),
        ((3,), (2, 3), None, (2, 3)),
        ((2, 1), (1, 3), None, (2, 3)),
        ((), (2,), None, (2,)),
        ((2, 3), (2,), (0,), (2, 3)),
        ((1,), (2, 3), (1,), (2, 3)),
    ],
)
def test_operands_are_broadcast_as_in_numpy_or_by_dimensions(lhs, rhs, dimensions, shape) -> None:
    record = ALL_OPS["chlo.broadcast_subtract"]
    given = {} if dimensions is None else {"broadcast_dimensions": dimensions}
    assert record.infer(tensor(*lhs), tensor(*rhs), **given) == tensor(*shape)
    x, y = (np.arange(np.prod(one), dtype=np.float32).reshape(one) for one in (lhs, rhs))
    wider = [y, x] if len(lhs) < len(rhs) else [x, y]
    if dimensions is not None:
        axes = [d for d in range(len(shape)) if d not in dimensions]
        wider[1] = np.expand_dims(wider[1], axes)
    a, b = wider[::-1] if len(lhs) < len(rhs) else wider
    np.testing.assert_array_equal(record.evaluate(x, y, **given), a - b)


@pytest.mark.parametrize(
    ("lhs", "rhs", "dimensions", "id_"),
    [((2, 3), (2,), None, "P2"), ((2, 3), (2, 4), None, "P2"), ((2, 3), (3,), (2,), "P3")],
)
def test_shapes_that_cannot_be_broadcast_are_refused(lhs, rhs, dimensions, id_) -> None:
    given = {} if dimensions is None else {"broadcast_dimensions": dimensions}
    with pytest.raises(ConstraintViolation) as violation:
        ALL_OPS["chlo.broadcast_add"].infer(tensor(*lhs), tensor(*rhs), **given)
    assert violation.value.id == id_


@pytest.mark.parametrize("record", OPS, ids=lambda record: record.name)
def test_a_lowered_program_has_the_same_results(record) -> None:
    of = ELEMENT_TYPES["f32"] if F32 in record.element_types else ELEMENT_TYPES["si32"]
    shapes = {"pred": (3,), "on_true": (2, 1), "on_false": (2, 3), "lhs": (2, 1), "rhs": (3,)}
    given = {"comparison_direction": "LT"} if "comparison_direction" in record.attributes else {}
    types = [TensorType(shapes[name], of) for name in record.operands]
    if record.operands[0] == "pred":
        types[0] = replace(types[0], element_type=ELEMENT_TYPES["i1"])
    values = tuple(map(Value, record.operands, types))
    program = single_op(record.name, values, (record.infer(*types, **given),), given)
    lowered = lower_program(program)
    assert lower_program(program, keeps=Dialect.CHLO) is program
    assert lowered.subject.name == record.twin
    inputs = [
        np.arange(1, 1 + np.prod(of.static_shape)).reshape(of.static_shape).astype(of.storage)
        for of in types
    ]
    for one, other in zip(evaluate(program, inputs), evaluate(lowered, inputs), strict=True):
        np.testing.assert_array_equal(one, other)
