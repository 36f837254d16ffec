"""The journal of a campaign: one SQLite file that the parent alone writes, a transaction per trial.

A campaign that is killed at any moment has lost nothing that was told: trials that ended, hits that
wait to be minimised, findings and how often they were met.
"""

from __future__ import annotations

import json
import pickle
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from conformance.errors import UsageError
from conformance.fuzzing.steering.meetings import Meetings
from conformance.fuzzing.trial import Hit, Tried

FILE_NAME = "campaign.sqlite"

_VERSION = 5
"""Counts the changes of the tables."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS trials (
  start INTEGER PRIMARY KEY, stop INTEGER, counts TEXT, modules INTEGER, peak_rss_mb REAL);
CREATE TABLE IF NOT EXISTS pairs (
  first TEXT, second TEXT, met INTEGER, PRIMARY KEY (first, second)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS steps (
  step TEXT, element_type TEXT, met INTEGER, PRIMARY KEY (step, element_type)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS choices (
  op TEXT, dimension TEXT, label TEXT, met INTEGER,
  PRIMARY KEY (op, dimension, label)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS hits (
  number INTEGER PRIMARY KEY, place TEXT, culprit TEXT, hit BLOB, finding TEXT, signature TEXT,
  minimal TEXT);
CREATE TABLE IF NOT EXISTS findings (
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
"""Queries that read coverage counts again, in the order of `_counters`."""


def _counters(met: Meetings) -> tuple[Counter[Any], Counter[Any], Counter[Any]]:
    return (met.pairs, met.steps, met.choices)


@dataclass(frozen=True, slots=True)
class Kept:
    """A finding in the journal. `count` is the number of programs that led to it. `told` is the
    content of its finding.json; empty if expectations match it. `cause` is the key of its cause.
    `culprits` maps each culprit with its element type to the number of programs that have it,
    `signatures` each signature of a minimised program to the number of programs minimised to it.
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


class Journal:
    """The open journal of a campaign. Use as a context manager."""

    def __init__(self, folder: Path) -> None:
        """Open the journal in a folder, or begin a new journal.

        Raises:
            UsageError: if it cannot be written, or is no journal.
        """
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = sqlite3.connect(folder / FILE_NAME, isolation_level=None)
            self._file.execute("PRAGMA journal_mode = WAL")
            self._file.execute("PRAGMA synchronous = NORMAL")
            made_by = self._all("PRAGMA user_version")[0][0]
            if not made_by and not self._all("SELECT * FROM sqlite_master"):
                self._file.execute(f"PRAGMA user_version = {_VERSION}")
                made_by = _VERSION
            self._file.executescript(_SCHEMA)
        except (OSError, sqlite3.Error) as error:
            raise UsageError(f"cannot write to {folder / FILE_NAME}: {error}") from error
        if made_by != _VERSION:
            self._file.close()
            raise UsageError(
                f"{folder / FILE_NAME} is of another version of hlo-conformance: "
                "choose another --out, or start over with --fresh"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def meta(self) -> dict[str, Any]:
        """Return the stored identity of the campaign."""
        return {key: json.loads(value) for key, value in self._all("SELECT * FROM meta")}

    def set_meta(self, values: Mapping[str, Any]) -> None:
        """Tell something of the campaign."""
        rows = [(key, json.dumps(value)) for key, value in values.items()]
        self._file.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", rows)

    def _all(self, query: str, *given: Any) -> list[Any]:
        with closing(self._file.execute(query, given)) as rows:
            return rows.fetchall()

    def add(self, start: int, stop: int, tried: Tried, places: Mapping[int, str]) -> int:
        """Store the outcome of a trial, its failures by number with their places.

        Returns:
            The number of pairs of ops that were covered for the first time.
        """
        self._file.execute("BEGIN")
        before = self.pair_count()
        self._file.execute(
            "INSERT OR REPLACE INTO trials VALUES (?, ?, ?, ?, ?)",
            (start, stop, json.dumps(tried.counts), tried.modules, tried.peak_rss_mb),
        )
        for counting, counts in zip(_COUNTING, _counters(tried.met), strict=True):
            rows = [(*key, count) for key, count in sorted(counts.items())]
            self._file.executemany(counting, rows)
        self._file.executemany(
            "INSERT OR REPLACE INTO hits VALUES (?, ?, ?, ?, NULL, NULL, NULL)",
            [
                (hit.number, places[hit.number], hit.outcome.culprit, pickle.dumps(hit))
                for hit in tried.hits
            ],
        )
        met = self.pair_count() - before
        self._file.execute("COMMIT")
        return met

    def met(self) -> Meetings:
        """Return the coverage counts."""
        found = Meetings()
        for query, counts in zip(_COUNTED, _counters(found), strict=True):
            counts.update({tuple(row[:-1]): row[-1] for row in self._all(query)})
        return found

    def pair_count(self) -> int:
        """Return the number of covered pairs of ops, of which one uses a result of the other."""
        return int(self._all("SELECT count(*) FROM pairs")[0][0])

    def pairs(self) -> list[tuple[str, str]]:
        """Return the covered pairs of ops."""
        return self._all("SELECT first, second FROM pairs ORDER BY first, second")

    def modules(self) -> int:
        """Return the number of modules that were compiled to try programs."""
        return int(self._all("SELECT coalesce(sum(modules), 0) FROM trials")[0][0])

    def tried(self) -> list[tuple[int, int]]:
        """Return the trials that ended, as half-open ranges of programs."""
        return self._all("SELECT start, stop FROM trials ORDER BY start")

    def counts(self) -> Counter[str]:
        """Return the number of programs by outcome."""
        total: Counter[str] = Counter()
        for (counts,) in self._all("SELECT counts FROM trials"):
            total.update(json.loads(counts))
        return total

    def open_hits(self) -> list[tuple[str, Hit]]:
        """Return the failures that wait to be minimised, with their places."""
        rows = self._all("SELECT place, hit FROM hits WHERE finding IS NULL ORDER BY number")
        return [(place, pickle.loads(hit)) for place, hit in rows]  # noqa: S301 - our own

    def open_count(self) -> int:
        """Return the number of failures that wait to be minimised."""
        return int(self._all("SELECT count(*) FROM hits WHERE finding IS NULL")[0][0])

    def hit(self, number: int) -> Hit:
        """Return the failure of a program that waits to be minimised."""
        ((hit,),) = self._all("SELECT hit FROM hits WHERE number = ?", number)
        return pickle.loads(hit)  # noqa: S301 - our own

    def place_counts(self) -> Counter[str]:
        """Return how many hits each place has."""
        return Counter(dict(self._all("SELECT place, count(*) FROM hits GROUP BY place")))

    def minimised(self) -> list[tuple[str, str, str]]:
        """Return place, culprit and finding of each hit that was minimised."""
        return self._all(
            "SELECT place, culprit, finding FROM hits WHERE signature NOT NULL ORDER BY number"
        )

    def settle(self, number: int, finding: str, signature: str = "", culprit: str = "") -> None:
        """Assign a hit to a finding; the hit itself is no longer needed.

        `signature` and `culprit` are its minimised program's, if it was minimised.
        """
        self._file.execute(
            "UPDATE hits SET finding = ?, signature = ?, minimal = ?, hit = NULL WHERE number = ?",
            (finding, signature or None, culprit or None, number),
        )

    def add_finding(self, number: int, kept: Kept, unexplained: object = None) -> bool:
        """Store the finding of a failure; return whether it is new. `unexplained()` returns
        `unexplained` until `explain` is called.
        """
        row = (kept.name, kept.signature, kept.known, kept.verdict, kept.kind, kept.culprit,
               kept.operations, kept.elements, kept.text, kept.message, json.dumps(kept.told),
               kept.cause, unexplained and pickle.dumps((number, unexplained)))  # fmt: skip
        self._file.execute("BEGIN")
        added = self._file.execute(
            "INSERT OR IGNORE INTO findings VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row
        ).rowcount
        if kept.known:
            self.settle(number, kept.name)
        else:
            self.settle(number, kept.name, kept.signature, kept.culprit)
        self._file.execute("COMMIT")
        return added > 0

    def explain(self, name: str, told: Mapping[str, Any]) -> None:
        """Keep what finding.json says of a finding whose attribution is known now."""
        self._file.execute(
            "UPDATE findings SET told = ?, unexplained = NULL WHERE name = ?",
            (json.dumps(told), name),
        )

    def unexplained(self) -> list[tuple[int, Any]]:
        """Return the findings without attribution, each with the number of its program."""
        rows = self._all("SELECT unexplained FROM findings WHERE unexplained NOT NULL")
        return [pickle.loads(row[0]) for row in rows]  # noqa: S301 - our own

    def findings(self, cause: str | None = None) -> list[Kept]:
        """Return all findings, or those whose cause has this key; the most frequent first."""
        culprits = self._counts_of("coalesce(minimal, culprit)")
        signatures = self._counts_of("signature")
        rows = self._all(
            "SELECT f.name, f.signature, f.known, f.verdict, f.class, f.culprit, f.operations, "
            "f.elements, f.text, f.message, f.told, f.cause, count(h.number) AS met "
            "FROM findings f LEFT JOIN hits h ON h.finding = f.name "
            "WHERE f.cause = ? OR ? IS NULL GROUP BY f.name ORDER BY met DESC, f.name",
            cause, cause,
        )  # fmt: skip
        return [
            Kept(
                *row[:10], told=json.loads(row[10]), cause=row[11], count=row[12],
                culprits=culprits[row[0]], signatures=signatures[row[0]],
            )
            for row in rows
        ]  # fmt: skip

    def _counts_of(self, column: str) -> defaultdict[str, dict[str, int]]:
        """Return how many hits of each finding have each value of a column, the most first."""
        found: defaultdict[str, dict[str, int]] = defaultdict(dict)
        rows = self._all(
            f"SELECT finding, {column} AS value, count(*) AS met FROM hits "  # noqa: S608 - ours
            "WHERE finding NOT NULL AND value != '' GROUP BY finding, value "
            "ORDER BY met DESC, value"
        )
        for finding, value, count in rows:
            found[finding][value] = count
        return found
