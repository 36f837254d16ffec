"""A module read from HLO means the same as a program of plain operations."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.hlo.read import read_module
from conformance.stablehlo.parse import parse_module
from reference.interpreter.evaluate import check, evaluate
from reference.ir.program import Program, TensorType
from reference.ir.types import Array
from suites.meta.conformance.hlo.modules import Pair, pairs

ROUNDED = {
    "cublaslt_gelu_with_its_operand": 1e-6, "cudnn_norm": 1e-5, "cudnn_norm_gradients": 1e-5,
}  # fmt: skip
"""Largest errors where functions are rounded at other points; other modules must agree bit for bit.
"""

WIDER_RESULT = "C27"
"""The constraint on convolutions that HLO does not have: the result is of the operands' type."""


def inputs_of(program: Program, seed: int) -> list[Array]:
    """Return small integers of the parameters' types, on which sums and products are exact."""
    source = np.random.default_rng(seed)
    found: list[Array] = []
    for parameter in program.main.arguments:
        of = parameter.type
        assert isinstance(of, TensorType)
        low = -3 if of.element.is_signed or not of.element.is_integer else 0
        drawn = source.integers(low, 4, of.static_shape)
        if of.element.is_complex:
            drawn = drawn + 1j * source.integers(low, 4, of.static_shape)
        found.append(np.asarray(drawn).astype(of.storage))
    return found


@pytest.mark.parametrize("pair", pairs(), ids=lambda pair: pair.name)
def test_module_computes_the_same_as_its_plain_program(pair: Pair) -> None:
    plain, read = parse_module(pair.plain), read_module(pair.proto)
    for seed in range(3):
        inputs = inputs_of(plain, seed)
        expected = evaluate(plain, inputs)
        actual = evaluate(read, inputs)
        assert [one.dtype for one in actual] == [one.dtype for one in expected]
        for want, got in zip(expected, actual, strict=True):
            assert want.shape == got.shape
            if pair.name in ROUNDED:
                np.testing.assert_allclose(got, want, rtol=ROUNDED[pair.name], atol=1e-5)
                continue
            np.testing.assert_array_equal(got, want)
            if want.dtype.kind == "f":
                np.testing.assert_array_equal(np.signbit(got), np.signbit(want))


@pytest.mark.parametrize("pair", pairs(), ids=lambda pair: pair.name)
def test_module_read_from_hlo_is_valid(pair: Pair) -> None:
    broken = {id_ for _, ids in check(read_module(pair.proto)) for id_ in ids}
    assert broken <= {WIDER_RESULT}
