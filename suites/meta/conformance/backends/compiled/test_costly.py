"""Programs that compile slowly: their detection, and the passes that are omitted for them."""

from __future__ import annotations

import pytest

from conformance.backends.compiled.costly import FUSION, passes_to_omit
from conformance.backends.registry import is_separated
from suites.meta.support.small_programs import op_program, tensor_of


@pytest.mark.parametrize(
    ("op", "element_type", "is_costly", "passes"),
    [
        ("divide", "si64", True, (FUSION,)),
        ("remainder", "ui64", True, (FUSION,)),
        ("atan2", "f64", True, ()),
        ("power", "complex<f64>", True, ()),
        ("divide", "si32", False, ()),
        ("atan2", "complex<f32>", False, ()),
        ("add", "si64", False, ()),
        ("add", "f64", False, ()),
    ],
)
def test_divisions_and_functions_of_64_bits_have_modules_of_their_own(
    op: str, element_type: str, is_costly: bool, passes: tuple[str, ...]
) -> None:
    program = op_program(op, [tensor_of(2, of=element_type)] * 2, tensor_of(2, of=element_type))
    assert passes_to_omit(program) == passes
    assert is_separated("tpu-compile:v6e", program) is is_costly
    assert not is_separated("cpu", program)
