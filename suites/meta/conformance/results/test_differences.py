"""Cases on which backends differ, and the backend that differs from all others."""

from __future__ import annotations

import random
from dataclasses import replace

from conformance.catalog import CATALOG
from conformance.results.differences import differences
from conformance.verdict import Record, Verdict
from suites.meta.support import synthetic_run as synthetic

NAMES = ("cpu", "gpu", "plugin:x", "tpu")


def passing_record(backend: str, index: int) -> Record:
    return synthetic.passes(("add", "f32", backend), index, CATALOG["add"], random.Random(1))


def failing_record(backend: str, index: int, **changes) -> Record:
    return synthetic.failure(("add", "f32", backend), index, Verdict.DIVERGENT, **changes)


def compare_records(*records: Record):
    cells = list(dict.fromkeys((r.op, r.element_type, r.backend) for r in records))
    return differences(synthetic.run_of(list(records), {}, cells, backends=NAMES))


def test_a_backend_that_differs_from_all_others_is_named():
    found = compare_records(
        passing_record("cpu", 0), failing_record("gpu", 0), passing_record("plugin:x", 0)
    )
    assert (found.compared, found.lone_backends) == (1, {"gpu": 1})
    (case,) = found.cases
    assert (case.lone_backend, case.fails, case.is_of_support) == ("gpu", True, False)
    assert [answer.verdict for answer in case.answers.values()] == [
        Verdict.PASS, Verdict.DIVERGENT, Verdict.PASS,
    ]  # fmt: skip


def test_no_backend_is_named_among_two_or_if_two_pairs_differ():
    (two,) = compare_records(passing_record("cpu", 0), failing_record("gpu", 0)).cases
    (pairs,) = compare_records(
        passing_record("cpu", 0),
        passing_record("gpu", 0),
        failing_record("plugin:x", 0),
        failing_record("tpu", 0),
    ).cases
    assert (two.lone_backend, pairs.lone_backend) == ("", "")


def test_backends_that_agree_are_left_out():
    found = compare_records(
        *(failing_record(name, 0) for name in NAMES), *(passing_record(name, 1) for name in NAMES)
    )
    assert (found.compared, found.cases) == (2, ())


def test_the_same_verdict_with_another_value_differs():
    one = failing_record("cpu", 0)
    element = replace(one.detail.elements[0], actual="7.0", actual_hex="0x40e00000")
    other = replace(failing_record("gpu", 0), detail=replace(one.detail, elements=(element,)))
    (case,) = compare_records(one, other, replace(one, backend="tpu")).cases
    assert case.lone_backend == "gpu"
    assert case.answers["gpu"].given == "7.0"


def test_cases_of_another_program_are_not_compared():
    found = compare_records(
        passing_record("cpu", 0), replace(failing_record("gpu", 0), digest="another")
    )
    assert (found.compared, found.cases) == (0, ())


def test_differences_are_sorted_by_frequency_with_unsupported_last():
    unsupported = replace(passing_record("cpu", 5), verdict=Verdict.UNSUPPORTED)
    found = compare_records(
        failing_record("cpu", 0), passing_record("gpu", 0), passing_record("tpu", 0),
        *(record for index in (1, 2) for record in
          (passing_record("cpu", index), failing_record("gpu", index),
           passing_record("tpu", index))),
        unsupported, passing_record("gpu", 5), passing_record("tpu", 5),
        passing_record("cpu", 6), failing_record("gpu", 6),
    )  # fmt: skip
    assert [(case.lone_backend, case.index) for case in found.cases] == [
        ("gpu", 1), ("gpu", 2), ("cpu", 0), ("", 6), ("cpu", 5),
    ]  # fmt: skip
    assert found.lone_backends == {"gpu": 2, "cpu": 1}
    assert found.cases[-1].is_of_support
