"""Functions that the interpreter computes with the C library, predicted bit for bit.

It calls them in f64 and rounds what they return. Numpy's functions of complex numbers and Python's
functions of real numbers call the same library.

Source: the interpreter's Element.cpp; jaxlib 0.10.2 and 0.12, measured.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from conformance.known.hypothesis import Operands, Results, exact_hypothesis
from reference.ir.program import Operation
from reference.ir.types import Array, element_type_of
from reference.numerics.arithmetic import quiet
from reference.numerics.rounding import round_to, to_float64

_REAL: dict[str, Callable[[Array], Array]] = {"cbrt": np.frompyfunc(math.cbrt, 1, 1)}
"""Real functions of the C library; numpy's cube root is its own."""
_COMPLEX: dict[str, Callable[[Array], Array]] = {"tan": np.tan, "tanh": np.tanh}


@quiet
def _predict_by_library(
    operation: Operation, operands: Operands, expected: Results
) -> Results | None:
    """Return the library's results; None for other functions."""
    (operand,), of = operands, element_type_of(expected[0])
    function = (_COMPLEX if of.is_complex else _REAL).get(operation.name)
    if function is None:
        return None
    if of.is_complex:
        return (function(operand.astype(np.complex128)).astype(of.storage),)
    return (round_to(np.asarray(function(to_float64(operand))).astype(np.float64), of),)


BY_LIBRARY = exact_hypothesis("function of the C library", _predict_by_library)
