"""Variation of the free choices of a decomposition: signs of eigenvectors, bases of spaces, orders.

A program is evaluated with other choices. Results that change depend on the choices: any of the
values that they take is permitted. An ill-conditioned matrix is replaced by a nearby
one; results of a routine that failed are arbitrary.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from conformance.judging.lapack.backward_error import (
    Arrays,
    NearbyProblem,
    Shift,
    broadcast_mask,
    clusters,
    decomposition_name,
    eigenvalues,
    flatten_results,
    is_undefined,
    matrices_of,
    singular_groups,
    to_double,
    turn_schur,
)
from conformance.judging.perturbation.arbitrary_values import fill_arbitrary
from reference.custom_calls.lapack.calls import finite_matrices
from reference.custom_calls.lapack.routines import TOP_K, routine_call, top_elements
from reference.ir.program import Operation
from reference.ir.types import Array, element_type_of
from reference.numerics.rounding import to_float64

VARIATIONS = 12
"""Number of evaluations with other free choices. One evaluation turns all vectors. Further
evaluations, one for each bit of a vector's index, turn any two of 64 vectors against each other.
The rest turn vectors at random.
"""

_BITS = 6


def vary_choices(
    operation: Operation, operands: Arrays, results: tuple[Any, ...], number: int,
    random: np.random.Generator, shift: Shift,
) -> tuple[tuple[Any, ...], str]:  # fmt: skip
    """Return the results with other free choices, and the name of the choice ("" if there is none).

    `number` selects the variation.
    """
    if operation.attribute("call_target_name") == TOP_K and all(one.size for one in results):
        found, hidden = _vary_top_k(operation, operands, results, random)
        return tuple(fill_arbitrary(one, hidden, random) for one in found), "equal elements"
    name = decomposition_name(operation)
    if name is None:
        return results, ""
    whole = flatten_results(results)
    found, hidden = _vary_results(operation, operands, whole, number, random, shift)
    filled: list[Array] = []
    for place, one in enumerate(found):
        mask = broadcast_mask(hidden, one)
        if place == len(found) - 1 and one.dtype == np.int32:  # info, of failures too
            mask = mask & ~finite_matrices(matrices_of(name, operands))
        if is_undefined(name, operation, place):
            mask = np.ones(one.shape, np.bool_)
        one = _negate_zeros(one) if number % 2 else one
        filled.append(fill_arbitrary(one, mask, random) if mask.any() else one)
    gathered: tuple[Any, ...] = tuple(filled)
    return (gathered if whole is results else (gathered,)), _WHY.get(name, _ILL)


def _negate_zeros(array: Array) -> Array:
    """Return an array with the signs of its zeros flipped, which are unspecified."""
    if array.dtype.kind == "c":
        parts = [_negate_zeros(np.array(part(array))) for part in (np.real, np.imag)]
        return _complex_array(*parts)
    return np.where(array == 0, -array, array) if array.dtype.kind == "f" else array


def _complex_array(real: Array, imag: Array) -> Array:
    found = np.empty(real.shape, np.result_type(real.dtype, np.complex64))
    found.real, found.imag = real, imag
    return found


def _vary_results(
    operation: Operation, operands: Arrays, results: Arrays, number: int,
    random: np.random.Generator, shift: Shift,
) -> tuple[Arrays, Array]:  # fmt: skip
    """Return results with other free choices, and a mask of matrices with arbitrary results.

    The results of an ill-conditioned matrix are replaced by a nearby matrix's.
    """
    name = decomposition_name(operation)
    assert name is not None

    def random_signs(shape: tuple[int, ...]) -> Array:
        return random.integers(0, 2, shape) * 2.0 - 1.0

    near = NearbyProblem(operation, operands, results, random_signs, shift)
    hidden = ~near.usable | _has_failed(name, results, near.usable)
    changed = list(results)
    vary = _VARY.get(name)
    for index in np.ndindex(near.usable.shape):
        if not operands[0].size or hidden[index]:
            continue
        part = tuple(one[index] for one in results)
        if not near.close[index]:
            part = tuple(one[index] for one in near.results)
        if vary is not None:
            part = vary(operands[0][index], part, number, random)
        for place, one in enumerate(part):
            if changed[place] is results[place]:
                changed[place] = results[place].copy()
            changed[place][index] = one
    return tuple(changed), hidden


def _vary_top_k(
    operation: Operation, operands: Arrays, results: Arrays, random: np.random.Generator
) -> tuple[Arrays, Array]:
    """Return a top-k result with other equal elements, and a mask of unordered slices.

    A slice with a NaN has no order: a NaN is neither greater nor less.
    """
    axis = int(routine_call((), dict(operation.attributes)).options["reduction_dim"])
    order = random.permutation(operands[0].shape[axis])
    values, numbers = (np.take(one, order, axis=axis) for one in operands[:2])
    nan = np.zeros(values.shape, np.bool_)
    if element_type_of(values).is_float:
        nan = np.isnan(to_float64(values))
    hidden = nan.any(axis=axis, keepdims=True)
    largest = np.max(values, axis=axis, keepdims=True)
    first = np.take(results[0], [0], axis=axis)
    is_largest = bool(((largest == first) | hidden).all())
    found = top_elements(values, numbers, axis, results[0].shape[axis], largest=is_largest)
    return found, np.broadcast_to(hidden, results[0].shape)


def _has_failed(name: str, results: Arrays, usable: Array) -> Array:
    """Return a mask of the matrices that the routine failed on; their results are unspecified."""
    if name in _FALLIBLE and results[-1].shape == usable.shape:
        return np.asarray(results[-1] != 0)
    return np.zeros(usable.shape, np.bool_)


_FALLIBLE = frozenset({"potrf", "syevd", "gesdd", "geev", "gees", "gtsv"})
_ILL = "ill-conditioned"
_WHY = {
    "syevd": "choice of eigenvectors",
    "eigh": "choice of eigenvectors",
    "gesdd": "choice of singular vectors",
    "geev": "choice of eigenvectors and their order",
    "gees": "choice of Schur vectors",
}


def _phases(count: int, number: int, random: np.random.Generator, *, whole: bool) -> Array:
    """Return signs, or quarter turns of complex vectors; cancellation stays exact under both."""
    turn = 1j if whole else -1.0
    if number == 0:
        turned = np.ones(count, np.bool_)
    elif number <= _BITS:
        turned = (np.arange(count) >> (number - 1)) % 2 == 1
    else:
        turned = random.integers(0, 2, count) == 1
    return np.where(turned, turn, 1.0)


def _rotation(size: int, random: np.random.Generator, *, whole: bool) -> Array:
    drawn = random.standard_normal((size, size))
    drawn = drawn + 1j * random.standard_normal((size, size)) if whole else drawn
    return np.linalg.qr(drawn)[0]


def _vary_eigh(a: Array, results: Arrays, number: int, random: np.random.Generator) -> Arrays:
    whole = results[0].dtype.kind == "c"
    vectors = to_double(results[0]) * _phases(len(a), number, random, whole=whole)
    for group in clusters(results[1], a):
        if len(group) > 1:
            vectors[:, group] = vectors[:, group] @ _rotation(len(group), random, whole=whole)
    return (vectors.astype(results[0].dtype), *results[1:])


def _vary_svd(a: Array, results: Arrays, number: int, random: np.random.Generator) -> Arrays:
    whole = results[2].dtype.kind == "c"
    left, right = to_double(results[2]), to_double(results[3])
    count = len(results[1])
    phases = _phases(count, number, random, whole=whole)
    if left.shape[1] >= count and right.shape[0] >= count:
        left[:, :count] *= phases
        right[:count] *= np.conj(phases)[:, None]
    for group, vanishing in singular_groups(results[1], a):
        if not vanishing and len(group) > 1:
            turn = _rotation(len(group), random, whole=whole)
            left[:, group] = left[:, group] @ turn
            right[group] = np.conj(turn.T) @ right[group]
        elif vanishing:
            columns = [*group, *range(count, left.shape[1])]
            rows = [*group, *range(count, right.shape[0])]
            left[:, columns] = left[:, columns] @ _random_turn(
                len(columns), number, random, whole=whole
            )
            right[rows] = _random_turn(len(rows), number, random, whole=whole) @ right[rows]
    return (
        *results[:2], left.astype(results[2].dtype), right.astype(results[3].dtype), *results[4:]
    )  # fmt: skip


def _random_turn(size: int, number: int, random: np.random.Generator, *, whole: bool) -> Array:
    """Return a random unitary matrix that mixes the basis of a space; in one dimension a sign."""
    if size == 1:
        return np.diag(_phases(1, number if number == 0 else VARIATIONS, random, whole=whole))
    return _rotation(size, random, whole=whole)


def _vary_eig(_: Array, results: Arrays, number: int, random: np.random.Generator) -> Arrays:
    """Return other signs and another order of eigenvalues; conjugate pairs of a real matrix stay
    adjacent.
    """
    count = len(results) - 3
    values = eigenvalues(results, count)
    real = count == 2
    blocks: list[list[int]] = []
    for j in range(len(values)):
        if real and np.imag(values[j]) < 0 and blocks:
            blocks[-1].append(j)
        else:
            blocks.append([j])
    turns = [1.0 + 0j] * len(values), [1.0 + 0j] * len(values)
    for side in turns:
        phases = _phases(len(blocks), number, random, whole=False)
        for block, phase in zip(blocks, phases, strict=True):
            for j in block:
                side[j] = phase
    mixed = (
        list(reversed(blocks))
        if number == 0
        else [blocks[i] for i in random.permutation(len(blocks))]
    )
    order = [j for block in mixed for j in block]
    vectors = tuple(
        (one * np.array(side))[:, order].astype(one.dtype)
        for one, side in zip(results[count : count + 2], turns, strict=True)
    )
    return (*(one[order] for one in results[:count]), *vectors, results[-1])


def _vary_schur(_: Array, results: Arrays, number: int, random: np.random.Generator) -> Arrays:
    whole = results[0].dtype.kind == "c"
    phases = _phases(len(results[0]), number, random, whole=whole)
    return turn_schur(to_double(results[0]), to_double(results[1]), phases, results)


Vary = Callable[[Array, Arrays, int, np.random.Generator], Arrays]

_VARY: dict[str, Vary] = {
    "syevd": _vary_eigh,
    "eigh": _vary_eigh,
    "gesdd": _vary_svd,
    "geev": _vary_eig,
    "gees": _vary_schur,
}
