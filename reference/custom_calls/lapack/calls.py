"""What a call of a LAPACK routine is given, and helpers that all of its families share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from reference.ir.program import TensorType, ValueType
from reference.ir.types import Array, ElementType, element_type_of


@dataclass(frozen=True, slots=True)
class RoutineCall:
    """The inputs of a call, the options in its configuration, and the types of its results.

    Inputs beyond those of the routine are shapes of results, and not looked at.
    """

    inputs: tuple[Array, ...]
    options: Mapping[str, Any]
    results: tuple[ValueType, ...]

    def info(self, failed: Array | int = 0) -> Array:
        """The result `info`: one for each matrix of the batch."""
        return np.broadcast_to(np.asarray(failed, np.int32), self.inputs[0].shape[:-2]).copy()

    def shape(self, number: int, otherwise: tuple[int, ...]) -> tuple[int, ...]:
        """The shape that the program states for a result, `otherwise` where it leaves that open."""
        of = self.results[number] if number < len(self.results) else None
        return of.static_shape if isinstance(of, TensorType) and of.is_static else otherwise


Routine = Callable[[RoutineCall], tuple[Array, ...]]
"""routine(call): all results, `info` included where the target has it."""


def letter(option: Any) -> str:
    """An option that LAPACK takes as a letter: configurations hold its code."""
    return option if isinstance(option, str) else chr(int(option))


def hermitian(a: Array, *, lower: bool) -> Array:
    """The Hermitian matrices of which one triangle is read, and of the diagonal the real part."""
    half = np.tril(a, -1) if lower else np.triu(a, 1)
    whole = half + np.conj(np.swapaxes(half, -1, -2))
    at = np.arange(a.shape[-1])
    whole[..., at, at] = np.real(a[..., at, at])
    return whole


def real_type(a: Array) -> ElementType:
    """The element type of the parts of a complex array, of a real one its own."""
    return element_type_of(a).part


def finite(arrays: tuple[Array, ...]) -> Array:
    """Which matrices of a batch (one in the first array) have no NaN and no infinity in any array.

    The other arrays may have a dimension less, as those of scalar factors and of diagonals do.
    """
    batch = arrays[0].ndim - 2
    found = np.ones(arrays[0].shape[:-2], np.bool_)
    for array in arrays:
        if array.dtype.kind in "fcV":
            found &= np.isfinite(array).all(axis=tuple(range(batch, array.ndim)))
    return found
