"""Calls of LAPACK within programs: how far results may move.

A backward stable method gives the exact results of a nearby problem, so results are moved by
solving nearby problems. Free choices of the problem (signs of eigenvectors, the basis of a multiple
eigenvalue's space) stay fixed meanwhile, or else everything would be permitted. A backend that
chooses otherwise is judged by its own values: these must satisfy the equations of
conformance/judging/lapack/residuals.py, and what follows is computed from them.

Sources: LAPACK Users' Guide, "Accuracy and Stability"; Higham, "Accuracy and Stability of Numerical
Algorithms", theorems 8.5, 9.3, 10.3, 19.4; Stewart and Sun, "Matrix Perturbation Theory", chapter V
(vectors turn by the perturbation over the gap).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from reference.custom_calls.lapack.calls import finite_matrices, option_letter
from reference.custom_calls.lapack.routines import TARGETS, routine_call
from reference.custom_calls.targets import call_built_in
from reference.ir.errors import EvaluationError
from reference.ir.program import Operation
from reference.ir.types import Array, element_type_of
from reference.numerics.rounding import to_float64, ulp_size
from reference.ops.structure import calls_target

Directions = Callable[[tuple[int, ...]], Array]
"""A function of a shape that gives each element's direction: the share of its tolerance to move by,
from -1 to 1.
"""

Shift = Callable[[Array, Array, Directions], Array]
"""A function shift(array, errors, directions) that returns the array with each element moved by a
share of its error.
"""

Arrays = tuple[Array, ...]

CLOSE = 0.25
"""Largest move of comparable results, as a share of the matrix's largest element. Results that
move more are too ill-conditioned for any digit to be right, or come from another free choice."""


def decomposition_name(operation: Operation) -> str | None:
    """Return the name of a decomposition that rules are keyed by; None for other operations."""
    if not calls_target(operation):
        return None
    target = TARGETS.get(str(operation.attribute("call_target_name")))
    return None if target is None else target.name


def solve(operation: Operation, operands: Arrays) -> Arrays:
    """Return the results of a call on other operands.

    Raises:

        EvaluationError: if the call cannot be evaluated.
    """
    target = str(operation.attribute("call_target_name"))
    found = call_built_in(target, operands, _call_attributes(operation))
    return flatten_results(
        tuple(np.asarray(one) if not isinstance(one, tuple) else one for one in found)
    )


def _call_attributes(operation: Operation) -> dict[str, Any]:
    results = tuple(value.type for value in operation.results)
    return {**dict(operation.attributes), "results": results}


def flatten_results(results: tuple[Any, ...]) -> Arrays:
    """Return the results of a call with a single tuple replaced by its parts."""
    return results[0] if len(results) == 1 and isinstance(results[0], tuple) else results


# --- Problems nearby -----------------------------------------------------------------------------


def magnitude(array: Array) -> Array:
    """Return the numbers as float64; of complex numbers the larger part's magnitude."""
    element_type = element_type_of(array)
    if element_type.is_complex:
        return np.fmax(np.abs(np.real(array)), np.abs(np.imag(array))).astype(np.float64)
    return to_float64(array)


def _ulp_sizes(array: Array, size: Array) -> Array:
    return ulp_size(np.asarray(size, np.float64), element_type_of(array).part)


def _operand_errors(name: str, operands: Arrays) -> Iterator[Array | None]:
    """Yield the permitted error of each operand's elements; None for an exact operand."""
    a = np.abs(magnitude(operands[0])) if operands[0].ndim >= 2 else np.zeros((1, 1))
    steps = max(a.shape[-2:], default=1) + 1
    if name in _ERROR_SCALES:
        largest = _ERROR_SCALES[name](a)
        found = steps * _ulp_sizes(operands[0], np.broadcast_to(largest, a.shape))
        kept = (largest == 0) if name in _WHOLE else (a == 0)
        yield np.where(kept, 0.0, found)
        yield from (None for _ in operands[1:])
        return
    steps = 8 if name == "gtsv" else steps
    taken = _OPERAND_COUNTS[name]
    for index, operand in enumerate(operands):
        if index >= taken:
            yield None
            continue
        size = np.abs(magnitude(operand))
        yield np.where(size == 0, 0.0, steps * _ulp_sizes(operand, size))


def _largest_of_matrix(a: Array) -> Array:
    return np.max(a, axis=(-1, -2), keepdims=True, initial=0)


def _largest_of_column(a: Array) -> Array:
    return np.max(a, axis=-2, keepdims=True, initial=0)


def _largest_by_diagonal(a: Array) -> Array:
    root = np.sqrt(np.diagonal(a, axis1=-2, axis2=-1))
    return root[..., :, None] * root[..., None, :]


_OPERAND_COUNTS = {"trsm": 2, "orgqr": 2, "ormqr": 3, "gtsv": 4}
"""Number of operands that make up a problem, for problems of more than one operand."""

_WHOLE = frozenset({"syevd", "eigh", "gesdd", "geev", "gees"})
"""Decompositions whose errors scale with the whole matrix; in others a zero stays zero."""

_ERROR_SCALES: dict[str, Callable[[Array], Array]] = {
    **dict.fromkeys((*_WHOLE, "gehrd", "sytrd"), _largest_of_matrix),
    **dict.fromkeys(("getrf", "lu", "geqrf", "geqp3"), _largest_of_column),
    "potrf": _largest_by_diagonal,
}
"""By routine, a function that returns the scale of the error of each element of a matrix; by
default this is the magnitude of the element.
"""


def matrices_of(name: str, operands: Arrays) -> Arrays:
    """Return the operands that make up the problem, a stack of matrices first."""
    taken = _OPERAND_COUNTS.get(name, 1)
    used = operands[:taken]
    return (used[3], *used[:3]) if name == "gtsv" else used


def broadcast_mask(mask: Array, result: Array) -> Array:
    """Return a mask of the matrices of a batch, broadcast to the elements of a result."""
    return np.broadcast_to(
        mask.reshape(mask.shape + (1,) * (result.ndim - mask.ndim)), result.shape
    )


def _is_close(
    name: str, operation: Operation, results: Arrays, arrays: Arrays, usable: Array
) -> Array:
    """Return a mask of the matrices whose results moved only a little."""
    mask = np.ones(usable.shape, np.bool_)
    for index, (result, other) in enumerate(zip(results, arrays, strict=True)):
        if is_undefined(name, operation, index):
            continue
        axes = tuple(range(usable.ndim, result.ndim))
        if result.dtype.kind not in "fc":
            mask &= (result == other).all(axis=axes)
            continue
        largest = np.max(np.abs(result), axis=axes, initial=0, keepdims=True)
        mask &= (np.abs(other - result) <= CLOSE * largest).all(axis=axes)
    return mask


def is_undefined(name: str, operation: Operation, number: int) -> bool:
    """Return whether the contents of a result are undefined: work space, or not requested."""
    if name == "gtsv":
        return number < 3
    options = routine_call((), dict(operation.attributes)).options
    mode = option_letter(options.get("mode", "V"))
    if name == "gesdd":
        return number == 0 or (number in (2, 3) and mode == "N")
    if name in ("syevd", "gees"):
        return mode == "N" and number == (1 if name == "gees" else 0)
    if name == "geev":
        count = len(operation.results)
        sides = {count - 3: "left", count - 2: "right"}
        return (
            number in sides and option_letter(options.get(f"compute_{sides[number]}", "N")) == "N"
        )
    return False


def move_results(
    operation: Operation, operands: Arrays, results: Arrays, directions: Directions, shift: Shift
) -> Arrays:
    """Return the results on operands that `shift` moves by as much as rounding may move them.

    Results that are no longer comparable stay.
    """
    name = decomposition_name(operation)
    assert name is not None
    usable = finite_matrices(matrices_of(name, operands))
    moved = tuple(
        operand if error is None else shift(operand, error, directions)
        for operand, error in zip(operands, _operand_errors(name, operands), strict=True)
    )
    try:
        found = solve(operation, moved)
    except EvaluationError:
        return results
    near = _align_results(name, operation, operands, results, found, usable)
    close = usable & _is_close(name, operation, results, near, usable)
    return tuple(
        np.where(broadcast_mask(close, result), other, result).astype(result.dtype)
        for result, other in zip(results, near, strict=True)
    )


# --- Free choices made alike ---------------------------------------------------------------------


def _align_results(
    name: str, operation: Operation, operands: Arrays, results: Arrays, arrays: Arrays,
    usable: Array,
) -> Arrays:  # fmt: skip
    align = _ALIGN.get(name)
    if align is None or not usable.size or not operands[0].size:
        return arrays
    copies = tuple(array.copy() for array in arrays)
    for index in np.ndindex(usable.shape):
        if usable[index]:
            parts = [tuple(one[index] for one in many) for many in (results, copies)]
            new = align(operation, operands[0][index], *parts)
            for copy, part in zip(copies, new, strict=True):
                copy[index] = part
    return copies


def clusters(values: Array, a: Array) -> list[list[int]]:
    """Return groups of neighbours in ordered values that rounding may merge."""
    size = max(a.shape)
    largest = np.max(np.abs(magnitude(a)), initial=0)
    error = 2 * np.sqrt(size) * (size + 1) * float(_ulp_sizes(a, np.asarray(largest)))
    if largest == 0:
        error = 0.0
    found: list[list[int]] = [[0]] if len(values) else []
    for i in range(1, len(values)):
        if abs(float(values[i]) - float(values[i - 1])) <= error / CLOSE:
            found[-1].append(i)
        else:
            found.append([i])
    return found


def _unitary_factor(a: Array) -> Array:
    """Return the unitary factor of a polar decomposition; the identity for non-finite input."""
    if not np.isfinite(a).all():
        return np.eye(len(a))
    left, _, right = np.linalg.svd(a)
    return left @ right


def _phase(a: Array, b: Array) -> Any:
    """Return the phase factor that turns vector a towards b."""
    inner = np.vdot(a, b)
    return inner / abs(inner) if abs(inner) > 0 else 1.0


def to_double(a: Array) -> Array:
    """Return the numbers in double precision; integers stay as they are."""
    if a.dtype.kind in "biu":
        return a
    return a.astype(np.complex128 if a.dtype.kind == "c" else np.float64)


def _align_eigh(_: Operation, a: Array, old: Arrays, new: Arrays) -> Arrays:
    vectors, values = to_double(new[0]), new[1]
    if not np.isfinite(vectors).all() or not np.isfinite(old[0]).all():
        return new
    for group in clusters(old[1], a):
        part = vectors[:, group]
        vectors[:, group] = part @ _unitary_factor(np.conj(part.T) @ to_double(old[0])[:, group])
    return (vectors.astype(new[0].dtype), values, *new[2:])


def _align_svd(_: Operation, a: Array, old: Arrays, new: Arrays) -> Arrays:
    left, right = to_double(new[2]), to_double(new[3])
    before = (to_double(old[2]), to_double(old[3]))
    if not all(np.isfinite(one).all() for one in (left, right, *before)):
        return new
    for group, vanishing in singular_groups(old[1], a):
        if not vanishing:
            turn = np.conj(left[:, group].T) @ before[0][:, group]
            turn = _unitary_factor(turn + right[group] @ np.conj(before[1][group].T))
            left[:, group] = left[:, group] @ turn
            right[group] = np.conj(turn.T) @ right[group]
            continue
        columns = [*group, *range(len(old[1]), left.shape[1])]
        rows = [*group, *range(len(old[1]), right.shape[0])]
        part = left[:, columns]
        left[:, columns] = part @ _unitary_factor(np.conj(part.T) @ before[0][:, columns])
        part = right[rows]
        right[rows] = _unitary_factor(before[1][rows] @ np.conj(part.T)) @ part
    return (*new[:2], left.astype(new[2].dtype), right.astype(new[3].dtype), *new[4:])


def singular_groups(values: Array, a: Array) -> list[tuple[list[int], bool]]:
    """Return clusters of singular values, each with a flag if they may be zero.

    The last group has the flag, even when empty. Vectors without a singular value belong to it.
    """
    count = len(values)
    groups = clusters(np.append(values, values.dtype.type(0)), a)
    last = [i for i in groups[-1] if i < count]
    return [(group, False) for group in groups[:-1]] + [(last, True)]


def eigenvalues(results: Arrays, count: int) -> Array:
    """Return the eigenvalues of geev and gees, in their order, as complex numbers."""
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
    sides = [to_double(one)[:, order] for one in new[count : count + 2]]
    for side, earlier in zip(sides, old[count : count + 2], strict=True):
        for j in range(side.shape[1]):
            side[:, j] *= _phase(side[:, j], earlier[:, j])
    vectors = tuple(side.astype(new[count].dtype) for side in sides)
    return (*values, *vectors, new[-1])


def _align_schur(_: Operation, __: Array, old: Arrays, new: Arrays) -> Arrays:
    form, basis = to_double(new[0]), to_double(new[1])
    if not basis.any():  # vectors were not requested
        return new
    phases = np.array([_phase(basis[:, j], old[1][:, j]) for j in range(len(basis))])
    if new[1].dtype.kind != "c":
        phases = np.where(np.real(phases) < 0, -1.0, 1.0)
    return turn_schur(form, basis, phases, new)


def turn_schur(form: Array, basis: Array, phases: Array, given: Arrays) -> Arrays:
    """Return the results of gees with its vectors turned by phases."""
    turned = np.conj(phases)[:, None] * form * phases[None, :]
    return (turned.astype(given[0].dtype), (basis * phases).astype(given[1].dtype), *given[2:])


Align = Callable[[Operation, Array, Arrays, Arrays], Arrays]
"""A function align(operation, matrix, results, nearby results) that gives the nearby results the
same free choices.
"""

_ALIGN: dict[str, Align] = {
    "syevd": _align_eigh,
    "eigh": _align_eigh,
    "gesdd": _align_svd,
    "geev": _align_eig,
    "gees": _align_schur,
}
