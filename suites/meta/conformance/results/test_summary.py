"""Figures and lines of a run: cells by status, shares, known elements, lost batches."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.backends.base import NOT_READ_BACK, Description
from conformance.backends.compiled.backend import NO_DEVICE_CODE
from conformance.catalog import CATALOG
from conformance.results.cells import FILTERED, UNTESTED, CellResults
from conformance.results.known_elements import KnownElements, known_elements
from conformance.results.left_out import LeftOut
from conformance.results.lines import MOST_NEW, lines_of
from conformance.results.lost_batches import unexplained_batches
from conformance.results.read_back import read_back_of
from conformance.results.remarks import remarks_on
from conformance.results.report import (
    backend_of,
    batch_of,
    denominators,
    left_out_of,
)
from conformance.results.shares import shares_of
from conformance.results.standings import CellStatus, conclusion, standings
from conformance.results.summary import RunData
from conformance.results.versions import digest_of
from conformance.verdict import Detail, Failing, LostBatch, Record, Verdict
from suites.meta.support import synthetic_run as synthetic


def record(index: int = 0, verdict: Verdict = Verdict.PASS, **given) -> Record:
    return Record("add", "f32", "cpu", index, "0", verdict, **given)


def cell(op: str, state: str, *records: Record) -> CellResults:
    return CellResults(op, "f32", "cpu", state, records)


def test_ops_and_cells_are_counted_by_state() -> None:
    found = denominators(
        [
            cell("add", Verdict.PASS.value, record()),
            cell("add", UNTESTED),
            cell("tanh", FILTERED),
            cell("sqrt", Verdict.UNSUPPORTED.value, record(0, Verdict.UNSUPPORTED)),
        ]
    )
    assert (found.ops, found.cells, found.cells_planned) == (3, 4, 3)
    assert (found.cells_untested, found.cells_unsupported, found.cells_filtered_out) == (1, 1, 1)
    assert (found.ops_tested, found.cells_tested) == (1, 1)


def test_batches_backends_and_cases_that_were_left_out() -> None:
    batch = LostBatch("cpu", (("add", "f32", 0), ("add", "bf16", 1)), Verdict.CRASHED, "", "a\nb")
    found = batch_of(batch)
    assert (found.cases, found.message, found.cells) == (2, "a b", batch.name)
    assert left_out_of(LeftOut("add", "f32", "cpu", ((0, 3), (5, 6)))).cases == 4
    described = Description("cpu", "cpu", "x86", (("jaxlib", "0.10"),))
    assert backend_of(described).versions == {"jaxlib": "0.10"}


NAMES = ("cpu", "gpu", "plugin:x")


def run_of_add(*outcomes: tuple[Verdict, str]):
    """Make a run of one case of `add` for each outcome, on one backend after the other."""
    generator = random.Random(1)
    records: list[Record] = []
    cells = [("add", "f32", name) for name in NAMES[: len(outcomes)]]
    for cell, (verdict, known) in zip(cells, outcomes, strict=True):
        passing = synthetic.passes(cell, 0, CATALOG["add"], generator)
        records.append(
            synthetic.failure(cell, 0, verdict, known=known)
            if verdict.fails
            else replace(passing, verdict=verdict)
        )
    return synthetic.run_of(records, {}, cells, backends=NAMES[: len(outcomes)])


PASSING, NEW = (Verdict.PASS, ""), (Verdict.DIVERGENT, "")
KNOWN, REFUSED = (Verdict.DIVERGENT, "f8-rounding"), (Verdict.UNSUPPORTED, "")


@pytest.mark.parametrize(
    ("outcomes", "said"),
    [
        ([PASSING], "The cpu backend conforms in the 1 cell tested."),
        ([NEW], "The cpu backend does not conform: 1 case fails, new, in 1 of 1 cells tested."),
        ([KNOWN], "The cpu backend does not conform: 1 case fails, known, in 1 of 1 cells tested."),
        ([REFUSED], "Nothing was tested, so this says nothing about conformance."),
        ([PASSING, PASSING], "All 2 backends conform in every cell tested."),
        ([PASSING, NEW], "gpu does not conform: 1 case fails, new. The other backend conforms."),
        (
            [PASSING, PASSING, KNOWN],
            "plugin:x does not conform: 1 case fails, known. The other 2 conform.",
        ),
        (
            [PASSING, NEW, KNOWN],
            "1 of 3 backends conforms. gpu has most new failures: 1 case fails, new.",
        ),
        (
            [NEW, KNOWN],
            "None of 2 backends conforms. cpu has most new failures: 1 case fails, new.",
        ),
        (
            [PASSING, REFUSED],
            (
                "1 of 2 backends was tested and shows no divergence; "
                "no planned cell is supported by the rest."
            ),
        ),
    ],
)
def test_conclusion_blames_only_backends_that_fail(outcomes, said):
    assert conclusion(standings(run_of_add(*outcomes))) == said


@pytest.mark.slow
def test_cells_add_up_on_every_backend():
    run = synthetic.run("full")
    (one,) = standings(run)
    assert one.planned == len(run.planned)
    assert one.cells[CellStatus.NEW] == sum(cell.new > 0 for cell in run.cells.values())
    assert one.failing == sum(record.verdict.fails for record in run.records)
    assert one.tested == run.summary["denominators"]["cells_tested"]


def test_the_console_has_a_line_for_each_backend():
    lines = lines_of(run_of_add(PASSING, NEW), "")
    assert "cpu conforms in the 1 cell tested. 1 of 1 cells conform (100 %)" in lines
    failing = "gpu does not conform: 1 case fails, new, in 1 of 1 cells tested."
    assert f"{failing} 0 of 1 cells conform (0 %); 1 with new divergences" in lines


def test_filtered_cells_are_not_planned_and_percentages_are_rounded_down() -> None:
    states = [Verdict.PASS, Verdict.PASS, UNTESTED, FILTERED]
    cells = [CellResults("add", f"t{index}", "cpu", state) for index, state in enumerate(states)]
    other = CellResults("add", "f32", "gpu", Verdict.UNSUPPORTED)
    gpu, cpu, tpu = shares_of([*cells, other], backends=("gpu",)) + shares_of([], ("tpu",))
    assert (gpu.backend, gpu.planned, gpu.unsupported, gpu.conforms_percent) == ("gpu", 1, 1, 0.0)
    assert (cpu.planned, cpu.conforms, cpu.untested, cpu.conforms_percent) == (3, 2, 1, 66.6)
    assert (tpu.planned, tpu.conforms_percent) == (0, None)


def failing_class(known: str, wrong: int, predicted: int) -> Failing:
    return Failing(Verdict.DIVERGENT, "k", "m", wrong, known=known, predicted=predicted)


def record_of_classes(known: str, *of: Failing, wrong: int = 0) -> Record:
    detail = Detail("", b"", wrong, 100)
    return Record(
        "add", "f32", "cpu", 0, "", Verdict.DIVERGENT, known=known, detail=detail, failing=of
    )


CLASSES = [
    record_of_classes(
        "a", failing_class("a", 4, 3), failing_class("b", 2, 2), failing_class("", 50, 0)
    ),
    record_of_classes("a", wrong=3),
    record_of_classes("", failing_class("", 7, 0)),
    record_of_classes("", wrong=9),
    record_of_classes("z", failing_class("z", 5, 0)),
]


def test_elements_of_all_entries_and_of_one() -> None:
    assert known_elements(CLASSES) == KnownElements(9, 5)
    assert known_elements(CLASSES, "a") == KnownElements(7, 3)
    assert known_elements(CLASSES, "b") == KnownElements(2, 2)
    assert known_elements(CLASSES, "c") == KnownElements()
    assert known_elements(CLASSES, "z") == KnownElements(5, 0)


SHORT = "2 results expected, got 1"


def lost(*indices: int, backend: str = "cpu") -> LostBatch:
    cases = tuple(("add", "f32", index) for index in indices)
    return LostBatch(backend, cases, Verdict.CRASHED, "", "terminated")


def record_on(index: int, verdict: Verdict, kind: str = "", backend: str = "cpu") -> Record:
    return Record("add", "f32", backend, index, "0", verdict, kind)


@pytest.mark.parametrize(
    ("one", "explains"),
    [
        (record_on(2, Verdict.CRASHED), True),
        (record_on(2, Verdict.TIMED_OUT), True),
        (replace(record_on(2, Verdict.DIVERGENT, "wrong type"), message=SHORT), True),
        (record_on(2, Verdict.DIVERGENT, "wrong type"), False),
        (record_on(2, Verdict.DIVERGENT, "NaN"), False),
        (record_on(2, Verdict.PASS), False),
        (record_on(7, Verdict.CRASHED), False),
        (record_on(2, Verdict.CRASHED, backend="gpu"), False),
    ],
)
def test_a_case_without_results_in_isolation_explains_its_batch(
    one: Record, explains: bool
) -> None:
    batch = lost(1, 2, 3)
    assert unexplained_batches([batch], [one]) == (() if explains else (batch,))


RUN = synthetic.run("passing")


def test_lost_batches_of_an_entry_are_one_line() -> None:
    batches = tuple(
        LostBatch(
            "cpu", (("add", "f32", number),), Verdict.CRASHED, "abnormal exit", "m", known="entry"
        )
        for number in range(3)
    )
    lines = [one for one in lines_of(replace(RUN, lost_batches=batches), "") if "entry" in one]
    assert len(lines) == 1
    assert lines[0].endswith("m, and 2 more lost batches")


NAME = "gpu-compile:H100"


def compiled_record(
    op: str, element_type: str, verdict: Verdict, kind: str = "", message: str = ""
):
    return Record(op, element_type, NAME, 0, "d", verdict, kind, message)


COMPILED = [
    compiled_record("add", "f32", Verdict.PASS),
    compiled_record("sort", "f32", Verdict.NOT_JUDGED, NOT_READ_BACK, "custom-call $x: not known"),
    compiled_record("fft", "f32", Verdict.UNSUPPORTED, "", "UNIMPLEMENTED"),
    compiled_record("rng", "f32", Verdict.CRASHED, "abnormal exit"),
    compiled_record("add", "invalid", Verdict.ACCEPTED, "C1"),
]


def test_compiled_cells_have_values_or_name_the_unreadable_construct() -> None:
    planned = tuple((one.op, one.element_type, one.backend) for one in COMPILED)
    described = (Description(NAME, "cuda", "H100", ()), Description("cpu", "cpu", "cpu", ()))
    run = RunData(COMPILED, {}, 0, "smoke", {}, planned=planned, backends=described)
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


def test_a_digest_of_sources_depends_on_paths_and_contents(tmp_path: Path) -> None:
    def of(name: str, files: dict[str, str]) -> str:
        folder = tmp_path / name / "reference"
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        return digest_of([folder])

    first = of("first", {"ops.py": "1", "ir/types.py": "2"})
    assert of("other place", {"ops.py": "1", "ir/types.py": "2", "notes.txt": "3"}) == first
    others = {
        of("content", {"ops.py": "1", "ir/types.py": "3"}),
        of("path", {"ops.py": "1", "ir/values.py": "2"}),
        of("fewer", {"ops.py": "1"}),
        of("swapped", {"ops.py": "2", "ir/types.py": "1"}),
    }
    assert len(others) == 4
    assert first not in others


def test_new_divergences_come_before_incidents_on_one_line() -> None:
    (first, *_) = RUN.records
    new = replace(
        first, verdict=Verdict.CRASHED, kind="abnormal exit", message="F0000\n  in a pass\n"
    )
    incidents = tuple(f"incident {number}\nfurther" for number in range(MOST_NEW + 5))
    run = replace(RUN, records=[new, *RUN.records[1:]], incidents=incidents)
    lines = lines_of(run, "replay {}")
    assert not [line for line in lines if "\n" in line]
    told = [line.partition(":")[0] for line in lines]
    assert told.index("new") < told.index("incident")
    assert told.count("incident") == MOST_NEW + 1
    assert f"new: {new.id}: crashed: F0000 in a pass" in lines
    assert "incident: 5 more in the report" in lines
