"""HLO instructions: opcodes, operands and results, elementwise opcodes, tuples, constants."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.hlo import (
    collectives,
    control,
    elementwise,
    folding,
    moving,
    opcodes,
    products,
)
from conformance.hlo.custom_calls import table
from conformance.hlo.literals import array_of, dense_of
from conformance.hlo.opcodes import HANDLERS
from conformance.hlo.protos import Layout, Literal, Shape
from conformance.hlo.shapes import TOKEN
from conformance.hlo.site import Site
from conformance.hlo.unreadable import Unreadable
from reference.ir.program import TokenType, Value
from reference.ir.types import Array
from suites.meta.conformance.hlo.instructions import (
    evaluate_instruction,
    instruction,
    shape,
    site_of,
    tuple_shape,
)
from suites.meta.support.small_programs import array, tensor_of

MODULES = (collectives, control, elementwise, folding, moving, products, table)


def test_each_opcode_is_in_one_table() -> None:
    assert len(opcodes.HANDLERS) == sum(len(module.HANDLERS) for module in MODULES)
    for module in MODULES:
        assert module.HANDLERS.items() <= opcodes.HANDLERS.items()


# --- One instruction in its computation -----------------------------------------------------------

NARROW, VALUE = Value("x", tensor_of(2, of="bf16")), Value("y", tensor_of(2))


def test_operands_are_values_or_trees() -> None:
    site: Site = site_of(instruction("add", shape("f32", 2)), [NARROW, (VALUE, (NARROW,))])
    assert site.value(0) is NARROW
    assert site.values == (NARROW, VALUE, NARROW)
    for number in (1, 2):
        with pytest.raises(Unreadable, match=f"operand {number} is not an array"):
            site.value(number)


def test_operand_is_converted_to_the_type_of_the_result() -> None:
    site = site_of(instruction("add", shape("f32", 2)), [NARROW, VALUE])
    assert site.converted_operand(0).type == tensor_of(2)
    assert site.converted_operand(1) is VALUE


def test_results_are_arrays_in_the_form_of_the_shape() -> None:
    site = site_of(instruction("sort", tuple_shape(shape("f32", 2), shape("si32", 2))))
    assert site.types == (tensor_of(2), tensor_of(2, of="si32"))
    assert site.tree([NARROW, VALUE]) == (NARROW, VALUE)
    assert site_of(instruction("add", shape("f32", 2))).tree([NARROW]) is NARROW
    with pytest.raises(Unreadable, match="a result is a token"):
        site_of(instruction("infeed", tuple_shape(Shape(TOKEN)))).types  # noqa: B018


def test_computation_must_be_there() -> None:
    one = instruction("call", shape("f32"), called_computation_ids=[7])
    assert site_of(one).computation_id() == 7
    with pytest.raises(Unreadable, match="it refers to 1 computations, too few"):
        site_of(one).computation_id(1)


def test_reports_name_the_target_of_a_custom_call() -> None:
    call = instruction("custom-call", shape("f32"), custom_call_target="foo")
    assert site_of(call).construct == "custom call foo"
    assert str(site_of(instruction("bar", shape("f32"))).unreadable("why")) == "opcode bar: why"


# --- Elementwise opcodes --------------------------------------------------------------------------


def evaluate_opcode(opcode: str, of: str, *operands: Array, **given) -> Array:
    one = instruction(opcode, shape(of, *operands[0].shape), **given)
    (found,) = evaluate_instruction(HANDLERS[opcode], one, *operands)
    return found


def test_opcodes_with_other_names_have_their_meaning() -> None:
    assert evaluate_opcode("count-leading-zeros", "si32", array([1], "si32")).tolist() == [31]
    assert evaluate_opcode("is-finite", "i1", array([np.inf, 1.0])).tolist() == [False, True]
    found = evaluate_opcode("shift-right-logical", "si32", array([-1], "si32"), array([31], "si32"))
    assert found.tolist() == [1]


def test_mixed_precision_computes_in_the_widest_type() -> None:
    """1 + 2^-9 is no bf16, but the sum with 1 rounds once."""
    x, y = array([1.0], "bf16"), array([2.0**-9])
    assert evaluate_opcode("add", "f32", x, y).tolist() == [1 + 2.0**-9]
    assert evaluate_opcode("subtract", "bf16", x, y).astype(np.float32).tolist() == [1.0]


def test_selected_operands_have_the_type_of_the_result() -> None:
    mask = np.array([True, False])
    found = evaluate_opcode("select", "f32", mask, array([1.0, 2.0], "bf16"), array([3.0, 4.0]))
    assert (found.dtype, found.tolist()) == (np.float32, [1.0, 4.0])


@pytest.mark.parametrize(
    ("given", "equal"),
    [
        ({}, True),
        ({"comparison_order": "TOTAL"}, False),
        ({"comparison_type": "TOTALORDER"}, False),
    ],
)
def test_total_order_is_stated_in_either_way(given: dict[str, str], equal: bool) -> None:
    zeros = array([0.0]), array([-0.0])
    found = evaluate_opcode("compare", "i1", *zeros, comparison_direction="EQ", **given)
    assert found.tolist() == [equal]


def test_integers_are_compared_as_they_are_in_any_order() -> None:
    x = array([3], "si32")
    found = evaluate_opcode(
        "compare", "i1", x, x, comparison_direction="GE", comparison_order="TOTAL"
    )
    assert found.tolist() == [True]


def test_precision_is_reduced_to_the_given_bits() -> None:
    found = evaluate_opcode(
        "reduce-precision", "f32", array([1 + 2.0**-10]), exponent_bits=8, mantissa_bits=7
    )
    assert found.tolist() == [1.0]


WIDE = [0, 1, -1, 2**63 - 1, -(2**63), 0x123456789ABCDEF, -0x7654321FEDCBA98]


@pytest.mark.parametrize("of", ["si64", "ui64", "si32", "ui32"])
def test_high_halves_of_products_are_exact(of: str) -> None:
    bits = int(of[2:])
    storage = np.dtype(f"{'u' if of[0] == 'u' else ''}int{bits}")
    numbers = np.array([n % 2**bits for n in WIDE], np.uint64).astype(f"uint{bits}").view(storage)
    x, y = (one.ravel() for one in np.meshgrid(numbers, numbers))
    found = evaluate_opcode("mulhi", of, x, y)
    assert found.tolist() == [(int(a) * int(b)) >> bits for a, b in zip(x, y, strict=True)]


# --- Tuples, copies, asynchronous pairs and tokens ------------------------------------------------

X, Y = Value("x", tensor_of(2)), Value("y", tensor_of(2))
RESULT = shape("f32", 2)


def tree(opcode: str, *operands, result=RESULT, **given):
    return HANDLERS[opcode](site_of(instruction(opcode, result, **given), operands))


def test_tuples_are_made_and_taken_apart() -> None:
    assert tree("tuple", X, Y) == (X, Y)
    assert tree("get-tuple-element", (X, Y), tuple_index=1) is Y


@pytest.mark.parametrize("operand", [X, (X,)])
def test_an_element_that_is_not_there_is_an_error(operand) -> None:
    with pytest.raises(Unreadable, match="no such element"):
        tree("get-tuple-element", operand, tuple_index=1)


def test_a_copy_in_mixed_precision_converts() -> None:
    one = instruction("copy", shape("bf16", 1))
    (found,) = evaluate_instruction(HANDLERS["copy"], one, array([1 + 2.0**-12]))
    assert found.astype(np.float32).tolist() == [1.0]
    assert tree("copy", (X, Y)) == (X, Y)


def test_a_copy_that_was_started_ends_with_its_operand() -> None:
    started = tree("copy-start", X)
    assert tree("copy-done", started) is X
    assert tree("async-done", ((X,), Y, ())) is Y
    for opcode in ("copy-done", "async-done"):
        with pytest.raises(Unreadable, match="not started"):
            tree(opcode, X)


@pytest.mark.parametrize("opcode", ["domain", "add-dependency", "async-update"])
def test_instructions_without_an_effect_on_values(opcode: str) -> None:
    assert tree(opcode, X, Y) is X


def test_barriers_and_tokens() -> None:
    passed = tree("opt-barrier", (X, Y), result=tuple_shape(RESULT, RESULT))
    assert [one.type for one in passed] == [X.type, Y.type]
    token = tree("after-all")
    assert isinstance(token, Value)
    assert token.type == TokenType()


# --- Constants, exact in every bit ----------------------------------------------------------------


def test_numbers_and_bytes() -> None:
    integers = Literal(shape("si32", 2), s32s=[-1 & ((1 << 64) - 1), 5])
    assert array_of(integers).tolist() == [-1, 5]
    floats = np.array([1.5, -0.0], "<f4")
    assert array_of(Literal(shape("f32", 2), f32s=floats.tobytes())).tobytes() == floats.tobytes()
    flags = Literal(shape("i1", 2), preds=[1, 0])
    assert array_of(flags).tolist() == [True, False]


def test_elements_are_in_the_order_of_memory() -> None:
    of = shape("si32", 2, 3, layout=Layout([0, 1]))
    assert array_of(Literal(of, s32s=[0, 1, 2, 3, 4, 5])).tolist() == [[0, 2, 4], [1, 3, 5]]


def test_complex_parts_stay_together() -> None:
    of = shape("complex<f32>", 2, 1, layout=Layout([0, 1]))
    data = np.array([1 + 2j, 3 - 4j], "<c8").tobytes()
    assert array_of(Literal(of, c64s=data)).tolist() == [[1 + 2j], [3 - 4j]]


def test_elements_below_a_byte_are_unpacked() -> None:
    of = shape("si4", 3)
    for data in (bytes([0x1F, 0x07]), bytes([0x0F, 0x01, 0x07])):
        assert array_of(Literal(of, s4s=data)).astype(np.int8).tolist() == [-1, 1, 7]


def test_constant_has_the_type_of_its_shape() -> None:
    dense = dense_of(Literal(shape("si32", 1), s32s=[7]))
    assert dense.type == tensor_of(1, of="si32")
    assert dense.array.tolist() == [7]


@pytest.mark.parametrize(
    ("literal", "reason"),
    [
        (Literal(tuple_shape()), "only constant arrays"),
        (Literal(None), "only constant arrays"),
        (Literal(shape("si32", 3), s32s=[1]), "1 of 3 elements"),
    ],
)
def test_tuples_and_missing_elements_are_not_read(literal: Literal, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason):
        array_of(literal)
