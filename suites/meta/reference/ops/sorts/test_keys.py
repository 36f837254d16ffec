"""Comparators read as keys, and orders of special values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from conformance.stablehlo.parse import parse_module
from generators.invalid.misses import tensor
from generators.regions.bodies import BodyBuilder
from reference.interpreter.evaluate import evaluate
from reference.ir.types import ELEMENT_TYPES
from suites.meta.support.ops.sorting import (
    BF16,
    C64,
    F32,
    F64,
    I1,
    SI32,
    UI8,
    compare_first,
    keys,
    sort_of,
)

NAN, INF = float("nan"), float("inf")


def test_single_key_is_recognised_in_any_form() -> None:
    assert keys(compare_first(F32)) == [("a0", "", False)]
    assert keys(compare_first(F32, SI32, way="GT", kind="TOTALORDER")) == [
        ("a0", "TOTALORDER", True)
    ]
    block = BodyBuilder.of(SI32, SI32)
    lhs, rhs = block.arguments
    assert keys(block.finish_region(block.compare(rhs, lhs, "LT"))) == [("a0", "", True)]
    block = BodyBuilder.of(SI32, SI32)
    assert keys(block.finish_region(block.op("not", block.compare(lhs, rhs, "GE")))) == [
        ("a0", "", False)
    ]


def test_two_keys_are_recognised_in_their_order() -> None:
    block = BodyBuilder.of(SI32, SI32, UI8, UI8)
    one, one_right, two, two_right = block.arguments
    equal = block.compare(two, two_right, "EQ")
    less = block.compare(two, two_right, "LT")
    more = block.compare(one, one_right, "GT")
    region = block.finish_region(block.op("select", equal, more, less))
    assert keys(region) == [("a2", "", False), ("a0", "", True)]


def test_a_comparator_that_is_no_order_by_keys_is_called() -> None:
    assert keys(compare_first(F32, way="LE")) is None
    block = BodyBuilder.of(SI32, SI32)
    difference = block.op("subtract", *block.arguments)
    assert (
        keys(block.finish_region(block.compare(difference, block.constant(0, SI32), "LT"))) is None
    )
    block = BodyBuilder.of(SI32, SI32, SI32, SI32)
    crossed = block.compare(block.arguments[0], block.arguments[3], "LT")
    assert keys(block.finish_region(crossed)) is None
    block = BodyBuilder.of(SI32, SI32, SI32, SI32)
    first = block.compare(block.arguments[0], block.arguments[1], "LT")
    second = block.compare(block.arguments[2], block.arguments[3], "LT")
    assert keys(block.finish_region(block.op("and", first, second))) is None


def test_a_comparator_that_never_holds_keeps_the_order() -> None:
    block = BodyBuilder.of(F32, F32)
    region = block.finish_region(block.constant(0, I1))
    assert keys(region) == []
    made = sort_of(region, tensor(F32, 4))
    x = np.array([3, NAN, 1, 2], np.float32)
    assert np.array_equal(evaluate(made, [x])[0], x, equal_nan=True)


def test_captured_values_are_recognised() -> None:
    """A comparator may use values of the function around it."""
    text = """
    func.func @main(%x: tensor<5xi32>, %m: tensor<i32>) -> tensor<5xi32> {
      %r = "stablehlo.sort"(%x) ({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>):
        %k = stablehlo.and %a, %m : tensor<i32>
        %l = stablehlo.and %b, %m : tensor<i32>
        %p = stablehlo.compare LT, %k, %l : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %p : tensor<i1>
      }) {dimension = 0 : i64, is_stable = true} : (tensor<5xi32>) -> tensor<5xi32>
      return %r : tensor<5xi32>
    }"""
    made = parse_module(text)
    x = np.array([7, 4, 1, 2, 3], np.int32)
    assert evaluate(made, [x, np.asarray(np.int32(3))])[0].tolist() == [4, 1, 2, 7, 3]


def sorted_by(kind: str | None, values: list[float], way: str = "LT", of: Any = F32) -> list[str]:
    x = np.array(values).astype(of.storage)
    made = sort_of(compare_first(of, way=way, kind=kind), tensor(of, len(values)))
    result = evaluate(made, [x])[0].astype(np.float64)
    return ["-nan" if np.isnan(v) and np.signbit(v) else str(v) for v in result.tolist()]


@pytest.mark.parametrize("of", [F32, F64, BF16], ids=str)
def test_total_order(of: Any) -> None:
    values = [1.0, NAN, 0.0, -0.0, -INF, -NAN, INF, -1.0]
    ascending = ["-nan", "-inf", "-1.0", "-0.0", "0.0", "1.0", "inf", "nan"]
    assert sorted_by("TOTALORDER", values, of=of) == ascending
    assert sorted_by("TOTALORDER", values, "GT", of) == ascending[::-1]


def test_zeros_are_equal_without_total_order() -> None:
    assert sorted_by("FLOAT", [0.0, -0.0, 1.0, -0.0, 0.0]) == ["0.0", "-0.0", "-0.0", "0.0", "1.0"]
    assert sorted_by("FLOAT", [0.0, -0.0, 1.0, -1.0], "GT") == ["1.0", "0.0", "-0.0", "-1.0"]


@pytest.mark.parametrize("name", ["si2", "ui2", "si4", "ui4", "si8", "ui8", "si64", "ui64", "i1"])
def test_integers_from_the_least_to_the_greatest(name: str) -> None:
    element_type = ELEMENT_TYPES[name]
    values = sorted({element_type.min_integer, 0, 1, element_type.max_integer})
    x = np.array(values[::-1], object).astype(element_type.storage)
    made = sort_of(compare_first(element_type), tensor(element_type, len(values)))
    assert [int(v) for v in evaluate(made, [x])[0]] == values


def test_complex_numbers_by_their_parts() -> None:
    x = np.array([1 + 2j, 1 - 1j, 0 + 5j, -1 + 0j], np.complex64)
    made = sort_of(compare_first(C64), tensor(C64, 4))
    assert evaluate(made, [x])[0].tolist() == [-1, 5j, 1 - 1j, 1 + 2j]
