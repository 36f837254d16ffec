"""Types of the reasons why elements of a result are unspecified."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from reference.ir.program import Operation
from reference.ir.types import Array

Unspecified = tuple[str, Array]
"""A label, and a mask that broadcasts to the result's shape."""

Reason = Callable[[Operation, Sequence[Array], Array, int], Sequence[Unspecified]]
"""A function reason(operation, operands, result, number): unspecified elements of result `number`,
from 0.
"""
