"""The data of a campaign's reports: trials, coverage and findings, read from its journal."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.errors import UsageError
from conformance.fuzzing.keeping.journal import FILE_NAME, Journal, StoredFinding
from conformance.results.store import FILE_NAME as RESULTS
from generators.chains.links import is_link
from reference.ops.table import OPS


@dataclass(frozen=True, slots=True)
class CampaignData:
    """The data of a campaign's page.

    `counts` has the number of programs by outcome, `pairs` the covered pairs of an op and an op
    that uses its result, `ops` the ops that chains can contain, `meta` the identity of the
    campaign.
    """

    folder: Path
    meta: dict[str, Any]
    counts: Counter[str]
    findings: tuple[StoredFinding, ...]
    pairs: frozenset[tuple[str, str]]
    modules: int
    ops: tuple[str, ...]


def is_campaign(folder: Path) -> bool:
    """Return whether a folder, or a database given instead of it, belongs to a campaign and not to
    a run.
    """
    if (folder / RESULTS).is_file():
        return False
    return folder.name == FILE_NAME or (folder / FILE_NAME).is_file()


def load(path: Path) -> CampaignData:
    """Return the campaign in a folder, or in its campaign.sqlite.

    Raises:
        UsageError: if there is none, or it cannot be read.
    """
    folder = path.parent if path.name == FILE_NAME else path
    if not (folder / FILE_NAME).is_file():
        raise UsageError(f"{folder} holds no campaign: it has no {FILE_NAME}")
    with Journal(folder, read_only=True) as journal:
        return CampaignData(
            folder,
            journal.meta(),
            journal.counts(),
            tuple(journal.findings()),
            frozenset(journal.pairs()),
            journal.modules(),
            tuple(record.name for record in OPS.values() if is_link(record)),
        )
