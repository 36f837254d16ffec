"""Hypotheses that apply to every op."""

from __future__ import annotations

import numpy as np

from conformance.known.any_op import HYPOTHESES
from reference.interpreter.evaluate import apply
from suites.meta.support.small_programs import array, op_program, tensor_of


def explaining(op: str, operands: list, got: list, of: str = "f32", to: str = "") -> list[str]:
    """Return the labels of the hypotheses that predict all of these elements."""
    arrays = tuple(array(one, of) for one in operands)
    actual = array(got, to or of)
    types = [tensor_of(*one.shape, of=of) for one in arrays]
    operation = op_program(op, types, tensor_of(*actual.shape, of=to or of)).subject
    expected = apply(operation, arrays)
    found = []
    for one in HYPOTHESES:
        assert one.errors is not None
        (errors,) = one.errors(operation, arrays, expected, (actual,))
        if (errors <= 1).all():
            found.append(one.label)
    return found


def test_quotient_may_be_the_product_with_the_rounded_reciprocal() -> None:
    x, y = np.float32(5), np.float32(3)
    product = float(x * (np.float32(1) / y))
    assert product != float(x / y)
    assert "reciprocal" in explaining("divide", [[5.0], [3.0]], [product])
    assert "reciprocal" not in explaining("divide", [[5.0], [3.0]], [product * 2])
    assert "reciprocal" not in explaining("multiply", [[5.0], [3.0]], [product])


def test_reciprocal_of_a_narrow_type_is_flushed_in_f32() -> None:
    """1 / 2^127 is a number of f8E8M0FNU, and subnormal in f32; f8E8M0FNU has no zero."""
    of = "f8E8M0FNU"
    assert "reciprocal" in explaining("divide", [[2.0], [2.0**127]], [np.nan], of)
    assert "reciprocal" not in explaining("divide", [[2.0], [2.0**126]], [np.nan], of)
    assert "reciprocal" not in explaining("divide", [[2.0], [2.0**127]], [2.0**-125], of)


def test_a_tie_may_be_rounded_the_wrong_way() -> None:
    """1 + 2^-8 is halfway between two numbers of bf16."""
    up, down = [1 + 2.0**-7], [1.0]
    assert "tie rounding" in explaining("add", [[1.0], [2.0**-8]], up, "bf16")
    assert "tie rounding" not in explaining("add", [[1.0], [2.0**-8]], down, "bf16")
    assert "tie rounding" not in explaining("add", [[1.0], [2.0**-9]], up, "bf16")


def test_a_conversion_may_round_to_a_wider_type_first() -> None:
    """1 + 2^-4 + 2^-30 is over a tie of f8E4M3FN; rounded to f16 first, it is the tie."""
    x = [1 + 2.0**-4 + 2.0**-30]
    assert "double rounding" in explaining("convert", [x], [1.0], "f64", to="f8E4M3FN")
    assert "double rounding" not in explaining("convert", [x], [1.25], "f64", to="f8E4M3FN")
