"""Each fault is caught, with the right verdict and class; permitted deviations are not.

The fake backend evaluates the reference and then corrupts the results
(conformance/backends/fake/faults.py). Tasks run in this process here; backends that die, hang or
take all memory are for test_runner.py.
"""

from __future__ import annotations

import numpy as np
import pytest

from conformance.backends.fake.faults import FAULTS, fault_of
from conformance.backends.fake.reference import ReferenceBackend
from conformance.backends.session import Session
from conformance.campaign.tasks import Task
from conformance.catalog import CATALOG, Cell
from conformance.gate.classes import NOT_DETERMINISTIC, ONLY_IN_BATCH
from conformance.stablehlo.parse import parse_module
from conformance.verdict import Record, Verdict
from reference.ir.types import element_type
from reference.ops.structure import HOST
from suites.meta.support.one_task import run_task
from suites.meta.support.small_programs import array, execute, op_program, tensor_of

D, I, F, U = (  # noqa: E741 - short in a table
    Verdict.DIVERGENT,
    Verdict.INACCURATE,
    Verdict.FLUSHED,
    Verdict.UNSPECIFIED,
)

CAUGHT: list[tuple[str, str, str, Verdict, str]] = [
    ("wrong_zero_sign", "negate", "f32", D, "signed zero"),
    ("flush_to_zero", "add", "f32", F, "flushed"),
    ("denormal_inputs_zero", "compare", "f32", F, "flushed"),
    ("compare_denormals_as_zero", "maximum", "bf16", F, "flushed"),
    ("off_by_three_ulp", "exponential", "f32", I, "accuracy"),
    ("off_by_100_ulp", "tanh", "f32", I, "accuracy"),
    ("low_precision", "multiply", "f32", D, "wrong value"),
    ("nan_dropped", "subtract", "f32", D, "NaN"),
    ("infinity_dropped", "exponential", "f32", D, "infinity"),
    ("sign_lost", "multiply", "f32", D, "sign"),
    ("nan_equal", "compare", "f32", D, "wrong value"),
    ("saturating_arithmetic", "add", "si8", D, "saturation"),
    ("saturating_conversion", "convert", "f32", D, "infinity"),
    ("saturating_conversion", "convert", "si32", U, "conversion to an integer out of range"),
    ("wrong_tie_rounding", "round_nearest_even", "f32", D, "tie rounding"),
    ("wrong_tie_rounding", "convert", "f64", I, "tie rounding"),
    ("double_rounding", "convert", "f64", I, "double rounding"),
    ("transposed_operands", "subtract", "f32", D, "operands swapped"),
    ("integer_truncated_to_32_bits", "multiply", "si64", D, "truncated to 32 bits"),
    ("unsigned_as_signed", "compare", "ui8", D, "wrong value"),
    ("shift_arithmetic", "shift_right_logical", "si16", D, "wrong value"),
    ("floor_division", "divide", "si32", D, "wrong value"),
    ("complex_parts_swapped", "add", "complex<f32>", D, "wrong value"),
    ("bodies_read_in_part", "reduce", "si32", D, "wrong value"),
    ("one_wrong_element", "add", "f32", D, ""),
    ("off_by_one_last_element", "add", "si32", D, "wrong value"),
    ("reversed_elements", "negate", "si32", D, "wrong value"),
    ("booleans_inverted", "is_finite", "f32", D, "wrong value"),
    ("share_lost", "all_reduce", "f32", D, ""),
    ("share_twice", "reduce_scatter", "si64", D, "wrong value"),
    ("group_reversed", "all_gather", "f16", D, ""),
    ("group_rotated", "all_to_all", "ui8", D, "wrong value"),
    ("pair_exchanged", "all_reduce", "ui8", D, "wrong value"),
    ("not_sent", "all_reduce", "f64", D, ""),
    ("wrong_group", "collective_permute", "f32", D, ""),
    ("wrong_replica_id", "replica_id", "ui32", D, "wrong value"),
    ("wrong_partition_id", "partition_id", "ui32", D, "wrong value"),
    ("stale_buffer", "all_to_all", "f32", D, ""),
    ("wrong_constant_folding", "add", "f32", D, ""),
    ("flaky", "multiply", "si32", D, NOT_DETERMINISTIC),
    ("batch_only", "add", "f32", D, ONLY_IN_BATCH),
    ("wrong_shape", "add", "f32", D, "wrong type"),
    ("wrong_type", "add", "f32", D, "wrong type"),
    ("reject", "add", "f32", Verdict.REJECTED, "refused as invalid"),
    ("unsupported", "add", "f32", Verdict.UNSUPPORTED, ""),
    ("internal_error", "add", "f32", Verdict.CRASHED, "internal error"),
    ("runtime_error", "add", "f32", Verdict.CRASHED, "internal error"),
    ("python_error", "add", "f32", Verdict.CRASHED, "internal error"),
    ("error_now_and_then", "add", "f32", Verdict.CRASHED, NOT_DETERMINISTIC),
    ("reject_now_and_then", "add", "f32", Verdict.REJECTED, NOT_DETERMINISTIC),
]
"""Fault, op, element type, and the verdict and class of some record; "" accepts any class."""


MOST, AT_A_TIME = 40, 8
"""Largest number of cases until the fault is detected, in total and per batch."""


def records(fault: str, op: str, of: str, start: int, stop: int) -> tuple[Record, ...]:
    cell = Cell(op, element_type(of), f"reference:{fault}")
    return run_task(Task(cell, 1, start, stop)).records


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "op", "of", "verdict", "kind"), CAUGHT)
def test_a_fault_is_caught_with_its_verdict_and_class(
    fault: str, op: str, of: str, verdict: Verdict, kind: str
) -> None:
    said: set[tuple[str, str]] = set()
    for start in range(0, MOST, AT_A_TIME):
        for found in records(fault, op, of, start, start + AT_A_TIME):
            if found.verdict is verdict and kind in ("", found.kind):
                return
            said.add((str(found.verdict), found.kind))
    pytest.fail(f"no case is {verdict} ({kind or 'any class'}): {said}")


@pytest.mark.slow
@pytest.mark.parametrize("fault", [name for name, fault in FAULTS.items() if fault.harmless])
@pytest.mark.parametrize("op", list(CATALOG))
def test_permitted_deviation_never_fails(fault: str, op: str) -> None:
    for of in CATALOG[op].element_types[:: 3 if fault == "right" else 5]:
        made = records(fault, op, of.name, 0, 3)
        failing = [r for r in made if r.verdict.fails]
        assert not failing, failing[0].message
        unsupported = all(r.verdict is Verdict.UNSUPPORTED for r in made)
        assert unsupported == (op in HOST), made[0].message


def test_a_fault_may_be_confined_to_one_op() -> None:
    program = parse_module("""
func.func @main(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %y = stablehlo.negate %x : tensor<2xf32>
  %z = stablehlo.multiply %x, %x : tensor<2xf32>
  return %y, %z : tensor<2xf32>, tensor<2xf32>
}""")
    given = np.array([2.0, -3.0], np.float32)
    right = execute("reference", program, given)
    confined = execute("reference:sign_lost@negate", program, given)
    assert [one.tolist() for one in right] == [[-2.0, 3.0], [4.0, 9.0]]
    assert [one.tolist() for one in confined] == [[2.0, 3.0], [4.0, 9.0]]
    other = execute("reference:off_by_100_ulp@multiply", program, given)
    assert other[0].tolist() == right[0].tolist()
    assert other[1].tolist() != right[1].tolist()


def test_several_faults_of_operations_are_one_backend() -> None:
    program = op_program("negate", [tensor_of(2)], tensor_of(2))
    session = Session(ReferenceBackend("reference:sign_lost@negate+nan_dropped@negate"))
    (results,) = next(session.run(program, [(array([3, np.nan], "f32"),)]))
    assert results.tolist() == [3.0, 0.0]
    with pytest.raises(KeyError, match="'flaky' cannot be combined"):
        fault_of("sign_lost@negate+flaky")
    with pytest.raises(KeyError, match="unknown fault 'x'"):
        fault_of("sign_lost@negate+x")
