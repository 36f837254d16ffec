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
from collections.abc import Callable, Iterator
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
_TEXT = r'"(?:[^"\\]|\\.)*"'
_FACTS = (
    rf"(?: (\d\S*))?(?: wrong ([0-9a-f]{{{INPUT_DIGITS + WRONG_DIGITS}}}))?(?: by((?: TEXT)+))?"
)


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
    return _Reader(path).read(lines)


def _rewrite_hint(path: Path) -> str:
    return f"write it again with {_COMMAND.format(path)}"


class _Reader:
    """A parser of baseline files, line by line."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._made = Baseline("", 0, "", {}, {}, {})
        self._backend: str | None = None
        self._cases: dict[int, Case] = {}
        self._is_whole = False
        self._readers: list[tuple[re.Pattern[str], Callable[..., None]]] = [
            (re.compile(pattern.replace("STRING", f"({_TEXT})").replace("TEXT", _TEXT)), read)
            for pattern, read in (
                (r"#.*|\s*", lambda: None),
                (r"profile STRING", self._profile),
                (r"seed (-?\d+)", self._seed),
                (r"build STRING", self._build),
                (r"(  )?version STRING STRING", self._version),
                (r"backend STRING", self._open_backend),
                (r"cell STRING STRING((?: (?:[0-9a-f]+|-))*)", self._cell),
                (rf"  (\d+) (\w+)(?: (known|flaky|unexplained) STRING{_FACTS})?", self._case),
                (r"total (\d+) cells, (\d+) cases", self._total),
            )
        ]

    def read(self, lines: list[str]) -> Baseline:
        for number, line in enumerate(lines, 1):
            if self._is_whole and line.strip():
                raise self._damage_error(number, line)
            try:
                self._line(line)
            except (ValueError, KeyError):
                raise self._damage_error(number, line) from None
        if not self._is_whole:
            said = f"{self._path} is damaged: its last line is missing"
            raise BaselineError(
                f"{said}; take it from version control, or {_rewrite_hint(self._path)}"
            )
        return self._made

    def _damage_error(self, number: int, line: str) -> BaselineError:
        is_conflict = line.startswith(("<<<<<<<", "=======", ">>>>>>>"))
        what = "is a merge conflict" if is_conflict else f"cannot be: {line.strip()[:60]!r}"
        said = f"{self._path} is damaged: line {number} {what}"
        return BaselineError(
            f"{said}; take it from version control, or {_rewrite_hint(self._path)}"
        )

    def _line(self, line: str) -> None:
        for pattern, read in self._readers:
            match = pattern.fullmatch(line)
            if match is not None:
                return read(*match.groups())
        raise ValueError(line)

    def _profile(self, stated: str) -> None:
        self._made = replace(self._made, profile=json.loads(stated))

    def _seed(self, stated: str) -> None:
        self._made = replace(self._made, seed=int(stated))

    def _build(self, stated: str) -> None:
        self._made = replace(self._made, build=json.loads(stated))

    def _version(self, indented: str | None, name: str, version: str) -> None:
        of = self._made.versions if indented is None else self._made.backends[self._backend or ""]
        of[json.loads(name)] = json.loads(version)

    def _open_backend(self, name: str) -> None:
        self._backend = json.loads(name)
        self._made.backends[self._backend or ""] = {}

    def _cell(self, op: str, element_type: str, digests: str) -> None:
        if self._backend is None:
            raise ValueError("a cell without a backend")
        self._cases = {
            index: Case(digest, CaseOutcome(Verdict.PASS))
            for index, digest in enumerate(digests.split())
            if digest != "-"
        }
        key = (json.loads(op), json.loads(element_type), self._backend)
        if key in self._made.cells:
            raise ValueError("a cell twice")
        self._made.cells[key] = self._cases

    def _case(
        self,
        index: str,
        verdict: str,
        match: str | None,
        kind: str | None,
        error: str | None,
        wrong: str | None,
        entries: str | None,
    ) -> None:
        found = Verdict(verdict)
        if found.fails != (kind is not None):
            raise ValueError("a failure without a class, or a class without a failure")
        outcome = CaseOutcome(
            found,
            "" if kind is None else json.loads(kind),
            match in ("known", "flaky"),
            None if error is None else float(error),
            match == "flaky",
            wrong or "",
            tuple(json.loads(id_) for id_ in re.findall(_TEXT, entries or "")),
        )
        self._cases[int(index)] = replace(self._cases[int(index)], outcome=outcome)

    def _total(self, cells: str, cases: str) -> None:
        counted = (len(self._made.cells), sum(map(len, self._made.cells.values())))
        if (int(cells), int(cases)) != counted:
            raise ValueError("lines are missing")
        self._is_whole = True
