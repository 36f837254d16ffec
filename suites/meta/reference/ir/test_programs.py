"""Regions, sizes and values of programs, and messages of errors about them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from generators.regions.bodies import BodyBuilder
from reference.ir.constants import matrix
from reference.ir.errors import (
    OutOfMemoryError,
    describe_operation,
    mismatch,
    out_of_memory,
)
from reference.ir.monoid import MONOIDS, Monoid
from reference.ir.program import (
    Dense,
    FutureType,
    Operation,
    QuantizedType,
    Region,
    TensorType,
    TokenType,
    TupleType,
    Value,
    single_op,
)
from reference.ir.regions import argument_types, monoid_of, output_types
from reference.ir.resizing import resize_dimensions, sizes_of
from reference.ir.substitution import replace_inside_region
from reference.ir.tokens import TOKEN, Future
from reference.ir.types import ElementType, element_type

F32, SI8 = element_type("f32"), element_type("si8")


def region(
    op: str = "add",
    operands: str = "ab",
    returned: str = "r",
    of: ElementType | QuantizedType = F32,
) -> Region:
    """Return a region with arguments a and b, whose only op, on `operands`, returns r."""
    scalar = TensorType((), of)
    named = {name: Value(name, scalar) for name in "abcr"}
    applied = Operation(op, tuple(named[name] for name in operands), (named["r"],))
    end = Operation("return", tuple(named[name] for name in returned))
    return Region((named["a"], named["b"]), (applied, end))


def test_types_of_a_region() -> None:
    scalar = TensorType((), F32)
    assert argument_types(region()) == (scalar, scalar)
    assert output_types(region(returned="rr")) == (scalar, scalar)
    assert output_types(Region((), ())) == ()
    assert output_types(Region((), region().operations[:1])) == ()  # nothing is returned


@pytest.mark.parametrize(
    ("op", "of", "wide", "same"),
    [
        ("add", "bf16", "f32", True),
        ("add", "f16", "f32", True),
        ("maximum", "f16", "f32", True),
        ("multiply", "f16", "f32", True),
        ("multiply", "bf16", "f32", False),  # products below f32's range are rounded twice
        ("add", "f16", "bf16", False),
        ("add", "f32", "f32", True),
        ("add", "si8", "si32", False),  # a number out of range is converted in no stated way
    ],
)
def test_an_op_in_a_wider_type_is_the_op_where_it_rounds_once(
    op: str, of: str, wide: str, same: bool
) -> None:
    block = BodyBuilder.of(element_type(of), element_type(of))
    a, b = (block.op("convert", argument, to=element_type(wide)) for argument in block.arguments)
    total = block.op("reshape", block.op(op, a, b))
    found = monoid_of(block.finish_region(block.op("convert", total, to=element_type(of))))
    assert (found is not None) is same


def test_everything_else_is_none() -> None:
    assert monoid_of(region("subtract")) is None
    assert monoid_of(region(operands="aa")) is None
    assert monoid_of(region(operands="ac")) is None  # c is defined outside
    assert monoid_of(region(returned="a")) is None
    assert monoid_of(Region(region().arguments, region().operations[1:])) is None


def test_codes_are_rounded_at_each_step() -> None:
    assert monoid_of(region(of=QuantizedType(SI8, -128, 127, F32, (1.0,), (0,)))) is None


def f32_tensor(*shape: int | None) -> TensorType:
    return TensorType(shape, F32)


def test_every_dimension_of_that_size_changes() -> None:
    program = single_op("abs", (Value("operand", f32_tensor(3, 4, None)),), (f32_tensor(3, 4, 4),))
    main = resize_dimensions(program, {4: 6}).main
    assert [value.type for value in main.arguments] == [f32_tensor(3, 6, None)]
    assert main.body.operations[0].results[0].type == f32_tensor(3, 6, 6)
    assert main.result_types == (f32_tensor(3, 6, 6),)


def test_attributes_that_count_elements_change_and_others_stay() -> None:
    given = {"limit_indices": (3,), "start_indices": (3,), "strides": (3,)}
    program = single_op("slice", (Value("operand", f32_tensor(3)),), (f32_tensor(0),), given)
    changed = resize_dimensions(program, {3: 5}).main.body.operations[0]
    assert changed.attribute("limit_indices") == (5,)
    assert changed.attribute("start_indices") == changed.attribute("strides") == (3,)


def test_constants_repeat_or_drop_elements() -> None:
    def resize_constant(size: int) -> list[float]:
        value = Dense.of(np.array([1, 2, 3], np.float32), f32_tensor(3))
        program = single_op("constant", (), (f32_tensor(3),), {"value": value})
        found = resize_dimensions(program, {3: size}).main.body.operations[0].attribute("value")
        assert isinstance(found, Dense)
        assert found.type == f32_tensor(size)
        return found.array.tolist()

    assert resize_constant(5) == [1, 2, 3, 1, 2]
    assert resize_constant(2) == [1, 2]


A, B, C = (Value(name, TensorType((), element_type("f32"))) for name in "abc")
RETURN = Operation("return", (A,))


def operand_names(region: Region) -> list[list[str]]:
    return [[value.name for value in operation.operands] for operation in region.operations]


def test_outer_values_are_replaced_in_nested_regions() -> None:
    inner = Operation("while", (), (), (), (Region((), (RETURN,)),))
    found = replace_inside_region(Region((), (inner, RETURN)), {"a": B})
    assert operand_names(found) == [[], ["b"]]
    assert operand_names(found.operations[0].regions[0]) == [["b"]]


def test_a_value_of_the_region_itself_stays() -> None:
    """Neither an argument nor a result of the region is the outer value of that name."""
    assert operand_names(replace_inside_region(Region((A,), (RETURN,)), {"a": B})) == [["a"]]
    defining = Operation("negate", (C,), (A,))
    region = Region((), (defining, RETURN))
    assert operand_names(replace_inside_region(region, {"a": B, "c": B})) == [["b"], ["a"]]


NUMBERS = np.array([0, 1, 2, 3, 5, 8, 17, 250], np.uint8)
X, Y, Z = np.ix_(NUMBERS, NUMBERS, NUMBERS)
LOGICAL = np.array([False, True])


@pytest.mark.parametrize("monoid", MONOIDS.values(), ids=lambda monoid: monoid.name)
class TestEachMonoid:
    def test_order_and_grouping_do_not_matter(self, monoid: Monoid) -> None:
        op = monoid.ufunc
        assert np.array_equal(op(op(X, Y), Z), op(X, op(Y, Z)))
        assert np.array_equal(op(X, Y), op(Y, X))

    def test_idempotence(self, monoid: Monoid) -> None:
        assert np.array_equal(monoid.ufunc(NUMBERS, NUMBERS), NUMBERS) == monoid.idempotent
        assert np.array_equal(monoid.logical(LOGICAL, LOGICAL), LOGICAL) == (monoid.name != "xor")

    def test_bitwise_ops_act_on_each_bit_alone(self, monoid: Monoid) -> None:
        low = np.uint8(15)
        halves = monoid.ufunc(X & low, Y & low) | monoid.ufunc(X & ~low, Y & ~low)
        assert np.array_equal(monoid.ufunc(X, Y), halves) == monoid.bitwise

    def test_an_extremum_is_on_the_side_that_its_sign_says(self, monoid: Monoid) -> None:
        least, greatest = np.minimum(X, Y), np.maximum(X, Y)
        found = {
            side for side, values in ((-1, least), (1, greatest))
            if np.array_equal(monoid.ufunc(X, Y), values)
        }  # fmt: skip
        assert found == ({monoid.extremum} - {0})

    def test_on_booleans_it_is_the_op_on_0_and_1(self, monoid: Monoid) -> None:
        """Every result over 0 is true, such as 1 + 1."""
        lhs, rhs = np.ix_(LOGICAL, LOGICAL)
        numbers = monoid.ufunc(lhs.astype(np.uint8), rhs.astype(np.uint8)) != 0
        assert np.array_equal(monoid.logical(lhs, rhs), numbers)


def test_rows_of_numbers() -> None:
    constant = matrix([[0, 1, 2], [3, 4, -1]])
    assert constant.array.tolist() == [[0, 1, 2], [3, 4, -1]]
    assert str(constant.type.element_type) == "si64"
    assert constant.type.shape == (2, 3)


def test_no_rows_have_the_stated_width() -> None:
    assert matrix([]).type.shape == (0, 0)
    assert matrix([], columns=2).type.shape == (0, 2)


OPERANDS = tuple(Value(name, TensorType((2, None), F32)) for name in "abcde")


def test_more_than_three_values_are_counted() -> None:
    assert describe_operation(Operation("f", OPERANDS[:3], OPERANDS[:1])) == "%a = f(%a, %b, %c)"
    described = describe_operation(Operation("f", OPERANDS, OPERANDS[:1]))
    assert described == "%a = f(%a, %b, %c, 2 more)"


def test_lack_of_memory() -> None:
    operation = Operation("return")
    assert str(out_of_memory(operation, MemoryError())) == "out of memory (return)"
    error = out_of_memory(operation, MemoryError("8 GiB"))
    assert isinstance(error, OutOfMemoryError)
    assert (error.operation, error.problem) == (operation, "out of memory: 8 GiB")


TENSOR = TensorType((2, None), F32)
PAIR = TupleType((TENSOR, TokenType()))
ARRAY = np.zeros((2, 3), np.float32)


@pytest.mark.parametrize(
    ("given", "of", "why"),
    [
        (2.0, TENSOR, "float given for"),
        (ARRAY.astype(np.float64), TENSOR, "elements of float64 given for"),
        (ARRAY[:1], TENSOR, r"shape \(1, 3\) given for"),
        (ARRAY[0], TENSOR, r"shape \(3,\) given for"),
        (ARRAY, TokenType(), "ndarray given for a token"),
        ((ARRAY,), PAIR, "tuple given for"),
        (ARRAY, PAIR, "ndarray given for"),
        ((ARRAY, 1), PAIR, "int given for a token"),
        ((ARRAY, TOKEN), FutureType(PAIR.types), "tuple given for a future"),
        (Future((TOKEN, TOKEN)), FutureType(PAIR.types), "Token given for"),
    ],
)
def test_a_value_of_another_type(given: Any, of: Any, why: str) -> None:
    with pytest.raises(AssertionError, match=f"^{why}"):
        raise AssertionError(mismatch(given, of))


def test_sizes_over_1_that_are_known() -> None:
    program = single_op(
        "abs", (Value("operand", f32_tensor(1, 0, None, 4)),), (f32_tensor(1, 0, 3, 4),)
    )
    assert sizes_of(program) == {3, 4}
