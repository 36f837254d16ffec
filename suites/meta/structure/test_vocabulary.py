"""Docstrings use the field's terms: no phrase of our own for a thing that has a name.

A docstring begins with a verb in the imperative or a noun phrase. Ruff checks the mood (D401); this
test checks the first word, and phrases that have a term of the field.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

COVERED = (
    "benchmarks",
    "conformance/backends",
    "conformance/commands",
    "conformance/frontends",
    "conformance/gate",
    "conformance/hlo",
    "conformance/judging",
    "conformance/known",
    "conformance/results",
    "conformance/stablehlo",
    "conformance/tolerance",
    "conformance/transforms",
    "conformance/triage",
    "docs",
    "examples",
    "generators",
    "reference",
    "reports",
)
"""Folders whose docstrings are checked; a folder is added once its docstrings pass."""

TERMS = {
    r"left open|leaves? open|is open|are open": "unspecified",
    r"told apart": "deduplicated, distinguished",
    r"made small(er)?|made less": "minimised, shrunk",
    r"bundles?": "batch",
    r"com(e|es|ing) to|came to": "outcome, result, equals",
    r"carried on|hand(s|ed)? on|handed in": "propagated, forwarded, posted",
    r"taken for|takes? for": "misread as, computed as",
    r"sittings?": "session",
    r"goes round|go round|in its turn|in their turn": "iterations, round-robin",
    r"in (its|their) place": "replaced by",
    r"at hand": "available",
    r"makes it vanish": "culprit",
    r"speaks? of it": "matches",
    r"lost workers?|los(e|es|ing) a worker": "worker crash, worker timeout",
    r"elsewhere": "on other backends, at other positions",
    r"its own kin|and its kin": "and similar",
}
"""Phrases by a regular expression, and the terms that replace them."""

_PHRASES = re.compile("|".join(rf"\b(?:{phrase})\b" for phrase in TERMS))
_QUESTION = re.compile(r"(What|Which|Where|How|Why|Who|When)\b")


def docstrings(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of every docstring, including those of constants."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            text = node.value.value
            if isinstance(text, str):
                yield node.lineno, text


def offences(text: str) -> list[str]:
    """Return the first word, if it is a question word, and the phrases that have a term."""
    question = _QUESTION.match(text)
    joined = " ".join(text.split())
    return [*([question[0]] if question else []), *(m[0] for m in _PHRASES.finditer(joined))]


@pytest.mark.parametrize("folder", COVERED)
def test_docstrings_use_the_fields_terms(folder: str) -> None:
    files = sorted((ROOT / folder).rglob("*.py"))
    assert files
    found = [
        f"{file.relative_to(ROOT)}:{line}: {', '.join(words)}"
        for file in files
        for line, text in docstrings(file.read_text("utf-8"))
        if (words := offences(text))
    ]
    assert not found, "\n".join(["docstrings with phrases of our own (see TERMS):", *found])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Return the mask of unspecified elements.", []),
        ("What the specification leaves\n    open.", ["What", "leaves open"]),
        ("Return the values at hand.", ["at hand"]),
        ("Whether the result is exact.", []),
        ("Return whether the file can be opened.", []),
    ],
)
def test_phrases_are_found(text: str, words: list[str]) -> None:
    assert offences(text) == words


def test_terms_match_themselves_only_as_words() -> None:
    assert not offences("Return the bundled libraries, here and there.")
