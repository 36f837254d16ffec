"""Every constraint of the elementwise ops, as the specification lists them, is checked.

`data/elementwise_constraints.json` holds the names and ids of the specification. Each id has an
operation here that breaks it and nothing else.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reference.interpreter.evaluate import check, violations
from reference.ir.constraints import ConstraintViolation
from reference.ir.notation import same_shape
from reference.ir.program import (
    Dense,
    Operation,
    QuantizedType,
    TensorType,
    TokenType,
    Value,
    ValueType,
    attributes,
    single_op,
)
from reference.ir.types import ALL, ELEMENT_TYPES
from reference.ops.elementwise.types import (
    ANY,
    ANY_PER_TENSOR,
    ARITHMETIC,
    COMPARE_TYPES,
    FLOAT,
    LOGICAL,
    compare_types_of,
)
from reference.ops.table import OPS as EVERY_OP

SPECIFICATION = json.loads(
    (Path(__file__).parent / "data" / "elementwise_constraints.json").read_text()
)
OPS = {name: op for name, op in EVERY_OP.items() if name in SPECIFICATION}


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
    values = tuple(Value(f"v{number}", of) for number, of in enumerate(operands))
    return Operation(name, values, (Value("r", result),), attributes(**given))


F32, F64, I1, SI32, UI8 = (tensor(name) for name in ("f32", "f64", "i1", "si32", "ui8"))
C64 = tensor("complex<f32>")
WIDE = tensor("f32", 2, 4)
AXIS_0, AXIS_1, PER_TENSOR = quantized_tensor(axis=0), quantized_tensor(axis=1), quantized_tensor()
LT = {"comparison_direction": "LT"}
ONE = Dense.of(np.ones((2, 3), np.float32), F32)

SAME_TYPE = [
    name
    for name, op in OPS.items()
    if op.constraints == ("C1",) and name not in ("bitcast_convert", "constant", "convert", "iota")
    and name != "is_finite"
]  # fmt: skip
"""Ops of one type throughout: C1 is about all of them."""

VALID_TYPE = {
    name: tensor("si32") if F32 not in OPS[name].type_function.keywords["admits"] else F32  # type: ignore[attr-defined]
    for name in SAME_TYPE
}

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

BREAKS_MORE: list[tuple[str, Operation]] = [
    ("I1", operation("clamp", (AXIS_0, PER_TENSOR, PER_TENSOR), PER_TENSOR)),
    ("I2", operation("clamp", (PER_TENSOR, AXIS_0, PER_TENSOR), AXIS_0)),
    ("I3", operation("clamp", (PER_TENSOR, PER_TENSOR, AXIS_0), PER_TENSOR)),
    ("I1", operation("compare", (AXIS_0, PER_TENSOR), tensor("i1", 2, 2), **LT)),
    ("I2", operation("compare", (PER_TENSOR, AXIS_0), tensor("i1", 2, 2), **LT)),
    ("I1", operation("complex", (tensor("f16"), F32), C64)),
    ("I2", operation("complex", (F32, tensor("f16")), C64)),
    ("I2", operation("select", (scalar("i1"), AXIS_0, PER_TENSOR), PER_TENSOR)),
    ("I3", operation("select", (scalar("i1"), PER_TENSOR, AXIS_0), PER_TENSOR)),
]
"""An input that is not admitted, which another constraint ties to inputs that are."""

for _name in SAME_TYPE:
    _of, _count = VALID_TYPE[_name], len(OPS[_name].operands)
    _other = F64 if _of is F32 else UI8
    BREAKS.append(("C1", operation(_name, (_of,) * _count, _other)))
    BREAKS.append(("C1", operation(_name, (_of,) * _count, replace(_of, shape=(3, 2)))))
    if _count == 2:
        BREAKS.append(("C1", operation(_name, (_of, _other), _of)))


def one_not_admitted(name: str, number: int) -> Operation | None:
    """Return an operation whose only inadmissible operand is operand `number`; C1 holds if
    possible.

    Only quantization parameters do not take part in C1, so other types break both.
    """
    admits = OPS[name].type_function.keywords["admits"]  # type: ignore[attr-defined]
    wrong = next((of for of in (tensor(row.name) for row in ALL) if of not in admits), AXIS_0)
    operands = [VALID_TYPE[name]] * len(OPS[name].operands)
    operands[number - 1] = wrong
    return operation(name, tuple(operands), operands[0])


def test_names_and_ids_are_the_specifications() -> None:
    for name, listed in SPECIFICATION.items():
        op = OPS[name]
        assert list(op.operands) == listed["operands"], name
        assert list(op.attributes) == listed["attributes"], name
        assert list(op.constraints) == listed["constraints"], name
    assert list(OPS) == list(SPECIFICATION)


@pytest.mark.parametrize(("id_", "broken"), BREAKS, ids=[f"{o.name}-{i}" for i, o in BREAKS])
def test_breaks_exactly_one(id_: str, broken: Operation) -> None:
    assert violations(broken) == (id_,)
    given = dict(broken.attributes)
    with pytest.raises(ConstraintViolation, match=f"^{broken.name} breaks {id_}: .") as raised:
        OPS[broken.name].infer(
            *(v.type for v in broken.operands), result=broken.results[0].type, **given
        )
    assert (raised.value.op, raised.value.id) == (broken.name, id_)


def test_every_constraint_is_broken_by_some_operation() -> None:
    broken = {(operation.name, id_) for id_, operation in BREAKS}
    for id_, operation_ in BREAKS_MORE:
        assert id_ in violations(operation_)
        broken.add((operation_.name, id_))
    for name in SAME_TYPE:
        for number, id_ in enumerate(OPS[name].inputs, 1):
            assert id_ in violations(one_not_admitted(name, number)), (name, id_)
            broken.add((name, id_))
    listed = {(name, id_) for name, op in OPS.items() for id_ in (*op.constraints, *op.inputs)}
    assert broken == listed


@pytest.mark.parametrize("name", SAME_TYPE)
def test_admitted_types_break_nothing(name: str) -> None:
    admits = OPS[name].type_function.keywords["admits"]  # type: ignore[attr-defined]
    for row in ALL:
        of = TensorType((2, 3), row)
        found = violations(operation(name, (of,) * len(OPS[name].operands), of))
        assert (found == ()) == (of in admits)
        assert set(found) <= set(OPS[name].inputs)


@pytest.mark.parametrize(
    ("admits", "names"),
    [
        (LOGICAL, {"i1", "si2", "ui64"}),
        (ARITHMETIC, {"si4", "ui4", "bf16", "f8E8M0FNU", "complex<f64>"}),
        (FLOAT, {"f4E2M1FN", "f64"}),
    ],
)
def test_admitted_kinds(admits: Any, names: set[str]) -> None:
    sample = {"i1", "si2", "si4", "ui4", "ui64", "bf16", "f8E8M0FNU", "f4E2M1FN", "f64"}
    found = {name for name in sample | {"complex<f64>"} if tensor(name) in admits}
    assert names <= found
    assert ("i1" in found) == (admits is LOGICAL)
    assert ("complex<f64>" in found) == (admits is ARITHMETIC)


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


def test_all_broken_ids_are_gathered() -> None:
    both = operation("reduce_precision", (F32,), F64, exponent_bits=0, mantissa_bits=-1)
    assert violations(both) == ("C1", "C2", "C3")


def test_check_walks_a_program() -> None:
    valid = single_op("add", (Value("a", F32), ONE), (F32,))
    assert check(valid) == []
    ((found, ids),) = check(single_op("add", (Value("a", F32), ONE), (F64,)))
    assert (found.name, ids) == ("add", ("C1",))
