"""Records: their ids, the classes that they show, and lost batches in a line."""

from __future__ import annotations

from conformance.verdict import Failing, LostBatch, Record, Verdict, gravity


def failing_class(verdict: Verdict, kind: str, known: str = "") -> Failing:
    return Failing(verdict, kind, "", 1, known=known)


def test_verdicts_are_ordered_from_harmless_to_worst() -> None:
    ranks = [verdict.severity for verdict in Verdict]
    assert ranks == sorted(ranks)
    assert [one for one in Verdict if not one.fails] == [
        Verdict.PASS, Verdict.UNSPECIFIED, Verdict.UNSUPPORTED, Verdict.NOT_JUDGED,
    ]  # fmt: skip
    without = {one for one in Verdict if not one.has_results}
    assert without == {
        Verdict.UNSUPPORTED, Verdict.NOT_JUDGED, Verdict.REJECTED, Verdict.TIMED_OUT,
        Verdict.CRASHED,
    }  # fmt: skip


def test_a_nan_is_graver_than_a_value_and_a_signed_zero_is_milder() -> None:
    assert gravity("NaN") == gravity("infinity") > gravity("wrong value") > gravity("signed zero")


def test_the_id_of_a_record_is_safe_in_a_shell() -> None:
    record = Record("add", "complex<f32>", "cpu", 17, "0", Verdict.PASS)
    assert record.id == "add-complex_f32-cpu-17"


def test_a_record_names_each_expectation_once_and_its_further_classes() -> None:
    shown = failing_class(Verdict.DIVERGENT, "NaN", "a")
    other = failing_class(Verdict.INACCURATE, "accuracy", "b")
    same = failing_class(Verdict.DIVERGENT, "signed zero", "a")
    record = Record(
        "add", "f32", "cpu", 0, "0", Verdict.DIVERGENT, "NaN", known="a",
        failing=(shown, other, same),
    )  # fmt: skip
    assert record.expectation_ids == ("a", "b")
    assert record.further_failures == (other, same)
    assert not record.is_new_failure
    assert Record("add", "f32", "cpu", 0, "0", Verdict.DIVERGENT).is_new_failure
    assert not Record("add", "f32", "cpu", 0, "0", Verdict.UNSPECIFIED).is_new_failure


def test_a_lost_batch_names_its_ops_with_some_of_their_types() -> None:
    types = ("f16", "f32", "f64", "bf16", "si8")
    cases = (*(("add", of, 0) for of in types), ("abs", "f32", 1))
    batch = LostBatch(
        "cpu", cases, Verdict.CRASHED, "abnormal exit", "check failed", failed=1, runs=4
    )
    assert batch.name == "add f16, f32, f64 and 2 more types, abs f32"
    assert batch.line == (
        "lost batch on cpu: add f16, f32, f64 and 2 more types, abs f32, 6 cases: crashed in 1 of "
        "4 runs, though none of the cases fails in isolation: check failed"
    )
    single = LostBatch("cpu", cases[:1], Verdict.TIMED_OUT, "no answer", "")
    assert single.line.endswith(
        "add f16, 1 case: timed out in its only run, though none of the cases fails in isolation: "
        "no answer"
    )
