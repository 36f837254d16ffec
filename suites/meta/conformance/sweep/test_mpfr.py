"""A sweep of XLA's CPU and MPFR give the same figures, on random arguments.

`benchmarks/sweep_mpfr.py` compares them on ten thousand arguments, or on a file's arguments.
"""

from __future__ import annotations

from importlib.metadata import version

import numpy as np
import pytest

from conformance.backends.base import Unsupported
from suites.meta.support import mpfr


@pytest.mark.parametrize("of", ["f32", "bf16"])
@pytest.mark.parametrize("op", mpfr.MPFR)
def test_figures_equal_mpfr(op: str, of: str) -> None:
    operands = mpfr.any_numbers(mpfr.function_of(op, of), 300, seed=6)
    if (op, of) == ("mhlo.cosh", "f32") and _lacks_cosh():
        with pytest.raises(Unsupported):
            mpfr.disagreement(op, of, operands, "cpu")
        return
    assert mpfr.disagreement(op, of, operands, "cpu") == ""


def _lacks_cosh() -> bool:
    return version("jaxlib").startswith("0.10.")


def test_a_disagreement_is_said() -> None:
    function = mpfr.function_of("exponential", "f32")
    operands = (np.array([0.5, 1.0, 2.0], np.float32),)
    outcome, actual = mpfr.swept_figures(function, operands, "reference")
    assert outcome.right == mpfr.mpfr_figures(function, operands, actual).right == 3
    moved = np.nextafter(actual, np.float32(np.inf))
    figures = mpfr.mpfr_figures(function, operands, moved)
    assert figures.right == 0
    assert 0.5 < figures.worst < 1.5
