"""Storage of findings: in the journal, in their folders, and as lines for people."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from conformance.backends.base import Description
from conformance.fuzzing.attribution.cause import Cause
from conformance.fuzzing.finding import Finding
from conformance.fuzzing.grouping import key_of
from conformance.fuzzing.keeping import bundle
from conformance.fuzzing.keeping.journal import Journal, StoredFinding
from conformance.fuzzing.trial import FailingProgram
from conformance.judging.messages import verdict_text
from conformance.text import one_line
from conformance.transforms.values import working_operations
from conformance.triage.minimise.tensors import count_elements


class FindingWriter:
    """Writer of findings: to the journal, their folders, and the console."""

    def __init__(
        self,
        journal: Journal,
        folder: Path,
        backend: Description,
        command: str,
        say: Callable[[str], None],
    ) -> None:
        """Write findings of a backend into this journal and folder, and print lines by `say`."""
        self._journal, self._folder, self.say = journal, folder, say
        self._told = (backend, command)

    def write_finding(self, number: int, finding: Finding) -> bool:
        """Store the finding of a program; return whether it is new and no expectation matches
        it.
        """
        told = bundle.finding_entry(finding, *self._told)
        unexplained = None if finding.known else finding
        new = self._journal.add_finding(number, stored_finding(finding, told), unexplained)
        if not new or finding.known:
            return False
        bundle.write(self._folder, finding, *self._told)
        self.regroup(finding.name)
        self.say(line_of(finding))
        return True

    def write_distinct(self, number: int, finding: Finding) -> str:
        """Store a finding that shares its key with other findings but not its cause; return its
        name.
        """
        names = {one.name for one in self._journal.findings()}
        while finding.name in names:
            finding = replace(finding, number=finding.number + 1)
        self.write_finding(number, finding)
        self.write_cause(finding)
        return finding.name

    def join(self, number: int, finding: Finding, name: str) -> None:
        """Assign the failure of a finding to another finding that has the same cause."""
        self._journal.settle(number, name, finding.signature, finding.culprit)
        self.regroup(name)

    def write_cause(self, finding: Finding) -> None:
        """Store a finding's cause."""
        bundle.explain(self._folder, finding, *self._told)
        self._journal.explain(finding.name, bundle.finding_entry(finding, *self._told))
        self.regroup(finding.name)
        if told := cause_of(finding):
            self.say(f"{finding.name}: {told}")

    def regroup(self, name: str = "") -> None:
        """Write the element types and programs of a finding into its folder; without a name, of all
        findings.
        """
        for finding in self._journal.findings():
            if name in ("", finding.name) and not finding.known:
                bundle.regroup(
                    self._folder / finding.name, finding.culprits, finding.signatures, finding.count
                )


def cause_in(told: Mapping[str, Any]) -> Cause:
    """Return the attribution in the content of finding.json."""
    found = told.get("attribution", {})
    return Cause(
        dict(found.get("ways", {})),
        str(found.get("note", "")),
        bool(found.get("partial", False)),
        str(found.get("culprit", "")),
    )


def stored_finding(finding: Finding, told: dict[str, Any]) -> StoredFinding:
    """Return a finding as the journal stores it; `told` is the content of its finding.json."""
    program = finding.program
    return StoredFinding(
        f"{finding.name}{'-known' if finding.known else ''}",
        finding.signature, ", ".join(finding.known), finding.verdict.value,
        finding.kind, finding.culprit, len(working_operations(program)), count_elements(program),
        finding.text,
        one_line(finding.message), {} if finding.known else told,
        "" if finding.known else key_of(finding),
    )  # fmt: skip


def matched_failure(failure: FailingProgram) -> StoredFinding:
    """Return the journal's entry of failures that expectations match; the ids distinguish such
    entries.
    """
    outcome, known = failure.outcome, ", ".join(failure.outcome.known)
    return StoredFinding(
        f"known: {known}", known, known, outcome.verdict.value, outcome.kind, outcome.culprit,
        len(working_operations(failure.program)), count_elements(failure.program), "",
        one_line(outcome.message),
    )  # fmt: skip


def line_of(finding: Finding) -> str:
    """Return a finding in a line."""
    ops = " + ".join(operation.name for operation in working_operations(finding.program))
    told = verdict_text(finding.verdict, finding.kind, one_line(finding.message))
    return f"{finding.name}: {ops}: {told}"


def cause_of(finding: Finding) -> str:
    """Return the culprit of a finding and the votes on it in one line; "" if nothing is known."""
    return "; ".join(filter(None, (finding.cause.line, finding.vote.line)))
