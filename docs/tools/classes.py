"""The page of the classes, docs/classes.md.

Meanings are in classes.toml. A class has as its example the smallest counterexample of a shipped
expectation that names it, or the example that classes.toml has for it: a program that a backend
with a seeded fault gets wrong in this way, or a sentence where no program shows the class.
"""

from __future__ import annotations

import re
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.catalog import RULED
from conformance.check.file import check_file
from conformance.check.settings import Settings
from docs.tools.pages import ROOT

MEANINGS = Path(__file__).with_name("classes.toml")
KNOWN = ROOT / "conformance" / "gate" / "known"
BACKENDS = {"cpu": "XLA's CPU", "interpreter": "StableHLO's interpreter"}
OTHERS = {
    "gpu": "XLA on an NVIDIA GPU",
    "gpu-compile": "XLA's compiler for GPUs",
    "tpu-compile": "XLA's compiler for TPUs",
}
"""Backends whose entries are examples of classes that do not occur on other backends."""

HEAD = """# The classes

Written by `python -m docs.tools`; a test compares the two.

A class says how elements are wrong, or what the backend computed instead.
[Expectations](expectations.md) name classes in `kinds`.
[Why is this a divergence?](divergences.md) says how a class is found.

Two families of classes are not listed. An invalid program that is accepted has the id of the
constraint that it breaks, such as `C3`. An element that an entry with `computes` predicts has the
class `as computed by ID`.

Each example is a program with the rule that judges it. Most are counterexamples of the expectations
that are shipped for XLA's CPU and for StableHLO's interpreter:
`hlo-conformance expectations check ID` replays them.
"""


@dataclass(frozen=True, slots=True)
class Group:
    """Classes of one kind: a title, an introduction, and the meaning of each."""

    title: str
    text: str
    meanings: dict[str, str]


@dataclass(frozen=True, slots=True)
class Example:
    """A program that shows a class, with its backend, inputs and results.

    If no program shows the class, only `words` is set.
    """

    backend: str
    program: str
    inputs: tuple[str, ...] = ()
    outcome: str = ""
    words: str = ""


def page() -> str:
    """Return the page: all classes in groups, each with meaning, example and rule."""
    parts = [HEAD.strip()]
    for group in groups():
        parts += [f"## {group.title}", group.text]
        for name, meaning in group.meanings.items():
            parts += [
                f"#### {name} {{#{anchor(name)}}}",
                meaning,
                *_write_example(example_of(name)),
            ]
    return "\n\n".join(parts) + "\n"


def groups() -> list[Group]:
    """Return the groups of classes in the order of the page."""
    found: list[Group] = []
    for group in _table()["group"]:
        each = {
            name.strip(): meaning
            for names, meaning in group["meaning"].items()
            for name in names.split(",")
        }
        found.append(Group(group["title"], group["text"], each))
    return found


def anchor(name: str) -> str:
    """Return the anchor of a class on the page."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower().replace("+", "plus ")).strip("-")


def example_of(name: str) -> Example:
    """Return the example of a class.

    Raises:
        KeyError: when no shipped expectation shows it and classes.toml has no example.
    """
    own: dict[str, Any] = _table()["example"]
    if name in own:
        return _own_example(own[name])
    entries = _expectations_showing(BACKENDS, name) or _expectations_showing(OTHERS, name)
    if not entries:
        raise KeyError(f"{name!r} has no counterexample: give it an example in {MEANINGS.name}")
    _, _, backend, entry = min(entries, key=lambda one: one[:2])
    given = entry["counterexample"]
    link = f" [Upstream]({entry['link']})." if "link" in entry else ""
    outcome = f"{_text(entry['reason'].rstrip('.'))}. Entry `{entry['id']}`.{link}"
    return Example(
        {**BACKENDS, **OTHERS}[backend],
        given["program"],
        tuple(given.get("inputs", ())),
        outcome,
    )


def _expectations_showing(
    backends: Mapping[str, str], name: str
) -> list[tuple[bool, int, str, dict[str, Any]]]:
    """Return the expectations for backends that show a class, each after its sort key."""
    return [
        (len(entry["kinds"]) > 1, len(entry["counterexample"]["program"]), backend, entry)
        for backend in backends
        for entry in _entries(backend)
        if name in entry.get("kinds", ()) and "counterexample" in entry
    ]


def _own_example(example: dict[str, str]) -> Example:
    """Return an example of classes.toml, with its outcome computed now."""
    if "words" in example:
        return Example("", "", words=example["words"])
    message = outcome_of(example)[1]
    return Example(
        f"`{example['backend']}`", example["program"], outcome=f"{_text(_capital(message))}."
    )


def outcome_of(example: dict[str, str]) -> tuple[str, str]:
    """Return class and message of an example of classes.toml, checked on its backend."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "example.mlir"
        path.write_text(example["program"], encoding="utf-8")
        checked = check_file(str(path), Settings(example["backend"], expectations=()))
    return checked.kind, checked.message


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def own_examples() -> dict[str, dict[str, str]]:
    """Return the examples of classes.toml by class."""
    return _table()["example"]


def _write_example(example: Example) -> Iterator[str]:
    """Yield the parts of an example on the page."""
    if example.words:
        yield f"Example: {example.words}"
        return
    ops = _ops(example.program)
    rules = "; ".join(f"`{op}`: {_rule(op)}" for op in ops)
    summary = f"Example: {', '.join(ops)}" if ops else "Example"
    yield '<details markdown="1">'
    yield f"<summary>{summary}</summary>"
    yield f"On {example.backend}:"
    yield f"```mlir\n{example.program.strip()}\n```"
    if example.inputs:
        yield "Inputs: " + ", ".join(f"`{one}`" for one in example.inputs)
    yield example.outcome
    if rules:
        yield f"Rule of {rules}."
    yield "</details>"


def _ops(program: str) -> list[str]:
    """Return the ops of a program that a rule judges, those that compute if there are any."""
    named = re.findall(r"\b(?:stablehlo\.(\w+)|((?:chlo|mhlo)\.\w+))", program)
    found = [op for op in dict.fromkeys(one or other for one, other in named) if op in RULED]
    judged = [op for op in found if op != "constant"] or found
    computing = [op for op in judged if RULED[op].tolerance.name != "data"]
    return (computing or judged)[:3]


def _rule(op: str) -> str:
    rule = RULED[op].tolerance
    return f"{_text(rule.text.rstrip('.'))} ({_text(rule.source.rstrip('.'))})"


def _text(text: str) -> str:
    """Return a text in which no character is interpreted as Markdown or as a tag."""
    return re.sub(r"([*\[\]])", r"\\\1", text).replace("<", "&lt;")


def _table() -> dict[str, Any]:
    return tomllib.loads(MEANINGS.read_text(encoding="utf-8"))


def _entries(backend: str) -> list[dict[str, Any]]:
    return tomllib.loads((KNOWN / f"{backend}.toml").read_text(encoding="utf-8"))["known"]
