"""Docstrings, pages and reasons of expectations use the field's terms: no phrases of our own.

A docstring begins with a verb in the imperative or a noun phrase. Ruff checks the mood (D401); this
test checks the first word, and phrases that have a term of the field.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

FOLDERS = (
    "benchmarks",
    "conformance",
    "docs",
    "examples",
    "generators",
    "reference",
    "reports",
    "suites",
)
"""Folders whose docstrings are checked."""

SHARE = 0.02
"""The largest share of docstrings that begin with a question word or use "one" as a pronoun.

Partitives ("one of the operands") count, too; some are the plainest wording.
"""

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

REASON_TERMS = {
    r"digits (?:are )?(?:cancel(?:led)?|lost)": "catastrophic cancellation, loses precision",
    r"ends? (?:the|its|their) (?:process|compiler)": "crashes, aborts",
    r"without a word": "without a message",
    r"truth values?": "i1",
    r"found by .*campaigns?": "in the changelog",
    r"(?:as|the same as) (?:above|[a-z0-9]+(?:-[a-z0-9]+)+)(?=[:,;.])": "the text itself",
}
"""Further phrases that reasons of expectations avoid."""

_PHRASES = re.compile("|".join(rf"\b(?:{phrase})\b" for phrase in TERMS))
_REASON_PHRASES = re.compile("|".join(rf"\b(?:{phrase})" for phrase in REASON_TERMS), re.IGNORECASE)
_QUESTION = re.compile(r"(What|Which|Where|How|Why|Who|When)\b")
_PRONOUN = re.compile(
    r"(?<!zeros and )(?<!zeros or )(?<!with )\bones\b"
    r"|\b(?:an?|the|this|that|which|another|each|every|any)(?: \w+)? one"
    r"(?=[.,;:)]|$| (?:is|was|has)\b)"
    r"|\b[Oo]ne (?:of|that|which|whose|with|without|per|for each|in each)\b"
)
"""The word "one" where it stands for a noun; a number ("one ulp", "one by one") is none."""


def docstrings(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of every docstring, including those of constants."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            text = node.value.value
            if isinstance(text, str):
                yield node.lineno, " ".join(text.split())


def offences(text: str) -> list[str]:
    """Return the first word, if it is a question word, and the phrases that have a term."""
    question = _QUESTION.match(text)
    return [*([question[0]] if question else []), *(m[0] for m in _PHRASES.finditer(text))]


def files_of(folder: str) -> list[Path]:
    """Return the Python files of a folder."""
    found = sorted((ROOT / folder).rglob("*.py"))
    assert found
    return found


@pytest.mark.slow
@pytest.mark.parametrize("folder", FOLDERS)
def test_docstrings_use_the_fields_terms(folder: str) -> None:
    found = [
        f"{file.relative_to(ROOT)}:{line}: {', '.join(words)}"
        for file in files_of(folder)
        for line, text in docstrings(file.read_text("utf-8"))
        if (words := offences(text))
    ]
    assert not found, "\n".join(["docstrings with phrases of our own (see TERMS):", *found])


@pytest.mark.slow
def test_few_docstrings_need_their_context() -> None:
    found = {
        f"{file.relative_to(ROOT)}:{line}": text
        for folder in FOLDERS
        for file in files_of(folder)
        for line, text in docstrings(file.read_text("utf-8"))
    }
    broken = [where for where, text in found.items() if needs_context(text)]
    share = len(broken) / len(found)
    print(
        f"{len(broken)} of {len(found)} docstrings ({share:.1%}) begin with a question or say one"
    )
    assert share <= SHARE, "\n".join(broken)


@pytest.mark.parametrize(
    "file", sorted((ROOT / "conformance/gate/known").glob("*.toml")), ids=lambda file: file.stem
)
def test_reasons_use_the_fields_terms(file: Path) -> None:
    content = tomllib.loads(file.read_text("utf-8"))
    entries = content["known"]
    assert entries
    found = [f"{e['id']}: {w}: {e['reason']}" for e in entries if (w := faults_of(e["reason"]))]
    assert not found, "\n".join(["reasons with phrases of our own:", *found])


PAGES = [
    path
    for path in (*(ROOT / "docs").glob("*.md"), *(ROOT / "reports/templates").rglob("*"))
    if path.suffix in {".html", ".js", ".md", ".txt"}
]

_CLASS_NAMES = re.compile(r"^\*\*[^*]+\*\*:", re.MULTILINE)
"""Names of classes before their paragraph: they stay as entries have them."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_use_the_fields_terms(page: Path) -> None:
    lines = _CLASS_NAMES.sub("", page.read_text("utf-8")).splitlines()
    found = {f"{n}: {m[0]}" for n, line in enumerate(lines, 1) for m in _PHRASES.finditer(line)}
    assert not found, f"{page.relative_to(ROOT)} has phrases of our own: {sorted(found)}"


def faults_of(reason: str) -> list[str]:
    """Return the phrases of a reason that have a term, and pronouns "one"."""
    return [
        *offences(reason),
        *(found[0] for found in _PRONOUN.finditer(reason)),
        *(found[0] for found in _REASON_PHRASES.finditer(reason)),
    ]


def needs_context(text: str) -> bool:
    """Return whether a docstring begins with a question word or uses "one" as a pronoun."""
    return bool(_QUESTION.match(text) or _PRONOUN.search(text))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Return one ulp, one by one.", False),
        ("Return a tensor of zeros and ones.", False),
        ("Return the old one.", True),
        ("Return large ones.", True),
        ("Return the number one or zero.", False),
        ("Which of them is it?", True),
    ],
)
def test_pronouns_are_found(text: str, found: bool) -> None:
    assert needs_context(text) is found


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Return the mask of unspecified elements.", []),
        ("What the specification leaves open.", ["What", "leaves open"]),
        ("Return the values at hand.", ["at hand"]),
        ("Whether the result is exact.", []),
        ("Return whether the file can be opened.", []),
    ],
)
def test_phrases_are_found(text: str, words: list[str]) -> None:
    assert offences(text) == words


@pytest.mark.parametrize(
    ("reason", "faults"),
    [
        ("The compiler crashes if one operand is constant.", []),
        ("Found by a campaign.", ["Found by a campaign"]),
        (
            "As gpu-sort-of-two-bits: it ends the process.",
            ["As gpu-sort-of-two-bits", "ends the process"],
        ),
        ("The index is clamped, as above, to the last one.", ["the last one", "as above"]),
        ("An index is taken for a signed one.", ["taken for", "a signed one"]),
    ],
)
def test_faults_of_reasons_are_found(reason: str, faults: list[str]) -> None:
    assert faults_of(reason) == faults


def test_terms_match_themselves_only_as_words() -> None:
    assert not offences("Return the bundled libraries, here and there.")
