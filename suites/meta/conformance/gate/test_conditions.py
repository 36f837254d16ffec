"""The first condition of an entry that a failure does not satisfy is reported."""

from __future__ import annotations

import pytest
from msgspec import structs

from conformance.backends.base import Description
from conformance.gate.conditions import Circumstances, first_unmet_condition, is_about
from conformance.gate.expectations import Expectation, Versions
from conformance.verdict import Detail, Record, Verdict

UNDER = Circumstances("0.10.2", Description("plugin:mine", "mine", "d", (("runtime", "mine 2.1"),)))
ENTRY = Expectation(
    "e", ("log*",), "r", ("f32",), ("inaccurate",), ("accuracy",), max_ulp=8,
    backends=("plugin:*",),
)  # fmt: skip
RECORD = Record(
    "log", "f32", "plugin:mine", 0, "", Verdict.INACCURATE, "accuracy", "4 ulp", worst_ulp=4.0
)
CRASH = Record(
    "log", "f32", "plugin:mine", 0, "", Verdict.CRASHED, "abnormal exit",
    "the process ended with SIGABRT: Check failed: rank",
    detail=Detail('%0 = "stablehlo.log"(%x) : (tensor<f32>) -> tensor<f32>', b"", 0, 0),
)  # fmt: skip
CRASHED = structs.replace(
    ENTRY, verdicts=("crashed",), kinds=("abnormal exit",), words=("rank",), max_ulp=float("inf")
)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, ""),
        ({"backends": ("cpu",)}, "it applies to the backends 'cpu', not to plugin:mine"),
        ({"versions": "<0.10"}, "it applies to jaxlib <0.10, not to 0.10.2"),
        ({"versions": Versions(plugin="<2")}, "it applies to plugin <2; the backend has 2.1"),
        ({"versions": Versions(plugin=">=2")}, ""),
        ({"isa": ">=AVX2"}, "XLA's CPU compiler targets >=AVX2, which it does not"),
        (
            {"verdicts": ("divergent", "flushed")},
            "it matches 'divergent', 'flushed', not inaccurate",
        ),
        ({"kinds": ("sign*",)}, "it matches the class 'sign*', not 'accuracy'"),
        ({"kinds": ("as computed by e",), "computes": "x"}, "its 'computes' does not predict"),
        ({"words": ("5 ulp",)}, "it requires the words '5 ulp'; the message is '4 ulp'"),
        ({"max_ulp": 2.0}, "it matches errors up to 2 ulp, not 4"),
        ({"verdicts": ("flushed",), "max_ulp": 2.0}, "it matches 'flushed'"),  # the first
    ],
)
def test_the_first_unmet_condition_is_reported(changes: dict[str, object], said: str) -> None:
    entry = structs.replace(ENTRY, **changes)
    assert is_about(entry, RECORD)
    told = first_unmet_condition(entry, RECORD, UNDER)
    assert said in told
    assert bool(told) == bool(said)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, ""),
        ({"words": ("size",)}, "the words 'size'; the message is 'Check failed: rank'"),
        ({"where": ('"stablehlo.log"',)}, ""),
        ({"where": ("reduce",)}, "it requires an operation that contains 'reduce'"),
    ],
)
def test_words_and_operations_of_a_crash_are_conditions(
    changes: dict[str, object], said: str
) -> None:
    entry = structs.replace(CRASHED, **changes)
    assert said in first_unmet_condition(entry, CRASH, UNDER)
    assert entry.matches(CRASH) == (not said)


def test_an_entry_of_another_op_or_type_is_not_about_a_failure() -> None:
    assert not is_about(structs.replace(ENTRY, op=("sine",)), RECORD)
    assert not is_about(structs.replace(ENTRY, element_types=("bf16",)), RECORD)
    assert is_about(structs.replace(ENTRY, backends=("cpu",)), RECORD)
