"""The inputs of a call of a LAPACK routine, and helpers that all families share."""

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

    Inputs after the routine's inputs are shapes of results, and are ignored.
    """

    inputs: tuple[Array, ...]
    options: Mapping[str, Any]
    results: tuple[ValueType, ...]

    def info(self, failed: Array | int = 0) -> Array:
        """Return the result `info`, with one number for each matrix of the batch."""
        return np.broadcast_to(np.asarray(failed, np.int32), self.inputs[0].shape[:-2]).copy()

    def shape(self, number: int, otherwise: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape that the program states for a result, or `otherwise` if it is not
        static."""
        of = self.results[number] if number < len(self.results) else None
        return of.static_shape if isinstance(of, TensorType) and of.is_static else otherwise


Routine = Callable[[RoutineCall], tuple[Array, ...]]
"""A function routine(call): all results, including `info` if the target has it."""


def option_letter(option: Any) -> str:
    """Return an option as LAPACK's letter; configurations hold its character code."""
    return option if isinstance(option, str) else chr(int(option))


def complete_hermitian(a: Array, *, lower: bool) -> Array:
    """Return the Hermitian matrices given by one triangle and the real part of the diagonal."""
    half = np.tril(a, -1) if lower else np.triu(a, 1)
    whole = half + np.conj(np.swapaxes(half, -1, -2))
    at = np.arange(a.shape[-1])
    whole[..., at, at] = np.real(a[..., at, at])
    return whole


def real_type(a: Array) -> ElementType:
    """Return the element type of an array's real parts: its own type if it is real."""
    return element_type_of(a).part


def finite_matrices(arrays: tuple[Array, ...]) -> Array:
    """Return a mask of the matrices in a batch that are finite in all arrays.

    The first array holds the matrices; others may have one dimension less, as scalar factors and
    diagonals do.
    """
    batch = arrays[0].ndim - 2
    found = np.ones(arrays[0].shape[:-2], np.bool_)
    for array in arrays:
        if array.dtype.kind in "fcV":
            found &= np.isfinite(array).all(axis=tuple(range(batch, array.ndim)))
    return found
