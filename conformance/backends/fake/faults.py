"""The faults of the fake backend, by name."""

from __future__ import annotations

import os
import sys
import time
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import NoReturn

import numpy as np
import psutil

from conformance.backends.base import DeviceError, Failed, Rejected, Unsupported
from conformance.backends.fake import wrong_operations as wrong
from conformance.backends.fake.computation import Computation
from conformance.backends.fake.wrong_operations import (
    Wrong,
    change_elements,
    flip_bit,
    flip_first_bits,
)
from conformance.backends.fake.wrong_processes import PROCESS_FAULTS, WrongProcess
from conformance.backends.fake.wrong_programs import constants_multiplied_first
from reference.ir.program import Program
from reference.ir.types import BOOLEAN, Array, element_type_of, to_bits
from reference.ops.table import OPS

LUCK = "CONFORMANCE_FAKE_LUCK"
"""The environment variable that names a file with a letter for each process of `wrong_by_luck`: `w`
if its results are wrong. Without it, the process's number decides.
"""


@dataclass(frozen=True, slots=True)
class Execution:
    """One execution: its right results, and the executions before it."""

    program: Program
    number: int
    previous: list[Array]
    right: list[Array]


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of the fake backend; most define only one of these functions.

    `compile` is called before a program is compiled, `start` before it is run, `operation` replaces
    each operation except constants, `rewrite` returns the program that is run instead, `process`
    changes the process in which collectives are executed, `results` changes what main returns. A
    `harmless` fault stays within the specification: a backend with it must pass.
    """

    description: str
    operation: Wrong | None = None
    rewrite: Callable[[Program], Program] | None = None
    process: WrongProcess | None = None
    results: Callable[[Execution], list[Array]] | None = None
    start: Callable[[Sequence[Array]], None] | None = None
    compile: Callable[[Program], None] | None = None
    accepts_invalid: bool = False
    harmless: bool = False


def _abort(_: object) -> NoReturn:
    os.abort()


def _break_device(_: object) -> NoReturn:
    raise DeviceError("CUDA_ERROR_MISALIGNED_ADDRESS")


def _hang(_: object) -> NoReturn:
    while True:
        time.sleep(3600)


def _allocate(_: object) -> NoReturn:
    """Allocate memory, and touch every page, until a limit or 90 % of the machine is reached."""
    taken: list[bytes] = []
    while psutil.virtual_memory().percent < 90:
        taken.append(b"\1" * (64 << 20))
    raise MemoryError(f"{len(taken) * 64} MiB allocated, no more memory is available")


def _abort_on_nan(inputs: Sequence[Array]) -> None:
    for array in inputs:
        element_type = element_type_of(array)
        if (element_type.is_float or element_type.is_complex) and bool(np.isnan(array).any()):
            os.abort()


def _hang_on_negative_zero(inputs: Sequence[Array]) -> None:
    for array in inputs:
        element_type = element_type_of(array)
        code = 1 << (element_type.bits - 1)
        if (
            element_type.is_float
            and element_type.float_format.has_negative_zero
            and bool((to_bits(array) == code).any())
        ):
            _hang(array)


def _abort_on_large(inputs: Sequence[Array]) -> None:
    if any(array.size > 200 for array in inputs):
        os.abort()


def _refuse(kind: type[Exception], message: str) -> Callable[[object], NoReturn]:
    def refuse(_: object) -> NoReturn:
        raise kind(message)

    return refuse


_compilations: Counter[tuple[int, str]] = Counter()
"""Number of times that each fault was asked about each program in this process, by fault and
digest.
"""


def _refuse_every_second_time(refuse: Callable[[Program], None], program: Program) -> None:
    """Refuse a program the first time, the third time and so on, as `refuse` does."""
    key = (id(refuse), program.digest)
    _compilations[key] += 1
    if _compilations[key] % 2:
        refuse(program)


def _refuse_batches(refuse: Callable[[Program], None], program: Program) -> None:
    """Refuse a module that has several programs; `refuse` raises the error."""
    if sum(operation.name == "func.call" for operation in program.main.body.operations) > 1:
        refuse(program)


def _refuse_op(refuse: Callable[[Program], None], op: str, program: Program) -> None:
    """Refuse a program that has an operation of this op; `refuse` raises the error."""
    if any(operation.name == op for operation in program.walk()):
        refuse(program)


def _print(_: object) -> None:
    print("a backend that talks", flush=True)
    print("a backend that complains", file=sys.stderr, flush=True)


def _one_wrong(execution: Execution) -> list[Array]:
    """Return every result with one wrong element, chosen by its contents."""
    return [flip_bit(array, zlib.crc32(to_bits(array).tobytes())) for array in execution.right]


def _last_wrong(execution: Execution) -> list[Array]:
    """Return results with a wrong last element: integers 1 too large, others with a bit flipped."""
    changed: list[Array] = []
    for array in execution.right:
        element_type = element_type_of(array)
        if element_type.is_integer and array.size:
            flat = array.copy().reshape(-1)
            flat[-1:] = (flat[-1:].astype(np.int64) + 1).astype(element_type.storage)
            changed.append(flat.reshape(array.shape))
        else:
            changed.append(flip_bit(array, -1))
    return changed


def _one_result(execution: Execution) -> list[Array]:
    """Return a single result 1 ulp too large; crash in programs with several results."""
    if len(execution.right) > 1:
        _abort(execution)
    return [wrong.each_part(partial(wrong.move_by_ulps, ulps=1), one) for one in execution.right]


def _lose(lose: Callable[[object], NoReturn], execution: Execution) -> list[Array]:
    """Crash in programs of one operation, by calling `lose`; return a wrong last element
    in others.
    """
    if len(execution.program.main.body.operations) == 2:  # it, and the end
        lose(execution)
    return _last_wrong(execution)


def _wrong_shape(execution: Execution) -> list[Array]:
    return [array.reshape((1, *array.shape)) for array in execution.right]


def _wrong_type(execution: Execution) -> list[Array]:
    other = {True: np.dtype(np.float64), False: np.dtype(np.float32)}
    return [
        array.astype(other[array.dtype == np.float32]) for array in map(_real_part, execution.right)
    ]


def _real_part(array: Array) -> Array:
    return np.real(array) if np.iscomplexobj(array) else array


def _drop_last_result(execution: Execution) -> list[Array]:
    return execution.right[:-1]


def _repeat_last_result(execution: Execution) -> list[Array]:
    return [*execution.right, *execution.right[-1:]]


def _return_previous(execution: Execution) -> list[Array]:
    return execution.previous or execution.right


def _flip_every_other(execution: Execution) -> list[Array]:
    return flip_first_bits(execution.right) if execution.number % 2 == 0 else execution.right


def _flip_bits_in_batches(execution: Execution) -> list[Array]:
    calls = [op for op in execution.program.main.body.operations if op.name == "func.call"]
    return flip_first_bits(execution.right) if len(calls) > 1 else execution.right


def _reverse_elements(execution: Execution) -> list[Array]:
    """Return the elements in reversed order, as with a wrong layout."""
    return [array.reshape(-1)[::-1].reshape(array.shape) for array in execution.right]


@cache
def _has_luck() -> bool:
    """Return whether this process has right results; it takes a letter from the file of `LUCK`."""
    path = os.environ.get(LUCK)
    if path is None:
        return os.getpid() % 2 == 0
    left = Path(path).read_text(encoding="utf-8")
    Path(path).write_text(left[1:], encoding="utf-8")
    return not left.startswith("w")


def _depend_on_luck(computation: Computation, operands: tuple[Array, ...]) -> tuple[Array, ...]:
    """Return wrong results in some processes, as if memory were read that is not the program's."""
    right = computation.right(operands)
    return right if _has_luck() else tuple(flip_first_bits(right))


def _leave_elements_unwritten(execution: Execution) -> list[Array]:
    """Return results whose elements from the 1025th on are not written."""
    kept: list[Array] = []
    for array in execution.right:
        flat = array.copy().reshape(-1)
        flat[1024:] = 0
        kept.append(flat.reshape(array.shape))
    return kept


def _nan_unwritten(execution: Execution) -> list[Array]:
    """Return the number of the execution instead of NaN, as if NaN were not written."""
    number = execution.number + 1.0
    return [
        np.where(np.isnan(array), number, array).astype(array.dtype)
        if element_type_of(array).is_float
        else array
        for array in execution.right
    ]


def _invert_booleans(execution: Execution) -> list[Array]:
    truth = BOOLEAN[0].storage
    return [~array if array.dtype == truth else array for array in execution.right]


_VALUES: dict[str, Fault] = {
    "wrong_zero_sign": Fault("zeros have the other sign", change_elements(wrong.negate_zeros)),
    "flush_to_zero": Fault("subnormal operands and results are zero", wrong.flush),
    "denormal_inputs_zero": Fault("subnormal operands are zero", wrong.flush_inputs),
    "compare_denormals_as_zero": Fault("comparisons flush subnormals", wrong.compare_flushed),
    "off_by_three_ulp": Fault(
        "results are 3 ulp up", change_elements(partial(wrong.move_by_ulps, ulps=3))
    ),
    "off_by_100_ulp": Fault(
        "results are 100 ulp up", change_elements(partial(wrong.move_by_ulps, ulps=100))
    ),
    "low_precision": Fault("f32 is computed like bf16", change_elements(wrong.round_to_bfloat16)),
    "nan_dropped": Fault("NaN results are 0", change_elements(wrong.replace_nan)),
    "infinity_dropped": Fault("infinities are finite", change_elements(wrong.replace_infinity)),
    "sign_lost": Fault("results lose their sign", change_elements(wrong.drop_sign)),
    "nan_equal": Fault("NaN equals NaN", wrong.compare_nans_equal),
    "saturating_arithmetic": Fault("integer arithmetic saturates", wrong.saturate_arithmetic),
    "saturating_conversion": Fault("conversions saturate", wrong.saturate_conversion),
    "wrong_tie_rounding": Fault("ties round away from zero", wrong.ties_away),
    "double_rounding": Fault("conversions round to f32 first", wrong.round_twice),
    "transposed_operands": Fault("lhs and rhs are swapped", wrong.swap_operands),
    "wrong_constant_folding": Fault("constants are folded wrongly", wrong.fold_wrongly),
    "integer_truncated_to_32_bits": Fault("64-bit integers lose bits", wrong.truncate_to_32_bits),
    "unsigned_as_signed": Fault("unsigned operands are read as signed", wrong.unsigned_as_signed),
    "shift_arithmetic": Fault("logical shifts copy the sign", wrong.shift_arithmetically),
    "floor_division": Fault("integer division rounds down", wrong.floor_division),
    "complex_parts_swapped": Fault("real and imaginary parts are swapped", wrong.swap_parts),
    "bodies_read_in_part": Fault(
        "bodies that are not elementwise give their arguments", wrong.drop_bodies
    ),
    "constants_multiplied_first": Fault(
        "(x c) d is computed as x (c d), c and d being constants",
        rewrite=constants_multiplied_first,
    ),
    "codes_not_converted": Fault(
        "bodies take codes of another type as they are", wrong.misread_codes
    ),
    "tanh_clamped": Fault("tanh is that of the operand clamped to [-9, 9]", wrong.clamp_tanh),
    "reciprocal_division": Fault(
        "quotients are products with the rounded reciprocal", wrong.multiply_by_reciprocal
    ),
    "indices_of_8_bits": Fault("start indices are read as 8 bits", wrong.wrap_indices),
    "one_wrong_element": Fault("one element of each result is wrong", results=_one_wrong),
    "off_by_one_last_element": Fault("the last element is wrong", results=_last_wrong),
    "reversed_elements": Fault("elements are in reversed order", results=_reverse_elements),
    "tail_not_written": Fault(
        "elements from the 1025th on are 0", results=_leave_elements_unwritten
    ),
    "nan_not_written": Fault("another number instead of NaN", results=_nan_unwritten),
    **{
        name: Fault(description, process=process)
        for name, (description, process) in PROCESS_FAULTS.items()
    },
    "booleans_inverted": Fault("i1 results are inverted", results=_invert_booleans),
    "batch_only": Fault("wrong in modules of several programs", results=_flip_bits_in_batches),
    "flaky": Fault("wrong every other execution", results=_flip_every_other),
    "wrong_by_luck": Fault("wrong in every other process", _depend_on_luck),
    "stale_result": Fault("gives the results of the previous execution", results=_return_previous),
}
"""Faults of computed values."""

_ANSWERS: dict[str, Fault] = {
    "wrong_shape": Fault("results have another shape", results=_wrong_shape),
    "wrong_type": Fault("results have another element type", results=_wrong_type),
    "missing_result": Fault("the last result is missing", results=_drop_last_result),
    "extra_result": Fault("there is one result too many", results=_repeat_last_result),
    "reject": Fault("refuses every program", compile=_refuse(Rejected, "refused")),
    "accepts_invalid": Fault("compiles invalid programs", accepts_invalid=True),
    "unsupported": Fault("knows no op", compile=_refuse(Unsupported, "not implemented")),
    "internal_error": Fault("cannot compile", compile=_refuse(Failed, "INTERNAL: broken")),
    "runtime_error": Fault("cannot execute", start=_refuse(Failed, "INTERNAL: broken")),
    "python_error": Fault(
        "raises an exception that is no backend error", start=_refuse(RuntimeError, "a defect")
    ),
    "error_now_and_then": Fault(
        "cannot compile a program every other time",
        compile=partial(_refuse_every_second_time, _refuse(Failed, "INTERNAL: out of luck")),
    ),
    "reject_now_and_then": Fault(
        "refuses a program every other time",
        compile=partial(_refuse_every_second_time, _refuse(Rejected, "refused today")),
    ),
    "error_together": Fault(
        "cannot compile modules of several programs",
        compile=partial(_refuse_batches, _refuse(Failed, "INTERNAL: too many functions")),
    ),
    "unsupported_together": Fault(
        "does not implement modules of several programs",
        compile=partial(_refuse_batches, _refuse(Unsupported, "UNIMPLEMENTED: call")),
    ),
    "abort_together": Fault(
        "aborts its process on modules of several programs",
        compile=partial(_refuse_batches, _abort),
    ),
    "abort": Fault("aborts its process on execution", start=_abort),
    "device_error": Fault("makes its device unusable on execution", start=_break_device),
    "abort_on_compile": Fault("aborts its process on compilation", compile=_abort),
    "abort_on_nan": Fault("aborts its process when an input has NaN", start=_abort_on_nan),
    "abort_on_large": Fault("aborts on inputs of over 200 elements", start=_abort_on_large),
    "hang": Fault("never ends an execution", start=_hang),
    "hang_on_compile": Fault("never ends a compilation", compile=_hang),
    "hang_on_negative_zero": Fault("hangs on inputs with -0", start=_hang_on_negative_zero),
    "hang_on_one_operation": Fault(
        "the last element is wrong; programs of one operation hang", results=partial(_lose, _hang)
    ),
    "abort_on_one_operation": Fault(
        "the last element is wrong; programs of one operation abort", results=partial(_lose, _abort)
    ),
    "abort_on_many_results": Fault(
        "results are 1 ulp up; programs of several results abort", results=_one_result
    ),
    "allocate": Fault("allocates all memory", start=_allocate),
}
"""Faults in the backend's answers, such as refusals and crashes."""

_HARMLESS: dict[str, Fault] = {
    "right": Fault("the reference", harmless=True),
    "shift_masked": Fault("shift amounts are modulo the width", wrong.mask_shifts, harmless=True),
    "other_nans": Fault(
        "NaNs have the other sign",
        change_elements(wrong.negate_nans, but=wrong.SIGN_ONLY),
        harmless=True,
    ),
    "noisy": Fault("writes to stdout and stderr", start=_print, harmless=True),
}
"""Deviations that the specification permits."""

FAULTS: dict[str, Fault] = {**_HARMLESS, **_VALUES, **_ANSWERS}
"""Every fault by its name, as in `reference:NAME`; `right` is none."""


def fault_of(name: str) -> Fault:
    """Return the fault with the given name. `NAME@OP` limits it to operations of that op, or to
    programs that contain the op. `NAME@OP+NAME@OP` has several, each applied to the results of the
    previous fault.

    Raises:
        KeyError: if there is no such fault, with the names that exist, or if it cannot be limited
            or combined.
    """
    found = [_confine_fault(one) for one in name.split("+")]
    if len(found) == 1:
        return found[0]
    changes: list[Wrong] = []
    for one, fault in zip(name.split("+"), found, strict=True):
        if fault.operation is None:
            raise KeyError(f"fault {one!r} cannot be combined: it is no fault of an operation")
        changes.append(fault.operation)

    def apply_changes(computation: Computation, operands: tuple[Array, ...]) -> tuple[Array, ...]:
        results = computation.right(operands)
        for change in changes:
            results = change(replace(computation, operands=operands, results=results), operands)
        return results

    return Fault("; ".join(one.description for one in found), operation=apply_changes)


def _confine_fault(name: str) -> Fault:
    """Return the fault of a name such as `NAME` or `NAME@OP`."""
    fault, at, op = name.partition("@")
    if fault not in FAULTS:
        raise KeyError(f"unknown fault {fault!r}; known: {', '.join(FAULTS)}")
    if not at:
        return FAULTS[fault]
    wrong, refuse = FAULTS[fault].operation, FAULTS[fault].compile
    if op in OPS and refuse is not None:
        return replace(FAULTS[fault], compile=partial(_refuse_op, refuse, op))
    if wrong is None or op not in OPS:
        raise KeyError(f"fault {fault!r} cannot be confined to operations {op!r}")

    def compute_faulty(computation: Computation, operands: tuple[Array, ...]) -> tuple[Array, ...]:
        if computation.operation.name != op:
            return computation.right(operands)
        return wrong(computation, operands)

    return replace(FAULTS[fault], operation=compute_faulty)
