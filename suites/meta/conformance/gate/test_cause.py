"""Entries with a cause match only failures that this rewriting explains."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.gate.expectations import Failure, match_record, matching_entry
from conformance.gate.reading import ExpectationError, read
from conformance.verdict import Failing, Record, Verdict

ENTRIES = """
[[known]]
id = "plain"
op = "divide"
kinds = ["accuracy"]
reason = "Divisions are inaccurate."
[[known]]
id = "by-constant"
cause = { pass = "algsimp", change = "divide(*, C) => multiply(*, C)" }
max_ulp = 2
reason = "A division by a constant is a product with its reciprocal."
[[known]]
id = "folded"
op = "log"
cause = { pass = "*", change = ["log(exponential(*)) => *", "log(C) => C"] }
reason = "The logarithm of an exponential is its argument."
"""
BY_CONSTANT = "algsimp: divide(a, C) => multiply(a, C)"
OF_EXPONENTIAL = "algsimp: log(exponential(a)) => a"


def match(
    tmp_path: Path, *causes: str, op: str = "log", kind: str = "wrong value", ulp: float = 1.0
) -> str:
    path = tmp_path / "known.toml"
    path.write_text(ENTRIES)
    failure = Failure(op, "f32", "cpu", Verdict.DIVERGENT, kind, worst_ulp=ulp, causes=causes)
    return matching_entry(read(path), failure)


def test_cause_matches_by_pass_and_change(tmp_path: Path) -> None:
    assert match(tmp_path, BY_CONSTANT) == "by-constant"
    assert match(tmp_path, OF_EXPONENTIAL) == "folded"
    assert match(tmp_path, "cse: divide(a, C) => multiply(a, C)") == ""
    assert match(tmp_path, "algsimp: divide(a, b) => multiply(a, b)") == ""
    assert match(tmp_path) == ""


def test_every_rewriting_must_be_a_known_cause(tmp_path: Path) -> None:
    assert match(tmp_path, BY_CONSTANT, OF_EXPONENTIAL) == "by-constant"
    assert match(tmp_path, BY_CONSTANT, "cse: sine(a) => a") == ""


def test_an_error_over_the_bound_is_not_excused_by_the_rewriting(tmp_path: Path) -> None:
    assert match(tmp_path, BY_CONSTANT, ulp=3.0) == ""


def test_an_entry_for_another_op_does_not_match(tmp_path: Path) -> None:
    assert match(tmp_path, OF_EXPONENTIAL, op="sine") == ""


def test_a_failure_without_known_cause_is_matched_by_its_class(tmp_path: Path) -> None:
    given = {"op": "divide", "kind": "accuracy"}
    assert match(tmp_path, "cse: sine(a) => a", **given) == "plain"
    assert match(tmp_path, BY_CONSTANT, **given) == "by-constant"


def test_an_element_that_the_rewriting_leaves_is_new_though_others_of_its_class_are_known(
    tmp_path: Path,
) -> None:
    path = tmp_path / "known.toml"
    path.write_text(ENTRIES)
    cell, said = ("log", "f32", "cpu"), (Verdict.DIVERGENT, "NaN", "NaN: 1 of 4 elements")
    explained = Failing(*said, wrong=1, causes=(OF_EXPONENTIAL,))
    record = Record(*cell, 0, "", *said, failing=(explained, Failing(*said, wrong=1)))
    matched = match_record(record, read(path))
    assert [one.known for one in matched.failing] == ["folded", ""]
    assert matched.known == ""


@pytest.mark.parametrize(
    ("cause", "message"),
    [
        ('{ pass = "algsimp" }', "'change' of 'cause' is missing"),
        ('{ pas = "algsimp", change = "a => b" }', "unknown key 'pas'"),
        ('"algsimp"', "'cause' must be a table, not a string"),
    ],
)
def test_a_cause_that_cannot_be_read_is_refused(tmp_path: Path, cause: str, message: str) -> None:
    path = tmp_path / "known.toml"
    path.write_text(f'[[known]]\nid = "x"\ncause = {cause}\nreason = "A reason."\n')
    with pytest.raises(ExpectationError) as caught:
        read(path)
    assert message in str(caught.value)
