"""Patterns of reductions, products and sorts: of broadcasts, iotas, dimensions of size 1."""

from __future__ import annotations

from generators.case.choices import choose
from generators.chains.chain import Chain, element, shape_of
from generators.chains.fitting import fit_shape
from generators.chains.patterns.pattern import (
    Pattern,
    is_integer,
    is_number,
    is_ordered,
    is_shaped,
    is_small,
)
from reference.ir.program import Region, TensorType, Value, tensor_of
from reference.ir.types import ELEMENT_TYPES, ElementType

_FOLDS = (("add", 0), ("maximum", 0), ("minimum", 0), ("multiply", 1))
_TRUTHS = (("and", 1), ("or", 0), ("xor", 0))


def body_and_init(chain: Chain, element_type: ElementType) -> tuple[Region, Value]:
    """Return a reduction body of one operation, and its neutral init value."""
    folds = _TRUTHS if element_type.is_boolean else _FOLDS
    if element_type.is_integer and chain.pick(4) == 3:
        folds = (
            ("and", -1 if element_type.is_signed else element_type.max_integer),
            ("or", 0),
            ("xor", 0),
        )
    op, neutral = choose(chain.pick, folds)
    number: float = neutral
    if op in ("maximum", "minimum"):
        number = _least_number(element_type) if op == "maximum" else _greatest_number(element_type)
    scalar = TensorType((), element_type)
    inner = chain.isolated_block(scalar, scalar)
    return inner.finish_region(inner.op(op, *inner.arguments)), chain.number(number, scalar)


def _least_number(element_type: ElementType) -> float:
    if element_type.is_integer:
        return element_type.min_integer
    if element_type.is_complex:
        return 0
    return (
        float("-inf")
        if element_type.float_format.has_infinity
        else -element_type.float_format.max_finite
    )


def _greatest_number(element_type: ElementType) -> float:
    if element_type.is_integer:
        return element_type.max_integer
    return 0 if element_type.is_complex else -_least_number(element_type)


def _reduce_value(chain: Chain, value: Value, dimensions: tuple[int, ...]) -> Value:
    body, init = body_and_init(chain, element(value))
    return chain.op("reduce", value, init, dimensions=dimensions, regions=(body,))


def _reduction_of_unit_dimension(chain: Chain, value: Value) -> Value:
    """Write a reduction over a dimension of size 1, or over no dimension."""
    shape = shape_of(value)
    at = chain.pick(len(shape) + 1)
    wide = chain.reshape(value, (*shape[:at], 1, *shape[at:]))
    return _reduce_value(chain, wide, (at,) if chain.pick(4) else ())


def _double_reduction(chain: Chain, value: Value) -> Value:
    shape = shape_of(value)
    wide = chain.reshape(value, (1, *shape)) if len(shape) == 1 else value
    once = _reduce_value(chain, wide, (chain.pick(tensor_of(wide).rank),))
    return _reduce_value(chain, once, (0,))


def _reduction_of_broadcast(chain: Chain, value: Value) -> Value:
    """Write a multiple or a power of a number as a reduction of a broadcast."""
    shape = shape_of(value)
    wide = chain.broadcast(value, (choose(chain.pick, (2, 3, 1, 5)), *shape),
                           *range(1, len(shape) + 1))  # fmt: skip
    return _reduce_value(chain, wide, (0,))


def _reduction_of_transpose(chain: Chain, value: Value) -> Value:
    rank = tensor_of(value).rank
    turned = chain.op("transpose", value, permutation=tuple(reversed(range(rank))))
    return _reduce_value(chain, turned, (chain.pick(rank),))


def _reduction_of_concatenation(chain: Chain, value: Value) -> Value:
    joined = chain.op("concatenate", value, chain.value_of(tensor_of(value)), dimension=0)
    return _reduce_value(chain, joined, (0,))


def _reduction_of_pad(chain: Chain, value: Value) -> Value:
    filling = chain.number(choose(chain.pick, (0, 1)), TensorType((), element(value)))
    rank = tensor_of(value).rank
    low = tuple(chain.pick(3) for _ in range(rank))
    padded = chain.op(
        "pad", value, filling, edge_padding_low=low, edge_padding_high=(1,) * rank,
        interior_padding=(chain.pick(2),) * rank,
    )  # fmt: skip
    return _reduce_value(chain, padded, (chain.pick(rank),))


_MANY_DIMENSIONS = ((3, 1, 2, 2, 8, 8, 8), (2, 2, 3, 4, 4, 1, 4, 8), (1, 2, 1, 3, 2, 2, 2))


def _high_rank_sum_of_products(chain: Chain, value: Value) -> Value:
    """Write a sum along one of many dimensions of products with a partly broadcast operand."""
    shape = choose(chain.pick, _MANY_DIMENSIONS)
    of = TensorType(shape, element(value))
    few = TensorType(shape[:3], element(value))
    narrow = fit_shape(chain, value, few)
    wide = chain.broadcast(narrow, shape, 0, 1, 2)
    product = chain.op("multiply", wide, chain.parameter(of))
    scalar = TensorType((), element(value))
    inner = chain.isolated_block(scalar, scalar)
    body = inner.finish_region(inner.op("add", *inner.arguments))
    along = choose(chain.pick, (3, 2, 0, len(shape) - 1))
    return chain.op(
        "reduce", product, chain.number(0, scalar), dimensions=(along,), regions=(body,)
    )


def _small_matrix_product(chain: Chain, value: Value) -> Value:
    """Write a matrix product with sizes of 1, without contraction, or of a transpose."""
    of = element(value)
    n, k, m = (choose(chain.pick, (1, 2, 3, 4)) for _ in range(3))
    lhs = fit_shape(chain, value, TensorType((n, k), of))
    rhs = chain.value_of(TensorType((m, k) if chain.pick(2) else (k, m), of))
    at = shape_of(rhs).index(k) if k != m else chain.pick(2)
    if chain.pick(3) == 2:
        lhs = chain.op("transpose", lhs, permutation=(1, 0))
        return _add_product(chain, lhs, rhs, (0,), (at,))
    return _add_product(chain, lhs, rhs, (1,), (at,))


def _add_product(
    chain: Chain, lhs: Value, rhs: Value, left: tuple[int, ...], right: tuple[int, ...]
) -> Value:
    sizes = [size for d, size in enumerate(shape_of(lhs)) if d not in left]
    sizes += [size for d, size in enumerate(shape_of(rhs)) if d not in right]
    return chain.op(
        "dot_general", lhs, rhs, to=TensorType(tuple(sizes), element(lhs)),
        lhs_batching_dimensions=(), rhs_batching_dimensions=(),
        lhs_contracting_dimensions=left, rhs_contracting_dimensions=right,
        precision_config=("DEFAULT", "DEFAULT"),
    )  # fmt: skip


def _product_with_ones(chain: Chain, value: Value) -> Value:
    """Write a sum as a product with ones, or an outer product."""
    shape = shape_of(value)
    if chain.pick(3) == 2:
        return _add_product(chain, value, chain.value_of(TensorType((2,), element(value))), (), ())
    along = chain.pick(len(shape))
    ones = chain.number(choose(chain.pick, (1, 0, 2)), TensorType((shape[along],), element(value)))
    return _add_product(chain, value, ones, (along,), (0,))


def _product_of_products(chain: Chain, value: Value) -> Value:
    of = TensorType((2, 2), element(value))
    first = fit_shape(chain, value, of)
    second = _add_product(chain, first, chain.value_of(of), (1,), (0,))
    return _add_product(chain, second, chain.value_of(of), (1,), (chain.pick(2),))


def _product_of_concatenation(chain: Chain, value: Value) -> Value:
    of = element(value)
    first = fit_shape(chain, value, TensorType((2, 3), of))
    joined = chain.op("concatenate", first, chain.value_of(TensorType((2, 2), of)), dimension=1)
    return _add_product(chain, joined, chain.draw_constant(TensorType((5, 2), of)), (1,), (0,))


def _comparator(chain: Chain, *types: TensorType, by: int = 0) -> Region:
    """Return the comparator of operand `by`, ascending or descending."""
    inner = chain.isolated_block(*(t for of in types for t in (of, of)))
    direction = choose(chain.pick, ("LT", "GT"))
    lhs, rhs = inner.arguments[2 * by : 2 * by + 2]
    return inner.finish_region(inner.compare(lhs, rhs, direction))


def _double_sort(chain: Chain, value: Value) -> Value:
    along = chain.pick(tensor_of(value).rank)
    for _ in range(2):
        order = _comparator(chain, TensorType((), element(value)))
        value = chain.op("sort", value, dimension=along, is_stable=True, regions=(order,))
    return value


def _argsort(chain: Chain, value: Value) -> Value:
    """Write the positions of sorted elements: a sort of two operands, one of them an iota."""
    along = chain.pick(tensor_of(value).rank)
    of = TensorType(shape_of(value), ELEMENT_TYPES["si32"])
    positions = chain.op("iota", to=of, iota_dimension=along)
    scalars = (TensorType((), element(value)), TensorType((), of.element))
    order = _comparator(chain, *scalars)
    found = chain.ops(
        "sort",
        (value, positions),
        (tensor_of(value), of),
        (order,),
        dimension=along,
        is_stable=True,
    )
    chain.data.append(found[0])
    return found[1]


def _slice_of_sort(chain: Chain, value: Value) -> Value:
    order = _comparator(chain, TensorType((), element(value)))
    shape = shape_of(value)
    found = chain.op("sort", value, dimension=0, is_stable=True, regions=(order,))
    limits = (min(1 + chain.pick(2), shape[0]), *shape[1:])
    return chain.op(
        "slice", found, start_indices=(0,) * len(shape), limit_indices=limits,
        strides=(1,) * len(shape),
    )  # fmt: skip


def _is_reducible(of: TensorType) -> bool:
    return is_small(of) and not of.element.is_complex and (is_number(of) or of.element.is_boolean)


def _has_reducible_dimension(of: TensorType) -> bool:
    return _is_reducible(of) and of.rank > 0


def can_be_multiplied(of: TensorType) -> bool:
    """Return whether products and convolutions accept these numbers, and there are few."""
    return is_number(of) and is_small(of) and (of.element.bits >= 8)


def _has_multipliable_dimension(of: TensorType) -> bool:
    return can_be_multiplied(of) and of.rank > 0


def _is_sortable(of: TensorType) -> bool:
    return is_shaped(of) and (is_ordered(of) or is_integer(of))


PATTERNS = (
    Pattern(_reduction_of_unit_dimension, _is_reducible),
    Pattern(_double_reduction, _has_reducible_dimension),
    Pattern(_reduction_of_broadcast, _is_reducible),
    Pattern(_reduction_of_transpose, _has_reducible_dimension),
    Pattern(_reduction_of_concatenation, _has_reducible_dimension),
    Pattern(_reduction_of_pad, _has_reducible_dimension),
    Pattern(_high_rank_sum_of_products, can_be_multiplied),
    Pattern(_small_matrix_product, can_be_multiplied),
    Pattern(_product_with_ones, _has_multipliable_dimension),
    Pattern(_product_of_products, can_be_multiplied),
    Pattern(_product_of_concatenation, can_be_multiplied),
    Pattern(_double_sort, _is_sortable),
    Pattern(_argsort, _is_sortable),
    Pattern(_slice_of_sort, _is_sortable),
)
"""Patterns of folds, products and sorts that compilers rewrite."""
