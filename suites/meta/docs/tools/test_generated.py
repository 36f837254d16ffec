"""Generated pages are up to date; every verdict and class has its place in the documentation."""

from __future__ import annotations

import re

import pytest

from conformance.gate.classes import CLASSES
from conformance.known.rewritings.identities import IDENTITIES
from conformance.known.table import EVERY, known_of
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.hardware import Hardware
from conformance.verdict import Verdict
from docs.tools import classes
from docs.tools.generated import PAGES_BY_NAME
from docs.tools.pages import PAGES


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES_BY_NAME)
def test_generated_pages_are_up_to_date(name: str) -> None:
    written = PAGES_BY_NAME[name]()
    assert (PAGES / name).read_text(encoding="utf-8") == written, "run: python -m docs.tools"


def test_every_verdict_has_a_section() -> None:
    text = (PAGES / "divergences.md").read_text(encoding="utf-8")
    sections = re.findall(r"^### (\w+) \{#(\w+)\}\n(.*?)(?=^##)", text, re.MULTILINE | re.DOTALL)
    assert {name for name, _, _ in sections} == {verdict.value for verdict in Verdict}
    for name, anchor, section in sections:
        assert name == anchor
        assert "Rule: " in section, name
        assert "```console\n$ hlo-conformance " in section, name
        verdict, fails = Verdict(name), "Fails a run" in section
        assert fails == verdict.fails, name


def test_every_class_has_a_section() -> None:
    """One place, with a meaning, an example and a rule."""
    places = [name for group in classes.groups() for name in group.meanings]
    assert sorted(places) == sorted(CLASSES)
    text = (PAGES / "classes.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^#### (.*?) \{#.*?\}\n(.*?)(?=^##|\Z)", text, re.M | re.S))
    assert set(sections) == set(CLASSES)
    for name, section in sections.items():
        assert "Example: " in section, name
        assert re.search(r"^Rule of `|Rule: ", section, re.MULTILINE), name


@pytest.mark.parametrize("name", [n for n, e in classes.own_examples().items() if "program" in e])
def test_an_example_shows_its_class(name: str) -> None:
    assert classes.outcome_of(classes.own_examples()[name])[0] == name


SEVERAL = {one.label for one in IDENTITIES}
"""Classes of several operations: their examples need not have one that shows the class alone."""

BY_OPERATION = sorted({one.label for one in EVERY} & {*CLASSES} - SEVERAL)


@pytest.mark.parametrize("name", BY_OPERATION)
def test_an_example_has_an_operation_with_such_results(name: str) -> None:
    example = classes.example_of(name)
    if example.words:
        return
    found = {
        hypothesis.label
        for operation in parse_module(example.program).walk()
        for platform in Hardware
        for hypothesis in known_of(operation, platform)
    }
    assert name in found, example.program


def test_examples_in_words_are_of_classes_that_exist() -> None:
    assert set(classes.own_examples()) <= set(CLASSES)
