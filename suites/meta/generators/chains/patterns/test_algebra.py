"""Arithmetic that compilers simplify: identities that hold for small whole numbers."""

from __future__ import annotations

import numpy as np
import pytest

from generators.chains.patterns.algebra import PATTERNS
from reference.ir.program import TensorType
from reference.ir.types import element_type
from suites.meta.support.built_cases import evaluate_chain, steps_of, write_chains

WHOLE = np.array([1, 2, 3, 5], np.float32)
INTEGERS = np.array([1, 2, 3, 5], np.int32)


@pytest.mark.parametrize(
    ("name", "of"),
    [
        ("double negation", "f32"), ("double complement", "si32"), ("add then subtract", "si32"),
        ("sign times magnitude", "f32"), ("select of same value", "f32"), ("square of root", "f32"),
    ],
)  # fmt: skip
def test_pairs_that_undo_each_other(name: str, of: str) -> None:
    given = WHOLE if of == "f32" else INTEGERS
    for chain, result in write_chains(PATTERNS, name, of, (4,)):
        found = evaluate_chain(chain, result, given)
        inverse = np.divide(1, given) if "rsqrt" in steps_of(chain) else given
        np.testing.assert_allclose(found, inverse, rtol=1e-6)


def test_numbers_with_themselves() -> None:
    expected = {
        "subtract": 0 * WHOLE, "add": 2 * WHOLE, "multiply": WHOLE**2, "maximum": WHOLE,
        "minimum": WHOLE,
    }  # fmt: skip
    seen: set[str] = set()
    for chain, result in write_chains(PATTERNS, "self arithmetic", "f32", (4,)):
        (op,) = steps_of(chain)
        assert evaluate_chain(chain, result, WHOLE).tolist() == expected[op].tolist()
        seen.add(op)
    assert seen == set(expected)


def test_bits_with_themselves_or_with_their_inverse() -> None:
    for chain, result in write_chains(PATTERNS, "self bitwise", "si32", (4,)):
        *inverted, op = steps_of(chain)
        found = evaluate_chain(chain, result, INTEGERS)
        plain = {"and": INTEGERS, "or": INTEGERS, "xor": 0 * INTEGERS}[op]
        with_inverse = {"and": 0, "or": -1, "xor": -1}[op]
        assert found.tolist() == (plain if not inverted else np.full(4, with_inverse)).tolist()


def test_a_comparison_inverted_is_the_opposite_one() -> None:
    opposite = {"LT": np.greater_equal, "LE": np.greater, "GT": np.less_equal, "GE": np.less,
                "EQ": np.not_equal, "NE": np.equal}  # fmt: skip
    seen: set[str] = set()
    for chain, result in write_chains(PATTERNS, "negated comparison", "f32", (4,), 40):
        compare = next(one for one in chain.operations if one.name == "compare")
        assert steps_of(chain) == ["compare", "not"]
        way = str(compare.attribute("comparison_direction"))
        seen.add(way)
        if len(set(compare.operands)) == 1:
            assert (
                evaluate_chain(chain, result, WHOLE).tolist()
                == opposite[way](WHOLE, WHOLE).tolist()
            )
    assert seen == set(opposite)


def test_constants_are_within_the_range_of_the_type() -> None:
    """No -1 in ui2, and no 128 in si8."""
    for of in ("ui2", "si8", "si4"):
        for chain, _ in write_chains(PATTERNS, "product or quotient by constant", of, (2,), 30):
            (constant,) = (one for one in chain.operations if one.name == "constant")
            element = constant.results[0].type.element  # type: ignore[union-attr]
            (number, *_) = constant.attribute("value").array.astype(int).tolist()  # type: ignore[union-attr]
            assert element.min_integer <= number <= element.max_integer


def test_a_type_is_left_and_returned_to() -> None:
    for chain, result in write_chains(PATTERNS, "round trip conversion", "si8", (4,)):
        assert result.type == chain.data[0].type
        assert steps_of(chain)[0] == steps_of(chain)[-1] == "convert"
    for chain, result in write_chains(PATTERNS, "round trip bitcast", "f32", (4,)):
        found = evaluate_chain(chain, result, WHOLE)
        assert found.tolist() == (-WHOLE if "xor" in steps_of(chain) else WHOLE).tolist()


def test_positions_may_be_more_than_their_type_holds() -> None:
    sizes = {
        (str(one.results[0].type.element), *one.results[0].type.static_shape)  # type: ignore[union-attr]
        for chain, _ in write_chains(PATTERNS, "function of iota", "f32", (4,), 150)
        for one in chain.operations
        if one.name == "iota"
    }
    assert ("si8", 129) in sizes
    assert any(of == "ui8" and size > 256 for of, size in sizes)


def test_positions_are_added_only_to_types_that_hold_them() -> None:
    (pattern,) = (one for one in PATTERNS if one.name == "arithmetic with iota")
    si8 = element_type("si8")
    assert pattern.takes(TensorType((127,), si8))
    assert not pattern.takes(TensorType((128,), si8))
    assert not pattern.takes(TensorType((), si8))
