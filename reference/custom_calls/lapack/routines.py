"""Custom calls of LAPACK and of XLA's own decompositions, by target.

Source: LAPACK's documentation of each routine; jaxlib's handlers (`lapack_<type><routine>_ffi`),
whose configuration holds the options by name, with letters as character codes. The targets without
`_ffi`, whose options were operands, are another interface.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from reference.custom_calls.lapack.calls import Routine, RoutineCall
from reference.custom_calls.lapack.factors import getrf, gtsv, lu_decomposition, potrf, trsm
from reference.custom_calls.lapack.reflectors import gehrd, geqp3, geqrf, orgqr, ormqr, sytrd
from reference.custom_calls.lapack.spectra import eigh, gees, geev, gesdd, syevd
from reference.ir.errors import EvaluationError
from reference.ir.program import Region, TupleType, ValueType
from reference.ir.types import Array, element_type_of
from reference.numerics.rounding import to_float64

BuiltIn = Callable[[tuple[Any, ...], dict[str, Any]], tuple[Any, ...]]


class Target(NamedTuple):
    """A routine, and the name by which rules refer to it."""

    name: str
    routine: Routine


_ROUTINES: tuple[tuple[str, str, str, Routine], ...] = (
    ("potrf", "sdcz", "potrf", potrf), ("getrf", "sdcz", "getrf", getrf),
    ("geqrf", "sdcz", "geqrf", geqrf), ("geqp3", "sdcz", "geqp3", geqp3),
    ("orgqr", "sd", "orgqr", orgqr), ("ungqr", "cz", "orgqr", orgqr),
    ("ormqr", "sd", "ormqr", ormqr), ("unmqr", "cz", "ormqr", ormqr),
    ("gesdd", "sdcz", "gesdd", gesdd), ("gesvd", "sdcz", "gesdd", gesdd),
    ("syevd", "sd", "syevd", syevd), ("heevd", "cz", "syevd", syevd),
    ("geev", "sdcz", "geev", geev), ("gees", "sdcz", "gees", gees),
    ("gehrd", "sdcz", "gehrd", gehrd), ("sytrd", "sd", "sytrd", sytrd),
    ("hetrd", "cz", "sytrd", sytrd), ("trsm", "sdcz", "trsm", trsm),
    ("gtsv", "sdcz", "gtsv", gtsv),
)  # fmt: skip
"""Routine, letters of its element types, name of its rules, evaluation."""

TARGETS: dict[str, Target] = {
    f"lapack_{of}{routine}_ffi": Target(name, function)
    for routine, letters, name, function in _ROUTINES
    for of in letters
} | {
    "Eigh": Target("eigh", eigh),
    "LuDecomposition": Target("lu", lu_decomposition),
    "ProductOfElementaryHouseholderReflectors": Target("orgqr", orgqr),
    "Qr": Target("geqrf", geqrf),
}
"""The targets of all known decompositions."""


def routine_call(inputs: tuple[Array, ...], given: dict[str, Any]) -> RoutineCall:
    """Return a call as its routine takes it, from the attributes of the operation and `results`."""
    configuration = given.get("mhlo.backend_config", given.get("backend_config", ()))
    options: dict[str, Any] = {"text": configuration} if isinstance(configuration, str) else {}
    if isinstance(configuration, tuple):
        options = {name: value for name, value, _ in configuration}  # pyright: ignore[reportUnknownVariableType]
    types: tuple[ValueType, ...] = tuple(given.get("results", ()))
    if len(types) == 1 and isinstance(types[0], TupleType):
        types = types[0].types
    return RoutineCall(inputs, options, types)


def _adapt_routine(target: Target) -> BuiltIn:
    def results(inputs: tuple[Any, ...], given: dict[str, Any]) -> tuple[Any, ...]:
        if not inputs or not all(isinstance(one, np.ndarray) for one in inputs):
            raise EvaluationError(f"{target.name} takes arrays only")
        call = routine_call(inputs, given)
        try:
            found = target.routine(call)
        except (ValueError, IndexError, KeyError) as error:
            raise EvaluationError(f"{target.name}: {error}") from None
        stated = given.get("results", ())
        if len(stated) == 1 and isinstance(stated[0], TupleType):
            return (found,)
        return found[: len(call.results)] if call.results else found

    return results


# --- The largest elements ------------------------------------------------------------------------

TOP_K = "ApproxTopK"
"""The target of most requests for the first k elements by a comparator; a backend may return
exactly those.
"""


def comparison_direction(computations: tuple[Region, ...]) -> str | None:
    """Return the direction in which a comparator of (lhs, rhs, ...) compares: GT, LT, or None."""
    if len(computations) != 1 or len(computations[0].operations) != 2:
        return None
    region = computations[0]
    compare, end = region.operations
    compared = tuple(value.name for value in compare.operands)
    taken = tuple(value.name for value in region.arguments[:2])
    if compare.name != "compare" or compared != taken or end.operands != compare.results:
        return None
    found = str(compare.attribute("comparison_direction"))
    return found if found in ("GT", "LT") else None


def top_k(inputs: tuple[Any, ...], given: dict[str, Any]) -> tuple[Any, ...]:
    """Return exactly the first k elements of each slice and their indices; equal elements keep
    order.

    Raises:
        EvaluationError: if results have a size other than k, whose contents depend on the backend,
            or if the comparator is neither greater than nor less than.
    """
    call = routine_call(inputs, given)
    compared = comparison_direction(tuple(body.region for body in given.get("computations", ())))
    if compared is None:
        raise EvaluationError(f"{TOP_K}: comparators other than GT and LT are not evaluated")
    if not call.options.get("aggregate_to_topk", True):
        raise EvaluationError(
            f"{TOP_K}: unless `aggregate_to_topk`, the number of elements depends on the backend"
        )
    axis, k = int(call.options["reduction_dim"]), int(call.options["top_k"])
    return top_elements(inputs[0], inputs[1], axis, k, largest=compared == "GT")


def top_elements(
    values: Array, numbers: Array, axis: int, k: int, *, largest: bool
) -> tuple[Array, Array]:
    """Return the k largest or smallest values of each slice, in order, and their `numbers`."""
    element_type = element_type_of(values)
    keys = to_float64(values) if element_type.is_float else values.astype(object)
    order = np.argsort(-keys if largest else keys, axis=axis, kind="stable")
    first = np.take(order, range(k), axis=axis)
    return np.take_along_axis(values, first, axis=axis), np.take_along_axis(numbers, first, axis)


CALLS: dict[str, BuiltIn] = {name: _adapt_routine(target) for name, target in TARGETS.items()} | {
    TOP_K: top_k
}
"""Implementations by target, for reference.custom_calls.targets."""
