"""The page of a campaign: one offline HTML file that looks like a run's report.

Findings come first, each with its program, values, culprit, votes and attribution. Then come the
outcomes of programs, and the covered pairs of ops.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.fuzzing.grouping import element_types, operations
from conformance.fuzzing.keeping import summary
from conformance.fuzzing.keeping.bundle import FINDING
from conformance.fuzzing.keeping.journal import StoredFinding
from conformance.fuzzing.keeping.summary import CampaignData
from conformance.fuzzing.trial import DEFECT, KNOWN_TO_CRASH, NOT_TESTED, ONLY_IN_BATCH
from conformance.results.store import FILE_NAME as RESULTS
from conformance.text import join_versions
from conformance.verdict import Verdict
from reports import text
from reports.campaigns.pairs import grid
from reports.html import template

PAGE, BESIDE_A_RUN = "index.html", "campaign.html"
"""The name of the page, and its name in a folder that also has a run's report."""

_MEANINGS = {
    KNOWN_TO_CRASH: "not run: an expectation says that an operation crashes the process",
    ONLY_IN_BATCH: "fails in a batch, but not in isolation",
    DEFECT: "please report it",
}


@dataclass(frozen=True, slots=True)
class ShownFinding:
    """A finding on the page: its values, its attribution, and the command that replays it."""

    kept: StoredFinding
    inputs: tuple[tuple[str, str], ...]
    elements: tuple[dict[str, Any], ...]
    facts: tuple[tuple[str, str], ...]
    replay: str

    @property
    def anchor(self) -> str:
        """The anchor of its section in the page."""
        return f"finding-{text.slug(self.kept.name)}"

    @property
    def element_types(self) -> str:
        """The element types of the culprit, in a line."""
        return ", ".join(element_types(self.kept.culprits))

    @property
    def culprits(self) -> str:
        """The operations at fault, in one line."""
        named = operations(self.kept.culprits)
        return "; ".join(named) or self.kept.culprit or self.kept.name

    @property
    def programs(self) -> tuple[tuple[str, int], ...]:
        """The signatures of the minimised programs, each with the number of programs."""
        found = self.kept.signatures.items()
        return tuple((name.rpartition(" | ")[2], count) for name, count in found)


def write(folder: Path) -> Path:
    """Write the page of the campaign in a folder into that folder, and return its path.

    Raises:
        UsageError: when the folder holds no campaign.
        OSError: when it cannot be written.
    """
    return write_to(summary.load(folder), folder)


def write_to(data: CampaignData, folder: Path) -> Path:
    """Write the page of a campaign into a folder, beside the report of a run, if any.

    Raises:
        OSError: if it cannot be written.
    """
    path = folder / (BESIDE_A_RUN if (folder / RESULTS).exists() else PAGE)
    path.write_bytes(html(data).encode("utf-8", "backslashreplace"))
    return path


def html(data: CampaignData) -> str:
    """Return the page as one HTML document."""
    new = [_displayed_finding(data, finding) for finding in data.findings if not finding.known]
    known = [finding for finding in data.findings if finding.known]
    pairs = grid(data.ops, data.pairs)
    return template("campaign.html").render(
        headline=_headline(data, len(new)),
        status="fails" if new else "empty" if not data.counts.total() else "passes",
        data=data,
        facts=_facts(data),
        command=str(data.meta.get("command", "")),
        programs=data.counts.total(),
        new=new,
        known=known,
        outcomes=_outcomes(data),
        pairs=pairs,
        tested=_count_tested(data),
    )


def _headline(data: CampaignData, new: int) -> str:
    backend = data.meta.get("identity", {}).get("backend", "this backend")
    if new:
        return f"{text.plural(new, 'finding')} on {backend}"
    total = data.counts.total()
    return f"Nothing new found on {backend} in {text.plural(total, 'program')}"


def _count_tested(data: CampaignData) -> int:
    """Return the number of programs with an answer of the backend that was judged."""
    not_tested = (*NOT_TESTED, KNOWN_TO_CRASH)
    return sum(count for word, count in data.counts.items() if word not in not_tested)


def _facts(data: CampaignData) -> list[tuple[str, str]]:
    meta, identity = data.meta, data.meta.get("identity", {})
    backend = meta.get("backend", {})
    versions = join_versions(backend.get("versions", ()))
    about = (backend.get("platform", ""), backend.get("device", ""), versions)
    shared = ", ".join(
        f"{name.removeprefix('version of ')} {number}"
        for name, number in sorted(identity.items())
        if name.startswith("version of ")
    )
    began = str(meta.get("started", "")).replace("T", " ").replace("+00:00", " UTC")
    ops = ", ".join(identity.get("op", ())) or "every op"
    spent = text.duration(float(meta.get("seconds", 0.0)))
    return [
        (f"Backend {identity.get('backend', '')}", " · ".join(filter(None, about))),
        ("Versions", shared or "not recorded"),
        ("Seed, ops, start", f"{identity.get('seed', 0)}, {ops}, {began or 'not recorded'}"),
        ("Time", f"{spent}; {text.plural(data.modules, 'module')} compiled to try programs"),
    ]


def _displayed_finding(data: CampaignData, kept: StoredFinding) -> ShownFinding:
    told, meta = kept.told, data.meta
    command = ["hlo-conformance", "replay", str(Path(meta.get("findings", "")) / kept.name)]
    if "spelling" in meta:
        command += ["--backend", meta["spelling"]]
    return ShownFinding(
        kept,
        tuple((str(name), str(value)) for name, value in told.get("inputs", {}).items()),
        tuple(told.get("elements", ())),
        (*_cause(kept), *_releases(Path(meta.get("findings", "")) / kept.name)),
        shlex.join(command),
    )


def _releases(folder: Path) -> list[tuple[str, str]]:
    """Return what `bisect` has written into the finding's folder, if anything."""
    try:
        told: dict[str, Any] = json.loads((folder / FINDING).read_text("utf-8"))
    except (OSError, ValueError):
        return []
    changes: list[str] = told.get("changes", [])
    return [("Releases", "; ".join(changes))] if changes else []


def _cause(kept: StoredFinding) -> list[tuple[str, str]]:
    """Return culprit, votes and attribution of a finding as (name, text); unknown values are left
    out.
    """
    told = kept.told
    found: dict[str, Any] = told.get("attribution", {})
    ways: dict[str, str] = found.get("ways", {})
    by_answer: dict[str, list[str]] = {}
    for name, answer in ways.items():
        by_answer.setdefault(answer, []).append(name)
    rows = [
        ("Goes wrong", str(told.get("operation") or kept.culprit)),
        ("Element types", ", ".join(element_types(kept.culprits))),
        ("Operations", "; ".join(_names_if_several(operations(kept.culprits)))),
        ("Grouped by", kept.cause),
        ("Step of the compiler", str(found.get("culprit", ""))),
        ("Votes", str(told.get("votes", ""))),
        ("Right", "; ".join(by_answer.get("right", ()))),
        ("Still wrong", "; ".join(by_answer.get("wrong", ()))),
        ("No answer", "; ".join(by_answer.get("no answer", ()))),
        ("Note", str(found.get("note", ""))),
    ]
    return [(name, value) for name, value in rows if value]


def _names_if_several(names: list[str]) -> list[str]:
    """Return the names if there are several; the page shows a single name in another position."""
    return names if len(names) > 1 else []


def _outcomes(data: CampaignData) -> list[tuple[str, str, int, str]]:
    """Return the outcomes of programs as (verdict or "", word, programs, meaning), the worst
    first."""
    verdicts = {verdict.value: verdict for verdict in Verdict}
    rows: list[tuple[int, str, str, int, str]] = []
    for word, count in data.counts.items():
        plain = word.removeprefix("known ")
        verdict = verdicts.get(plain)
        severity = -1 if verdict is None else verdict.severity
        meaning = "as an expectation predicts" if word.startswith("known ") and verdict else ""
        name = "" if verdict is None else plain
        rows.append((severity, name, word, count, meaning or _MEANINGS.get(word, "")))
    rows.sort(key=lambda row: (-row[0], row[2]))
    return [row[1:] for row in rows]
