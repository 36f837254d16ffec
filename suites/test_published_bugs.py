"""Published bugs on XLA's CPU: versions with a bug fail its program, other versions pass it."""

from __future__ import annotations

import pytest

from conformance.backends.registry import parse
from conformance.checking.calls import REPLAY_BATCH
from conformance.checking.counterexamples import replay_counterexamples
from conformance.checking.settings import ReplayedCounterexample
from conformance.executors.backend_workers import executor_of
from conformance.results.versions import versions
from suites.published_bugs import Bug, bugs

BUGS = bugs()


@pytest.mark.slow
@pytest.mark.x86
def test_bugs_of_this_version_are_flagged_and_others_pass() -> None:
    jaxlib, backend = versions()["jaxlib"], parse("cpu")
    with executor_of(backend, jobs=1, functions=(REPLAY_BATCH,)) as executor:
        ended = replay_counterexamples(
            executor, [bug.expectation for bug in BUGS], backend.spelling
        )
        seen = {one.id: one for one in ended if one is not None}
    wrong = [
        f"{bug.id}: {seen[bug.id].verdict} ({seen[bug.id].kind}): {seen[bug.id].message}"
        for bug in BUGS
        if not has_published_verdict(bug, seen[bug.id], jaxlib)
    ]
    assert not wrong, "\n".join(wrong)


def has_published_verdict(bug: Bug, found: ReplayedCounterexample, jaxlib: str) -> bool:
    """Return whether a program has the verdict expected of this version.

    A bug that backends have in different versions has an entry for each, with the same program.
    """
    same = (one for one in BUGS if (one.program, one.inputs) == (bug.program, bug.inputs))
    here = next((one for one in same if one.is_in(jaxlib)), None)
    if here is None:
        return not found.verdict.fails
    return found.verdict.value == here.verdict and found.kind in (here.kinds or (found.kind,))


def test_ids_are_unique_and_have_a_link() -> None:
    assert len({bug.id for bug in BUGS}) == len(BUGS)
    assert all(bug.link.startswith("https://github.com/") for bug in BUGS)
