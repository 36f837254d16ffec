"""Contents of memory outside of a program."""

from __future__ import annotations

import pytest

from conformance.known.writing import constant
from conformance.known.xla.memory import CONTENTS, memory_value
from reference.interpreter.evaluate import apply
from reference.ir.program import Value
from reference.ir.types import ELEMENT_TYPES
from suites.meta.support.small_programs import array, tensor_of


@pytest.mark.parametrize("of", ELEMENT_TYPES)
def test_assumed_contents_differ_in_every_element(of: str) -> None:
    """A type without zero has its smallest number there instead, or NaN."""
    value = Value("x", tensor_of(3, of=of))
    results = [apply(memory_value(value, one), ())[0] for one in CONTENTS]
    assert all(one.shape == (3,) for one in results)
    assert len({one.tobytes() for one in results}) == (2 if of in ("i1", "si2") else 3)


def test_constant_is_its_array() -> None:
    (found,) = apply(constant(Value("x", tensor_of(2)), array([1.0, 2.0])), ())
    assert found.tolist() == [1.0, 2.0]
