"""Constraints of the specification: each has operations that break it, and nothing else."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conformance.catalog import CATALOG
from generators.cells.columns import ordered_misses
from generators.invalid.misses import program as single_operation
from generators.invalid.misses import tensor as miss_tensor
from generators.invalid.table import INSEPARABLE, NEAR_MISSES, near_misses
from reference.interpreter.evaluate import check, violations
from reference.ir.constraints import ConstraintViolation
from reference.ir.mesh import AxisRef, MeshAxis, mesh_groups
from reference.ir.notation import same_shape
from reference.ir.op import Dialect
from reference.ir.program import (
    Dense,
    Operation,
    QuantizedType,
    TensorType,
    TokenType,
    Value,
    ValueType,
    attributes,
)
from reference.ir.program import TensorType as Tensor
from reference.ir.types import ALL, ELEMENT_TYPES, element_type
from reference.ops.elementwise.types import (
    ANY,
    ANY_PER_TENSOR,
    COMPARE_TYPES,
    LOGICAL,
    compare_types_of,
)
from reference.ops.table import OPS
from reference.ops.xla.lowering import lower_program

SPECIFICATION = json.loads((Path(__file__).parent / "data" / "specification.json").read_text())

ONLY_IN_THE_DIALECT = {"dynamic_gather": {"operand_batching_dims", "start_indices_batching_dims"}}
"""Inputs that an op has in the dialect, but not in its section of the specification; the section of
`gather` has them.
"""

HERE = sorted(SPECIFICATION)

BEYOND = {"dynamic_gather": {"operand_batching_dims", "start_indices_batching_dims"}}
"""Attributes that the dialect has and the specification's table does not: `dynamic_gather` is said
to be identical to `gather`, and JAX writes it with batching dimensions."""


def test_the_catalog_is_the_specifications_list_of_ops() -> None:
    assert set(CATALOG) == set(HERE) | {
        name
        for name, record in OPS.items()
        if not record.specified and record.dialect is not Dialect.MHLO
    }
    assert set(OPS) >= set(CATALOG)
    dialects = list(Dialect)
    assert list(CATALOG) == sorted(CATALOG, key=lambda op: (dialects.index(OPS[op].dialect), op))


@pytest.mark.parametrize("op", HERE)
def test_inputs_are_named_as_in_the_specification(op: str) -> None:
    row = OPS[op]
    attributes = [name for name in row.attributes if name not in BEYOND.get(op, ())]
    named = [*row.operands, *attributes, *row.regions]
    known = {name.removeprefix("*") for name in named} - ONLY_IN_THE_DIALECT.get(op, set())
    assert known == set(SPECIFICATION[op]["inputs"])
    order = [name for name in SPECIFICATION[op]["inputs"] if name in row.attributes]
    assert attributes == order


@pytest.mark.parametrize("op", HERE)
def test_every_constraint_of_the_specification_is_known(op: str) -> None:
    assert list(OPS[op].constraints) == SPECIFICATION[op]["constraints"]


@pytest.mark.parametrize("op", HERE)
def test_near_misses_break_exactly_the_constraint_they_name(op: str) -> None:
    listed = {*OPS[op].constraints, *OPS[op].inputs}
    alone = listed - set(INSEPARABLE.get(op, ()))
    if op not in NEAR_MISSES:
        assert not alone
        return
    misses = ordered_misses(op)
    for id_, program in misses:
        assert [ids for _, ids in check(program)] == [(id_,)], program
    assert {id_ for id_, _ in misses} == alone
    assert len({program.digest for _, program in misses}) == len(misses)


OWN = {"preferred_element_type": "bf16"}
BF16, OF_F32 = element_type("bf16"), element_type("f32")


def test_lowered_convolution_waives_exactly_the_same_constraint() -> None:
    """The result of a Conv is of another type; the same convolution by itself breaks C27."""
    given: dict[str, Any] = {
        "window_strides": (1,), "padding": "VALID", "feature_group_count": 1,
        "batch_group_count": 1, "preferred_element_type": "f32",
    }  # fmt: skip
    types = {"lhs": miss_tensor(BF16, 1, 1, 4), "rhs": miss_tensor(BF16, 1, 1, 4)}
    made = single_operation("Conv", types, (miss_tensor(OF_F32, 1, 1, 1),), **given)
    assert check(made) == []
    below = lower_program(made)
    assert check(below) == []
    (alone,) = [one for one in below.walk() if one.name == "convolution"]
    assert alone.waives == ("C27",)
    assert violations(replace(alone, waives=())) == ("C27",)
    plain = single_operation("Conv", types, (miss_tensor(BF16, 1, 1, 1),), **given | OWN)
    assert not any(one.waives for one in lower_program(plain).walk())
    for id_, near in near_misses("Conv"):
        if id_ == "P5":  # operands of two element types
            assert [ids for _, ids in check(lower_program(near))] == [("C27",)]


def test_a_near_miss_of_a_scatter_breaks_the_condition_of_the_page() -> None:
    """Each id of scatter that the page states has programs that break it, as P1 to P11."""
    record = OPS["Scatter"]
    misses = near_misses("Scatter")
    ours = {theirs: own for own, ids in record.restates for theirs in ids}
    twins = [ours[id_] for id_, _ in near_misses("scatter") if id_ in ours]
    assert [id_ for id_, _ in misses] == twins
    assert {id_ for id_, _ in misses} == set(record.constraints)
    for id_, near in misses:
        assert [ids for _, ids in check(near)] == [(id_,)]


def tensor(name: str, *shape: int | None) -> TensorType:
    return TensorType(shape or (2, 3), ELEMENT_TYPES[name])


def scalar(name: str) -> TensorType:
    return TensorType((), ELEMENT_TYPES[name])


def quantized_tensor(
    storage: str = "si8", expressed: str = "f32", axis: int | None = None, zero: int = 0
) -> TensorType:
    of = ELEMENT_TYPES[storage]
    count = 1 if axis is None else 2
    element = QuantizedType(
        of, of.min_integer, of.max_integer, ELEMENT_TYPES[expressed],
        (0.5,) * count, (zero,) * count, axis,
    )  # fmt: skip
    return TensorType((2, 2), element)


def operation(
    name: str, operands: tuple[ValueType, ...], result: ValueType, **given: Any
) -> Operation:
    values = tuple(Value(f"v{index}", of) for index, of in enumerate(operands))
    return Operation(name, values, (Value("r", result),), attributes(**given))


F32, F64, I1, SI32, UI8 = (tensor(name) for name in ("f32", "f64", "i1", "si32", "ui8"))
C64 = tensor("complex<f32>")
WIDE = tensor("f32", 2, 4)
AXIS_0, AXIS_1, PER_TENSOR = quantized_tensor(axis=0), quantized_tensor(axis=1), quantized_tensor()
LT = {"comparison_direction": "LT"}
ONE = Dense.of(np.ones((2, 3), np.float32), F32)

BREAKS: list[tuple[str, Operation]] = [
    ("I1", operation("abs", (UI8,), UI8)),
    ("C1", operation("abs", (F32,), WIDE)),
    ("C2", operation("abs", (C64,), C64)),
    ("C2", operation("abs", (F32,), F64)),
    ("C1", operation("add", (F32, F64), F32)),
    ("C1", operation("add", (F32, WIDE), F32)),
    ("C1", operation("add", (F32, F32), F64)),
    ("C2", operation("add", (PER_TENSOR, TensorType((2, 2), ELEMENT_TYPES["f32"])), PER_TENSOR)),
    ("C3", operation("add", (PER_TENSOR, quantized_tensor("si16")), PER_TENSOR)),
    ("C4", operation("add", (PER_TENSOR, quantized_tensor(expressed="f16")), PER_TENSOR)),
    ("C5", operation("add", (PER_TENSOR, PER_TENSOR), AXIS_0)),
    ("C6", operation("add", (AXIS_1, AXIS_0), AXIS_0)),
    ("C7", operation("add", (AXIS_0, AXIS_1), AXIS_0)),
    ("C1", operation("bitcast_convert", (F32,), F64)),
    ("C1", operation("bitcast_convert", (F32,), WIDE)),
    ("C1", operation("bitcast_convert", (F64,), tensor("f32", 2, 3, 3))),
    ("C1", operation("bitcast_convert", (tensor("f32", 2, 3),), tensor("f64", 2))),
    ("C1", operation("bitcast_convert", (F64,), tensor("f32", 3, 3, 2))),
    ("C2", operation("bitcast_convert", (F64,), C64)),
    ("C1", operation("clamp", (WIDE, F32, F32), F32)),
    ("C2", operation("clamp", (F32, F32, WIDE), F32)),
    ("C3", operation("clamp", (F64, F32, F32), F32)),
    ("C3", operation("clamp", (scalar("f32"), F32, scalar("f16")), F32)),
    ("C4", operation("clamp", (F32, F32, F32), F64)),
    ("I3", operation("compare", (F32, F32), I1, comparison_direction="SOME")),
    ("I4", operation("compare", (F32, F32), I1, compare_type="SOME", **LT)),
    ("C1", operation("compare", (F32, F64), I1, **LT)),
    ("C2", operation("compare", (F32, WIDE), I1, **LT)),
    ("C2", operation("compare", (F32, F32), tensor("i1", 3, 2), **LT)),
    ("C1", operation("complex", (F32, F64), C64)),
    ("C2", operation("complex", (F32, F32), tensor("complex<f32>", 3, 2))),
    ("C3", operation("complex", (F32, F32), tensor("complex<f64>"))),
    ("C1", operation("constant", (), F64, value=ONE)),
    ("C1", operation("constant", (), WIDE, value=ONE)),
    ("I1", operation("convert", (PER_TENSOR,), tensor("f32", 2, 2))),
    ("C1", operation("convert", (F32,), tensor("si32", 3, 2))),
    ("C1", operation("iota", (), F32, iota_dimension=2)),
    ("C1", operation("iota", (), F32, iota_dimension=-1)),
    ("I1", operation("is_finite", (SI32,), I1)),
    ("C1", operation("is_finite", (F32,), tensor("i1", 3, 2))),
    *(
        found
        for name in ("real", "imag")
        for found in (
            ("I1", operation(name, (SI32,), SI32)),
            ("C1", operation(name, (F32,), WIDE)),
            ("C2", operation(name, (C64,), F64)),
            ("C2", operation(name, (F32,), C64)),
        )
    ),
    ("I1", operation("reduce_precision", (SI32,), SI32, exponent_bits=4, mantissa_bits=3)),
    ("C1", operation("reduce_precision", (F32,), F64, exponent_bits=4, mantissa_bits=3)),
    ("C2", operation("reduce_precision", (F32,), F32, exponent_bits=0, mantissa_bits=3)),
    ("C3", operation("reduce_precision", (F32,), F32, exponent_bits=4, mantissa_bits=-1)),
    ("I1", operation("select", (UI8, F32, F32), F32)),
    ("C1", operation("select", (tensor("i1", 3, 2), F32, F32), F32)),
    ("C1", operation("select", (tensor("i1", 1), F32, F32), F32)),
    ("C2", operation("select", (I1, F32, F64), F32)),
    ("C2", operation("select", (I1, F32, F32), WIDE)),
    *(
        ("C3", operation("compare", (of, of), I1, compare_type=wrong, **LT))
        for of in (tensor(row.name) for row in ALL)
        for wrong in COMPARE_TYPES
        if wrong not in compare_types_of(of.element)
    ),
]


@pytest.mark.parametrize(("id_", "broken"), BREAKS, ids=[f"{o.name}-{i}" for i, o in BREAKS])
def test_breaks_exactly_one(id_: str, broken: Operation) -> None:
    assert violations(broken) == (id_,)
    given = dict(broken.attributes)
    with pytest.raises(ConstraintViolation, match=f"^{broken.name} breaks {id_}: .") as raised:
        OPS[broken.name].infer(
            *(v.type for v in broken.operands), result=broken.results[0].type, **given
        )
    assert (raised.value.op, raised.value.id) == (broken.name, id_)


def test_quantized_tensors_are_admitted_as_listed() -> None:
    assert AXIS_0 in ANY
    assert AXIS_0 not in ANY_PER_TENSOR
    assert PER_TENSOR in ANY_PER_TENSOR
    assert PER_TENSOR not in LOGICAL
    assert TokenType() not in ANY


def test_baselines_ignore_scales_and_zero_points() -> None:
    other = quantized_tensor(zero=3)
    assert violations(operation("multiply", (PER_TENSOR, other), other)) == ()
    assert violations(operation("multiply", (PER_TENSOR, quantized_tensor("si16")), other)) == (
        "C1",
    )
    assert violations(operation("add", (AXIS_0, PER_TENSOR), AXIS_0)) == ()


def test_unknown_sizes_agree_with_every_size() -> None:
    unknown = tensor("f32", None, 3)
    assert violations(operation("add", (unknown, F32), unknown)) == ()
    assert OPS["add"].infer(unknown, F32) == F32
    assert not same_shape(unknown, tensor("f32", None, 4))
    assert not same_shape(tensor("f32", 2, 3), unknown, tensor("f32", 4, 3))


def test_inferred_types() -> None:
    assert OPS["abs"].infer(C64) == F32
    assert OPS["abs"].infer(SI32) == SI32
    assert OPS["real"].infer(C64) == OPS["imag"].infer(C64) == F32
    assert OPS["complex"].infer(F64, F64) == tensor("complex<f64>")
    assert OPS["compare"].infer(F32, F32, comparison_direction="EQ") == I1
    assert OPS["is_finite"].infer(F32) == I1
    assert OPS["select"].infer(scalar("i1"), C64, C64) == C64
    assert OPS["clamp"].infer(scalar("si32"), SI32, scalar("si32")) == SI32
    assert OPS["constant"].infer(value=ONE) == F32
    assert OPS["convert"].infer(F32, result=SI32) == SI32
    assert OPS["bitcast_convert"].infer(F64, result=tensor("si8", 2, 3, 8)).rank == 3
    assert OPS["bitcast_convert"].infer(tensor("si4", 5, 2), result=tensor("ui8", 5)).rank == 1


@pytest.mark.parametrize(
    ("broken", "what"),
    [
        (operation("add", (F32,), F32), "operands"),
        (operation("add", (F32, TokenType()), F32), "operands"),
        (operation("abs", (F32,), TokenType()), "result"),
        (operation("abs", (F32,), F32, speed=1), "attributes"),
        (operation("compare", (F32, F32), I1), "attributes"),
        (replace(operation("abs", (F32,), F32), results=()), "result"),
    ],
)
def test_malformed_operations(broken: Operation, what: str) -> None:
    assert violations(broken) == (what,)


def test_a_result_type_that_is_needed() -> None:
    with pytest.raises(ConstraintViolation, match="convert breaks result"):
        OPS["convert"].infer(F32)


Mesh = tuple[MeshAxis, ...]
Axes = tuple[AxisRef, ...]
Ids = tuple[int, ...] | None
X2, Y2, Y3, X8 = MeshAxis("x", 2), MeshAxis("y", 2), MeshAxis("y", 3), MeshAxis("x", 8)
AXIS_X, AXIS_Y = AxisRef("x"), AxisRef("y")


@pytest.mark.parametrize(
    ("mesh", "axes", "device_ids", "wanted"),
    [
        ((X2, Y2), (AXIS_X,), None, [[0, 2], [1, 3]]),  # StableHLO's own tests: all_reduce_rgv3
        ((X2, Y2), (AXIS_Y,), None, [[0, 1], [2, 3]]),  # all_gather_rgv3
        ((X2, Y2), (AXIS_X,), (0, 2, 1, 3), [[0, 1], [2, 3]]),  # all_reduce_sdy_mesh_dev
        ((), (), (0,), [[0]]),  # all_reduce_sdy_mesh_max
        ((X2, Y3), (AXIS_X, AXIS_Y), None, [[0, 1, 2, 3, 4, 5]]),
        ((X2, Y3), (AXIS_Y, AXIS_X), None, [[0, 3, 1, 4, 2, 5]]),
        ((X2, Y3), (), None, [[0], [1], [2], [3], [4], [5]]),
        ((X8,), (AxisRef("x", 1, 2),), None, [[0, 4], [1, 5], [2, 6], [3, 7]]),
        ((X8,), (AxisRef("x", 2, 2),), None, [[0, 2], [1, 3], [4, 6], [5, 7]]),
        ((X8,), (AxisRef("x", 4, 2), AxisRef("x", 1, 2)), None, [[0, 4, 1, 5], [2, 6, 3, 7]]),
        ((X8,), (AxisRef("x", 2, 1),), None, [[0], [1], [2], [3], [4], [5], [6], [7]]),
        ((MeshAxis("x", 1), Y2), (AXIS_X, AXIS_Y), None, [[0, 1]]),
    ],
)
def test_groups_differ_along_the_axes(
    mesh: Mesh, axes: Axes, device_ids: Ids, wanted: list[list[int]]
) -> None:
    groups = mesh_groups(mesh, axes, device_ids)
    assert groups.array.tolist() == wanted
    assert not groups.problem


@pytest.mark.parametrize(
    ("mesh", "axes", "device_ids", "says"),
    [
        ((X2, Y2), (AxisRef("z"),), None, "'z' is not in the mesh"),
        ((X2, X2), (AXIS_X,), None, "two axes of one name"),
        ((X2, MeshAxis("y", 0)), (AXIS_X,), None, "no devices"),
        ((X2, Y2), (AXIS_X,), (0, 1), "2 device_ids for a mesh of 4"),
        ((X2, Y2), (AXIS_X, AXIS_X), None, "overlap"),
        ((X8,), (AxisRef("x", 1, 4), AxisRef("x", 2, 2)), None, "overlap"),
        ((X8,), (AxisRef("x", 1, 3),), None, r"no part \(1\)3"),
        ((X2,), (AxisRef("x", 2, 2),), None, r"no part \(2\)2"),
        ((X2,), (AxisRef("x", 0, 2),), None, r"no part \(0\)2"),
    ],
)
def test_axes_that_do_not_fit_their_mesh_are_no_groups(
    mesh: Mesh, axes: Axes, device_ids: Ids, says: str
) -> None:
    of = Tensor((2,), element_type("f32"))
    groups = mesh_groups(mesh, axes, device_ids)
    with pytest.raises(ConstraintViolation, match=says) as caught:
        OPS["all_gather"].infer(of, results=(of,), all_gather_dim=0, replica_groups=groups)
    assert caught.value.id == "I3"
