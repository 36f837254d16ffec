"""Contents of memory outside of a program, as constants."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from conformance.known.writing import constant
from reference.ir.program import Operation, TensorType, Value
from reference.ir.types import Array

Content = Callable[[TensorType], Array]
"""A function of a type that returns the memory content assumed for a tensor."""


def _zeros(of: TensorType) -> Array:
    return np.zeros(of.static_shape, of.storage)


def _ones_of(of: TensorType) -> Array:
    return np.ones(of.static_shape).astype(of.storage)


def _largest_values(of: TensorType) -> Array:
    element = of.stored
    is_number = element.is_float or element.is_complex
    largest = element.float_format.max_finite if is_number else element.max_integer
    return np.full(of.static_shape, largest).astype(of.storage)


CONTENTS: tuple[Content, ...] = (_zeros, _ones_of, _largest_values)
"""Assumed contents; results that agree for all of them do not depend on foreign memory."""


def memory_value(value: Value, content: Content) -> Operation:
    """Return the operation that defines a value by assumed memory content."""
    assert isinstance(value.type, TensorType)
    return constant(value, content(value.type))


def zeros(value: Value) -> Operation:
    """Return the operation that defines a value by zeros."""
    return memory_value(value, _zeros)
