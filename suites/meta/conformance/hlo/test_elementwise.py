"""Instructions whose results are computed element by element."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.hlo.elementwise import HANDLERS
from reference.ir.types import Array
from suites.meta.conformance.hlo.instructions import evaluate_instruction, instruction, shape
from suites.meta.support.small_programs import array


def results(opcode: str, of: str, *operands: Array, **given) -> Array:
    one = instruction(opcode, shape(of, *operands[0].shape), **given)
    (found,) = evaluate_instruction(HANDLERS[opcode], one, *operands)
    return found


def test_opcodes_with_other_names_have_their_meaning() -> None:
    assert results("count-leading-zeros", "si32", array([1], "si32")).tolist() == [31]
    assert results("is-finite", "i1", array([np.inf, 1.0])).tolist() == [False, True]
    found = results("shift-right-logical", "si32", array([-1], "si32"), array([31], "si32"))
    assert found.tolist() == [1]


def test_mixed_precision_computes_in_the_widest_type() -> None:
    """1 + 2^-9 is no bf16, but the sum with 1 rounds once."""
    x, y = array([1.0], "bf16"), array([2.0**-9])
    assert results("add", "f32", x, y).tolist() == [1 + 2.0**-9]
    assert results("subtract", "bf16", x, y).astype(np.float32).tolist() == [1.0]


def test_selected_operands_have_the_type_of_the_result() -> None:
    mask = np.array([True, False])
    found = results("select", "f32", mask, array([1.0, 2.0], "bf16"), array([3.0, 4.0]))
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
    found = results("compare", "i1", *zeros, comparison_direction="EQ", **given)
    assert found.tolist() == [equal]


def test_integers_are_compared_as_they_are_in_any_order() -> None:
    x = array([3], "si32")
    found = results("compare", "i1", x, x, comparison_direction="GE", comparison_order="TOTAL")
    assert found.tolist() == [True]


def test_precision_is_reduced_to_the_given_bits() -> None:
    found = results(
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
    found = results("mulhi", of, x, y)
    assert found.tolist() == [(int(a) * int(b)) >> bits for a, b in zip(x, y, strict=True)]
