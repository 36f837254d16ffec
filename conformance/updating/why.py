"""The command `expectations why`: which entry matches a recorded case, or why none does."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from conformance.backends.base import Description
from conformance.campaign.recorded import RecordedCase
from conformance.campaign.replay import find
from conformance.catalog import column_of
from conformance.checking.saving import PROGRAM
from conformance.errors import NotAvailable
from conformance.frontends.modules import Unit, read_units
from conformance.fuzzing.keeping.replay import read_finding, replay
from conformance.gate.classes import NOT_DETERMINISTIC
from conformance.gate.conditions import Circumstances, first_unmet_condition, is_about
from conformance.gate.expectations import Expectation
from conformance.gate.files import Given, as_tuple, is_shipped
from conformance.gate.reading import entries_of
from conformance.gate.remarks import has_reason
from conformance.judging.messages import verdict_text
from conformance.limits import LIMITS
from conformance.results.store import FILE_NAME, Store
from conformance.results.versions import versions
from conformance.stablehlo.emit import spell_operation
from conformance.transforms.values import working_operations
from conformance.updating.groups import NewFailure, new_failures
from conformance.verdict import Detail, Record


def explain(id_: str, db: Path, given: Given = None) -> int:
    """Print for each failure of a case which entry matches it, or why none does.

    `given` are the expectations to match, None for the run's expectations. The exit code is 1 where
    something is new, 0 otherwise.

    Raises:
        StoreError: when there is no run, or it cannot be read.
        UsageError: when the run has no such case.
        ExpectationError: when the expectations cannot be read.
    """
    case = find(db, id_)
    record = case.record
    if not record.verdict.fails:
        sys.stdout.write(f"{id_}: {record.verdict.value}: it does not fail\n")
        return 0
    if given is not None:
        case = replace(case, expectations=given)
    entries = entries_of(case.expectations, (record.backend,))
    under = _circumstances(db, record.backend)
    # of what no entry is asked about any more: as if nothing were known
    bare = replace(record, known="", failing=tuple(replace(f, known="") for f in record.failing))
    is_new = asks_computed = False
    matching: list[tuple[Path, Expectation]] = []
    for failure in new_failures(bare):
        lines, known = _explain_failure(failure, entries, under)
        is_new |= not known
        asks_computed |= not known and any(one.predicts for _, one in entries)
        matching += known
        sys.stdout.write("".join(f"{line}\n" for line in lines))
    if asks_computed and given is not None:
        sys.stdout.write(
            "values were judged with the expectations of the run; rerun with these expectations to "
            "evaluate their 'computes'\n"
        )
    words = _next_command(case, db, [] if is_new else matching)
    sys.stdout.write(f"next: {shlex.join(('hlo-conformance', *words))}\n")
    return 1 if is_new else 0


def explain_saved(folder: Path, given: Given = None) -> int:
    """Print which entry matches the failure in a folder of `check --save`, `fuzz` or `reduce`, or
    why none does.

    `given` are the expectations to match, the shipped ones by default. The exit code is 1 where the
    failure is new, 0 otherwise.

    Raises:
        UsageError: when the folder holds no program that can be judged.
        ExpectationError: when the expectations cannot be read.
        NotAvailable: when the backend is not available.
    """
    kept = read_finding(folder)
    (row,) = replay(kept, (), LIMITS, given)
    outcome = row.outcome
    if outcome is None:
        raise NotAvailable(row.why)
    if not outcome.verdict.fails:
        sys.stdout.write(f"{kept.folder.name}: {outcome.verdict.value}: it does not fail\n")
        return 0
    entries = entries_of(given, (row.backend,))
    verdict, kind = outcome.fault or (outcome.verdict, outcome.kind)
    records = [
        Record(*name, row.backend, 0, "", verdict, kind, outcome.message, detail=detail)
        for name, detail in _suspects(folder, outcome.culprit).items()
    ]
    under = Circumstances(
        versions().get("jaxlib", ""), Description(row.backend, "", "", row.versions)
    )
    if outcome.known:
        entries = [one for one in entries if one[1].id in outcome.known]
        what = verdict_text(verdict.value, kind, "")
        lines = [f"{what}: {_known_text(path, entry)}" for path, entry in entries]
    else:
        failures = [failure for record in records for failure in new_failures(record)]
        told = [_explain_failure(failure, entries, under)[0] for failure in failures]
        lines = [*told[0][:1], *(line for one in told for line in one[1:])]
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return 0 if outcome.known else 1


def _suspects(folder: Path, culprit: str) -> dict[tuple[str, str], Detail]:
    """Return the operations of a saved program that may have failed, by op and element type.

    These are the operations of the culprit's op, or all operations if there is no culprit.
    """
    op, _, element_type = culprit.rpartition(" ")
    units = [unit for unit in read_units(folder / PROGRAM) if isinstance(unit, Unit)]
    found: dict[tuple[str, str], list[str]] = {(op, element_type): []} if culprit else {}
    for one in (operation for unit in units for operation in working_operations(unit.flat.program)):
        if not culprit:
            found.setdefault((one.name, column_of(one)), []).append(spell_operation(one))
        elif one.name == op:
            found[op, element_type].append(spell_operation(one))
    return {name: Detail("\n".join(texts), b"", 0, 0) for name, texts in found.items()}


def _known_text(path: Path, entry: Expectation) -> str:
    return f"known by {entry.id} ({_path_text(path)}): {entry.reason}"


def _next_command(
    case: RecordedCase, db: Path, matching: Sequence[tuple[Path, Expectation]]
) -> tuple[str, ...]:
    """Return the words of the command to run next: one that writes an entry, or its reason, or that
    replays what matches. `matching` are the entries that match all failures, none if some is new.
    """
    record = case.record
    files = [file for file in as_tuple(case.expectations) or () if Path(file).is_file()]
    update = ("expectations", "update", str(db), "--out", *(files[-1:] or ["expectations.toml"]))
    if not matching:
        varies = record.kind == NOT_DETERMINISTIC
        return (*update, *(("--runs", "3") if varies else ()))
    for path, entry in matching:
        if not has_reason(entry):
            return (
                *update[:4],
                str(path),
                "--reason",
                f"{record.kind or record.verdict.value}=...",
            )
    path, entry = matching[0]
    if entry.counterexample is None:
        return ("replay", record.id, "--db", str(db))
    given = as_tuple(case.expectations) or () if is_shipped(path) else (str(path),)
    asked = [word for one in given for word in ("--expectations", one)]
    return ("expectations", "check", entry.id, "--backend", case.backend, *asked)


def _circumstances(db: Path, backend: str) -> Circumstances:
    with Store(db / FILE_NAME if db.is_dir() else db, read_only=True) as store:
        meta = store.meta()
        described = store.convert(meta.get("backends", []), tuple[Description, ...])
    jaxlib = meta.get("versions", {}).get("jaxlib", "")
    return Circumstances(jaxlib, next((one for one in described if one.name == backend), None))


def _explain_failure(
    failure: NewFailure, entries: Sequence[tuple[Path, Expectation]], under: Circumstances
) -> tuple[list[str], list[tuple[Path, Expectation]]]:
    """Return lines about a failure, and the first entry that matches it, if any does."""
    asked = _as_record(failure)
    what = verdict_text(failure.failing.verdict.value, failure.failing.kind, "")
    about = [(path, entry) for path, entry in entries if is_about(entry, asked)]
    reasons = [(path, entry, first_unmet_condition(entry, asked, under)) for path, entry in about]
    knowing = [(path, entry) for path, entry, why in reasons if not why]
    if knowing:
        knowing.sort(key=lambda one: one[1].cause is None)  # asked first
        (path, entry), *later = knowing
        lines = [f"{what}: {_known_text(path, entry)}"]
        lines += _prediction(failure, entry)
        if later:
            ids = ", ".join(entry.id for _, entry in later)
            lines.append(f"  also matched by {ids}, which come later")
        return lines, knowing[:1]
    lines = [f"{what}: new: {' '.join(failure.failing.message.split())}".removesuffix(": ")]
    if not reasons:
        lines.append(f"  no entry applies to {asked.op} of {asked.element_type}")
    lines += [f"  {entry.id} ({_path_text(path)}): {why}" for path, entry, why in reasons]
    return lines, []


def _as_record(failure: NewFailure) -> Record:
    """Return a record of the case with a single failure."""
    one = failure.failing
    return replace(
        failure.record, verdict=one.verdict, kind=one.kind, message=one.message,
        worst_ulp=one.worst_ulp, failing=(one,),
    )  # fmt: skip


def _prediction(failure: NewFailure, entry: Expectation) -> Iterator[str]:
    """Yield lines about the prediction of a matching entry."""
    one = failure.failing
    if not one.verdict.has_results:
        by = "words" if entry.words else "where"
        yield f"  by its {by}: {', '.join(map(repr, getattr(entry, by)))}"
        return
    if entry.predicts:
        key = entry.stating_key
        yield f"  its {key!r} predicts the values"
    else:
        yield f"  by the class {one.kind!r}"
    if one.wrong:
        yield f"  {one.predicted} of {one.wrong} elements are predicted within 2 ulp"


def _path_text(path: Path) -> str:
    return f"shipped, {path.stem}" if is_shipped(path) else str(path)
