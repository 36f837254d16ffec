"""Replay of the counterexamples of entries that matched nothing in a run.

The outcome of a counterexample is stored with the run. A run that continues, or is matched again
with the same entries, does not replay it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from conformance.backends.registry import Choice
from conformance.campaign.cache.digests import BackendDigests, whole_digest
from conformance.campaign.cache.entries import Entries, key_of
from conformance.campaign.tasks import LOSING
from conformance.checking.counterexamples import is_unsteady, replay_counterexamples
from conformance.checking.settings import ReplayedCounterexample
from conformance.errors import UsageError
from conformance.executors.executor import Executor
from conformance.gate.expectations import Expectation
from conformance.results.store import Store
from conformance.verdict import Record

_KEPT = "counterexamples"
"""The key of the outcomes of counterexamples in the store."""


MANY = 20
"""Number of counterexamples from which on a message says that replaying takes a while."""


@dataclass(frozen=True, slots=True)
class StaleEntries:
    """The ids of entries whose divergence no longer shows."""

    stale: tuple[str, ...]
    fixed: tuple[str, ...]
    problem: str = ""


def find_stale(
    store: Store,
    expectations: Sequence[Expectation],
    records: Sequence[Record],
    workers: Mapping[Choice, Executor],
    say: Callable[[str], None],
    digests: BackendDigests | None = None,
) -> StaleEntries:
    """Return the entries without effect: they match no record, and no counterexample reproduces.

    An entry that the run merely did not cover is not stale: its counterexample reproduces. A
    `flaky` entry is never stale, because its divergence does not show every time. Nor is an entry
    about timeouts only: its replay would take a whole time limit. `say` is called with a line if
    the replay takes a while. Outcomes of earlier replays are read from the cache that `digests`
    belongs to.
    """
    met = {id_ for record in records for id_ in record.expectation_ids}
    unmet = [
        expectation
        for expectation in expectations
        if expectation.id not in met
        and expectation.counterexample is not None
        and not (expectation.flaky or expectation.expects_timeout)
    ]
    by_id = {one.id: one for one in unmet}
    kept: dict[str, str] = store.meta().get(_KEPT, {})
    seen: dict[str, list[str]] = {one.id: [] for one in unmet}
    problem = ""
    for choice, executor in workers.items():
        keys = {one.id: _key(one, choice) for one in unmet if one.matches_backend(choice.name)}
        asked = [one for one in unmet if one.id in keys and keys[one.id] not in kept]
        cache = _Cache.of(choice, digests)
        kept |= {keys[one.id]: state for one in asked if (state := cache.state_of(one))}
        asked = [one for one in asked if keys[one.id] not in kept]
        if len(asked) >= MANY:
            say(f"replaying the counterexamples of {len(asked)} entries that matched nothing")
        try:
            for counterexample in replay_counterexamples(executor, asked, choice.spelling):
                if counterexample is not None:
                    kept[keys[counterexample.id]] = counterexample.state
                    cache.keep(by_id[counterexample.id], counterexample)
        except UsageError as error:
            problem = str(error)
        for id_, key in keys.items():
            seen[id_] += [kept[key]] if key in kept else []
    store.set_meta({_KEPT: kept})
    stale = [
        id_ for id_, states in seen.items() if states and ReplayedCounterexample.SHOWN not in states
    ]
    fixed = [id_ for id_ in stale if {*seen[id_]} == {ReplayedCounterexample.FIXED}]
    return StaleEntries(tuple(stale), tuple(fixed), problem)


@dataclass(frozen=True, slots=True)
class _Cache:
    """Outcomes of counterexamples on a backend in earlier runs, if there is a cache. The key
    depends on all our sources, on the entry and on the backend. That a counterexample does not
    reproduce is stored only if memory, a race, a crash or a busy machine cannot be the reason.
    """

    entries: Entries | None
    backend: str

    @classmethod
    def of(cls, choice: Choice, digests: BackendDigests | None) -> _Cache:
        digest = None if digests is None else digests.by_name.get(choice.name)
        return cls(None if digests is None or digest is None else digests.entries, digest or "")

    def state_of(self, expectation: Expectation) -> str:
        """Return the cached outcome of a counterexample, "" if there is none."""
        if self.entries is None:
            return ""
        key = self._key(expectation)
        return self.entries.get([key]).get(key, b"").decode()

    def keep(self, expectation: Expectation, seen: ReplayedCounterexample) -> None:
        """Cache the outcome of a counterexample.

        That it does not reproduce is cached only if memory, a race or a crash cannot be the reason.
        """
        is_certain = not is_unsteady(expectation) and seen.verdict not in LOSING
        if self.entries is not None and (seen.reproduces or is_certain):
            self.entries.put(self._key(expectation), seen.state.encode())

    def _key(self, expectation: Expectation) -> bytes:
        return key_of(
            "counterexample", whole_digest(), self.backend, _content(expectation).decode()
        )


def _key(expectation: Expectation, choice: Choice) -> str:
    """Return the cache key, which changes when an entry is edited."""
    digest = hashlib.sha256(_content(expectation) + choice.spelling.encode()).hexdigest()
    return f"{expectation.id}: {digest[:16]}"


def _content(expectation: Expectation) -> bytes:
    """Return the parts of an entry that decide the outcome of its counterexample."""
    return msgspec.json.encode(msgspec.structs.replace(expectation, reason="", link=""))
