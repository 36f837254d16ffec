"""Checks of what a backend must do whatever its compiler can, for those who write one.

The programs do no arithmetic: they return their arguments, or exchange them. So a backend that
fails here loses elements between the harness and its compiler.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from conformance.backends.base import BackendError, Failed, Unsupported
from conformance.backends.session import Session, open_session
from reference.ir.program import Function, Operation, Program, Region, TensorType, Value
from reference.ir.types import ELEMENT_TYPES, Array, ElementType, element_type_of, to_bits


@dataclass(frozen=True, slots=True)
class Finding:
    """The finding of a check: `problem` is "" if nothing is wrong.

    `unsupported` is what the backend says of programs that it does not implement.
    """

    check: str
    problem: str = ""
    unsupported: str = ""


def checks() -> dict[str, Callable[[Session], str]]:
    """Return the checks by name: each returns what is wrong with a backend, "" for nothing."""
    numbers = np.arange(24, dtype=np.float32)
    shapes = ((), (0,), (1,), (24,), (2, 3, 4), (3, 0, 2))
    return {
        **{f"elements of {name}": partial(_elements, of) for name, of in ELEMENT_TYPES.items()},
        **{
            f"shape {list(shape)}": partial(_returns, np.resize(numbers, shape)) for shape in shapes
        },
        "two arguments, exchanged": _exchanges,
        "a program run three times": _repeats,
        "three programs at a time": _several,
        "several programs as one module": _batch,
        "a program without results": _nothing,
    }


def run_check(spelling: str, check: str) -> Finding:
    """Return the finding of a check of the backend with this name, in this process.

    Raises:
        NotAvailable: if the backend is not available.
    """
    session = open_session(spelling)
    try:
        with np.errstate(invalid="ignore"):
            return Finding(check, checks()[check](session))
    except Unsupported as error:
        return Finding(check, unsupported=str(error))
    except BackendError as error:
        return Finding(check, f"{type(error).__name__.lower()}: {error}")


def _elements(element: ElementType, session: Session) -> str:
    return _returns(_every(element), session)


def _every(element: ElementType) -> Array:
    """Return 256 or fewer different elements of a type: all bits of a narrow one."""
    if element.is_boolean:
        return np.array([False, True])
    count = 1 << min(element.part.bits, 8)
    if element.is_integer:
        low = element.min_integer
        return np.array([low + n for n in range(count)]).astype(element.storage)
    if element.part.bits <= 8:
        return np.arange(count, dtype=np.uint8).view(element.storage)
    random = np.random.default_rng(0).integers(0, 256, (count, element.storage.itemsize), np.uint8)
    return _without_nan(random.view(element.storage)[:, 0])


def _without_nan(array: Array) -> Array:
    """Return the array with 1 for NaN, whose bits a backend may change."""
    return np.where(array == array, array, np.ones((), array.dtype)).astype(array.dtype)


def _program(arguments: Sequence[Array], results: Sequence[int]) -> Program:
    """Return a program that returns the arguments of these numbers."""
    values = tuple(
        Value(f"a{n}", TensorType(argument.shape, element_type_of(argument)))
        for n, argument in enumerate(arguments)
    )
    ends = tuple(values[n] for n in results)
    body = Region(values, (Operation("return", ends, ()),))
    return Program((Function("main", body, tuple(end.type for end in ends)),))


def _run(session: Session, arguments: Sequence[Array], results: Sequence[int]) -> str:
    (found,) = session.run(_program(arguments, results), [arguments])
    return _compare([arguments[n] for n in results], found)


def _compare(wanted: Sequence[Array], found: Sequence[Array]) -> str:
    """Return how results differ from what they must be, "" if they do not."""
    if len(found) != len(wanted):
        return f"{len(found)} results, not {len(wanted)}"
    for number, (want, got) in enumerate(zip(wanted, found, strict=True)):
        if (got.dtype, got.shape) != (want.dtype, want.shape):
            return (
                f"result {number}: {got.dtype}{list(got.shape)}, not {want.dtype}{list(want.shape)}"
            )
        nan = want != want
        differ = np.argwhere(~((to_bits(want) == to_bits(got)) | _per_bit(nan, to_bits(want))))
        if len(differ):
            index = tuple(differ[0][: want.ndim])
            return f"result {number}: {got[index]} at {[int(i) for i in index]}, not {want[index]}"
    return ""


def _per_bit(nan: Array, bits: Array) -> Array:
    return nan[..., None] if bits.ndim > nan.ndim else nan


def _returns(array: Array, session: Session) -> str:
    return _run(session, [array], [0])


def _exchanges(session: Session) -> str:
    return _run(session, [np.array([1, 2], np.float32), np.array([[3], [4]], np.int32)], [1, 0, 1])


def _repeats(session: Session) -> str:
    sets = [[np.array([n, -n], np.float32)] for n in range(3)]
    found = [*session.run(_program(sets[0], [0]), sets)]
    return next(filter(None, map(_compare, sets, found)), "")


def _several(session: Session) -> str:
    given = [[np.full(n + 1, n, np.float32)] for n in range(3)]
    compiled = [session.compile(_program(one, [0])) for one in given]
    found = [one.run(arguments) for one, arguments in zip(compiled, given, strict=True)]
    return next(filter(None, map(_compare, given, found)), "")


def _batch(session: Session) -> str:
    given = [[np.full(n + 1, n, np.float32)] for n in range(3)]
    programs = [_program(one, [0]) for one in given]
    if len({session.batch_kind(program) for program in programs}) > 1:
        raise Unsupported("it takes a single program in a module")
    found = session.run_batch(programs, [[one] for one in given])
    return next(filter(None, (_compare(a, b[0]) for a, b in zip(given, found, strict=True))), "")


def _nothing(session: Session) -> str:
    one = np.ones(1, np.float32)
    found = session.compile(_program([one], [])).run([one])
    if found:
        raise Failed(f"{len(found)} results, and there are none")
    return ""
