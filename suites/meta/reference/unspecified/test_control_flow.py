"""A custom call is implementation-defined, in every element."""

from __future__ import annotations

import numpy as np

from reference.ir.program import Operation
from reference.unspecified.control_flow import REASONS


def test_every_element_of_a_custom_call() -> None:
    (reason,) = REASONS["custom_call"]
    ((label, mask),) = reason(Operation("custom_call"), (), np.zeros((2, 3)), 0)
    assert label == "implementation-defined"
    assert mask.shape == (2, 3)
    assert mask.all()
