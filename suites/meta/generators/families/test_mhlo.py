"""TopK and Scan: sizes of k, kinds of outputs, and what an associative scan may be."""

from __future__ import annotations

from typing import Any

import pytest

from generators.families.mhlo import BUILDERS
from suites.meta.support.built_cases import assert_valid, built, sizes, subjects


@pytest.mark.parametrize("kind", ["all", "one", "some", "empty"])
def test_numbers_of_elements(kind: str) -> None:
    cases = built(BUILDERS["mhlo.topk"], "f32", 30, {"k": kind})
    assert_valid(cases)
    for one in subjects(cases):
        k: Any = one.attribute("k")
        width = sizes(one)[-1]
        assert {"all": k == width, "one": k == 1, "some": 1 <= k <= width, "empty": k == 0}[kind]


def test_rows_with_room_for_every_special_value() -> None:
    widths = {sizes(one)[-1] for one in subjects(built(BUILDERS["mhlo.topk"], "f32", 100))}
    assert {1, 129, 1000} <= widths


def test_an_associative_scan_carries_a_value_per_input_and_returns_it() -> None:
    cases = built(BUILDERS["mhlo.scan"], "f32", 60, {"is_associative": "yes"})
    assert_valid(cases)
    for one in subjects(cases):
        inputs, carries = one.attribute("operandSegmentSizes")  # type: ignore[misc]
        assert inputs == carries
        assert {step.name for step in one.regions[0].operations[:-1]} <= {"maximum", "minimum"}
        outputs, _ = one.attribute("resultSegmentSizes")  # type: ignore[misc]
        returned = one.regions[0].operations[-1].operands
        assert set(returned[:outputs]) <= set(returned[outputs:])


def test_other_scans_return_what_was_carried_or_the_element() -> None:
    cases = built(BUILDERS["mhlo.scan"], "si32", 100, {"is_associative": "no"})
    assert_valid(cases)
    returned = {
        value.name.rstrip("0123456789")
        for one in subjects(cases)
        for value in one.regions[0].operations[-1].operands
    }
    assert returned == {"next", "carried", "slice"}
    assert {one.attribute("is_reverse") for one in subjects(cases)} == {True, False}


def test_the_promise_is_left_out_now_and_then() -> None:
    found = subjects(built(BUILDERS["mhlo.scan"], "si32"))
    assert {one.attribute("is_associative") for one in found} == {None, True, False}
