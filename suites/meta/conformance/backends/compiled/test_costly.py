"""Programs that a compiler takes long for: which they are, and what is left out for them."""

from __future__ import annotations

import pytest

from conformance.backends.compiled.costly import FUSION, passes_to_omit
from conformance.backends.registry import is_separated
from reference.ir.program import Program
from suites.meta.support.small_programs import one, typed


def _division(op: str, element_type: str) -> Program:
    return one(op, [typed(2, of=element_type)] * 2, typed(2, of=element_type))


@pytest.mark.parametrize(
    ("op", "element_type", "is_costly"),
    [
        ("divide", "si64", True),
        ("remainder", "ui64", True),
        ("divide", "si32", False),
        ("divide", "f64", False),
        ("add", "si64", False),
    ],
)
def test_divisions_of_wide_integers_are_compiled_without_fusion(
    op: str, element_type: str, is_costly: bool
) -> None:
    program = _division(op, element_type)
    assert passes_to_omit(program) == ((FUSION,) if is_costly else ())
    assert is_separated("tpu-compile:v6e", program) is is_costly
    assert not is_separated("cpu", program)
