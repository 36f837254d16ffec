"""Products of matrices whose contracted dimensions have one element, as products of arrays."""

from __future__ import annotations

import numpy as np

from conformance.known.rewritings.simplified.inlining import Replacement
from conformance.known.rewritings.values import ObservedProgram
from conformance.known.writing import OperationWriter
from conformance.tolerance.bounds.contraction import dimensions_of
from conformance.transforms.values import static_element_type
from reference.ir.program import Operation, Value, tensor_of


def multiply_instead(shown: ObservedProgram, operation: Operation) -> Replacement | None:
    """Return a `dot` or a `dot_general` as a product of arrays; None if it adds products.

    None, too, if the operands and the result have several element types.
    """
    del shown
    (lhs, rhs), (result,) = operation.operands, operation.results
    if len({static_element_type(one) for one in (lhs, rhs, result)}) > 1:
        return None
    sizes = tensor_of(lhs).static_shape
    of = dimensions_of(operation, np.empty(sizes, np.bool_))
    if any(sizes[dimension] != 1 for dimension in of.lhs_contracting):
        return None
    batch, rank = len(of.lhs_batching), len(tensor_of(result).shape)
    own = of.lhs_result(len(sizes))
    others = of.rhs_result(len(tensor_of(rhs).shape))
    middle = batch + len(own)
    left = (*of.lhs_batching, *own, *of.lhs_contracting), (*range(middle),)
    right = (*of.rhs_batching, *others, *of.rhs_contracting), (*range(batch), *range(middle, rank))
    writer = OperationWriter(result.name)
    factors = (_broadcast(writer, result, lhs, *left), _broadcast(writer, result, rhs, *right))
    writer.define(result, "multiply", factors)
    return Replacement(tuple(writer.operations), (result,))


def _broadcast(
    writer: OperationWriter,
    result: Value,
    factor: Value,
    order: tuple[int, ...],
    places: tuple[int, ...],
) -> Value:
    """Add the operations that bring a factor to the sizes of the result.

    `order` are the factor's dimensions, contracted dimensions last; `places` are the dimensions of
    the result that the others become.
    """
    sizes = [tensor_of(factor).static_shape[dimension] for dimension in order]
    turned = writer.add("transpose", (factor,), shape=sizes, permutation=order)
    kept = writer.add("reshape", (turned,), shape=sizes[: len(places)])
    shape = tensor_of(result).static_shape
    return writer.add("broadcast_in_dim", (kept,), shape=shape, broadcast_dimensions=places)
