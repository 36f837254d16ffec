"""Unfinished entries, which `--strict` refuses."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from conformance.gate.expectations import Counterexample, Expectation
from conformance.gate.files import ExpectationError
from conformance.gate.strict import check_finished, has_reason
from reference.ops.table import OPS

SHOWN = Counterexample("func.func @main() { return }")
TWIN = next(name for name, record in OPS.items() if record.twin)


def entry(name: str, reason: str = "known since 2020", **given) -> Expectation:
    return Expectation(name, ("add",), reason, **{"counterexample": SHOWN, **given})


def check(entries: Sequence[Expectation]) -> None:
    check_finished(entries, {one.id: Path("ours.toml") for one in entries})


@pytest.mark.parametrize(
    ("reason", "written"),
    [("TODO: why", False), ("  todo", False), ("a TODO of XLA", True), ("rounds twice", True)],
)
def test_reason_written_by_a_person(reason: str, written: bool) -> None:
    assert has_reason(entry("a", reason)) is written


def test_finished_entries_are_accepted() -> None:
    check([entry("a"), entry("b", flaky=True, counterexample=None)])
    check([Expectation("c", (TWIN,), "of XlaBuilder alone")])


def test_entry_without_a_reason_is_refused() -> None:
    with pytest.raises(ExpectationError, match=r"reason of entry 'b' \(ours.toml\) is still TODO"):
        check([entry("a"), entry("b", "TODO")])


def test_entry_without_a_counterexample_is_refused() -> None:
    with pytest.raises(ExpectationError, match=r"no counterexample in entry 'b' \(ours.toml\)"):
        check([entry("a"), entry("b", counterexample=None)])


def test_message_names_three_entries_and_counts_the_others() -> None:
    with pytest.raises(ExpectationError, match=r"entries 'a' .*'b' .*'c' \(ours.toml\) and 2 more"):
        check([entry(name, "TODO") for name in "abcde"])
