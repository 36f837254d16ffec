"""Absolute errors of underflow: gradual, or flushed to zero."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.tolerance.bounds.underflow import has_flushing_modes, underflow
from reference.ir.types import element_type


@pytest.mark.parametrize(
    ("of", "flushes"),
    [("f32", True), ("bf16", True), ("f64", True), ("f16", False), ("f8E5M2", False),
     ("f8E8M0FNU", False)],
)  # fmt: skip
def test_hardware_flushes_wide_exponents_only(of: str, flushes: bool) -> None:
    assert has_flushing_modes(element_type(of)) is flushes


def test_flushing_loses_up_to_the_smallest_normal_number() -> None:
    f32, f16 = element_type("f32"), element_type("f16")
    assert underflow(f32) == float(np.finfo(np.float32).smallest_subnormal)
    assert underflow(f32, flushes=True) == float(np.finfo(np.float32).tiny)
    assert underflow(f16, flushes=True) == underflow(f16) == 2.0**-24
