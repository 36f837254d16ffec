"""The page of findings, docs/findings.md, from the shipped entries of known divergences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec import structs

from conformance.gate.expectations import WITHOUT_RESULTS, Expectation
from conformance.gate.files import FAMILIES, SHIPPED
from conformance.gate.reading import read
from docs.tools.command_line import escape

HEAD = """# What was found

Written by `python -m docs.tools` from the entries of `conformance/gate/known/`. A section has the
entries of one bug, the reasons why it is a bug, the smallest program that shows it, and its inputs.

To run a program, write it to `p.mlir`, save its inputs with `numpy.savez("p.npz", ...)`, and call
`hlo-conformance check p.mlir --inputs p.npz --expectations none`. `hlo-conformance expectations
check ID --backend NAME` runs the program of an entry. `hlo-conformance expectations list --backend
NAME` prints all entries of a backend, also those that have no section here.
"""

WITHOUT_PROGRAM = "No single program shows it."


class Finding(NamedTuple):
    """The entries of a file that have the same title."""

    title: str
    entries: tuple[Expectation, ...]


def page() -> str:
    """Return the page: findings by family, crashes of compilers, and divergences with a link."""
    parts = [HEAD.strip()]
    entries: list[Expectation] = []
    for family in FAMILIES:
        own = read(SHIPPED / f"{family}.toml")
        entries += own
        sections = [section(finding) for finding in findings(own)]
        if sections:
            parts += [f"## {_heading(family)}", *sections]
    parts += _crashes(entries)
    parts += _links(entries)
    return "\n\n".join(parts) + "\n"


def findings(entries: Sequence[Expectation]) -> list[Finding]:
    """Return the findings of a file, in the order of their first entries."""
    titles = dict.fromkeys(entry.title for entry in entries if entry.title)
    return [Finding(title, tuple(e for e in entries if e.title == title)) for title in titles]


def section(finding: Finding) -> str:
    """Return the section of a finding: its entries with their reasons, a program, and links."""
    lines = [f"### {escape(finding.title)}"]
    reasons = dict.fromkeys(entry.reason for entry in finding.entries)
    for reason in reasons:
        own = [entry for entry in finding.entries if entry.reason == reason]
        named = "; ".join(f"`{entry.id}` ({_backends(entry)})" for entry in own)
        lines.append(f"{escape(reason)}\n\nEntry: {named}.")
    shown = next((e.counterexample for e in finding.entries if e.counterexample), None)
    if shown is None:
        lines.append(WITHOUT_PROGRAM)
    else:
        lines.append(f"```mlir\n{shown.program.strip()}\n```")
        if shown.inputs:
            lines.append("Inputs: " + ", ".join(f"`{text}`" for text in shown.inputs))
    links = dict.fromkeys(entry.link for entry in finding.entries if entry.link)
    lines += [f"Discussed: <{link}>" for link in links]
    return "\n\n".join(lines)


def _backends(entry: Expectation) -> str:
    """Return the backends of an entry, with its conditions on versions and instructions."""
    versions = entry.versions
    stated = {"jaxlib": versions} if isinstance(versions, str) else structs.asdict(versions)
    conditions = [f"{name} {held}" for name, held in stated.items() if held]
    conditions += [entry.isa] if entry.isa else []
    return escape(", ".join([*entry.backends, *conditions]))


def _heading(family: str) -> str:
    return "IREE" if family == "iree" else family.replace("-", " ").capitalize()


def _crashes(entries: Sequence[Expectation]) -> Iterator[str]:
    """Yield a table of the valid programs that crash or hang a backend, or that it refuses."""
    rows = [
        f"| `{entry.id}` | {_backends(entry)} | {_cell(entry.words or entry.kinds)} | "
        f"{_cell(entry.op)} |"
        for entry in entries
        if {*entry.verdicts} <= {*WITHOUT_RESULTS} - {"accepted"}
    ]
    yield "## Crashes and refusals of valid programs"
    yield "\n".join(
        ["| entry | backends | message or signal | ops |", "| --- | --- | --- | --- |", *rows]
    )


def _links(entries: Sequence[Expectation]) -> Iterator[str]:
    """Yield a table of the divergences that are discussed in public and have no section."""
    rows = [
        f"| `{entry.id}` | {_backends(entry)} | <{entry.link}> |"
        for entry in entries
        if entry.link and not entry.title
    ]
    yield "## Other divergences that are discussed in public"
    yield "\n".join(["| entry | backends | link |", "| --- | --- | --- |", *rows])


def _cell(texts: Sequence[str]) -> str:
    """Return up to three texts as code in a cell of a table."""
    shown = ", ".join(f"`{text}`".replace("|", "\\|") for text in texts[:3])
    return shown + (", ..." if len(texts) > 3 else "")
