"""Unspecified results are compared among backends."""

from dataclasses import replace

import pytest

from conformance.campaign.runner import Options, run
from conformance.results.agreement import unspecified_cases
from conformance.verdict import Detail, Element, Record, Verdict
from reports.html import render as render_html
from reports.markdown import markdown
from suites.meta.support import synthetic_run as synthetic


def element(actual: str, index: tuple[int, ...] = (0,)) -> Element:
    return Element(0, index, "7", "0x07", actual, f"0x{int(actual):02X}", None, ())


def record(backend: str, *elements: Element, index: int = 0) -> Record:
    detail = Detail("program", b"", len(elements), 4, elements)
    if not elements:
        return Record("divide", "ui8", backend, index, "0" * 16, Verdict.PASS)
    verdict = Verdict.UNSPECIFIED
    return Record("divide", "ui8", backend, index, "0" * 16, verdict, "by zero", detail=detail)


def compare_records(*records: Record):
    return unspecified_cases(synthetic.run_of(list(records), {}, [("divide", "ui8", "cpu")]))


def test_backends_that_give_the_same_agree() -> None:
    (case,) = compare_records(record("cpu", element("1")), record("gpu", element("1")))
    assert (case.agree, case.kind) == (True, "by zero")
    assert case.answers == (("cpu", "1"), ("gpu", "1"))


def test_the_first_element_on_which_backends_differ_is_shown() -> None:
    one = record("cpu", element("1"), element("2", (3,)))
    (case,) = compare_records(one, record("gpu", element("1"), element("9", (3,))))
    assert not case.agree
    assert case.answers == (("cpu", "2"), ("gpu", "9"))


def test_passing_backend_counts_with_the_reference_value() -> None:
    (case,) = compare_records(record("cpu", element("1")), record("gpu"))
    assert (case.agree, case.answers) == (False, (("cpu", "1"), ("gpu", "7")))


def test_cases_without_comparison_are_omitted() -> None:
    assert compare_records(record("cpu", element("1"))) == []
    assert compare_records(record("cpu"), record("gpu")) == []
    assert compare_records(record("cpu", element("1")), record("gpu", index=1)) == []
    failing = replace(record("gpu"), verdict=Verdict.DIVERGENT)
    assert compare_records(record("cpu", element("1")), failing) == []


@pytest.mark.slow
def test_reports_compare_a_backend_with_the_reference(tmp_path) -> None:
    made = run(
        Options(
            out=tmp_path, backends=("cpu", "reference"), ops=("divide", "sqrt"),
            element_types=("f4E2M1FN",), profile="standard", jobs=1,
        )
    )  # fmt: skip
    cases = unspecified_cases(made)
    assert cases
    assert not any(case.agree for case in cases)
    text = markdown(made)
    assert "## Unspecified by the specification" in text
    assert f"agree in 0 of {len(cases)} such cases" in text
    render_html(made, tmp_path)
    page = (tmp_path / "index.html").read_text()
    assert f'"differing":{len(cases)},' in page
    assert cases[0].kind in page
