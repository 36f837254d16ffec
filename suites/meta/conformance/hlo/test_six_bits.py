"""Numbers of six bits, which no integer type holds, reinterpreted in modules."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.hlo.building import Building
from conformance.hlo.moving import reinterpret
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Function, Program
from reference.ir.types import ELEMENT_TYPES
from suites.meta.support.small_programs import tensor_of


@pytest.mark.parametrize("name", ["f6E2M3FN", "f6E3M2FN"])
def test_all_numbers_of_six_bits_are_their_codes_as_bytes_and_back(name: str) -> None:
    of = tensor_of(64, of=name)
    inner = Building().inner()
    value = inner.value(of)
    code = reinterpret(inner, value, ELEMENT_TYPES["ui8"])
    back = reinterpret(inner, code, of.element)
    body = inner.region([value], [code, back])
    program = Program((Function("main", body, (code.type, back.type)),))
    numbers = np.arange(64, dtype=np.uint8).view(of.storage)
    codes, again = evaluate(program, [numbers])
    np.testing.assert_array_equal(codes, np.arange(64))
    np.testing.assert_array_equal(again.view(np.uint8), np.arange(64))
