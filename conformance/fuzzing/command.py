"""The command `fuzz`: options are validated, the campaign runs, findings are printed."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path

import msgspec
from rich.console import Console

from conformance.backends import isa
from conformance.backends.registry import parse
from conformance.campaign.budget import seconds_of
from conformance.campaign.progress import watcher
from conformance.checking.saving import PROGRAM
from conformance.errors import NOTHING_TESTED, UsageError, describe_unknown
from conformance.executors.backend_workers import describe, executor_of
from conformance.executors.executor import LOCAL, Engine, Executor
from conformance.fuzzing.calls import EXPLAIN_FINDING, MINIMISE_FAILURE
from conformance.fuzzing.campaign import Campaign, CampaignSession
from conformance.fuzzing.grouping import element_types, operations
from conformance.fuzzing.keeping.journal import FILE_NAME, Journal, StoredFinding
from conformance.fuzzing.keeping.replay import folders, replay_corpus
from conformance.fuzzing.seeds.material import Material, write_material
from conformance.fuzzing.seeds.sources import corpus_pieces, gather_material
from conformance.fuzzing.trial import NOT_TESTED, Trial
from conformance.gate.expectations import Expectation
from conformance.gate.files import Given, as_tuple
from conformance.gate.reading import load
from conformance.gate.versions import add_given_version, applicable_entries, given_versions
from conformance.judging.messages import verdict_text
from conformance.limits import LIMITS, Limits, identity_of
from conformance.outputs.campaign import CampaignFinding, CampaignSummary
from conformance.outputs.schema import CAMPAIGN, json_text
from conformance.results.database import discard
from conformance.results.versions import build, versions
from conformance.text import list_differences
from conformance.verdict import Verdict
from generators.chains.links import is_link, unlinked_ops
from generators.chains.seeds.fragment import Fragment
from reference.ops.table import OPS

_MOST_SHOWN = 3
"""Number of culprits of a finding that a line mentions."""


@dataclass(frozen=True, slots=True)
class Options:
    """Options of `hlo-conformance fuzz`."""

    out: Path
    backend: str = "cpu"
    budget: str = "10m"
    programs: int = 0
    ops: tuple[str, ...] = ()
    seed: int = 0
    jobs: int | None = None
    corpus: Path | None = None
    expectations: Given = None
    backend_versions: tuple[str, ...] = ()
    limits: Limits = LIMITS
    fresh: bool = False
    seeds: Path | None = None
    engine: Engine = LOCAL
    command: str = ""


Report = Callable[[Path], Path]
"""A function report(folder) that writes the page of a campaign into its folder, and returns its
path.
"""


def fuzz(options: Options, report: Report | None = None) -> int:
    """Run a campaign, or continue it, and return the exit code; `report` is called at the end.

    1 where there are findings that no expectation matches, 4 where nothing could be tested.

    Raises:
        UsageError: when the options are invalid, or --out holds another campaign.
        ExpectationError: when an expectation file is invalid.
        NotAvailable: when the backend is not available here.
    """
    backend = parse(options.backend)
    seconds = seconds_of(options.budget) if options.budget else 0.0
    campaign = Campaign(
        options.out, backend, seconds, options.programs, options.seed, _ops(options.ops),
        options.corpus, options.limits, options.command,
    )  # fmt: skip
    if options.corpus is not None and options.corpus.exists() and not options.corpus.is_dir():
        raise UsageError(
            f"--corpus: {options.corpus} is not a folder: findings are written into one"
        )
    known = load(options.expectations, (backend.name,), versions())
    given = given_versions(options.backend_versions, (backend.name,))
    if options.fresh:
        discard(options.out / FILE_NAME)
    with Journal(options.out) as journal:
        with executor_of(
            backend,
            jobs=options.jobs,
            limits=options.limits,
            functions=(MINIMISE_FAILURE, EXPLAIN_FINDING),
            engine=options.engine,
        ) as executor:
            # before anything is kept: it may be missing
            description = add_given_version(describe(executor, backend), given)
            known = applicable_entries(known, [description])
            material = gather_material(executor, options.seeds)
            _identify(journal, campaign, options, material, known)
            where = str(campaign.folder.resolve())
            seen = {"backend": asdict(description), "spelling": backend.spelling}
            journal.set_meta({**seen, "findings": where})
            shown = watcher(Console(stderr=True))
            _replay(executor, campaign, known, journal)
            seeds = write_material(material, options.out)
            varied = _pieces(executor, campaign)
            session = CampaignSession(
                campaign, known, journal, executor, shown, description, seeds, varied
            )
            try:
                session.work()
            finally:
                _summarise(journal, campaign)
                page = None if report is None else report(options.out)
        code = _print(journal, campaign)
    if page is not None:
        sys.stdout.write(f"report: {page}\n")
    return code


def _replay(
    executor: Executor, campaign: Campaign, known: Sequence[Expectation], journal: Journal
) -> None:
    """Print the outcomes of the corpus's findings before any new program is tried."""
    if campaign.corpus is None:
        return
    spelling, limits = campaign.backend.spelling, campaign.limits
    trial = Trial(spelling, campaign.seed, 0, 1, frozenset(), tuple(known), limits.evaluation)
    told = dict(replay_corpus(executor, trial, campaign.corpus, limits.timeout))
    for name, words in told.items():
        sys.stderr.write(f"{name}: {words}\n")
    journal.set_meta({"corpus": told})


def _pieces(executor: Executor, campaign: Campaign) -> tuple[Fragment, ...]:
    """Return the fragments of a corpus that can be varied."""
    if campaign.corpus is None:
        return ()
    return corpus_pieces(executor, [path / PROGRAM for path in folders(campaign.corpus)])


def _ops(patterns: Sequence[str]) -> frozenset[str]:
    names, reasons = [record.name for record in OPS.values() if is_link(record)], unlinked_ops()
    found: set[str] = set()
    for pattern in patterns:
        matching = [name for name in names if fnmatchcase(name, pattern)]
        if pattern in reasons:
            raise UsageError(
                f"{pattern} cannot be part of a multi-operation program: {reasons[pattern]}; "
                "`run` tests it"
            )
        if not matching:
            raise UsageError(describe_unknown("op of multi-operation programs", pattern, names))
        found.update(matching)
    return frozenset(found)


def _identify(
    journal: Journal,
    campaign: Campaign,
    options: Options,
    material: Material,
    known: Sequence[Expectation],
) -> None:
    """Write the identity of this campaign into the journal, or compare it with the stored identity.

    Other expectations make it another campaign: programs that expectations match are only counted,
    so that other expectations cannot be matched later.

    Raises:
        UsageError: if it belongs to another campaign; the message names all differences.
    """
    identity = {
        "backend": campaign.backend.name,
        "op": sorted(campaign.ops),
        "seed": campaign.seed,
        "seeds": f"{len(material.fragments)} pieces, {material.digest}",
        "expectations": _expectations(options.expectations, known),
        **identity_of(options.limits),
        **{f"version of {name}": number for name, number in versions().items()},
        **isa.identity([campaign.backend.name]),
        "build of hlo-conformance": build(),
    }
    before = journal.meta().get("identity")
    if before is None:
        started = datetime.now(UTC).isoformat(timespec="seconds")
        journal.set_meta({"identity": identity, "started": started, "command": options.command})
        return
    differing = list_differences(before, identity)
    if differing:
        raise UsageError(
            f"{options.out} holds a campaign with {'; '.join(differing)}: "
            "choose another --out, or start over with --fresh, which keeps the folders of findings"
        )


def _expectations(given: Given, known: Sequence[Expectation]) -> str:
    """Return the names of the given expectations, how many apply, and a digest of their content."""
    plain = [msgspec.structs.replace(one, reason="", link="") for one in known]
    digest = hashlib.sha256(msgspec.json.encode(plain)).hexdigest()
    names = " ".join(as_tuple(given) or ("shipped",))
    count = "1 entry" if len(plain) == 1 else f"{len(plain)} entries"
    return f"{names} ({count}, {digest[:8]})"


def _summarise(journal: Journal, campaign: Campaign) -> None:
    """Write the numbers of a campaign to campaign.json."""
    shown = CampaignSummary(
        schema="campaign",
        schema_version=CAMPAIGN.version,
        meta=journal.meta(),
        counts=dict(journal.counts()),
        pairs_of_ops=journal.pair_count(),
        findings=tuple(map(_describe_finding, journal.findings())),
        unlinked_ops=unlinked_ops(),
    )
    (campaign.out / "campaign.json").write_text(json_text(shown), "utf-8")


def _describe_finding(one: StoredFinding) -> CampaignFinding:
    """Return a finding as campaign.json has it."""
    return CampaignFinding(
        name=one.name,
        signature=one.signature,
        known=one.known,
        verdict=Verdict(one.verdict),
        class_=one.kind,
        culprit=one.culprit,
        operations=one.operations,
        elements=one.elements,
        text=one.text,
        message=one.message,
        cause=one.cause,
        count=one.count,
        culprits=one.culprits,
        signatures=one.signatures,
    )


def shown_culprits(one: StoredFinding) -> str:
    """Return the culprit operations of a finding and their element types, in a few words."""
    ops, types = operations(one.culprits), " ".join(element_types(one.culprits))
    if not ops:
        return one.culprit or one.name
    more = f" and {len(ops) - _MOST_SHOWN} more" if len(ops) > _MOST_SHOWN else ""
    named = "; ".join(ops[:_MOST_SHOWN])
    return f"{named}{more} ({types})" if types else f"{named}{more}"


def _print(journal: Journal, campaign: Campaign) -> int:
    """Print the findings and the counts of programs; return the exit code."""
    counts, found = journal.counts(), journal.findings()
    for one in found:
        if not one.known:
            times = f"{one.count} programs" if one.count > 1 else "1 program"
            where = campaign.folder / one.name
            gone = ", ".join(one.told.get("attribution", {}).get("vanishes", ()))
            cause = f", gone {gone}" if gone else ""
            what = shown_culprits(one)
            said = verdict_text(one.verdict, one.kind, f"{what}, {times}{cause}: {where}")
            sys.stdout.write(f"{said}\n")
    new = sum(not one.known for one in found)
    told = ", ".join(f"{word} {count}" for word, count in sorted(counts.items()))
    sys.stdout.write(
        f"{counts.total()} programs: {told or 'none'}; {journal.pair_count()} pairs of ops; "
        f"{new} findings, {len(found) - new} known\n"
    )
    if not campaign.ops:
        count = len(unlinked_ops())
        left = f"{count} ops are never part of programs: campaign.json says why"
        sys.stdout.write(f"{left}\n")
    if new:
        return 1
    tested = sum(count for word, count in counts.items() if word not in NOT_TESTED)
    return 0 if tested else NOTHING_TESTED
