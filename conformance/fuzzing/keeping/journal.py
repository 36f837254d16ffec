"""The journal of a campaign: a database with one transaction per trial.

A campaign that is killed at any moment loses nothing that it has reported: finished trials, waiting
failures, findings and their numbers of programs.
"""

from __future__ import annotations

import json
import pickle
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conformance.fuzzing.steering.coverage_counts import CampaignCoverage
from conformance.fuzzing.trial import FailingProgram, TrialResult
from conformance.results.database import Database

FILE_NAME = "campaign.sqlite"

_TABLES = """
CREATE TABLE trials (
  start INTEGER PRIMARY KEY, stop INTEGER, counts TEXT, modules INTEGER, peak_rss_mb REAL);
CREATE TABLE pairs (
  first TEXT, second TEXT, met INTEGER, PRIMARY KEY (first, second)) WITHOUT ROWID;
CREATE TABLE steps (
  step TEXT, element_type TEXT, met INTEGER, PRIMARY KEY (step, element_type)) WITHOUT ROWID;
CREATE TABLE choices (
  op TEXT, dimension TEXT, label TEXT, met INTEGER,
  PRIMARY KEY (op, dimension, label)) WITHOUT ROWID;
CREATE TABLE failures (
  number INTEGER PRIMARY KEY, place TEXT, culprit TEXT, program BLOB, finding TEXT, signature TEXT,
  minimal TEXT);
CREATE TABLE findings (
  name TEXT PRIMARY KEY, signature TEXT, known TEXT, verdict TEXT, class TEXT, culprit TEXT,
  operations INTEGER, elements INTEGER, text TEXT, message TEXT, told TEXT, cause TEXT,
  unexplained BLOB) WITHOUT ROWID;
"""


_COUNTING = (
    "INSERT INTO pairs VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET met = met + excluded.met",
    "INSERT INTO steps VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET met = met + excluded.met",
    "INSERT INTO choices VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET met = met + excluded.met",
)
_COUNTED = ("SELECT * FROM pairs", "SELECT * FROM steps", "SELECT * FROM choices")
"""Queries that read stored coverage counts, in the order of `_counters`."""


def _counters(met: CampaignCoverage) -> tuple[Counter[Any], Counter[Any], Counter[Any]]:
    return (met.pairs, met.steps, met.choices)


@dataclass(frozen=True, slots=True)
class StoredFinding:
    """A finding as a row of the journal; a `Finding` holds the program and its arrays.

    `count` is the number of programs that led to it. `told` is the content of its finding.json;
    empty if expectations match it. `cause` is the key of its cause. `culprits` maps each culprit
    with its element type to the number of programs that have it, `signatures` each signature of a
    minimised program to the number of programs minimised to it.
    """

    name: str
    signature: str
    known: str
    verdict: str
    kind: str
    culprit: str
    operations: int
    elements: int
    text: str
    message: str
    told: dict[str, Any] = field(default_factory=dict[str, Any])
    cause: str = ""
    count: int = 0
    culprits: dict[str, int] = field(default_factory=dict[str, int])
    signatures: dict[str, int] = field(default_factory=dict[str, int])


class Journal(Database):
    """The journal of a campaign. Use as a context manager, from one thread."""

    HOLDS = "campaign"
    TABLES = _TABLES
    FORMAT = 6
    APPLICATION = 0

    def __init__(self, folder: Path, *, read_only: bool = False) -> None:
        """Open the journal in a folder; create both if `read_only` is false.

        Raises:
            StoreError: when it cannot be read or written, or is none.
        """
        super().__init__(folder / FILE_NAME, read_only=read_only)

    def add(self, start: int, stop: int, tried: TrialResult, places: Mapping[int, str]) -> int:
        """Store the outcome of a trial, with its failures and their places by number.

        Returns:
            The number of pairs of ops that were covered for the first time.
        """
        failures = [
            (failure.number, places[failure.number], failure.outcome.culprit, pickle.dumps(failure))
            for failure in tried.failures
        ]
        with self.transaction() as database:
            before = self.pair_count()
            database.execute(
                "INSERT OR REPLACE INTO trials VALUES (?, ?, ?, ?, ?)",
                (start, stop, json.dumps(tried.counts), tried.modules, tried.peak_rss_mb),
            )
            for counting, counts in zip(_COUNTING, _counters(tried.met), strict=True):
                rows = [(*key, count) for key, count in sorted(counts.items())]
                database.executemany(counting, rows)
            database.executemany(
                "INSERT OR REPLACE INTO failures VALUES (?, ?, ?, ?, NULL, NULL, NULL)", failures
            )
            return self.pair_count() - before

    def coverage_counts(self) -> CampaignCoverage:
        """Return the coverage counts of all stored trials."""
        found = CampaignCoverage()
        for query, counts in zip(_COUNTED, _counters(found), strict=True):
            counts.update({tuple(row[:-1]): row[-1] for row in self.rows(query)})
        return found

    def pair_count(self) -> int:
        """Return the number of covered pairs of ops in which one op uses a result of the other."""
        return int(self.rows("SELECT count(*) FROM pairs")[0][0])

    def pairs(self) -> list[tuple[str, str]]:
        """Return the covered pairs of ops."""
        return self.rows("SELECT first, second FROM pairs ORDER BY first, second")

    def modules(self) -> int:
        """Return the number of modules that were compiled to try programs."""
        return int(self.rows("SELECT coalesce(sum(modules), 0) FROM trials")[0][0])

    def ended_trials(self) -> list[tuple[int, int]]:
        """Return the trials that ended, as half-open ranges of programs."""
        return self.rows("SELECT start, stop FROM trials ORDER BY start")

    def counts(self) -> Counter[str]:
        """Return the number of programs by outcome."""
        total: Counter[str] = Counter()
        for (counts,) in self.rows("SELECT counts FROM trials"):
            total.update(json.loads(counts))
        return total

    def open_failures(self) -> list[tuple[str, FailingProgram]]:
        """Return the failures that wait to be minimised, with their places."""
        rows = self.rows(
            "SELECT place, program FROM failures WHERE finding IS NULL ORDER BY number"
        )
        return [(place, pickle.loads(failure)) for place, failure in rows]  # noqa: S301 - our own

    def open_count(self) -> int:
        """Return the number of failures that wait to be minimised."""
        return int(self.rows("SELECT count(*) FROM failures WHERE finding IS NULL")[0][0])

    def failure(self, number: int) -> FailingProgram:
        """Return the failure of a program that waits to be minimised."""
        ((failure,),) = self.rows("SELECT program FROM failures WHERE number = ?", number)
        return pickle.loads(failure)  # noqa: S301 - our own

    def place_counts(self) -> Counter[str]:
        """Return how many failures each place has."""
        return Counter(dict(self.rows("SELECT place, count(*) FROM failures GROUP BY place")))

    def minimised_failures(self) -> list[tuple[str, str, str]]:
        """Return place, culprit and finding of each failure that was minimised."""
        return self.rows(
            "SELECT place, culprit, finding FROM failures WHERE signature NOT NULL ORDER BY number"
        )

    def settle(self, number: int, finding: str, signature: str = "", culprit: str = "") -> None:
        """Assign a failure to a finding, and delete the stored failure.

        `signature` and `culprit` are its minimised program's, if it was minimised.
        """
        with self.transaction() as database:
            _settle(database, number, finding, signature, culprit)

    def add_finding(self, number: int, kept: StoredFinding, unexplained: object = None) -> bool:
        """Store the finding of a failure; return whether it is new."""
        row = (kept.name, kept.signature, kept.known, kept.verdict, kept.kind, kept.culprit,
               kept.operations, kept.elements, kept.text, kept.message, json.dumps(kept.told),
               kept.cause, unexplained and pickle.dumps((number, unexplained)))  # fmt: skip
        minimised = ("", "") if kept.known else (kept.signature, kept.culprit)
        with self.transaction() as database:
            added = database.execute(
                "INSERT OR IGNORE INTO findings VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row
            ).rowcount
            _settle(database, number, kept.name, *minimised)
        return added > 0

    def explain(self, name: str, told: Mapping[str, Any]) -> None:
        """Store the content of finding.json for a finding, now with its attribution."""
        with self.transaction() as database:
            database.execute(
                "UPDATE findings SET told = ?, unexplained = NULL WHERE name = ?",
                (json.dumps(told), name),
            )

    def findings_without_attribution(self) -> list[tuple[int, Any]]:
        """Return the findings without attribution, each with the number of its program."""
        rows = self.rows("SELECT unexplained FROM findings WHERE unexplained NOT NULL")
        return [pickle.loads(row[0]) for row in rows]  # noqa: S301 - our own

    def findings(self, cause: str | None = None) -> list[StoredFinding]:
        """Return all findings, or those whose cause has this key; the most frequent first."""
        culprits = self._counts_of("coalesce(minimal, culprit)")
        signatures = self._counts_of("signature")
        rows = self.rows(
            "SELECT f.name, f.signature, f.known, f.verdict, f.class, f.culprit, f.operations, "
            "f.elements, f.text, f.message, f.told, f.cause, count(h.number) AS met "
            "FROM findings f LEFT JOIN failures h ON h.finding = f.name "
            "WHERE f.cause = ? OR ? IS NULL GROUP BY f.name ORDER BY met DESC, f.name",
            cause, cause,
        )  # fmt: skip
        return [
            StoredFinding(
                *row[:10], told=json.loads(row[10]), cause=row[11], count=row[12],
                culprits=culprits[row[0]], signatures=signatures[row[0]],
            )
            for row in rows
        ]  # fmt: skip

    def _counts_of(self, column: str) -> defaultdict[str, dict[str, int]]:
        """Return how many failures of each finding have each value of a column, the most first."""
        found: defaultdict[str, dict[str, int]] = defaultdict(dict)
        rows = self.rows(
            f"SELECT finding, {column} AS value, count(*) AS met FROM failures "  # noqa: S608 - ours
            "WHERE finding NOT NULL AND value != '' GROUP BY finding, value "
            "ORDER BY met DESC, value"
        )
        for finding, value, count in rows:
            found[finding][value] = count
        return found


def _settle(
    database: sqlite3.Connection, number: int, finding: str, signature: str, culprit: str
) -> None:
    database.execute(
        "UPDATE failures SET finding = ?, signature = ?, minimal = ?, program = NULL "
        "WHERE number = ?",
        (finding, signature or None, culprit or None, number),
    )
