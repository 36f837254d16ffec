"""Wrong elements as recorded in a baseline: known, changed, or not predicted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance.gate.baselines.recordings import apply_recordings
from conformance.gate.conclusion import comparison_lines, exit_code
from conformance.results.lines import lines_of
from conformance.results.summary import KnownReason
from conformance.verdict import Failing
from reports import html
from suites.meta.conformance.gate.baselines.test_comparison import V, case, compare_runs, run_of

BITS, OTHER_BITS, ON_OTHER_INPUTS = "1111" + "a" * 12, "1111" + "b" * 12, "2222" + "b" * 12
PREDICTED = Failing(V.DIVERGENT, "a class", "", 1, known="x", predicted=1)
OPEN_VALUE = replace(PREDICTED, predicted=0, unpredicted=1)


SAME = {"known": "x", "wrong_digest": BITS}
OTHER_VALUES = {"known": "x", "wrong_digest": OTHER_BITS}
OF_MEMORY = {"known": "memory", "wrong_digest": "1111" + "c" * 12}


@pytest.mark.parametrize(
    ("before", "after", "on_same", "on_other"),
    [
        (SAME, SAME, "", ""),
        (SAME, {"kind": "NaN", "wrong_digest": BITS}, "", ""),
        (SAME, OTHER_VALUES, "changed", "changed in error"),
        (SAME, {**OTHER_VALUES, "failing": (OPEN_VALUE,)}, "changed", "changed"),
        ({"wrong_digest": BITS}, {"wrong_digest": OTHER_BITS}, "changed", "changed"),
        ({"verdict": V.PASS}, SAME, "changed", "changed in error"),
        ({"verdict": V.PASS}, {"wrong_digest": BITS}, "new", "new"),
        (SAME, {**SAME, "wrong_digest": ON_OTHER_INPUTS}, "", ""),
        ({"known": "x"}, SAME, "", ""),  # an older baseline
        (SAME, OF_MEMORY, "", ""),
        (OF_MEMORY, SAME, "", ""),
    ],
)
def test_other_wrong_values_than_recorded_are_a_change(
    before: dict, after: dict, on_same: str, on_other: str
) -> None:
    entries = {"x": KnownReason(), "memory": KnownReason(unpredictable=True)}
    then, now = (
        run_of(case(0, **{"verdict": V.DIVERGENT, **one}), expectations=entries)
        for one in (before, after)
    )
    now = replace(now, digests={"cpu": "1f"})
    for digest, kind in (("1f", on_same), ("2e", on_other)):
        found = compare_runs(now, replace(then, digests={"cpu": digest}))
        assert [change.kind.value for change in found.changes] == [kind] * bool(kind)
        assert found.is_failure == (kind in ("changed", "new"))


def test_changed_values_are_listed_first_and_by_cause() -> None:
    causes = replace(PREDICTED, causes=("algsimp: a => b",))
    wrong = {"known": "x", "failing": (causes,)}
    then = run_of(*(case(n, V.DIVERGENT, wrong_digest=BITS, **wrong) for n in range(2)),
                  case(2, V.PASS), digests={"cpu": "1f"})  # fmt: skip
    now = run_of(*(case(n, V.DIVERGENT, wrong_digest=OTHER_BITS, **wrong) for n in range(2)),
                 case(2, V.DIVERGENT), digests={"cpu": "1f"})  # fmt: skip
    _, _, first, second = comparison_lines(compare_runs(now, then), "show {}")
    assert first.startswith(
        "changed: tanh f32 on cpu, 2 cases: recorded values → other values, algsimp: a => b"
    )
    assert second.startswith("new: ")


def test_recorded_failure_is_known_by_the_entry_that_the_baseline_names() -> None:
    stated = {"wrong_digest": BITS, "failing": (OPEN_VALUE,)}
    then = run_of(case(0, V.DIVERGENT, "x", **stated))
    unmatched = replace(OPEN_VALUE, known="", unpredicted=0)
    now = run_of(case(0, V.DIVERGENT, wrong_digest=BITS, failing=(unmatched,)))
    found = compare_runs(now, then)
    (known,) = apply_recordings(now, found.recorded, ["x"]).records
    assert (known.known, known.expectation_ids) == ("x", ("x",))
    assert apply_recordings(now, found.recorded, []).records == now.records
    assert (exit_code(now), exit_code(now, comparison=found)) == (1, 0)


def test_known_values_that_nothing_states_are_said_and_fail_a_strict_run() -> None:
    open_value = case(0, V.DIVERGENT, "x", wrong_digest=BITS, failing=(OPEN_VALUE,))
    run = run_of(open_value, stale=())
    assert (exit_code(run), exit_code(run, strict=True)) == (0, 1)
    told = "\n".join(lines_of(run, "show {}"))
    assert "1 known (of these 1 value not predicted), 0 new" in told
    assert "value not predicted: 1 known case, such as tanh-f32-cpu-0 (by x); --strict" in told
    page = html.html(run)
    assert page.index("1 known case, value not predicted") < page.index('class="facts"')
    found = compare_runs(run, run)
    recorded = apply_recordings(run, found.recorded, ["x"])
    assert exit_code(recorded, strict=True, comparison=found) == 0
    assert "not predicted" not in "\n".join(lines_of(recorded, "show {}"))
