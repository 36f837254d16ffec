"""A baseline as a text file, made to be committed: a line for each cell and each case that failed.

    # hlo-conformance baseline, format 3
    profile "smoke"
    seed 0
    backend "cpu"
      version "digest" "8c1f03a97d52e6b4"
      version "jaxlib" "0.10.2"
    cell "add" "bf16" 8402 61e8
      1 flushed known "flushed" 2 wrong 0a925c013f2a0c9d by "add-subnormal"
    total 1 cells, 2 cases

Cells follow their backend, in the order of their names. The backend's digest covers its libraries,
the processor and the environment (conformance/campaign/cache/digests.py). A cell has the first
digits of the digest of each case, by which another program at the same index is recognised, and `-`
for an index without a case. Below it are the cases that did not pass, by index: the verdict; of a
failure also whether an expectation matched it (`known`, or `flaky` if the expectation is, or
`unexplained`), its class, its largest error if it is measured, the digests of its inputs and of its
wrong elements, and the entries that matched it. The last line shows that the file is complete.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from conformance.gate.classes import NOT_DETERMINISTIC
from conformance.results.store import CellKey
from conformance.verdict import INPUT_DIGITS, WRONG_DIGITS, Verdict

DIGEST_DIGITS = 4
"""Number of digits of a program's digest."""
DIGEST = "digest"
"""The key of a backend's digest among its versions."""

FORMAT = 3
_READ = ("1", "2", "3")
"""The formats that are read. Format 1 has no digests of backends and no `flaky`. Formats 1 and 2
have no digests of wrong elements and no entries."""
_TITLE = "# hlo-conformance baseline, format "
_ABOUT = "# written by `hlo-conformance baseline write`: write it again rather than edit it"
_COMMAND = "`hlo-conformance baseline write RUN --out {}`"
_WORD = re.compile(r'"(?:[^"\\]|\\.)*"|\S+')
"""A word of a line: a text as JSON writes it, or anything without spaces."""


class BaselineError(Exception):
    """Raised when a baseline cannot be read or used; the message says why and how to mend it, in
    one line.
    """


@dataclass(frozen=True, slots=True)
class CaseOutcome:
    """The part of a `Record` that a baseline stores: nothing that varies among machines.

    A failure has its class and its largest error.

    `known` says whether an expectation matched the failure, `flaky` whether a flaky one did.
    `wrong_digest` is that of the record (conformance/verdict.py), "" if an entry matched it whose
    values vary. `entries` are the ids of the entries that matched it.
    """

    verdict: Verdict
    kind: str = ""
    known: bool = False
    error: float | None = None
    flaky: bool = False
    wrong_digest: str = ""
    entries: tuple[str, ...] = ()

    @property
    def varies(self) -> bool:
        """Whether the case did not fail every time that it was run."""
        return self.kind == NOT_DETERMINISTIC

    @property
    def is_unexplained(self) -> bool:
        """Whether the case failed and no expectation matched it."""
        return self.verdict.fails and not self.known

    @property
    def failure(self) -> tuple[Verdict, str]:
        """Verdict and class."""
        return self.verdict, self.kind

    def has_same_values(self, after: CaseOutcome) -> bool:
        """Return whether a case has the same wrong elements later."""
        return bool(after.wrong_digest) and self.wrong_digest == after.wrong_digest

    def has_other_values(self, after: CaseOutcome) -> bool:
        """Return whether a case, on the same inputs, has other wrong elements later.

        Elements that may vary from run to run have no digest.
        """
        if self.verdict is Verdict.PASS or not after.wrong_digest:
            return bool(after.wrong_digest)
        then, now = self.wrong_digest, after.wrong_digest
        return then[:INPUT_DIGITS] == now[:INPUT_DIGITS] and then != now


@dataclass(frozen=True, slots=True)
class Case:
    """A case: the first digits of its program's digest, and its outcome."""

    digest: str
    outcome: CaseOutcome


@dataclass(frozen=True, slots=True)
class Baseline:
    """The outcome of every case of a run, and the run's identity.

    `build` is the digest of hlo-conformance's sources, on which the plan depends. `backends` has
    the backends' versions by name, and their digests under `DIGEST`. `cells` has the cases by
    index.
    """

    profile: str
    seed: int
    build: str
    versions: dict[str, str]
    backends: dict[str, dict[str, str]]
    cells: dict[CellKey, dict[int, Case]] = field(repr=False)


def baseline_text(baseline: Baseline) -> str:
    """Return the content of the file; equal baselines have equal content."""
    return "\n".join(_lines(baseline)) + "\n"


def write(baseline: Baseline, path: Path) -> None:
    """Write the file in one step, and its folder.

    Raises:
        BaselineError: if it cannot be written.
    """
    partial = path.with_name(path.name + ".partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(baseline_text(baseline), encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        reason = error.strerror or error
        raise BaselineError(f"cannot write {path}: {reason}; choose another --out") from error


def _lines(baseline: Baseline) -> Iterator[str]:
    yield f"{_TITLE}{FORMAT}"
    yield _ABOUT
    yield f"profile {json.dumps(baseline.profile)}"
    yield f"seed {baseline.seed}"
    yield f"build {json.dumps(baseline.build)}"
    for name, version in sorted(baseline.versions.items()):
        yield f"version {json.dumps(name)} {json.dumps(version)}"
    for backend, versions in sorted(baseline.backends.items()):
        yield f"backend {json.dumps(backend)}"
        for name, version in sorted(versions.items()):
            yield f"  version {json.dumps(name)} {json.dumps(version)}"
        for key in sorted(key for key in baseline.cells if key[2] == backend):
            yield from _cell_lines(key, baseline.cells[key])
    cases = sum(map(len, baseline.cells.values()))
    yield f"total {len(baseline.cells)} cells, {cases} cases"


def _cell_lines(key: CellKey, cases: dict[int, Case]) -> Iterator[str]:
    last = max(cases, default=-1)
    digests = [cases[index].digest if index in cases else "-" for index in range(last + 1)]
    yield " ".join(["cell", json.dumps(key[0]), json.dumps(key[1]), *digests])
    for index in sorted(cases):
        outcome = cases[index].outcome
        if outcome.verdict.fails:
            match = "flaky" if outcome.flaky else "known" if outcome.known else "unexplained"
            error = "" if outcome.error is None else f" {outcome.error:g}"
            wrong = f" wrong {outcome.wrong_digest}" if outcome.wrong_digest else ""
            entries = " ".join(["", "by", *map(json.dumps, outcome.entries)])
            said = f"{match} {json.dumps(outcome.kind)}{error}{wrong}"
            yield f"  {index} {outcome.verdict.value} {said}{entries if outcome.entries else ''}"
        elif outcome.verdict is not Verdict.PASS:
            yield f"  {index} {outcome.verdict.value}"


def read(path: Path) -> Baseline:
    """Read a baseline file.

    Raises:
        BaselineError: if there is none, it has another format, or it is damaged; the message says
            where.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        said = f"there is no baseline {path}"
        raise BaselineError(f"{said}: write one with {_COMMAND.format(path)}") from None
    except OSError as error:
        raise BaselineError(f"cannot read the baseline {path}: {error.strerror}") from error
    except UnicodeDecodeError:
        text = ""
    lines = text.splitlines()
    if not lines or not lines[0].startswith(_TITLE):
        said = f"{path} is not a baseline of hlo-conformance"
        raise BaselineError(
            f"{said}: give such a file or the folder of a run, or {_rewrite_hint(path)}"
        )
    of = lines[0].removeprefix(_TITLE)[:20]
    if of not in _READ:
        said = f"{path} has format {of}, this hlo-conformance reads {FORMAT}"
        raise BaselineError(f"{said}: {_rewrite_hint(path)}, or use the version that wrote it")
    reader = _Reader()
    for index, line in enumerate(lines, 1):
        try:
            if line.strip() and not line.startswith("#"):
                reader.read(line)
        except (ValueError, KeyError):
            is_conflict = line.startswith(("<<<<<<<", "=======", ">>>>>>>"))
            what = "is a merge conflict" if is_conflict else f"cannot be: {line.strip()[:60]!r}"
            raise _damage_error(path, f"line {index} {what}") from None
    if not reader.is_whole:
        raise _damage_error(path, "its last line is missing")
    return reader.made


def _damage_error(path: Path, what: str) -> BaselineError:
    return BaselineError(
        f"{path} is damaged: {what}; take it from version control, or {_rewrite_hint(path)}"
    )


def _rewrite_hint(path: Path) -> str:
    return f"write it again with {_COMMAND.format(path)}"


class _Reader:
    """A reader of the lines of a baseline file."""

    def __init__(self) -> None:
        self.made = Baseline("", 0, "", {}, {}, {})
        self.is_whole = False
        self._backend = ""
        self._cases: dict[int, Case] = {}

    def read(self, line: str) -> None:
        """Add a line.

        Raises:
            KeyError: if it is about a case that its cell lacks, or of no backend.
            ValueError: if it has no meaning.
        """
        if self.is_whole:
            raise ValueError("a line after the last")
        words = [json.loads(w) if w.startswith('"') else w for w in _WORD.findall(line)]
        match words:
            case ["profile", profile]:
                self.made = replace(self.made, profile=profile)
            case ["seed", seed]:
                self.made = replace(self.made, seed=int(seed))
            case ["build", build]:
                self.made = replace(self.made, build=build)
            case ["version", name, version] if line.startswith("  "):
                self.made.backends[self._backend][name] = version
            case ["version", name, version]:
                self.made.versions[name] = version
            case ["backend", name]:
                self._backend = name
                self.made.backends[name] = {}
            case ["cell", op, element_type, *digests]:
                self._read_cell((op, element_type, self._backend), digests)
            case ["total", cells, "cells,", cases, "cases"]:
                self._read_total(int(cells), int(cases))
            case _:
                index, *stated = words
                case = self._cases[int(index)]
                self._cases[int(index)] = replace(case, outcome=_read_outcome(*stated))

    def _read_total(self, cells: int, cases: int) -> None:
        if (cells, cases) != (len(self.made.cells), sum(map(len, self.made.cells.values()))):
            raise ValueError("lines are missing")
        self.is_whole = True

    def _read_cell(self, key: CellKey, digests: Sequence[str]) -> None:
        if key in self.made.cells or key[2] not in self.made.backends:
            raise ValueError("a cell twice, or without a backend")
        self._cases = self.made.cells[key] = {
            index: Case(digest, CaseOutcome(Verdict.PASS))
            for index, digest in enumerate(digests)
            if digest != "-"
        }


def _read_outcome(
    verdict: str = "", match: str = "", kind: str | None = None, *facts: str
) -> CaseOutcome:
    """Return the outcome of a case from the words after its index.

    Raises:
        ValueError: if they have no meaning.
    """
    found, left = Verdict(verdict), list(facts)
    if found.fails != (kind is not None) or match not in ("", "known", "flaky", "unexplained"):
        raise ValueError("a failure without a class, or a class without a failure")
    error = float(left.pop(0)) if left and left[0] not in ("wrong", "by") else None
    wrong = left[1] if left[:1] == ["wrong"] else ""
    left = left[2:] if wrong else left
    entries = tuple(left[1:]) if left[:1] == ["by"] else ()
    if (left and not entries) or (wrong and len(wrong) != INPUT_DIGITS + WRONG_DIGITS):
        raise ValueError("other words than digests and entries")
    is_known = match in ("known", "flaky")
    return CaseOutcome(found, kind or "", is_known, error, match == "flaky", wrong, entries)
