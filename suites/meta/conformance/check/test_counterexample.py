"""A counterexample is replayed: it reproduces if its expectation matches what happens."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from conformance.check.counterexample import match_crash, replay, replay_batch
from conformance.errors import UsageError
from conformance.gate.expectations import Counterexample, Expectation
from conformance.verdict import Verdict

PROGRAM = """
func.func @main(%x: tensor<2xi32>) -> tensor<2xi32> {
  %0 = stablehlo.divide %x, %x : tensor<2xi32>
  return %0 : tensor<2xi32>
}"""
SUM = PROGRAM.replace("divide", "add")
INVALID = """
func.func @main(%x: tensor<2xi32>) -> tensor<2xi32> {
  %0 = stablehlo.reverse %x, dims = [5] : tensor<2xi32>
  return %0 : tensor<2xi32>
}"""
RIGHT = "reference"
ENTRY = Expectation("mine", ("add",), "why", counterexample=Counterexample(SUM, ("[3, 4]",)))


def entry(**given: Any) -> Expectation:
    return structs.replace(ENTRY, **given)


def test_a_right_result_is_fixed() -> None:
    found = replay(ENTRY, RIGHT)
    assert (found.verdict, found.reproduces, found.state) == (Verdict.PASS, False, found.FIXED)


def test_batches_are_replayed_in_order() -> None:
    found = replay_batch([ENTRY, entry(id="other")], RIGHT)
    assert [one.id for one in found] == ["mine", "other"]


@pytest.mark.parametrize(
    "given", [Counterexample("no program"), Counterexample(SUM, ()), Counterexample(SUM, ("x",))]
)
def test_unreadable_counterexample_is_an_error_with_the_id(given: Counterexample) -> None:
    with pytest.raises(UsageError, match="the counterexample of expectation 'mine': "):
        replay(entry(counterexample=given), RIGHT)


def test_invalid_program_reproduces_an_entry_about_refusals_only() -> None:
    broken = Counterexample(INVALID)
    refused = entry(counterexample=broken, verdicts=("rejected",), words=("dimension",))
    found = replay(refused, RIGHT)
    assert (found.verdict, found.reproduces) == (Verdict.REJECTED, True), found.message
    with pytest.raises(UsageError, match="expectation 'mine'"):
        replay(entry(counterexample=broken), RIGHT)


@pytest.mark.parametrize(
    ("given", "matched"),
    [
        ({"verdicts": ("crashed",), "where": ("stablehlo.add",)}, True),
        ({"verdicts": ("crashed",), "where": ("stablehlo.sine",)}, False),
        ({"verdicts": ("crashed",), "op": ("divide",), "where": ("stablehlo.add",)}, False),
        ({"verdicts": ("timed_out",)}, False),
        ({"verdicts": ("crashed",), "words": ("SIGSEGV",)}, True),
        ({"verdicts": ("crashed",), "words": ("SIGABRT",)}, False),
    ],
)
def test_crash_is_matched_with_the_operations_of_the_program(
    given: dict[str, Any], matched: bool
) -> None:
    message = "" if "where" in given else "the process was killed by SIGSEGV"
    (found,) = match_crash(entry(**given), RIGHT, Verdict.CRASHED, "", message)
    assert (found.reproduces, found.verdict, found.id) == (matched, Verdict.CRASHED, "mine")
