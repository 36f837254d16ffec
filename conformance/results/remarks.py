"""Remarks on a backend's results: what was judged, lost batches, the budget, the cache."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from conformance.results.summary import RunData
from conformance.verdict import LostBatch


@dataclass(frozen=True, slots=True)
class Remarks:
    """Facts about one backend in a run besides its verdicts.

    `batches` crashed or timed out although none of their cases does so in isolation; `new` of them
    fail the run. `left_out` is the largest number of cases that `--budget` left out, in this many
    `cells`. `from_cache` of its `cases` were taken from a cache. `judged` describes the judged part
    if that is not everything a device computes, otherwise it is "". `unpredicted` known cases have
    values that nothing predicts.
    """

    backend: str
    batches: int = 0
    new: int = 0
    left_out: int = 0
    cells: int = 0
    from_cache: int = 0
    cases: int = 0
    judged: str = ""
    unpredicted: int = 0

    @property
    def unpredicted_text(self) -> str:
        """The number of known cases whose values nothing predicts in words, "" for none."""
        several = "" if self.unpredicted == 1 else "s"
        said = f"{self.unpredicted:,} known case{several}, value not predicted"
        return said if self.unpredicted else ""

    @property
    def lost_batches_text(self) -> str:
        """The number of lost batches in words, "" for none."""
        if not self.batches:
            return ""
        several = "lost batches" if self.batches > 1 else "lost batch"
        known = "known" if not self.new else f"{self.new:,} of them new"
        return f"{self.batches:,} {several}{'' if self.new == self.batches else f', {known}'}"

    @property
    def left_out_text(self) -> str:
        """The number of cases that `--budget` left out in words, "" for none."""
        if not self.left_out:
            return ""
        cells = f"{self.cells:,} cell{'' if self.cells == 1 else 's'}"
        return f"the budget left out up to {self.left_out:,} cases of {cells}"

    @property
    def cached_cases_text(self) -> str:
        """The number of cases from the cache in words, "" for none."""
        if not self.from_cache:
            return ""
        return f"{self.from_cache:,} of {self.cases:,} cases from the cache"

    @property
    def line(self) -> str:
        """All remarks in one line, "" for none."""
        parts = (
            self.judged, self.unpredicted_text, self.lost_batches_text, self.left_out_text,
            self.cached_cases_text,
        )  # fmt: skip
        return "; ".join(filter(None, parts))


def remarks_on(run: RunData, backend: str) -> Remarks:
    """Return the remarks of a run on a backend."""
    batches = [
        batch for batch in run.lost_batches if batch.backend == backend and batch.verdict.fails
    ]
    left_out = [one for one in run.left_out if one.backend == backend]
    versions = (one.versions for one in run.backends if one.name == backend)
    return Remarks(
        backend,
        len(batches),
        sum(is_new(batch) for batch in batches),
        sum(one.cases for one in left_out),
        len(left_out),
        sum(count for cell, count in run.cached_cases.items() if cell[2] == backend),
        sum(record.backend == backend for record in run.records) if run.cached_cases else 0,
        dict(next(versions, ())).get("judged", ""),
        sum(record.backend == backend for record in run.unpredicted),
    )


def is_new(batch: LostBatch) -> bool:
    """Return whether a lost batch fails the run."""
    return batch.verdict.fails and not batch.known


def other_incidents(run: RunData) -> Sequence[str]:
    """Return the incidents of a run that are not lost batches."""
    lines = {batch.line for batch in run.lost_batches}
    return [line for line in run.incidents if line not in lines]
