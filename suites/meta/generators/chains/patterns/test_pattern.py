"""Predicates of patterns: each kind of type that they accept, and the next that they do not."""

from __future__ import annotations

import pytest

from generators.chains.chain import LARGEST
from generators.chains.patterns import pattern
from generators.chains.patterns.pattern import Pattern, conjunction, edges_of
from reference.ir.program import TensorType
from reference.ir.types import element_type

TYPES = ("i1", "si8", "ui8", "f32", "f8E4M3FN", "f8E8M0FNU", "complex<f32>")


@pytest.mark.parametrize(
    ("predicate", "accepted"),
    [
        (pattern.is_any, TYPES),
        (pattern.is_number, ("si8", "ui8", "f32", "f8E4M3FN", "complex<f32>")),
        (pattern.is_signed, ("si8", "f32", "f8E4M3FN", "complex<f32>")),
        (pattern.is_integer, ("si8", "ui8")),
        (pattern.is_float, ("f32", "f8E4M3FN")),
        (pattern.is_continuous, ("f32", "complex<f32>")),
        (pattern.is_real, ("f32",)),
        (pattern.is_ordered, ("si8", "ui8", "f32", "f8E4M3FN")),
        (pattern.is_bits, ("i1", "si8", "ui8")),
        (pattern.is_complex, ("complex<f32>",)),
    ],
)
def test_types_that_a_predicate_accepts(
    predicate: pattern.Takes, accepted: tuple[str, ...]
) -> None:
    found = tuple(of for of in TYPES if predicate(TensorType((2,), element_type(of))))
    assert found == accepted


def test_small_values_and_values_with_dimensions() -> None:
    f32 = element_type("f32")
    assert pattern.is_small(TensorType((LARGEST // 8,), f32))
    assert not pattern.is_small(TensorType((LARGEST // 8 + 1,), f32))
    assert not pattern.is_shaped(TensorType((), f32))
    both = conjunction(pattern.is_shaped, pattern.is_integer)
    assert both(TensorType((1,), element_type("si8")))
    assert not both(TensorType((1,), f32))
    assert not both(TensorType((), element_type("si8")))


def test_edges_of_an_integer_type() -> None:
    assert edges_of(element_type("si8")) == (127, 64, 63, -128)
    assert edges_of(element_type("ui8")) == (255, 128, 127, 0)


def test_a_pattern_has_the_name_of_its_function() -> None:
    def _put_twice(*_: object) -> None: ...

    assert Pattern(_put_twice, pattern.is_any).name == "put twice"  # type: ignore[arg-type]
