"""Elements that subnormal numbers treated as zero explain."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.judging.differences import DifferingElements
from conformance.judging.subnormals import (
    find_flushed,
    find_flushed_in_f32,
)
from conformance.known import in_f32
from conformance.tolerance.hardware import Hardware
from reference.ir.types import ELEMENT_TYPES
from suites.meta.conformance.judging.differing import differing_elements, differing_from
from suites.meta.support.small_programs import array, op_program, tensor_of

TINY = 1e-40
SMALLEST = float(np.finfo(np.float32).tiny)


def flushed_kinds(d: DifferingElements) -> list[str]:
    """Return the kinds of flushing that explain all elements."""
    return [kind for _, kind, mask, *_ in find_flushed(d) if mask.all()]


@pytest.mark.parametrize(
    ("op", "operands", "got", "kinds"),
    [
        ("multiply", [[1e-20], [1e-20]], [0.0], ["flushed: results"]),
        ("multiply", [[-1e-20], [1e-20]], [-0.0], ["flushed: results"]),
        ("multiply", [[-1e-20], [1e-20]], [0.0], []),
        ("multiply", [[TINY], [1e30]], [0.0], ["flushed: operands"]),
        ("multiply", [[TINY], [1e30]], [-0.0], []),
        ("add", [[TINY], [SMALLEST]], [SMALLEST], ["flushed: operands"]),
        ("add", [[TINY], [SMALLEST]], [2 * SMALLEST], []),
        ("add", [[1.0], [2.0]], [0.0], []),
    ],
)
def test_flushed_result_or_operand_explains_a_zero_of_its_sign(
    op: str, operands: list, got: list, kinds: list[str]
) -> None:
    assert flushed_kinds(differing_elements(op, operands, got)) == kinds


def test_the_interpreter_flushes_nothing() -> None:
    given = [[1e-20], [1e-20]]
    d = differing_elements("multiply", given, [0.0], platform=Hardware.INTERPRETER)
    assert not list(find_flushed(d))
    assert not list(find_flushed_in_f32(d))


def test_one_of_two_subnormal_operands_may_be_flushed() -> None:
    d = differing_elements("add", [[TINY], [TINY]], [TINY])
    assert "flushed: operands" in flushed_kinds(d)


def reversed_numbers(got: list[float], platform: str = Hardware.CPU) -> DifferingElements:
    """Return the differences from the reversed numbers TINY, 0 and 1."""
    x = array([TINY, 0.0, 1.0])
    program = op_program("reverse", [tensor_of(3)], tensor_of(3), dimensions=(0,))
    return differing_from(x[::-1], array(got), program.subject, (x,), platform)


def test_moved_subnormal_is_flushed_with_its_operand() -> None:
    assert "flushed: operands" in flushed_kinds(reversed_numbers([1.0, 0.0, 0.0]))
    assert flushed_kinds(reversed_numbers([1.0, 0.0, 0.5])) == []


def test_moved_zero_keeps_its_sign() -> None:
    assert flushed_kinds(reversed_numbers([1.0, -0.0, 0.0])) == []


@pytest.mark.parametrize(
    ("got", "kinds"),
    [([0, 0, 0, 0], ["flushed: operands"]), ([3, 0, 0, 0], []), ([0, 1, 0, 0], [])],
)
def test_all_parts_of_a_flushed_number_are_flushed(got: list[int], kinds: list[str]) -> None:
    """The bits of 0x00010203 as four bytes, the lowest first."""
    x = np.array([0x00010203], np.uint32).view(np.float32)
    program = op_program("bitcast_convert", [tensor_of(1)], tensor_of(1, 4, of="ui8"))
    expected, actual = x.view(np.uint8).reshape(1, 4), array([got], "ui8")
    d = differing_from(expected, actual, program.subject, (x,), Hardware.CPU)
    assert flushed_kinds(d) == kinds


COMPLEX = [
    ([complex(1e-20, 1e-19)], [complex(1e-20, 0)], [complex(0, 0)], True),
    ([complex(1e-20, 1e-19)], [complex(1e-20, 0)], [complex(0, 1)], False),
    ([complex(1e-20, 1)], [complex(1, 0)], [complex(0, 1)], False),
]


@pytest.mark.parametrize(("x", "y", "got", "flushed"), COMPLEX)
def test_part_of_a_complex_product_is_flushed(x: list, y: list, got: list, flushed: bool) -> None:
    d = differing_elements("multiply", [x, y], got, "complex<f32>")
    assert ("flushed: results" in flushed_kinds(d)) is flushed


def test_an_op_that_compares_nothing_has_no_flushed_order() -> None:
    d = reversed_numbers([1.0, 0.0, 0.0])
    assert not d.has_flushed_order.any()


@pytest.mark.parametrize(
    ("of", "normal"), [("f32", False), ("bf16", False), ("f16", True), ("f8E4M3FN", True)]
)
def test_types_whose_subnormals_are_normal_in_f32(of: str, normal: bool) -> None:
    assert in_f32.are_normal({ELEMENT_TYPES[of]}) is normal


def test_flushing_in_f32_explains_nothing_of_normal_numbers() -> None:
    d = differing_elements("divide", [[1.0], [3.0]], [0.0], "bf16")
    assert not any(mask.any() for _, label, mask, _ in find_flushed_in_f32(d) if label)
