"""Cases on which backends differ, and the backend that differs from all others."""

from __future__ import annotations

import random
from dataclasses import replace

from conformance.catalog import CATALOG
from conformance.results.differences import differences
from conformance.verdict import Record, Verdict
from suites.meta.support import synthetic_run as synthetic

NAMES = ("cpu", "gpu", "plugin:x", "tpu")


def passing(backend: str, index: int) -> Record:
    return synthetic.passes(("add", "f32", backend), index, CATALOG["add"], random.Random(1))


def failing(backend: str, index: int, **changes) -> Record:
    return synthetic.failure(("add", "f32", backend), index, Verdict.DIVERGENT, **changes)


def compared(*records: Record):
    cells = list(dict.fromkeys((r.op, r.element_type, r.backend) for r in records))
    return differences(synthetic.run_of(list(records), {}, cells, backends=NAMES))


def test_a_backend_that_differs_from_all_others_is_named():
    found = compared(passing("cpu", 0), failing("gpu", 0), passing("plugin:x", 0))
    assert (found.compared, found.alone) == (1, {"gpu": 1})
    (case,) = found.cases
    assert (case.alone, case.fails, case.is_of_support) == ("gpu", True, False)
    assert [answer.verdict for answer in case.answers.values()] == [
        Verdict.PASS, Verdict.DIVERGENT, Verdict.PASS,
    ]  # fmt: skip


def test_no_backend_is_named_among_two_or_if_two_pairs_differ():
    (two,) = compared(passing("cpu", 0), failing("gpu", 0)).cases
    (pairs,) = compared(
        passing("cpu", 0), passing("gpu", 0), failing("plugin:x", 0), failing("tpu", 0)
    ).cases
    assert (two.alone, pairs.alone) == ("", "")


def test_backends_that_agree_are_left_out():
    found = compared(*(failing(name, 0) for name in NAMES), *(passing(name, 1) for name in NAMES))
    assert (found.compared, found.cases) == (2, ())


def test_the_same_verdict_with_another_value_differs():
    one = failing("cpu", 0)
    element = replace(one.detail.elements[0], actual="7.0", actual_hex="0x40e00000")
    other = replace(failing("gpu", 0), detail=replace(one.detail, elements=(element,)))
    (case,) = compared(one, other, replace(one, backend="tpu")).cases
    assert case.alone == "gpu"
    assert case.answers["gpu"].given == "7.0"


def test_cases_of_another_program_are_not_compared():
    found = compared(passing("cpu", 0), replace(failing("gpu", 0), digest="another"))
    assert (found.compared, found.cases) == (0, ())


def test_differences_are_sorted_by_frequency_with_unsupported_last():
    unsupported = replace(passing("cpu", 5), verdict=Verdict.UNSUPPORTED)
    found = compared(
        failing("cpu", 0), passing("gpu", 0), passing("tpu", 0),
        *(record for index in (1, 2) for record in
          (passing("cpu", index), failing("gpu", index), passing("tpu", index))),
        unsupported, passing("gpu", 5), passing("tpu", 5),
        passing("cpu", 6), failing("gpu", 6),
    )  # fmt: skip
    assert [(case.alone, case.index) for case in found.cases] == [
        ("gpu", 1), ("gpu", 2), ("cpu", 0), ("", 6), ("cpu", 5),
    ]  # fmt: skip
    assert found.alone == {"gpu": 2, "cpu": 1}
    assert found.cases[-1].is_of_support
