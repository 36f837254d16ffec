"""Each way to misbehave is caught, with the right verdict and class; what is allowed is not.

The fake backend evaluates the reference and then spoils it (conformance/backends/fake/faults.py).
Tasks run in this process here; backends that die, hang or take all memory are for test_runner.py.
"""

from __future__ import annotations

import pytest

from conformance.backends.fake.faults import FAULTS
from conformance.campaign.tasks import NOT_DETERMINISTIC, ONLY_IN_BATCH, Task, run_task
from conformance.catalog import CATALOG, Cell
from conformance.verdict import Record, Verdict
from reference.ir.types import element_type
from reference.ops.structure import HOST

D, I, F, U = (  # noqa: E741 - short in a table
    Verdict.DIVERGENT,
    Verdict.INACCURATE,
    Verdict.FLUSHED,
    Verdict.UNSPECIFIED,
)

CAUGHT: list[tuple[str, str, str, Verdict, str]] = [
    ("wrong_zero_sign", "negate", "f32", D, "signed zero"),
    ("wrong_zero_sign", "maximum", "f16", D, "signed zero"),
    ("flush_to_zero", "add", "f32", F, "subnormal result"),
    ("flush_to_zero", "log", "f64", F, "subnormal input"),
    ("flush_to_zero", "sqrt", "bf16", F, "subnormal input"),
    ("denormal_inputs_zero", "compare", "f32", F, "subnormal input"),
    ("denormal_inputs_zero", "multiply", "f64", F, "subnormal input"),
    ("compare_denormals_as_zero", "maximum", "bf16", F, "subnormal comparison"),
    ("compare_denormals_as_zero", "sort", "f32", F, "subnormal comparison"),
    ("compare_denormals_as_zero", "reduce", "f16", F, "subnormal comparison"),
    ("off_by_three_ulp", "exponential", "f32", I, "accuracy"),
    ("off_by_three_ulp", "add", "f64", I, "accuracy"),
    ("off_by_three_ulp", "power", "bf16", I, "accuracy"),
    ("off_by_100_ulp", "tanh", "f32", I, "accuracy"),
    ("low_precision", "multiply", "f32", D, "wrong value"),
    ("nan_dropped", "subtract", "f32", D, "NaN"),
    ("nan_dropped", "log", "f16", D, "NaN"),
    ("infinity_dropped", "exponential", "f32", D, "infinity"),
    ("sign_lost", "multiply", "f32", D, "sign"),
    ("nan_equal", "compare", "f32", D, "wrong value"),
    ("saturating_arithmetic", "add", "si8", D, "saturation"),
    ("saturating_arithmetic", "multiply", "ui32", D, "saturation"),
    ("saturating_conversion", "convert", "f32", D, "infinity"),
    ("saturating_conversion", "convert", "si32", U, "conversion to an integer out of range"),
    ("wrong_tie_rounding", "round_nearest_even", "f32", D, "tie rounding"),
    ("wrong_tie_rounding", "convert", "f64", I, "tie rounding"),
    ("double_rounding", "convert", "f64", I, "double rounding"),
    ("transposed_operands", "subtract", "f32", D, "operands swapped"),
    ("transposed_operands", "divide", "si32", D, "operands swapped"),
    ("transposed_operands", "atan2", "f64", D, "operands swapped"),
    ("integer_truncated_to_32_bits", "multiply", "si64", D, "truncated to 32 bits"),
    ("unsigned_as_signed", "compare", "ui8", D, "wrong value"),
    ("shift_arithmetic", "shift_right_logical", "si16", D, "wrong value"),
    ("floor_division", "divide", "si32", D, "wrong value"),
    ("complex_parts_swapped", "add", "complex<f32>", D, "wrong value"),
    ("one_wrong_element", "add", "f32", D, ""),
    ("one_wrong_element", "iota", "si64", D, ""),
    ("off_by_one_last_element", "add", "si32", D, "wrong value"),
    ("reversed_elements", "negate", "si32", D, "wrong value"),
    ("booleans_inverted", "is_finite", "f32", D, "wrong value"),
    ("wrong_constant_folding", "add", "f32", D, ""),
    ("flaky", "multiply", "si32", D, NOT_DETERMINISTIC),
    ("batch_only", "add", "f32", D, ONLY_IN_BATCH),
    ("wrong_shape", "add", "f32", D, "wrong shape"),
    ("wrong_type", "add", "f32", D, "wrong element type"),
    ("reject", "add", "f32", Verdict.REJECTED, "refused as invalid"),
    ("unsupported", "add", "f32", Verdict.UNSUPPORTED, ""),
    ("internal_error", "add", "f32", Verdict.CRASHED, "internal error"),
    ("runtime_error", "add", "f32", Verdict.CRASHED, "internal error"),
    ("python_error", "add", "f32", Verdict.CRASHED, "internal error"),
]
"""Fault, op, element type, and what some record must say; any class where the label is empty."""


def records(fault: str, op: str, of: str, count: int = 24) -> tuple[Record, ...]:
    cell = Cell(op, element_type(of), f"reference:{fault}")
    return run_task(Task(cell, 1, 0, count)).records


@pytest.mark.parametrize(("fault", "op", "of", "verdict", "kind"), CAUGHT)
def test_a_fault_is_caught_with_its_verdict_and_class(
    fault: str, op: str, of: str, verdict: Verdict, kind: str
) -> None:
    found = [r for r in records(fault, op, of) if r.verdict is not Verdict.PASS]
    said = {(str(r.verdict), r.kind) for r in found}
    assert any(r.verdict is verdict and kind in ("", r.kind) for r in found), said


@pytest.mark.parametrize("fault", [name for name, fault in FAULTS.items() if fault.harmless])
@pytest.mark.parametrize("op", list(CATALOG))
def test_what_the_specification_allows_is_never_accused(fault: str, op: str) -> None:
    for of in CATALOG[op].element_types[:: 3 if fault == "right" else 5]:
        made = records(fault, op, of.name, 3)
        failing = [r for r in made if r.verdict.fails]
        assert not failing, failing[0].message
        unsupported = all(r.verdict is Verdict.UNSUPPORTED for r in made)
        assert unsupported == (op in HOST), made[0].message
