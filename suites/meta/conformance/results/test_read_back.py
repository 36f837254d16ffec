"""The share of cells that have values, on backends that only compile."""

from __future__ import annotations

from conformance.backends.base import NOT_READ_BACK, Description
from conformance.backends.compiled.backend import NO_DEVICE_CODE
from conformance.results.read_back import read_back_of
from conformance.results.remarks import remarks_on
from conformance.results.summary import RunData
from conformance.verdict import Record, Verdict

NAME = "gpu-compile:H100"


def record(op: str, element_type: str, verdict: Verdict, kind: str = "", message: str = ""):
    return Record(op, element_type, NAME, 0, "d", verdict, kind, message)


RECORDS = [
    record("add", "f32", Verdict.PASS),
    record("sort", "f32", Verdict.NOT_JUDGED, NOT_READ_BACK, "custom-call $x: not known"),
    record("fft", "f32", Verdict.UNSUPPORTED, "", "UNIMPLEMENTED"),
    record("rng", "f32", Verdict.CRASHED, "abnormal exit"),
    record("add", "invalid", Verdict.ACCEPTED, "C1"),
]


def test_compiled_cells_have_values_or_name_the_unreadable_construct() -> None:
    planned = tuple((one.op, one.element_type, one.backend) for one in RECORDS)
    described = (Description(NAME, "cuda", "H100", ()), Description("cpu", "cpu", "cpu", ()))
    run = RunData(RECORDS, {}, 0, "smoke", {}, planned=planned, backends=described)
    (found,) = read_back_of(run)
    assert found.line == (
        f"{NAME}: 1 of 2 cells that compile could be evaluated (50.0 %); "
        "programs not read back: custom-call $x (1)"
    )


def test_reports_state_that_no_device_code_was_run() -> None:
    versions = (("jax", "0.12"), ("judged", NO_DEVICE_CODE))
    described = (Description(NAME, "cuda", "H100", versions), Description("cpu", "cpu", "cpu", ()))
    run = RunData([], {}, 0, "smoke", {}, backends=described)
    assert remarks_on(run, NAME).line == NO_DEVICE_CODE
    assert not remarks_on(run, "cpu").line
