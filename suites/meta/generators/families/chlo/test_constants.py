"""Cases of CHLO's constants: operands of any type, and numbers that MLIR's text has."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.stablehlo.emit import emit
from conformance.stablehlo.parse import parse_module
from generators.families.chlo.constants import BUILDERS
from reference.ir.program import Dense
from suites.meta.support.built_cases import assert_valid, built, subjects


@pytest.mark.parametrize("of", ["i1", "ui4", "f8E8M0FNU", "f32", "complex<f64>"])
@pytest.mark.parametrize("op", BUILDERS)
def test_cases_are_valid_and_read_back(op: str, of: str) -> None:
    cases = built(BUILDERS[op], of, 12)
    assert_valid(cases)
    for one in cases:
        assert parse_module(emit(one.program)).subject.attributes == one.program.subject.attributes


def test_numbers_and_operands_of_many_kinds() -> None:
    numbers = [
        one.attribute("value") for one in subjects(built(BUILDERS["chlo.constant_like"], "f32"))
    ]
    arrays = np.array([one.array for one in numbers if isinstance(one, Dense)])
    assert np.isnan(arrays).any()
    assert (np.abs(arrays[np.isfinite(arrays)]) > 1e30).any()
    types = {
        one.operands[0].type.element_type.name  # type: ignore[union-attr]
        for one in subjects(built(BUILDERS["chlo.constant_like"], "f32", 60))
    }
    assert {"f32", "i1"} < types
