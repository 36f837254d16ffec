"""A counterexample is replayed: it reproduces if its expectation matches what happens."""

from __future__ import annotations

from typing import Any, NoReturn

import pytest
from msgspec import structs

from conformance.backends.base import BackendError, Failed, Rejected
from conformance.backends.session import Session
from conformance.checking.counterexample import match_crash, replay, replay_batch
from conformance.checking.settings import ReplayedCounterexample
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
UNKNOWN_IDS = """
module attributes {mhlo.num_replicas = 2 : i32} {
  func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    %0 = "stablehlo.collective_broadcast"(%x)
      {replica_groups = dense<[[0, 4096]]> : tensor<1x2xi64>} : (tensor<2xf32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }
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


@pytest.mark.slow
def test_invalid_program_for_more_devices_is_not_fixed() -> None:
    of_too_many = Counterexample(UNKNOWN_IDS.replace("= 2", "= 4096"), ("1.0",) * 4096)
    found = replay(entry(counterexample=of_too_many, verdicts=("accepted",), kinds=("C2",)), "cpu")
    assert (found.verdict, found.state) == (Verdict.UNSUPPORTED, found.OTHERWISE)
    assert "needs 4096 devices" in found.message


@pytest.mark.parametrize(
    ("error", "state"),
    [
        (Failed("INTERNAL: RET_CHECK failure"), ReplayedCounterexample.SHOWN),
        (Failed("INTERNAL: another check"), ReplayedCounterexample.OTHERWISE),
        (Rejected("dimension 5 is out of bounds"), ReplayedCounterexample.FIXED),
    ],
)
def test_invalid_program_may_crash_the_compiler(
    error: BackendError, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> NoReturn:
        raise error

    monkeypatch.setattr(Session, "compile_cached", refuse)
    invalid = Counterexample(UNKNOWN_IDS, ("1.0", "2.0"))
    given = {"verdicts": ("crashed",), "words": ("RET_CHECK failure",)}
    assert replay(entry(counterexample=invalid, **given), "cpu").state == state


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
