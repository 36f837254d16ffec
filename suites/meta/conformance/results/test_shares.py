"""Planned cells by outcome, and the share that conforms."""

from __future__ import annotations

import pytest

from conformance.results.cells import FILTERED, UNTESTED, CellResults
from conformance.results.shares import outcome, shares_of
from conformance.verdict import Verdict


@pytest.mark.parametrize(
    ("state", "new", "known", "wanted"),
    [
        (Verdict.DIVERGENT, 1, 3, "new"),
        (Verdict.DIVERGENT, 0, 3, "known"),
        (Verdict.PASS, 0, 0, "conforms"),
        (Verdict.UNSPECIFIED, 0, 0, "conforms"),
        (Verdict.UNSUPPORTED, 0, 0, "unsupported"),
        (UNTESTED, 0, 0, UNTESTED),
    ],
)
def test_a_new_failure_outweighs_known_failures(
    state: str, new: int, known: int, wanted: str
) -> None:
    assert outcome(state, new, known) == wanted


def test_filtered_cells_are_not_planned_and_percentages_are_rounded_down() -> None:
    states = [Verdict.PASS, Verdict.PASS, UNTESTED, FILTERED]
    cells = [CellResults("add", f"t{number}", "cpu", state) for number, state in enumerate(states)]
    other = CellResults("add", "f32", "gpu", Verdict.UNSUPPORTED)
    gpu, cpu, tpu = shares_of([*cells, other], backends=("gpu",)) + shares_of([], ("tpu",))
    assert (gpu.backend, gpu.planned, gpu.unsupported, gpu.conforms_percent) == ("gpu", 1, 1, 0.0)
    assert (cpu.planned, cpu.conforms, cpu.untested, cpu.conforms_percent) == (3, 2, 1, 66.6)
    assert (tpu.planned, tpu.conforms_percent) == (0, None)
