"""Near misses of the ops of reference/ops/distribution/."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from generators.invalid.misses import Miss, Misses, tensor
from generators.invalid.reduction import adder, bad_bodies
from reference.ir.constants import matrix
from reference.ir.mesh import AxisRef, MeshAxis, mesh_groups
from reference.ir.program import (
    Attribute,
    Dense,
    Program,
    QuantizedType,
    Region,
    TensorType,
    Value,
    single_op,
)
from reference.ir.types import element_type

_F32, _F64, _F16, _SI32, _SI8 = (
    element_type(name) for name in ("f32", "f64", "f16", "si32", "si8")
)
_ROW, _MATRIX = tensor(_F32, 4), tensor(_F32, 2, 4)
_PER_AXIS = QuantizedType(_SI8, -128, 127, _F32, (0.5, 2.0), (0, 1), 0)

_NO_GROUPS: dict[str, Attribute] = {"replica_groups": matrix([])}

Wrong = Iterator[tuple[str, dict[str, Attribute]]]

_X = AxisRef("x")
_IN_MESH = (MeshAxis("x", 2),)


def _program(
    op: str,
    given: dict[str, Attribute],
    operands: Sequence[TensorType | Dense] = (_MATRIX,),
    results: Sequence[TensorType] = (_MATRIX,),
    regions: tuple[Region, ...] = (),
    replicas: int = 2,
) -> Program:
    """Return the program of one op in two replicas, which all must be in its groups."""
    values = tuple(
        operand if isinstance(operand, Dense) else Value(f"operand{n}", operand)
        for n, operand in enumerate(operands)
    )
    made = single_op(op, values, tuple(results), given, regions)
    return replace(made, process_grid=(replicas, 1))


def _non_matrices(name: str) -> Iterator[dict[str, Attribute]]:
    """Yield groups or pairs that are no matrix of si64."""
    row = matrix([[0, 1]])
    yield {name: Dense.of(row.array.astype(np.int32), TensorType((1, 2), _SI32))}
    yield {name: Dense.of(row.array[0], TensorType((2,), row.type.element_type))}
    if name == "replica_groups":
        yield {name: mesh_groups(_IN_MESH, (AxisRef("y"),))}


def _wrong_groups(unique: str, size: str, bounds: str) -> Wrong:
    """Yield groups of two replicas that violate one condition: unique, complete, in range."""
    for rows in ([[0, 0]], [[1, 1]]):
        yield unique, {"replica_groups": matrix(rows)}
    for rows in ([[0, 1, 2, 3]], [[2, 0, 1, 3]]):
        yield size, {"replica_groups": matrix(rows)}
    for rows in ([[0, 2]], [[-3, 1]], [[5, 0]]):
        yield bounds, {"replica_groups": matrix(rows)}
    wide = (*_IN_MESH, MeshAxis("y", 2))
    yield unique, {"replica_groups": mesh_groups(_IN_MESH, (_X,), (1, 1))}
    yield size, {"replica_groups": mesh_groups(wide, (_X, AxisRef("y")))}
    yield bounds, {"replica_groups": mesh_groups(_IN_MESH, (_X,), (0, 2))}


def _all_gather(op: str) -> Iterator[Miss]:
    """Yield near misses of I1 (per-axis quantized), I3, C1 to C6."""
    right: dict[str, Attribute] = {"all_gather_dim": 1, "replica_groups": matrix([[0, 1]])}
    wide = tensor(_F32, 2, 8)
    quantized = TensorType((2, 4), _PER_AXIS)
    yield "I1", _program(op, right, (quantized,), (replace(quantized, shape=(2, 8)),))
    for given in _non_matrices("replica_groups"):
        yield "I3", _program(op, right | given, results=(wide,))
    for dimension in (-1, 2, 7):
        yield "C1", _program(op, right | {"all_gather_dim": dimension}, results=(wide,))
    for id_, given in _wrong_groups("C2", "C3", "C4"):
        groups = given["replica_groups"]
        assert isinstance(groups, Dense)
        columns = groups.type.static_shape[1]
        yield id_, _program(op, right | given, results=(tensor(_F32, 2, 4 * columns),))
    for channel in (0, -1):
        given = {"channel_id": channel, "use_global_device_ids": True}
        yield "C5", _program(op, right | given, results=(wide,))
    for result in (_MATRIX, tensor(_F32, 4, 4), tensor(_F64, 2, 8), tensor(_F32, 8)):
        yield "C6", _program(op, right, results=(result,))
    yield "C6", _program(op, right, results=(wide, wide))


def _wrong_computations(
    op: str, right: dict[str, Attribute], result: TensorType, id_: str
) -> Iterator[Miss]:
    """Yield near misses with a computation that does not fold the operand."""
    narrow = replace(result, element_type=_F16)
    yield id_, _program(op, right, results=(narrow,), regions=(adder(_F16),))
    for body in bad_bodies(_F32, _F16, _SI32):
        yield id_, _program(op, right, results=(result,), regions=(body,))


def _all_reduce(op: str) -> Iterator[Miss]:
    """Yield near misses of I2, C1 to C7."""
    right: dict[str, Attribute] = {"replica_groups": matrix([[0, 1]])}
    body = (adder(_F32),)
    for given in _non_matrices("replica_groups"):
        yield "I2", _program(op, given, regions=body)
    for id_, given in _wrong_groups("C1", "C2", "C3"):
        yield id_, _program(op, given, regions=body)
    yield "C2", _program(op, _NO_GROUPS, regions=body)
    for channel in (0, -1):
        given = {"channel_id": channel, "use_global_device_ids": True}
        yield "C4", _program(op, right | given, regions=body)
    yield from _wrong_computations(op, right, _MATRIX, "C5")
    for shape in ((4, 2), (2,), (2, 8)):
        yield "C6", _program(op, right, results=(tensor(_F32, *shape),), regions=body)
    yield "C6", _program(op, right, results=(_MATRIX, _MATRIX), regions=body)
    for of in (_F64, _SI32):
        yield "C7", _program(op, right, results=(tensor(of, 2, 4),), regions=body)


def _reduce_scatter(op: str) -> Iterator[Miss]:
    """Yield near misses of I3, C1 to C9."""
    right: dict[str, Attribute] = {"scatter_dimension": 1, "replica_groups": matrix([[0, 1]])}
    half, body = tensor(_F32, 2, 2), (adder(_F32),)
    for given in _non_matrices("replica_groups"):
        yield "I3", _program(op, right | given, results=(half,), regions=body)
    for size in (3, 5):
        yield "C1", _program(op, right, (tensor(_F32, 2, size),), (half,), body)
    for dimension in (-1, 2):
        given = {"scatter_dimension": dimension}
        yield "C2", _program(op, right | given, results=(half,), regions=body)
    for id_, given in _wrong_groups("C3", "C4", "C5"):
        groups = given["replica_groups"]
        assert isinstance(groups, Dense)
        part = tensor(_F32, 2, 4 // groups.type.static_shape[1])
        yield id_, _program(op, right | given, results=(part,), regions=body)
    yield "C4", _program(op, right | _NO_GROUPS, results=(half,), regions=body)
    for channel in (0, -1):
        given = {"channel_id": channel, "use_global_device_ids": True}
        yield "C6", _program(op, right | given, results=(half,), regions=body)
    yield from _wrong_computations(op, right, half, "C7")
    for shape in ((2, 4), (1, 4), (2,)):
        yield "C8", _program(op, right, results=(tensor(_F32, *shape),), regions=body)
    for of in (_F64, _SI32):
        yield "C9", _program(op, right, results=(tensor(of, 2, 2),), regions=body)


def _all_to_all(op: str) -> Iterator[Miss]:
    """Yield near misses of I1 (per-axis quantized), I5, C1 to C9."""
    right: dict[str, Attribute] = {
        "split_dimension": 1, "concat_dimension": 0, "split_count": 2,
        "replica_groups": matrix([[0, 1]]),
    }  # fmt: skip
    square, quantized = tensor(_F32, 4, 2), TensorType((2, 4), _PER_AXIS)
    same = right | {"split_dimension": 1, "concat_dimension": 1}
    yield "I1", _program(op, same, (quantized,), (quantized,))
    for given in _non_matrices("replica_groups"):
        yield "I5", _program(op, right | given, results=(square,))
    for dimension in (-1, 2):
        yield "C1", _program(op, right | {"split_dimension": dimension}, results=(square,))
    for size in (3, 5):
        yield "C2", _program(op, right, (tensor(_F32, 2, size),), (square,))
    for dimension in (-1, 2):
        yield "C3", _program(op, right | {"concat_dimension": dimension}, results=(square,))
    for count in (0, -2):
        yield "C4", _program(op, right | {"split_count": count}, results=(square,))
    for id_, given in _wrong_groups("C5", "C6", "C7"):
        groups = given["replica_groups"]
        assert isinstance(groups, Dense)
        count = groups.type.static_shape[1]
        given = right | given | {"split_count": count}
        yield id_, _program(op, given, results=(tensor(_F32, 2 * count, 4 // count),))
    for rows in ([[0], [1]], [[1], [0]]):
        yield "C8", _program(op, right | {"replica_groups": matrix(rows)}, results=(square,))
    for result in (_MATRIX, tensor(_F32, 4, 4), tensor(_F64, 4, 2), tensor(_F32, 8)):
        yield "C9", _program(op, right, results=(result,))
    yield "C9", _program(op, same, results=(square,))
    yield "C9", _program(op, right, results=(square, square))


def _roots(*numbers: int, name: str = "si32") -> Dense:
    of = element_type(name)
    return Dense.of(np.array(numbers, of.storage), TensorType((len(numbers),), of))


def _invalid_partial_groups(unique: str, bounds: str) -> Wrong:
    """Yield groups of two replicas with a repeated id, or an id out of range."""
    for rows in ([[0, 0]], [[1, 0, 1]], [[0], [0]]):
        yield unique, {"replica_groups": matrix(rows)}
    for rows in ([[0, 2]], [[-3, 1]], [[5]]):
        yield bounds, {"replica_groups": matrix(rows)}
    yield unique, {"replica_groups": mesh_groups(_IN_MESH, (_X,), (1, 1))}
    yield bounds, {"replica_groups": mesh_groups(_IN_MESH, (_X,), (0, 2))}


def _collective_broadcast(op: str) -> Iterator[Miss]:
    """Yield near misses of I1 (per-axis quantized), I2, C1 to C6."""
    right: dict[str, Attribute] = {"replica_groups": matrix([[0, 1]])}
    dynamic = right | {"has_dynamic_root": True}
    quantized = TensorType((2, 4), _PER_AXIS)
    yield "I1", _program(op, right, (quantized,), (quantized,))
    for given in _non_matrices("replica_groups"):
        yield "I2", _program(op, given)
    for id_, given in _invalid_partial_groups("C1", "C2"):
        yield id_, _program(op, given)
    for result in (_ROW, tensor(_F32, 4, 2), tensor(_F64, 2, 4)):
        yield "C3", _program(op, right, results=(result,))
    yield "C3", _program(op, right, (), ())
    for roots in (_roots(0, name="si64"), _roots(0, 1), _roots(0, name="ui32")):
        yield "C4", _program(op, dynamic, (_MATRIX, roots))
    yield "C4", _program(op, dynamic, (_MATRIX, _roots(0)), (_ROW,))
    for count in (0, 2):
        yield "C5", _program(op, right, results=(_MATRIX,) * count)
        yield "C5", _program(op, dynamic, (_MATRIX, _roots(0)), (_MATRIX,) * count)
    for root in (2, -1, 7):
        yield "C6", _program(op, dynamic, (_MATRIX, _roots(root)))


def _collective_reduce(op: str) -> Iterator[Miss]:
    """Yield near misses of I2, C1 to C4."""
    right: dict[str, Attribute] = {"replica_groups": matrix([[0, 1]])}
    dynamic, body = right | {"has_dynamic_root": True}, (adder(_F32),)
    for given in _non_matrices("replica_groups"):
        yield "I2", _program(op, given, regions=body)
    for id_, given in _invalid_partial_groups("C1", "C2"):
        yield id_, _program(op, given, regions=body)
    for result in (_ROW, tensor(_F32, 4, 2)):
        yield "C3", _program(op, right, results=(result,), regions=body)
    for roots in (_roots(0, name="si64"), _roots(0, 1)):
        yield "C3", _program(op, dynamic, (_MATRIX, roots), regions=body)
    yield from _wrong_computations(op, right, _MATRIX, "C4")


def _collective_permute(op: str) -> Iterator[Miss]:
    """Yield near misses of I1 (per-axis quantized), I2, C1 to C5."""
    right: dict[str, Attribute] = {"source_target_pairs": matrix([[0, 1]])}
    quantized = TensorType((2, 4), _PER_AXIS)
    yield "I1", _program(op, right, (quantized,), (quantized,))
    for given in _non_matrices("source_target_pairs"):
        yield "I2", _program(op, given)
    wrong = (
        ("C1", [[0, 1, 2]]), ("C1", [[0]]), ("C2", [[0, 0], [0, 1]]), ("C3", [[0, 0], [1, 0]]),
        ("C4", [[0, 2]]), ("C4", [[-1, 0]]), ("C4", [[7, 1]]),
    )  # fmt: skip
    for id_, pairs in wrong:
        yield id_, _program(op, {"source_target_pairs": matrix(pairs)})
    for result in (_ROW, tensor(_F32, 4, 2), tensor(_F64, 2, 4)):
        yield "C5", _program(op, right, results=(result,))


NEAR_MISSES: dict[str, Misses] = {
    "all_gather": _all_gather,
    "all_reduce": _all_reduce,
    "all_to_all": _all_to_all,
    "collective_broadcast": _collective_broadcast,
    "collective_permute": _collective_permute,
    "collective_reduce": _collective_reduce,
    "reduce_scatter": _reduce_scatter,
}
"""The generator of each op's near misses."""

INSEPARABLE: dict[str, tuple[str, ...]] = dict.fromkeys(
    ("all_reduce", "collective_reduce", "reduce_scatter"), ("I1",)
)
"""Ids of constraints that are violated only with others, by op: a per-axis quantized operand has an
element type that no computation of scalars can have.
"""
