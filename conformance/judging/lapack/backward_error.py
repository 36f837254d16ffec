"""Calls of LAPACK in programs: how far their results may move, and what of them may be another.

Backward stable methods give the exact results of a problem nearby: so results are moved by solving
such problems. What a problem leaves open is kept as it is meanwhile (the signs of eigenvectors, the
basis of the space of a multiple eigenvalue), or else everything would seem to be permitted; it is
varied on its own, to tell what depends on it (conformance/judging/lapack/free_choices.py).

Sources: LAPACK Users' Guide, "Accuracy and Stability"; Higham, "Accuracy and Stability of
Numerical Algorithms", theorems 8.5, 9.3, 10.3, 19.4; Stewart and Sun, "Matrix Perturbation
Theory", chapter V (vectors turn by the perturbation over the gap).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from reference.custom_calls.lapack.calls import finite_matrices, letter
from reference.custom_calls.lapack.routines import TARGETS, routine_call
from reference.custom_calls.targets import call_built_in
from reference.ir.errors import EvaluationError
from reference.ir.program import Operation
from reference.ir.types import Array, element_type_of
from reference.numerics.rounding import to_float64, ulp_size
from reference.ops.structure import calls_target

Directions = Callable[[tuple[int, ...]], Array]
"""directions(shape): numbers from -1 to 1, the share of its tolerance that each element moves."""

Moved = Callable[[Array, Array, Directions], Array]
"""shift(array, errors, directions): the array with its elements moved by a share of the errors."""

Arrays = tuple[Array, ...]

CLOSE = 0.25
"""Part of a matrix's largest element by which its results move at most and are still comparable:
others are too ill-conditioned for any figure to be right, or have been chosen otherwise."""


def family(operation: Operation) -> str | None:
    """The name that the rules of a decomposition go by; None of any other operation."""
    if not calls_target(operation):
        return None
    target = TARGETS.get(str(operation.attribute("call_target_name")))
    return None if target is None else target.name


def solve(operation: Operation, operands: Arrays) -> Arrays:
    """The results of a call on other operands.

    Raises:
        EvaluationError: when it is not evaluated.
    """
    target = str(operation.attribute("call_target_name"))
    found = call_built_in(target, operands, _given(operation))
    return flat(tuple(np.asarray(one) if not isinstance(one, tuple) else one for one in found))


def _given(operation: Operation) -> dict[str, Any]:
    results = tuple(value.type for value in operation.results)
    return {**dict(operation.attributes), "results": results}


def flat(results: tuple[Any, ...]) -> Arrays:
    """The results of a call, a tuple's parts in its place."""
    return results[0] if len(results) == 1 and isinstance(results[0], tuple) else results


# --- Problems nearby -----------------------------------------------------------------------------


def magnitude(array: Array) -> Array:
    """The numbers as float64, of complex ones the larger part's magnitude."""
    of = element_type_of(array)
    if of.is_complex:
        return np.fmax(np.abs(np.real(array)), np.abs(np.imag(array))).astype(np.float64)
    return to_float64(array)


def _ulps(array: Array, size: Array) -> Array:
    return ulp_size(np.asarray(size, np.float64), element_type_of(array).part)


def _errors(name: str, operands: Arrays) -> Iterator[Array | None]:
    """By how much the elements of each operand may be off; None where it is exact."""
    a = np.abs(magnitude(operands[0])) if operands[0].ndim >= 2 else np.zeros((1, 1))
    steps = max(a.shape[-2:], default=1) + 1
    if name in _SCALED:
        largest = _SCALED[name](a)
        found = steps * _ulps(operands[0], np.broadcast_to(largest, a.shape))
        kept = (largest == 0) if name in _WHOLE else (a == 0)
        yield np.where(kept, 0.0, found)
        yield from (None for _ in operands[1:])
        return
    steps = 8 if name == "gtsv" else steps
    taken = _TAKEN[name]
    for number, operand in enumerate(operands):
        if number >= taken:
            yield None
            continue
        size = np.abs(magnitude(operand))
        yield np.where(size == 0, 0.0, steps * _ulps(operand, size))


def _largest_of_matrix(a: Array) -> Array:
    return np.max(a, axis=(-1, -2), keepdims=True, initial=0)


def _largest_of_column(a: Array) -> Array:
    return np.max(a, axis=-2, keepdims=True, initial=0)


def _by_diagonal(a: Array) -> Array:
    root = np.sqrt(np.diagonal(a, axis1=-2, axis2=-1))
    return root[..., :, None] * root[..., None, :]


_TAKEN = {"trsm": 2, "orgqr": 2, "ormqr": 3, "gtsv": 4}
"""How many of its operands a problem is made of, where they are more than one."""

_WHOLE = frozenset({"syevd", "eigh", "gesdd", "geev", "gees"})
"""Where the errors go by the whole matrix; elsewhere what is zero stays so."""

_SCALED: dict[str, Callable[[Array], Array]] = {
    **dict.fromkeys((*_WHOLE, "gehrd", "sytrd"), _largest_of_matrix),
    **dict.fromkeys(("getrf", "lu", "geqrf", "geqp3"), _largest_of_column),
    "potrf": _by_diagonal,
}
"""What the errors of a matrix's elements are proportional to; elsewhere the element itself."""


def matrices_of(name: str, operands: Arrays) -> Arrays:
    """The operands, the one first that has a matrix for each problem of the batch."""
    taken = _TAKEN.get(name, 1)
    used = operands[:taken]
    return (used[3], *used[:3]) if name == "gtsv" else used


def spread(mask: Array, result: Array) -> Array:
    """A truth value for each matrix of a batch, at each element of a result."""
    return np.broadcast_to(
        mask.reshape(mask.shape + (1,) * (result.ndim - mask.ndim)), result.shape
    )


class Near:
    """The results of a problem nearby, and the matrices of the batch that are comparable."""

    def __init__(
        self, operation: Operation, operands: Arrays, results: Arrays, directions: Directions,
        shift: Moved,
    ) -> None:  # fmt: skip
        """Solve it: `shift` moves the operands by what they may be off."""
        name = family(operation)
        assert name is not None
        self.usable = finite_matrices(matrices_of(name, operands))
        moved = tuple(
            operand if error is None else shift(operand, error, directions)
            for operand, error in zip(operands, _errors(name, operands), strict=True)
        )
        try:
            found = solve(operation, moved)
        except EvaluationError:
            found = results
        self.results = _aligned(name, operation, operands, results, found, self.usable)
        self.close = self.usable & _close(name, operation, results, self.results, self.usable)


def _close(
    name: str, operation: Operation, results: Arrays, arrays: Arrays, usable: Array
) -> Array:
    """Which matrices have results that moved a little only."""
    mask = np.ones(usable.shape, np.bool_)
    for number, (one, other) in enumerate(zip(results, arrays, strict=True)):
        if undefined(name, operation, number):
            continue
        axes = tuple(range(usable.ndim, one.ndim))
        if one.dtype.kind not in "fc":
            mask &= (one == other).all(axis=axes)
            continue
        largest = np.max(np.abs(one), axis=axes, initial=0, keepdims=True)
        mask &= (np.abs(other - one) <= CLOSE * largest).all(axis=axes)
    return mask


def undefined(name: str, operation: Operation, number: int) -> bool:
    """Whether nothing is said of what a result holds: work space, or what was not asked for."""
    if name == "gtsv":
        return number < 3
    options = routine_call((), dict(operation.attributes)).options
    mode = letter(options.get("mode", "V"))
    if name == "gesdd":
        return number == 0 or (number in (2, 3) and mode == "N")
    if name in ("syevd", "gees"):
        return mode == "N" and number == (1 if name == "gees" else 0)
    if name == "geev":
        count = len(operation.results)
        sides = {count - 3: "left", count - 2: "right"}
        return number in sides and letter(options.get(f"compute_{sides[number]}", "N")) == "N"
    return False


def moved(
    operation: Operation, operands: Arrays, results: Arrays, directions: Directions, shift: Moved
) -> Arrays:
    """The results on operands that are as far off as roundings make them.

    Those that are then not comparable stay: what depends on them is told by varying them.
    """
    near = Near(operation, operands, results, directions, shift)
    return tuple(
        np.where(spread(near.close, one), other, one).astype(one.dtype)
        for one, other in zip(results, near.results, strict=True)
    )


# --- Kept alike ----------------------------------------------------------------------------------


def _aligned(
    name: str, operation: Operation, operands: Arrays, results: Arrays, arrays: Arrays,
    usable: Array,
) -> Arrays:  # fmt: skip
    align = _ALIGN.get(name)
    if align is None or not usable.size or not operands[0].size:
        return arrays
    copies = tuple(one.copy() for one in arrays)
    for index in np.ndindex(usable.shape):
        if usable[index]:
            parts = [tuple(one[index] for one in many) for many in (results, copies)]
            new = align(operation, operands[0][index], *parts)
            for copy, part in zip(copies, new, strict=True):
                copy[index] = part
    return copies


def clusters(values: Array, a: Array) -> list[list[int]]:
    """Neighbours in ascending or descending values that rounding may not tell apart."""
    size = max(a.shape)
    largest = np.max(np.abs(magnitude(a)), initial=0)
    error = 2 * np.sqrt(size) * (size + 1) * float(_ulps(a, np.asarray(largest)))
    if largest == 0:
        error = 0.0
    found: list[list[int]] = [[0]] if len(values) else []
    for i in range(1, len(values)):
        if abs(float(values[i]) - float(values[i - 1])) <= error / CLOSE:
            found[-1].append(i)
        else:
            found.append([i])
    return found


def _unitary(a: Array) -> Array:
    """The unitary factor of a polar decomposition, the identity of what is not finite."""
    if not np.isfinite(a).all():
        return np.eye(len(a))
    left, _, right = np.linalg.svd(a)
    return left @ right


def _phase(a: Array, b: Array) -> Any:
    """The phase that turns vector a towards b."""
    inner = np.vdot(a, b)
    return inner / abs(inner) if abs(inner) > 0 else 1.0


def double(a: Array) -> Array:
    """The numbers in double precision; integers as they are."""
    if a.dtype.kind in "biu":
        return a
    return a.astype(np.complex128 if a.dtype.kind == "c" else np.float64)


def _align_eigh(_: Operation, a: Array, old: Arrays, new: Arrays) -> Arrays:
    vectors, values = double(new[0]), new[1]
    if not np.isfinite(vectors).all() or not np.isfinite(old[0]).all():
        return new
    for group in clusters(old[1], a):
        part = vectors[:, group]
        vectors[:, group] = part @ _unitary(np.conj(part.T) @ double(old[0])[:, group])
    return (vectors.astype(new[0].dtype), values, *new[2:])


def _align_svd(_: Operation, a: Array, old: Arrays, new: Arrays) -> Arrays:
    left, right = double(new[2]), double(new[3])
    before = (double(old[2]), double(old[3]))
    if not all(np.isfinite(one).all() for one in (left, right, *before)):
        return new
    for group, vanishing in singular_groups(old[1], a):
        if not vanishing:
            turn = np.conj(left[:, group].T) @ before[0][:, group]
            turn = _unitary(turn + right[group] @ np.conj(before[1][group].T))
            left[:, group] = left[:, group] @ turn
            right[group] = np.conj(turn.T) @ right[group]
            continue
        columns = [*group, *range(len(old[1]), left.shape[1])]
        rows = [*group, *range(len(old[1]), right.shape[0])]
        part = left[:, columns]
        left[:, columns] = part @ _unitary(np.conj(part.T) @ before[0][:, columns])
        part = right[rows]
        right[rows] = _unitary(before[1][rows] @ np.conj(part.T)) @ part
    return (*new[:2], left.astype(new[2].dtype), right.astype(new[3].dtype), *new[4:])


def singular_groups(values: Array, a: Array) -> list[tuple[list[int], bool]]:
    """Clusters of singular values, and whether they are of those that may be zero.

    The last one is, with the vectors beyond all values if there are such, even when empty.
    """
    count = len(values)
    groups = clusters(np.append(values, values.dtype.type(0)), a)
    last = [i for i in groups[-1] if i < count]
    return [(group, False) for group in groups[:-1]] + [(last, True)]


def eigenvalues(results: Arrays, count: int) -> Array:
    """The eigenvalues of geev and gees as complex numbers, given where they stand."""
    if count == 1:
        return results[0].astype(np.complex128)
    return results[0].astype(np.float64) + 1j * results[1].astype(np.float64)


def _align_eig(_: Operation, __: Array, old: Arrays, new: Arrays) -> Arrays:
    count = len(old) - 3
    before, after = eigenvalues(old, count), eigenvalues(new, count)
    if not (np.isfinite(before).all() and np.isfinite(after).all()):
        return new
    from scipy.optimize import linear_sum_assignment  # loaded where it is used: it takes long

    _, order = linear_sum_assignment(np.abs(before[:, None] - after[None, :]))
    values = tuple(one[order] for one in new[:count])
    sides = [double(one)[:, order] for one in new[count : count + 2]]
    for side, earlier in zip(sides, old[count : count + 2], strict=True):
        for j in range(side.shape[1]):
            side[:, j] *= _phase(side[:, j], earlier[:, j])
    vectors = tuple(side.astype(new[count].dtype) for side in sides)
    return (*values, *vectors, new[-1])


def _align_schur(_: Operation, __: Array, old: Arrays, new: Arrays) -> Arrays:
    form, basis = double(new[0]), double(new[1])
    if not basis.any():  # not asked for
        return new
    phases = np.array([_phase(basis[:, j], old[1][:, j]) for j in range(len(basis))])
    if new[1].dtype.kind != "c":
        phases = np.where(np.real(phases) < 0, -1.0, 1.0)
    return turned_schur(form, basis, phases, new)


def turned_schur(form: Array, basis: Array, phases: Array, given: Arrays) -> Arrays:
    """The results of gees with its vectors turned by phases."""
    turned = np.conj(phases)[:, None] * form * phases[None, :]
    return (turned.astype(given[0].dtype), (basis * phases).astype(given[1].dtype), *given[2:])


Align = Callable[[Operation, Array, Arrays, Arrays], Arrays]
"""align(operation, matrix, results, results nearby): the latter, alike where that is a choice."""

_ALIGN: dict[str, Align] = {
    "syevd": _align_eigh,
    "eigh": _align_eigh,
    "gesdd": _align_svd,
    "geev": _align_eig,
    "gees": _align_schur,
}
