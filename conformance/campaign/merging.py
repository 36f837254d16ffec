"""Merging of runs: the shards of a run, and runs of other backends on other machines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any

from conformance.campaign.coverage import coverage_of
from conformance.campaign.planning import cells_of
from conformance.catalog import cells
from conformance.errors import UsageError
from conformance.gate.conclusion import exit_code
from conformance.results.database import StoreError, discard
from conformance.results.store import FILE_NAME, CellKey, Store
from conformance.results.summary import RunData, read_store
from conformance.text import spell_option

_OWN = ("shard", "backend")
"""Options in which merged runs may differ, among those that identify a run."""

_SETS = "instruction sets of "
"""Prefix of the keys for instruction sets in the identity of a run."""


@dataclass(frozen=True)
class Part:
    """A run that is merged with others: its folder, and the content of its store."""

    path: Path
    store: Store
    meta: Mapping[str, Any]

    @property
    def identity(self) -> dict[str, Any]:
        """The options and versions that must be equal in a session that continues the run."""
        return self.meta["identity"]

    @property
    def backends(self) -> tuple[str, ...]:
        """The names of its backends."""
        return tuple(self.identity["backend"])

    @cached_property
    def shard(self) -> tuple[int, int]:
        """The number of the shard, and the number of shards."""
        part, _, parts = self.identity["shard"].partition("/")
        return int(part), int(parts)


def merge_runs(paths: Sequence[Path], out: Path, command: str) -> tuple[RunData, list[str]]:
    """Merge the runs in these folders into a store in `out`, and return it with a line for each
    missing part.

    The cells of shards that were not given are planned in the merged run, and not tested.

    Raises:
        UsageError: if they are not parts of a single run, or `out` holds another run.
        StoreError: if a run cannot be read, or the merged run cannot be written.
    """
    with ExitStack() as stack:
        parts = [_open_part(path, stack) for path in paths]
        _check(parts)
        target = out / FILE_NAME
        _clear(target, parts)
        merged = stack.enter_context(Store(target))
        missing: list[str] = []
        planned: list[CellKey] = []
        for group in _groups(parts):
            found, absent = _planned_cells(group)
            planned += found
            missing += absent
        for part in parts:
            merged.add_store(part.store)
        missing += [
            f"unfinished: the run in {part.path} did not end: give its command again"
            for part in parts
            if part.meta.get("exit_code") is None
        ]
        merged.set_meta(_meta(parts, planned, command))
        _conclude(merged, is_whole=not missing)
        return read_store(merged), missing


def _open_part(path: Path, stack: ExitStack) -> Part:
    at = path / FILE_NAME if path.is_dir() else path
    store = stack.enter_context(Store(at, read_only=True))
    meta = store.meta()
    if "identity" not in meta or "backends" not in meta:
        raise StoreError(f"{path} holds no run that has begun: it cannot be merged")
    return Part(path, store, meta)


def _check(parts: Sequence[Part]) -> None:
    """Refuse runs that are not parts of a single run.

    Raises:
        UsageError: naming the first two, and all in which they differ.
    """
    for one, other in combinations(parts, 2):
        differing = [*_differences(one, other)]
        if differing:
            raise UsageError(
                f"{one.path} and {other.path} cannot be merged: {'; '.join(differing)}; "
                "merge shards of one run, or runs of other backends with the same options; "
                "runs of other dates or versions are a history (--history)"
            )


def _differences(one: Part, other: Part) -> Iterator[str]:
    """Yield the differences that prevent two runs from being merged."""
    shared = {*one.backends} & {*other.backends}
    for name in dict.fromkeys((*one.identity, *other.identity)):
        is_of_another = name.startswith(_SETS) and name.removeprefix(_SETS) not in shared
        ours, theirs = one.identity.get(name), other.identity.get(name)
        if name not in _OWN and not is_of_another and ours != theirs:
            yield f"{name} {spell_option(ours)} and {spell_option(theirs)}"
    if not shared:
        return
    if one.backends != other.backends:
        yield f"backends {', '.join(one.backends)} and {', '.join(other.backends)}"
    elif one.meta["backends"] != other.meta["backends"]:
        yield from _backend_differences(one.meta["backends"], other.meta["backends"])
    if one.shard[1] != other.shard[1]:
        yield f"shards of {one.shard[1]} and of {other.shard[1]} parts"
    elif one.shard == other.shard:
        yield f"both are part {one.identity['shard']}"


def _backend_differences(ours: list[dict[str, Any]], theirs: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the differences between backends of the same name: devices and versions."""
    for our, other in zip(ours, theirs, strict=True):
        told = [{**dict(it["versions"]), "device": it["device"], "platform": it["platform"]}
                for it in (our, other)]  # fmt: skip
        for name in dict.fromkeys((*told[0], *told[1])):
            if told[0].get(name) != told[1].get(name):
                yield (
                    f"{name} of {our['name']} {spell_option(told[0].get(name))} and "
                    f"{spell_option(told[1].get(name))}"
                )


def _clear(target: Path, parts: Sequence[Part]) -> None:
    """Delete the result of an earlier merge at a path; leave anything else.

    Raises:
        UsageError: when something else is there.
    """
    if any(target.resolve() == part.store.path.resolve() for part in parts):
        raise UsageError(f"{target.parent} is one of the runs: choose another --out")
    if not target.exists():
        return
    with Store(target, read_only=True) as before:
        if "merged" not in before.meta():
            raise UsageError(
                f"{target.parent} holds a run that was not merged: choose another --out"
            )
    discard(target)


def _groups(parts: Sequence[Part]) -> list[list[Part]]:
    """Return the shards grouped by their sets of backends."""
    found: dict[tuple[str, ...], list[Part]] = {}
    for part in parts:
        found.setdefault(part.backends, []).append(part)
    return [*found.values()]


def _planned_cells(shards: Sequence[Part]) -> tuple[list[CellKey], list[str]]:
    """Return the cells of the whole run, and a line for each shard that is missing."""
    first, count = shards[0], shards[0].shard[1]
    planned: list[CellKey] = [(*cell,) for part in shards for cell in part.meta["planned"]]
    missing: list[str] = []
    for number in sorted({*range(1, count + 1)} - {part.shard[0] for part in shards}):
        identity = first.identity
        chosen = cells_of(identity["op"], identity["element type"], first.backends, (number, count))
        planned += [cell.key for cell in chosen]
        if not chosen:  # too few cells for so many parts
            continue
        missing.append(
            f"missing: shard {number}/{count} of {', '.join(first.backends)}, "
            f"{len(chosen)} cells that were not tested"
        )
    return planned, missing


def _meta(parts: Sequence[Part], planned: Sequence[CellKey], command: str) -> dict[str, Any]:
    """Return the metadata of the whole run for the merged store."""
    metas = [part.meta for part in parts]
    backends = {one["name"]: one for meta in metas for one in meta["backends"]}
    everything = [cell.key for cell in cells(backends=list(backends))]
    chosen = {*planned}
    identity = {name: value for part in parts for name, value in part.identity.items()}
    return {
        **metas[0],
        "identity": {**identity, "backend": [*backends], "shard": "1/1"},
        "merged": [str(part.path) for part in parts],
        "command": command,
        "started": min(meta["started"] for meta in metas),
        "backends": [*backends.values()],
        "digests": {name: _digest_of(name, metas) for name in backends},
        "planned": [one for one in everything if one in chosen],
        "filtered": [one for one in everything if one not in chosen],
        "filters": {name: of for name, of in metas[0]["filters"].items() if name != "shard"},
        "incidents": [*dict.fromkeys(one for meta in metas for one in meta.get("incidents", []))],
        "remarks": [one for meta in metas for one in meta.get("remarks", [])],
        "left_out": [one for meta in metas for one in meta.get("left_out", [])],
        "spellings": {name: of for meta in metas for name, of in meta["spellings"].items()},
        "expectations": {
            id_: known for meta in metas for id_, known in meta.get("expectations", {}).items()
        },
        "peak_rss_mb": {"parent": max(_parent_memory(meta) for meta in metas)},
        **{
            name: sum(meta.get(name, 0.0) for meta in metas)
            for name in ("seconds", "storage_seconds", "planning_seconds")
        },
        **{
            name: [*dict.fromkeys(id_ for meta in metas for id_ in meta.get(name, []))]
            for name in ("stale", "fixed", "recorded")
        },
    }


def _digest_of(backend: str, metas: Sequence[Mapping[str, Any]]) -> str:
    """Return the digest of a backend, "" if it is not the same in all runs."""
    about = [meta.get("digests", {}) for meta in metas if backend in meta["spellings"]]
    found = {digests.get(backend, "") for digests in about}
    return found.pop() if len(found) == 1 else ""


def _parent_memory(meta: Mapping[str, Any]) -> float:
    return meta.get("peak_rss_mb", {}).get("parent", 0.0)


def _conclude(merged: Store, *, is_whole: bool) -> None:
    """Compute the results that need the whole run; the run fails if a part is missing."""
    run = read_store(merged)
    met = {id_ for record in run.records for id_ in record.expectation_ids}
    reached = coverage_of(run.records, run.seed)
    merged.set_meta(
        {
            "stale": [id_ for id_ in run.stale if id_ not in met],
            "fixed": [id_ for id_ in run.fixed if id_ not in met],
            "coverage": {op: asdict(one) for op, one in reached.items()},
            "exit_code": exit_code(run) or (0 if is_whole else 1),
        }
    )
