"""Custom calls of the compiler for TPUs: 64-bit values as pairs, hints, buffers.

A 64-bit integer is a pair of its low and its high word. A number of f64 is the sum of a pair of f32
numbers: `X64SplitLow` gives the number rounded to f32, `X64SplitHigh` the remainder. The parts of a
complex number are a pair too.
"""

from __future__ import annotations

import math

import numpy as np

from conformance.hlo.building import Building
from conformance.hlo.moving import reinterpret
from conformance.hlo.shapes import Tree, array_type_of, element_of, order_of
from conformance.hlo.site import Handler, Site
from reference.ir.program import Dense, TensorType, TokenType, Value, tensor_of
from reference.ir.types import ELEMENT_TYPES

_WORD = 32


def _low_half(site: Site) -> Tree:
    building, value, of = site.building, site.value(0), site.type
    own = tensor_of(value).element
    if own.is_complex:
        return building.one("real", (value,), of)
    if own.is_float:
        return building.convert(value, of.element)
    return building.one("convert", (_bitcast_to_words(building, value),), of)


def _high_half(site: Site) -> Tree:
    building, value, of = site.building, site.value(0), site.type
    own = tensor_of(value).element
    if own.is_complex:
        return building.one("imag", (value,), of)
    if own.is_float:
        return _rounding_remainder(building, value, of)
    word = _bitcast_to_words(building, value)
    bits = building.fill_like(_WORD, word)
    high = building.binary("shift_right_logical", word, bits)
    half = building.convert(high, ELEMENT_TYPES["ui32"])
    return building.bitcast(half, of.element) if of.element.is_signed else half


def _rounding_remainder(building: Building, value: Value, of: TensorType) -> Value:
    """Return the difference between a number and its rounded half; 0 if that half is not finite."""
    rounded = building.convert(value, of.element)
    rest = building.binary("subtract", value, building.convert(rounded, tensor_of(value).element))
    finite = building.one(
        "is_finite", (rounded,), TensorType(of.shape, ELEMENT_TYPES["i1"], of.bounds)
    )  # fmt: skip
    zero = building.fill_like(0, rounded)
    return building.one("select", (finite, building.convert(rest, of.element), zero), of)


def _bitcast_to_words(building: Building, value: Value) -> Value:
    word = ELEMENT_TYPES["ui64"]
    return value if tensor_of(value).element == word else building.bitcast(value, word)


def _combine(site: Site) -> Tree:
    building, first, second, of = site.building, site.value(0), site.value(1), site.type
    if of.element.is_complex:
        return building.one("complex", (first, second), of)
    if of.element.is_float:
        wide = [building.convert(part, of.element) for part in (first, second)]
        rounded = building.compare("EQ", wide[1], building.fill_like(0, wide[1]))
        whole = building.binary("add", *wide)
        return building.one("select", (rounded, wide[0], whole), of)
    word = ELEMENT_TYPES["ui64"]
    halves = [building.convert(_unsigned_word(building, part), word) for part in (first, second)]
    bits = building.fill_like(_WORD, halves[1])
    high = building.binary("shift_left", halves[1], bits)
    both = building.binary("or", halves[0], high)
    return both if of.element == word else building.bitcast(both, of.element)


def _unsigned_word(building: Building, half: Value) -> Value:
    """Return a half as an unsigned word, so that its sign is not extended."""
    word = ELEMENT_TYPES["ui32"]
    return half if tensor_of(half).element == word else building.bitcast(half, word)


def _allocate(site: Site) -> Tree:
    """Add memory whose contents mean nothing, as zeros."""
    return site.building.full(0, site.type)


def _padded_with_zeros(site: Site) -> Tree:
    """Add the memory of an array up to the end of its last tile, with zeros in the padding."""
    source, target, value = site.shapes[0], site.instruction.shape, site.value(0)
    own = tensor_of(value)
    if element_of(source) != element_of(target):
        raise site.unreadable("its result has another element type")
    has_zero = not own.element.is_float or own.element.float_format.has_zero
    flat = site.building.reshape(value, (math.prod(own.static_shape),))
    codes = flat if has_zero else reinterpret(site.building, flat, ELEMENT_TYPES["ui8"])
    order = order_of(source, target)
    if np.unique(order[order >= 0]).size != math.prod(own.static_shape):
        raise site.unreadable("its result lacks elements of its operand")
    taken = site.building.take_elements(codes, order.tolist(), tuple(target.dimensions))
    return reinterpret(site.building, taken, own.element)


def _inverse(*, lower: bool) -> Handler:
    """Return a handler that adds inverses of triangular matrices; complex matrices are given as two
    parts.
    """

    def handler(site: Site) -> Tree:
        building, parts = site.building, site.instruction.shape.tuple_shapes
        if not parts:
            return invert_triangle(building, site.value(0), site.type)
        part = array_type_of(parts[0])
        of = TensorType(part.shape, ELEMENT_TYPES["complex<f32>"])
        found = invert_triangle(building, building.one("complex", site.values, of), of)
        return tuple(building.one(name, (found,), part) for name in ("real", "imag"))

    def invert_triangle(building: Building, value: Value, of: TensorType) -> Value:
        size = of.static_shape[-1]
        one = np.eye(size).astype(of.storage)
        matrix = building.constant(Dense.of(one, TensorType(one.shape, of.element_type)))
        wide = building.broadcast(matrix, of.static_shape, (of.rank - 2, of.rank - 1))
        return building.one(
            "triangular_solve", (value, wide), of, left_side=True, lower=lower,
            unit_diagonal=False, transpose_a="NO_TRANSPOSE",
        )  # fmt: skip

    return handler


def _cholesky(site: Site) -> Tree:
    """Add the lower Cholesky factors of matrices whose lower triangles are read; complex matrices
    are given as two parts.
    """
    building, parts = site.building, site.instruction.shape.tuple_shapes
    if not parts:
        return building.one("cholesky", (site.value(0),), site.type, lower=True)
    part = array_type_of(parts[0])
    of = TensorType(part.shape, ELEMENT_TYPES["complex<f32>"])
    whole = building.one("complex", site.values, of)
    factor = building.one("cholesky", (whole,), of, lower=True)
    return tuple(building.one(name, (factor,), part) for name in ("real", "imag"))


def _first_operand(site: Site) -> Tree:
    return site.operands[0]


def _concatenate_parts(site: Site) -> Tree:
    """Add the concatenation of parts that lie one after the other in memory.

    Raises:
        Unreadable: if they make up the result along no dimension.
    """
    sizes, whole = [tensor_of(value).static_shape for value in site.values], site.type.static_shape
    for dimension, size in enumerate(whole):
        beside = {(*one[:dimension], size, *one[dimension + 1 :]) for one in sizes}
        if beside == {whole} and sum(one[dimension] for one in sizes) == size:
            return site.building.one("concatenate", site.values, site.type, dimension=dimension)
    raise site.unreadable("its parts do not make up its result")


def _token(site: Site) -> Tree:
    """Add the token of a call that reads group sizes and has no other result."""
    return site.building.one("after_all", (), TokenType())


TARGETS: dict[str, Handler] = {
    "AllocateBuffer": _allocate,
    "AssumeGatherIndicesInBound": _first_operand,
    "Cholesky": _cholesky,
    "ConcatBitcast": _concatenate_parts,
    "GatherScatterIndicesBitpacked": _first_operand,
    "InvertDiagBlocksLowerTriangular": _inverse(lower=True),
    "InvertDiagBlocksUpperTriangular": _inverse(lower=False),
    "MaskAggregatorBlock": _token,
    "X128Combine": _combine,
    "X128SplitHigh": _high_half,
    "X128SplitLow": _low_half,
    "X64Combine": _combine,
    "X64SplitHigh": _high_half,
    "X64SplitLow": _low_half,
    "ZeroCrop": _padded_with_zeros,
}
"""The function that reads the calls of each target."""
