"""Ops whose shapes are operands: they equal the static ops, and refuse invalid shapes."""

from typing import Any

import numpy as np
import pytest

from conformance.backends.base import Unsupported
from conformance.backends.session import Compiled, open_session
from conformance.stablehlo.emit import emit
from conformance.stablehlo.parse import diagnose
from generators.cells.plan import cases
from generators.families.data_movement import INDEX_TYPES
from generators.families.dynamism import BUILDERS
from generators.invalid import dynamism
from generators.invalid.table import near_misses
from generators.values.contents import materialise
from reference.interpreter.evaluate import EvaluationError, check, evaluate, violations
from reference.ir.program import (
    Dense,
    Operation,
    Program,
    QuantizedType,
    TensorType,
    Value,
    attributes,
    single_op,
)
from reference.ir.types import ALL, Array, element_type_of, to_bits
from reference.ir.types import ELEMENT_TYPES as TYPES
from reference.ops import dynamism as ops
from reference.ops.table import OPS
from reference.unspecified.table import unspecified_elements
from suites.meta.support.ops.violations import violated_by

F32, SI32, SI64 = (TYPES[name] for name in ("f32", "si32", "si64"))


def si64(*values: int) -> Array:
    return np.array(values, np.int64)


def operation_of(op: str, program: Program) -> Operation:
    (found,) = (operation for operation in program.walk() if operation.name == op)
    return found


def program_of(op: str, operands: tuple[Array, ...], result: TensorType, **attrs: Any) -> Program:
    values = tuple(
        Value(f"v{index}", TensorType(array.shape, element_type_of(array)))
        for index, array in enumerate(operands)
    )
    return single_op(op, values, (result,), attrs)


def run(op: str, operands: tuple[Array, ...], result: TensorType, **attrs: Any) -> Array:
    program = program_of(op, operands, result, **attrs)
    assert check(program) == []
    (array,) = evaluate(program, operands)
    return array


# --- The same as the static ops ------------------------------------------------------------------

STATIC: dict[str, tuple[str, tuple[str, ...]]] = {
    "dynamic_broadcast_in_dim": ("broadcast_in_dim", ()),
    "dynamic_iota": ("iota", ()),
    "dynamic_pad": ("pad", ("edge_padding_low", "edge_padding_high", "interior_padding")),
    "dynamic_reshape": ("reshape", ()),
    "real_dynamic_slice": ("slice", ("start_indices", "limit_indices", "strides")),
}
"""The static op of each dynamic op, and the attributes that its last operands replace."""


@pytest.mark.slow
@pytest.mark.parametrize("op", STATIC)
def test_like_the_static_op(op: str) -> None:
    name, numbers = STATIC[op]
    for of in OPS[op].element_types:
        for case in cases(op, of, seed=3, count=6):
            inputs = materialise(case.program, case.inputs[0])
            (actual,) = evaluate(case.program, inputs)
            operation = operation_of(op, case.program)
            known = dict(zip((v.name for v in case.program.main.arguments), inputs, strict=True))
            for one in case.program.main.body.operations:
                value = one.attribute("value")
                if isinstance(value, Dense):
                    known[one.results[0].name] = value.array
            arrays = [known[value.name] for value in operation.operands]
            kept = {n: v for n, v in operation.attributes if not n.startswith("known_")}
            count = len(numbers) or 1
            data, shapes = tuple(arrays[:-count]), arrays[-count:]
            kept |= {n: tuple(map(int, a)) for n, a in zip(numbers, shapes, strict=False)}
            static = TensorType(actual.shape, element_type_of(actual))
            expected = run(name, data, static, **kept)
            assert np.array_equal(to_bits(actual), to_bits(expected))


def test_get_dimension_size() -> None:
    for of in ALL:
        array = np.zeros((2, 0, 5), of.storage)
        result = TensorType((), SI32)
        sizes = [int(run("get_dimension_size", (array,), result, dimension=d)) for d in range(3)]
        assert sizes == [2, 0, 5]


def test_set_dimension_size_keeps_the_first_elements() -> None:
    array, size = np.arange(12, dtype=np.float32).reshape(3, 4), np.array(2, np.int32)
    rows = run("set_dimension_size", (array, size), TensorType((None, 4), F32), dimension=0)
    assert rows.tolist() == array[:2].tolist()
    columns = run("set_dimension_size", (array, size), TensorType((3, None), F32), dimension=1)
    assert columns.tolist() == array[:, :2].tolist()


# --- What cannot be ------------------------------------------------------------------------------

SIX = np.arange(6, dtype=np.float32)
ZERO = np.zeros((), np.float32)


def refusal_of(
    op: str, operands: tuple[Array, ...], shape: tuple[int | None, ...], **a: Any
) -> str:
    program = program_of(op, operands, TensorType(shape, F32), **a)
    with pytest.raises(EvaluationError) as caught:
        evaluate(program, operands)
    return str(caught.value)


def test_sizes_that_do_not_fit() -> None:
    assert "negative size" in refusal_of("dynamic_reshape", (SIX, si64(2, -1)), (2, None))
    assert "cannot reshape" in refusal_of("dynamic_reshape", (SIX, si64(4, 2)), (4, None))
    assert "shape (3, 2) given" in refusal_of("dynamic_reshape", (SIX, si64(3, 2)), (2, None))
    where = {"broadcast_dimensions": (0,)}
    assert "%r0" in refusal_of("dynamic_broadcast_in_dim", (SIX, si64(5)), (None,), **where)
    slices = (si64(0), si64(7), si64(1))
    assert "no slice of 6" in refusal_of("real_dynamic_slice", (SIX, *slices), (None,))
    backwards = (si64(3), si64(2), si64(1))
    assert "no slice of 6" in refusal_of("real_dynamic_slice", (SIX, *backwards), (None,))
    still = (si64(0), si64(2), si64(0))
    assert "by 0" in refusal_of("real_dynamic_slice", (SIX, *still), (None,))
    for size in (-1, 7):
        number = np.array(size, np.int32)
        message = refusal_of("set_dimension_size", (SIX, number), (None,), dimension=0)
        assert f"size {size} of a dimension of 6" in message


def test_negative_interior_padding_is_refused_if_it_is_constant() -> None:
    operands = (SIX, ZERO, si64(0), si64(0), si64(-1))
    assert "breaks C3" in refusal_of("dynamic_pad", operands, (None,))
    program = program_of("dynamic_pad", operands, TensorType((None,), F32))
    assert check(program) == []  # a parameter may hold anything
    types = [value.type for value in program.main.arguments]
    placed = [
        value if index < 4 else Dense.of(operands[4], of)
        for index, (value, of) in enumerate(zip(program.main.arguments, types, strict=True))
        if isinstance(of, TensorType)
    ]
    constant = single_op("dynamic_pad", tuple(placed), (TensorType((None,), F32),))
    assert [ids for _, ids in check(constant)] == [("C3",)]


def test_old_ops_refuse_wrong_types() -> None:
    def violations_of(op: str, operands: tuple[TensorType, ...], of: TensorType, **a: Any) -> Any:
        values = tuple(Value(f"v{number}", operand) for number, operand in enumerate(operands))
        return violations(Operation(op, values, (Value("r", of),), attributes(**a)))

    data, index = TensorType((6,), F32), TensorType((1,), SI64)
    sliced = TensorType((None,), F32)
    assert violations_of("real_dynamic_slice", (data, index, index, index), sliced) == ()
    other = TensorType((1,), SI32)
    assert violations_of("real_dynamic_slice", (data, index, index, other), sliced) == ("operands",)
    two = TensorType((2,), SI64)
    assert violations_of("real_dynamic_slice", (data, two, two, two), sliced) == ("operands",)
    matrix = TensorType((None, 1), F32)
    assert violations_of("real_dynamic_slice", (data, index, index, index), matrix) == ("result",)
    size, wide = TensorType((), SI32), TensorType((), SI64)
    assert violations_of("set_dimension_size", (data, size), sliced, dimension=0) == ()
    assert violations_of("set_dimension_size", (data, wide), sliced, dimension=0) == ("operands",)
    assert violations_of("set_dimension_size", (data, size), sliced, dimension=1) == ("attributes",)
    assert violations_of("set_dimension_size", (data, size), matrix, dimension=0) == ("result",)
    assert violations_of("get_dimension_size", (data,), wide, dimension=0) == ("result",)
    booleans = TensorType((None,), TYPES["i1"])
    assert violations_of("dynamic_iota", (index,), booleans, iota_dimension=0) == ("result",)


def test_indices_that_a_type_cannot_represent_are_unspecified() -> None:
    shape = si64(2, 5)
    for name, open_columns in (("f8E8M0FNU", [0, 3]), ("si2", [2, 3, 4]), ("f32", [])):
        result = TensorType((2, None), TYPES[name])
        program = program_of("dynamic_iota", (shape,), result, iota_dimension=1)
        (array,) = evaluate(program, (shape,))
        mask = np.zeros(array.shape, bool)
        for _, one in unspecified_elements(operation_of("dynamic_iota", program), (shape,), array):
            mask |= one
        assert np.flatnonzero(mask.all(axis=0)).tolist() == open_columns
        assert mask.any(axis=0).tolist() == mask.all(axis=0).tolist()


@pytest.mark.parametrize("sizes", [(2, 4), (2, 1 << 45)])
def test_sizes_that_differ_from_the_result_type_are_refused(
    sizes: tuple[int, ...],
) -> None:
    shape = si64(*sizes)
    program = program_of(
        "dynamic_iota", (shape,), TensorType((2, 3), TYPES["f32"]), iota_dimension=1
    )
    with pytest.raises(EvaluationError, match=f"output_shape .*{sizes[0]}, {sizes[1]}.* but"):
        evaluate(program, (shape,))


def test_more_memory_than_there_is_is_an_error_of_evaluation() -> None:
    shape = si64(1, 1 << 45)
    program = program_of(
        "dynamic_iota", (shape,), TensorType((None, None), TYPES["f32"]), iota_dimension=1
    )
    with pytest.raises(EvaluationError, match="dynamic_iota"):
        evaluate(program, (shape,))


# --- What the cases reach ------------------------------------------------------------------------


@pytest.mark.parametrize("op", STATIC)
def test_shapes_of_every_type_known_and_not(op: str) -> None:
    types: set[str] = set()
    placed: set[bool] = set()
    static: set[bool] = set()
    count = {"dynamic_pad": 3, "real_dynamic_slice": 3}.get(op, 1)
    for case in cases(op, F32, seed=1, count=250):
        operation = operation_of(op, case.program)
        for value in operation.operands[-count:]:
            assert isinstance(value.type, TensorType)
            types.add(str(value.type.element_type))
            placed.add(value in case.program.main.arguments)
        result = operation.results[0].type
        assert isinstance(result, TensorType)
        static.add(result.is_static)
    assert {of.name for of in INDEX_TYPES} - types <= {"si2"}  # which holds 0 and 1
    assert placed == {True, False}
    assert static == {True, False}


def test_stated_expanding_dimensions_are_right() -> None:
    said = 0
    for case in cases("dynamic_broadcast_in_dim", F32, seed=1, count=150):
        operation = operation_of("dynamic_broadcast_in_dim", case.program)
        attrs: dict[str, Any] = dict(operation.attributes)
        (result,) = evaluate(case.program, materialise(case.program, case.inputs[0]))
        before = operation.operands[0].type
        assert isinstance(before, TensorType)
        grown = [
            a != result.shape[d]
            for a, d in zip(before.shape, attrs["broadcast_dimensions"], strict=True)
        ]
        for name, grows in (
            ("known_expanding_dimensions", True),
            ("known_nonexpanding_dimensions", False),
        ):
            for d in attrs.get(name, ()):
                assert grown[d] is grows
                said += 1
    assert said > 20


# --- On XLA --------------------------------------------------------------------------------------


def compile_on_cpu(program: Program) -> Compiled:
    return open_session("cpu").compile(program)


def test_xla_makes_constant_shapes_static() -> None:
    kind, shape = TensorType((6,), F32), Dense.of(si64(2, 6), TensorType((2,), SI64))
    result = TensorType((None, None), F32)
    where = {"broadcast_dimensions": (1,)}
    program = single_op("dynamic_broadcast_in_dim", (Value("x", kind), shape), (result,), {**where})
    (actual,) = compile_on_cpu(program).run((SIX,))
    np.testing.assert_array_equal(actual, evaluate(program, (SIX,))[0], strict=True)


@pytest.mark.parametrize("op", ["dynamic_reshape", "dynamic_iota"])
def test_xla_does_not_take_unknown_sizes(op: str) -> None:
    shape, result = Value("s", TensorType((2,), SI64)), TensorType((None, 3), F32)
    operands = (Value("x", TensorType((6,), F32)), shape) if op == "dynamic_reshape" else (shape,)
    attrs = {"iota_dimension": 0} if op == "dynamic_iota" else {}
    with pytest.raises(Unsupported):
        compile_on_cpu(single_op(op, operands, (result,), {**attrs}))


def test_stablehlos_verifier_misses_known_constraints() -> None:
    """Near misses that it lets pass: element types of quantized tensors, numbers of sizes."""
    passed: set[tuple[str, str]] = set()
    for op in dynamism.NEAR_MISSES:
        for id_, program in near_misses(op):
            result = program.main.result_types[0]
            assert isinstance(result, TensorType)
            of_interest = result.element_type is F32 or isinstance(
                result.element_type, QuantizedType
            )
            if of_interest and diagnose(emit(program)) is None:
                passed.add((op, id_))
    assert passed == {
        ("dynamic_broadcast_in_dim", "C1"),
        ("dynamic_broadcast_in_dim", "C7"),
        ("dynamic_iota", "C2"),
        ("dynamic_reshape", "C1"),
    }


@pytest.mark.parametrize("size", [7, 8])
def test_stablehlo_takes_constant_sizes_for_signed(size: int) -> None:
    """StableHLO's verifier refuses a valid program, so such sizes are drawn as parameters only."""
    kind = TensorType((size,), F32)
    sizes = np.array([size], TYPES["ui4"].storage)
    shape = Dense.of(sizes, TensorType((1,), TYPES["ui4"]))
    program = single_op("dynamic_reshape", (Value("x", kind), shape), (kind,))
    assert check(program) == []
    refusal = diagnose(emit(program))
    assert (refusal is None) == (size < 8)
    assert refusal is None or "output shape [-8]" in refusal


@pytest.mark.slow
def test_every_case_is_of_its_op() -> None:
    for op in BUILDERS:
        for case in cases(op, F32, seed=0, count=20):
            assert operation_of(op, case.program).name == op


# --- Type functions and values -------------------------------------------------------------------

NUMBERS = TensorType((2,), SI32)
MATRIX, UNKNOWN = TensorType((2, 3), F32), TensorType((None, 3), F32)


@pytest.mark.parametrize(
    ("changed", "ids"),
    [
        ({}, []),
        ({"output_dimensions": TensorType((2,), F32)}, ["I2"]),
        ({"output_dimensions": TensorType((1, 2), SI32)}, ["I2"]),
        ({"output_dimensions": TensorType((3,), SI32)}, ["C7"]),
        ({"output_dimensions": TensorType((None,), SI32)}, []),
        ({"known_expanding_dimensions": (0,), "known_nonexpanding_dimensions": (0,)}, ["C8"]),
        ({"known_expanding_dimensions": (1,)}, ["C9"]),
        ({"known_nonexpanding_dimensions": (-1,)}, ["C10"]),
    ],
)
def test_constraints_of_dynamic_broadcasts(changed: dict[str, Any], ids: list[str]) -> None:
    given: dict[str, Any] = {
        "operand": TensorType((3,), F32), "output_dimensions": NUMBERS,
        "broadcast_dimensions": (1,), "result": UNKNOWN,
    }  # fmt: skip
    assert violated_by(ops.dynamic_broadcast_in_dim_type, **given | changed) == ids


@pytest.mark.parametrize(
    ("dimension", "result", "ids"),
    [
        (1, UNKNOWN, []),
        (2, UNKNOWN, ["C1"]),
        (0, TensorType((2,), F32), ["C2"]),
        (0, TensorType((2, 3), TYPES["i1"]), ["result"]),
    ],
)
def test_constraints_of_dynamic_iota(dimension: int, result: TensorType, ids: list[str]) -> None:
    found = violated_by(ops.dynamic_iota_type, NUMBERS, iota_dimension=dimension, result=result)
    assert found == ids


def test_stated_sizes_must_be_the_values() -> None:
    found = ops.dynamic_iota(np.array([1, 3]), iota_dimension=1, result=UNKNOWN)
    assert found.tolist() == [[0, 1, 2]]
    with pytest.raises(ValueError, match=r"output_shape is \(1, 4\)"):
        ops.dynamic_iota(np.array([1, 4]), iota_dimension=1, result=UNKNOWN)
    with pytest.raises(ValueError, match="negative size"):
        ops.dynamic_reshape(np.zeros(6), np.array([-1, 3]), result=UNKNOWN)


@pytest.mark.parametrize(("interior", "ids"), [(None, []), ([0, 1], []), ([0, -1], ["C3"])])
def test_interior_padding_is_not_negative(interior: list[int] | None, ids: list[str]) -> None:
    known = None if interior is None else np.array(interior)
    assert violated_by(ops.check_paddings, None, None, None, None, known) == ids


@pytest.mark.parametrize(
    ("start", "limit", "stride", "elements"),
    [(0, 5, 2, [0, 2, 4]), (2, 2, 1, []), (3, 2, 1, None), (-1, 2, 1, None), (0, 6, 1, None),
     (0, 5, 0, None)],
)  # fmt: skip
def test_a_slice_lies_within_its_operand(
    start: int, limit: int, stride: int, elements: list[int] | None
) -> None:
    given = (np.array([number]) for number in (start, limit, stride))
    if elements is None:
        with pytest.raises(ValueError, match="no slice of 5 elements"):
            ops.real_dynamic_slice(np.arange(5), *given, result=UNKNOWN)
    else:
        assert ops.real_dynamic_slice(np.arange(5), *given, result=UNKNOWN).tolist() == elements


def test_a_size_is_at_most_the_operands() -> None:
    def first(count: int) -> Array:
        size = np.array(count, np.int32)
        return ops.set_dimension_size(np.zeros((2, 3)), size, dimension=1, result=UNKNOWN)

    assert first(3).shape == (2, 3)
    assert first(0).shape == (2, 0)
    for count in (4, -1):
        with pytest.raises(ValueError, match="of a dimension of 3"):
            first(count)


@pytest.mark.parametrize(
    ("size", "dimension", "result", "ids"),
    [
        (ops.SIZE, 0, UNKNOWN, []),
        (ops.SIZE, 0, TensorType((1, 3), F32), []),
        (TensorType((), SI64), 0, UNKNOWN, ["operands"]),
        (ops.SIZE, 2, UNKNOWN, ["attributes"]),
        (ops.SIZE, 1, TensorType((1, 3), F32), ["result"]),
    ],
)
def test_constraints_of_set_dimension_size(
    size: TensorType, dimension: int, result: TensorType, ids: list[str]
) -> None:
    found = violated_by(
        ops.set_dimension_size_type, MATRIX, size, dimension=dimension, result=result
    )
    assert found == ids


def test_a_dimension_size_is_of_a_dimension() -> None:
    assert ops.get_dimension_size(np.zeros((2, 3)), dimension=1) == 3
    assert ops.get_dimension_size_type(MATRIX, dimension=1) == ops.SIZE
    assert violated_by(ops.get_dimension_size_type, MATRIX, dimension=2) == ["C1"]
