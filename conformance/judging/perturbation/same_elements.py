"""Values of a region that hold all elements of another value at the same positions.

A sum over one element is a reshape, and a value may come back unchanged through reshapes and
broadcasts. If an operation takes two such values, a compiler that recomputes the value evaluates
the same function on the same operand for both, in the same loop.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from math import prod

import numpy as np

from reference.interpreter.evaluate import EvaluationError, apply
from reference.ir.program import Operation, Region, TensorType, Value
from reference.ir.regions import monoid_of
from reference.ir.types import Array, ElementType
from reference.numerics.arithmetic import quiet
from reference.numerics.rounding import round_to
from reference.ops.structure import is_constant
from reference.ops.table import OPS

LARGEST = 1 << 14
"""Largest number of elements of an examined value; larger values count as rearranged."""


def find_roots(
    region: Region, is_root: Callable[[Operation], bool], fixed: Collection[str] = ()
) -> dict[str, Value]:
    """Return, by name, the values of a region that hold the elements of a root, each with its root.

    A root is the result of an operation for which `is_root` is true; it maps to itself.

    Values in `fixed` are left out.
    """
    makers = {value.name: one for one in region.operations for value in one.results}
    found: dict[str, Value] = {}
    for operation in region.operations:
        if operation.name not in OPS or len(operation.results) != 1:
            continue
        (result,) = operation.results
        if result.name in fixed:
            continue
        if is_root(operation):
            found[result.name] = result
            continue
        root = found.get(operation.operands[0].name) if operation.operands else None
        if root is not None and _is_identity_copy(operation, makers):
            found[result.name] = root
    return found


def _is_identity_copy(operation: Operation, makers: Mapping[str, Operation]) -> bool:
    """Return whether an operation's result equals its first operand, element by element."""
    of, to = operation.operands[0].type, operation.results[0].type
    if not (isinstance(of, TensorType) and isinstance(to, TensorType)):
        return False
    element = of.element_type
    if not isinstance(element, ElementType) or element != to.element_type or not element.is_float:
        return False
    if not (of.is_static and to.is_static):
        return False
    count = prod(of.static_shape)
    if count != prod(to.static_shape) or not 0 < count <= LARGEST:
        return False
    given = _constants(operation, makers)
    return given is not None and _is_identity(operation, given, of.static_shape, element)


def _constants(operation: Operation, makers: Mapping[str, Operation]) -> tuple[Array, ...] | None:
    """Return the further operands of a rearrangement or a fold, or None if they are not constant.

    None for all other operations.
    """
    if OPS[operation.name].rearranges:
        return ()
    is_fold = len(operation.regions) == 1 and monoid_of(operation.regions[0]) is not None
    if not is_fold or len(operation.operands) != 2:  # the elements and an init value
        return None
    maker = makers.get(operation.operands[1].name)
    return apply(maker, ()) if maker is not None and is_constant(maker) else None


@quiet
def _is_identity(
    operation: Operation, given: tuple[Array, ...], shape: tuple[int, ...], element: ElementType
) -> bool:
    for probe in _probes(shape, element):
        try:
            (there,) = apply(operation, (probe, *given))
        except EvaluationError:
            return False
        if not np.array_equal(there.reshape(-1), probe.reshape(-1)):
            return False
    return True


def _probes(shape: tuple[int, ...], element: ElementType) -> Iterator[Array]:
    """Yield arrays that come back unchanged only if nothing is moved or folded.

    A maximum of several elements changes ascending or descending numbers. The init value of a
    maximum or minimum changes an infinity, the init value of a sum the smallest number.
    """
    ascending = np.arange(2, prod(shape) + 2, dtype=np.float64)
    smallest = np.full(prod(shape), element.float_format.smallest)
    for numbers in (ascending, -ascending, smallest, smallest * np.inf, smallest * -np.inf):
        yield round_to(numbers.reshape(shape), element).astype(element.storage)
