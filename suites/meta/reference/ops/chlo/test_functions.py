"""CHLO's elementwise ops: constraints, predicates, neighbours and products."""

from __future__ import annotations

import math

import numpy as np
import pytest

from reference.ir.constraints import ConstraintViolation
from reference.ir.program import TensorType
from reference.ir.types import ELEMENT_TYPES, FLOATS, INTEGERS, from_bits, to_bits
from reference.numerics.rounding import round_to, to_float64
from reference.ops.chlo.functions import OPS, mulhi, next_after, square
from reference.ops.table import OPS as ALL_OPS

INF, NAN = math.inf, math.nan


def tensor(of: str, *shape: int) -> TensorType:
    return TensorType(shape, ELEMENT_TYPES[of])


@pytest.mark.parametrize("record", OPS, ids=lambda record: record.name)
def test_operands_and_results_have_one_type(record) -> None:
    good = [TensorType((2, 3), record.element_types[0])] * len(record.operands)
    result = record.infer(*good)
    assert record.infer(*good, result=result) == result
    with pytest.raises(ConstraintViolation) as violation:
        record.infer(*good, result=tensor("f64", 4))
    assert violation.value.id == record.constraints[-1]
    if len(good) == 1:
        with pytest.raises(ConstraintViolation) as violation:
            record.infer(tensor("i1", 2, 3))
        assert violation.value.id == "P1"


@pytest.mark.parametrize(
    ("name", "want"),
    [
        ("is_inf", [False, True, True, False]),
        ("is_pos_inf", [False, True, False, False]),
        ("is_neg_inf", [False, False, True, False]),
    ],
)
def test_predicates_of_infinities(name: str, want: list[bool]) -> None:
    evaluate = ALL_OPS[f"chlo.{name}"].evaluate
    for of in (ELEMENT_TYPES["bf16"], ELEMENT_TYPES["f32"]):
        assert evaluate(round_to(np.array([1.0, INF, -INF, NAN]), of)).tolist() == want
    saturating = round_to(np.array([448.0, -448.0]), ELEMENT_TYPES["f8E4M3FN"])
    assert not evaluate(saturating).any()


@pytest.mark.parametrize("of", ["f32", "f64"])
def test_neighbours_are_those_of_c(of: str) -> None:
    dtype = ELEMENT_TYPES[of].storage
    top = float(np.finfo(dtype).max)
    values = np.array([0.0, -0.0, 1.0, -1.0, top, -top, 1e-45, INF, -INF, NAN], dtype)
    x, y = (part.ravel() for part in np.meshgrid(values, values))
    with np.errstate(all="ignore"):
        want, got = np.nextafter(x, y), next_after(x, y)
    same = (to_bits(got) == to_bits(want)) | (np.isnan(got) & np.isnan(want))
    assert same.all()


def test_neighbours_in_a_type_without_infinities() -> None:
    element_type = ELEMENT_TYPES["f8E4M3FN"]
    x = round_to(np.array([0.0, 448.0, 416.0, -448.0]), element_type)
    y = round_to(np.array([-1.0, 448.0, 448.0, 0.0]), element_type)
    assert to_float64(next_after(x, y)).tolist() == [-(2.0**-9), 448, 448, -416]


@pytest.mark.parametrize("of", INTEGERS, ids=str)
def test_high_halves_of_products(of) -> None:
    random = np.random.default_rng(3)
    codes = random.integers(0, 1 << of.bits, (2, 50), dtype=np.uint64)
    lhs, rhs = (
        from_bits(code.astype(to_bits(np.zeros(1, of.storage)).dtype), of) for code in codes
    )
    products = [int(a) * int(b) for a, b in zip(lhs.tolist(), rhs.tolist(), strict=True)]
    assert [int(one) for one in mulhi(lhs, rhs).tolist()] == [
        product >> of.bits for product in products
    ]


def test_squares_of_complex_numbers_round_each_part_once() -> None:
    z = np.array([3 + 4j, complex(1 + 2**-12, 1)], np.complex64)
    assert square(z).tolist() == [-7 + 24j, complex(np.float32(2**-11 + 2**-24), 2 + 2**-11)]


def test_element_types_are_those_of_the_dialect() -> None:
    assert ALL_OPS["chlo.lgamma"].element_types == FLOATS
    assert ELEMENT_TYPES["complex<f32>"] in ALL_OPS["chlo.acos"].element_types
