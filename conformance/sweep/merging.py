"""Merging of the shards of a sweep into the whole sweep."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from conformance.backends.registry import parse
from conformance.errors import UsageError
from conformance.gate.reading import load
from conformance.gate.versions import applicable_entries
from conformance.results.store import FILE_NAME as RESULTS
from conformance.results.versions import build, versions
from conformance.sweep.journal import FILE_NAME, Header, Journal, Line, read_journal
from conformance.sweep.planning import Plan, options_of, plan, shard_of
from conformance.sweep.runner import SweepResult, add_up, finished_parts, is_done
from conformance.sweep.saving import SUMMARY

_SHARD = "shard"
"""The part of a sweep's identity that differs among shards."""


@dataclass(frozen=True, slots=True)
class Part:
    """A sweep that is merged with others: its path, and the content of its journal."""

    path: Path
    header: Header
    lines: list[Line]

    @property
    def shard(self) -> tuple[int, int]:
        """The number of the shard, and the number of shards."""
        part, _, parts = self.header.identity[_SHARD].partition("/")
        return int(part), int(parts)


def is_sweep(path: Path) -> bool:
    """Return whether a folder, or a file in it, holds a sweep and not a run."""
    if not path.is_dir():
        return path.name in (FILE_NAME, SUMMARY)
    is_any = any((path / name).is_file() for name in (FILE_NAME, SUMMARY))
    return is_any and not (path / RESULTS).is_file()


def merge_sweeps(paths: Sequence[Path], out: Path, command: str) -> tuple[SweepResult, list[str]]:
    """Merge the sweeps in these folders into a sweep in `out`; return it, and a line for each gap.
    Missing parts can be swept into `out` by the command of the whole sweep.

    Raises:
        UsageError: when they are not shards of a single sweep, or `out` holds another sweep.
        ExpectationError: when an expectation file is invalid.
    """
    parts = [Part(path, *read_journal(path)) for path in paths]
    _check(parts, out)
    first = parts[0].header
    options = options_of(first.request, out, command)
    planned = plan(options)
    if planned.names != first.identity["functions"] or build() != first.identity[_BUILD]:
        raise UsageError(
            f"{parts[0].path} was swept by another build of hlo-conformance: merge with that build"
        )
    header = Header(
        identity={**first.identity, _SHARD: "1/1"},
        started=min(part.header.started for part in parts),
        command=command,
        request=first.request,
        backend=first.backend,
    )
    lines = sorted(
        (line for part in parts for line in part.lines), key=lambda line: (line.start, line.indices)
    )
    (out / FILE_NAME).unlink(missing_ok=True)
    with Journal(out, header) as journal:
        journal.extend(lines)
    name = parse(options.backend).name
    entries = load(options.expectations, [name], versions())
    swept = SweepResult(
        options, planned, add_up(planned, lines), first.backend, name,
        applicable_entries(entries, [first.backend]), header.started, command,
        sum(line.seconds for line in lines),
    )  # fmt: skip
    return swept, list(_missing_shards(parts, planned))


_BUILD = "build of hlo-conformance"


def _check(parts: Sequence[Part], out: Path) -> None:
    """Check that sweeps are shards of one sweep, and that the folder holds no other sweep.

    Raises:
        UsageError: if not; the message names the first two that differ, and all differences.
    """
    for one, other in combinations(parts, 2):
        differing = list(_differences(one, other))
        if differing:
            raise UsageError(
                f"{one.path} and {other.path} cannot be merged: {'; '.join(differing)}; "
                "merge shards of one sweep"
            )
    if any(out.resolve() == _folder(part.path).resolve() for part in parts):
        raise UsageError(f"{out} is one of the sweeps: choose another --out")
    if (out / FILE_NAME).exists():
        header, lines = read_journal(out)
        given = finished_parts([line for part in parts for line in part.lines])
        is_same = header.identity == {**parts[0].header.identity, _SHARD: "1/1"}
        if not is_same or finished_parts(lines) - given:
            raise UsageError(f"{out} holds another sweep: choose another --out")


def _folder(path: Path) -> Path:
    return path if path.is_dir() else path.parent


def _differences(one: Part, other: Part) -> Iterator[str]:
    """Yield the differences that prevent two sweeps from being merged."""
    ours, theirs = one.header.identity, other.header.identity
    for name in dict.fromkeys((*ours, *theirs)):
        if name != _SHARD and ours.get(name) != theirs.get(name):
            yield f"{name} {ours.get(name, 'unknown')} and {theirs.get(name, 'unknown')}"
    if one.shard[1] != other.shard[1]:
        yield f"shards of {one.shard[1]} and of {other.shard[1]} parts"
    elif one.shard == other.shard:
        yield f"both are part {ours[_SHARD]}"


def _missing_shards(parts: Sequence[Part], planned: Plan) -> Iterator[str]:
    """Yield a line for each shard that is missing, and for each unfinished shard."""
    count = parts[0].shard[1]
    given = {part.shard[0]: part for part in parts}
    for number in range(1, count + 1):
        blocks = shard_of(planned.blocks, number, count)
        if number not in given:
            if blocks:
                values = sum(block.values for block in blocks)
                yield f"missing: shard {number}/{count}, {values:,} values that were not swept"
            continue
        finished = finished_parts(given[number].lines)
        left = sum(block.values for block in blocks if not is_done(block, finished))
        if left:
            yield (
                f"unfinished: {given[number].path} lacks {left:,} values: give its command again"
            )
