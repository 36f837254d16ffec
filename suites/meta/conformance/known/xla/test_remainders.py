"""Uniform integers that are remainders of random bits: results with the class, and others."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.judging.compare import judge_operation
from conformance.known.xla.remainders import REMAINDERS
from conformance.stablehlo.parse import parse_module
from conformance.verdict import Verdict
from reference.ir.types import ELEMENT_TYPES, Array

COUNT = 4000
RANGES = {"ui32": (0, 3 << 30), "si64": (-(1 << 62), 1 << 63)}
"""Ranges of three quarters of all integers."""


def _kind(name: str, numbers: Array) -> tuple[Verdict, str]:
    """Return verdict and class of numbers that should be uniform."""
    of, spelled = ELEMENT_TYPES[name], name.replace("si", "i")
    program = parse_module(f"""
func.func @main(%a: tensor<{spelled}>, %b: tensor<{spelled}>) -> tensor<{COUNT}x{spelled}> {{
  %shape = stablehlo.constant dense<{COUNT}> : tensor<1xi64>
  %0 = stablehlo.rng %a, %b, %shape, distribution = UNIFORM
    : (tensor<{spelled}>, tensor<{spelled}>, tensor<1xi64>) -> tensor<{COUNT}x{spelled}>
  return %0 : tensor<{COUNT}x{spelled}>
}}""")
    limits = [np.array(min(limit, of.max_integer), of.storage) for limit in RANGES[name]]
    found = judge_operation(program, limits, [np.zeros(COUNT, of.storage)], [numbers])
    return found.verdict, found.kind


def _random(name: str, below: int) -> Array:
    """Return random integers up to `below`, each mapped into the range of a type by a remainder."""
    of, (low, high) = ELEMENT_TYPES[name], RANGES[name]
    bits = np.random.default_rng(5).integers(0, below, COUNT, np.uint64, endpoint=True)
    numbers = bits.astype(object) % (min(high, of.max_integer) - low) + low
    return np.array([int(one) for one in numbers], of.storage)


@pytest.mark.parametrize("name", list(RANGES))
def test_remainders_have_the_class_and_uniform_numbers_none(name: str) -> None:
    bits, (low, high) = ELEMENT_TYPES[name].bits, RANGES[name]
    remainders = _random(name, (1 << bits) - 1)
    assert _kind(name, remainders) == (Verdict.DIVERGENT, REMAINDERS.label)
    assert _kind(name, _random(name, high - low - 2))[0] is Verdict.PASS


@pytest.mark.parametrize("name", list(RANGES))
def test_other_numbers_than_remainders_have_another_class(name: str) -> None:
    bits = ELEMENT_TYPES[name].bits
    remainders = _random(name, (1 << bits) - 1)
    middle = np.median(remainders).astype(remainders.dtype)
    assert _kind(name, np.full_like(remainders, middle)) == (Verdict.DIVERGENT, "distribution")
    mirrored = remainders.max() - (remainders - remainders.min())
    assert _kind(name, mirrored) == (Verdict.DIVERGENT, "distribution")
    remainders[7] = ELEMENT_TYPES[name].max_integer
    assert _kind(name, remainders) == (Verdict.DIVERGENT, "out of range")
