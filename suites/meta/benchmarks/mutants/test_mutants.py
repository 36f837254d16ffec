"""The mutation test of benchmarks/: its changes of source, the fate of known mutants, scores."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.mutants import trials
from benchmarks.mutants.__main__ import main, select_ops
from benchmarks.mutants.measuring import (
    OTHERS,
    Cases,
    Fate,
    MeasuredMutant,
    OpResult,
    Part,
    Settings,
    sample_mutants,
    verdict_on,
)
from benchmarks.mutants.reach import own_records
from benchmarks.mutants.report import table
from benchmarks.mutants.swapping import LoadedFunctions, Mutant, run_with_codes, sources
from benchmarks.mutants.trials import trials_of
from benchmarks.mutants.workers import _add_other_ops, _foreign_mutants
from reference.ops import data_movement

INFERRED = "return (*operand.shape[:1], fft_length[-1]) if fft_type == 'IRFFT' else operand.shape"
"""A line of the type inference of fft, whose result every case states."""


MOVEMENT, CONTROL = "reference/ops/data_movement.py", "reference/ops/control_flow.py"
INSTRUCTIONS = "reference/ops/mhlo.py"


def mutant(file: str, after: str) -> Mutant:
    """Return the only mutant of a file that replaces a statement by the given text."""
    (source,) = (source for source in sources() if source.name == file)
    numbers = [n for n, change in enumerate(source.changes) if change.shown()[1] == after]
    (number,) = numbers
    return Mutant(source, number)


def fate(op: str, file: str, after: str, profile: str = "smoke") -> tuple[Fate, tuple[str, ...]]:
    """Return the result of a mutant on the profile's cases of f32 and the near misses."""
    cases = Cases(
        op, {profile: trials_of(op, ["f32", "invalid"], profile, 0, 100)}, [], LoadedFunctions.now()
    )
    one = verdict_on(cases, Part.EVALUATION, mutant(file, after))
    return one.fate, one.caught


def test_an_instruction_that_only_an_op_of_xlabuilder_uses_belongs_to_that_op() -> None:
    reached = trials_of("TopK", ["f32"], "smoke", 0, 1)[0].evaluated
    assert INSTRUCTIONS in {file for file, _ in reached.own}
    assert [record.name for record in own_records("TopK")] == ["TopK", "mhlo.topk"]
    assert [record.name for record in own_records("Rev")] == ["Rev"]


def test_a_mutant_that_ends_in_an_error_does_not_count() -> None:
    after = "for index, size, of in zip(sizes, start_indices, shape, strict=True):"
    assert fate("dynamic_slice", MOVEMENT, after) == (Fate.BROKEN, ("smoke",))


def test_a_mutant_that_changes_no_result_is_equal_to_the_reference() -> None:
    assert fate("fft", "reference/ops/fft.py", INFERRED) == (Fate.EQUAL, ())


def test_a_mutant_that_loops_for_ever_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "SECONDS", 0.2)
    cases = Cases(
        "while", {"smoke": trials_of("while", ["f32"], "smoke", 0, 100)}, [], LoadedFunctions.now()
    )
    one = verdict_on(cases, Part.EVALUATION, mutant(CONTROL, "while True:"))
    assert (one.caught, one.why) == (("smoke",), "no end in sight")


def test_the_reference_is_itself_again_afterwards() -> None:
    operand, sizes = np.arange(6.0), {"slice_sizes": (2,)}
    start = (np.array(1, np.int32),)
    right = data_movement.dynamic_slice(operand, start, **sizes)
    other = LoadedFunctions.now().codes(
        mutant(MOVEMENT, "found.append(slice(start, start - size))")
    )
    with run_with_codes(other):
        assert data_movement.dynamic_slice(operand, start, **sizes).size == 4
    assert np.array_equal(data_movement.dynamic_slice(operand, start, **sizes), right)


def test_ops_are_chosen_by_name_and_family() -> None:
    assert select_ops(["*dynamic*"], ["data *"]) == ["dynamic_slice", "dynamic_update_slice"]
    with pytest.raises(SystemExit, match="no op or family matches 'no such op'"):
        main(["--op", "no such op"])


PROFILES = ("smoke", "standard")


def measured_mutant(
    op: str = "add",
    fate: Fate = Fate.WRONG,
    caught: tuple[str, ...] = (),
    part: Part = Part.EVALUATION,
) -> MeasuredMutant:
    return MeasuredMutant(
        op, part, "file#1", "file:1", "kind", "told", fate, caught, "why", "shown"
    )


FOUND = [
    measured_mutant(caught=("smoke", "standard")),
    measured_mutant(caught=("standard",)),
    measured_mutant(caught=(OTHERS,)),
    measured_mutant(),
    measured_mutant(fate=Fate.PERMITTED),
    measured_mutant("fft", caught=("standard",)),
]


def row(name: str, text: str) -> list[str]:
    (line,) = [one for one in text.splitlines() if one.split()[0] == name]
    return line.split()[1:]


def test_shares_are_of_wrong_mutants() -> None:
    text = table(FOUND, PROFILES)
    assert row("add", text) == ["5", "1", "4", "1/4", "25", "%", "2/4", "50", "%", "3/4", "75", "%"]
    assert row("all", text)[:3] == ["6", "1", "5"]
    assert row("all", text)[3:5] == ["1/5", "20"]
    assert row("arithmetic", text) == row("add", text)


SETTINGS = Settings(profiles=("smoke",))
OWN, SHARED = "own:1", "shared:1"


def result(op: str, *mutants: object) -> OpResult:
    return OpResult(op, mutants, frozenset({f"{op}:1", SHARED}))  # type: ignore[arg-type]


SURVIVOR = replace(measured_mutant(), function=SHARED, mutant="file#7")


def test_survivors_in_shared_functions_are_tried_by_the_others() -> None:
    detected = replace(SURVIVOR, caught=("smoke",))
    alone = replace(measured_mutant(), function=OWN)
    results = {"add": result("add", SURVIVOR, detected, alone), "abs": result("abs")}
    assert _foreign_mutants(results, SETTINGS) == {"abs": ["file#7"]}


def test_the_sample_depends_on_the_seed_and_is_mostly_of_the_op_s_own_files() -> None:
    mutants = [Mutant(source, n) for source in sources() for n in range(len(source.changes))]
    assert sample_mutants("fft", mutants, 0) == sample_mutants("fft", mutants[::-1], 0)
    assert sample_mutants("fft", mutants, 0) != sample_mutants("fft", mutants, 1)
    own = [one.source.name == "reference/ops/fft.py" for one in sample_mutants("fft", mutants, 0)]
    assert sum(own[:1000]) > 3 * sum(own) / len(own) * 1000


def test_only_survivors_are_noted_as_detected_by_others() -> None:
    mutants = (
        SURVIVOR, replace(SURVIVOR, caught=("smoke",)), replace(SURVIVOR, fate=Fate.PERMITTED),
        replace(SURVIVOR, mutant="file#8"),
    )  # fmt: skip
    found = _add_other_ops(result("add", *mutants), {"file#7"}, SETTINGS).mutants
    assert [one.caught for one in found] == [(OTHERS,), ("smoke",), (), ()]
