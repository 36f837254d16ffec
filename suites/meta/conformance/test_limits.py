"""Limits: the times derived from the limit of a call, and the options that a resumed run shares."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from conformance.limits import FILE_LIMITS, IDENTITY, LIMITS, Limits, identity_of


@dataclass(frozen=True)
class Options:
    """Options of a made-up command."""

    seed: int = field(default=7, metadata=IDENTITY)
    some_ops: tuple[str, ...] = field(default=("add",), metadata=IDENTITY)
    jobs: int = 2
    limits: Limits = field(default=LIMITS)


def test_results_depend_on_marked_options_and_on_all_limits() -> None:
    found: dict[str, Any] = identity_of(Options())
    assert found["seed"] == 7
    assert found["some ops"] == ["add"]
    assert "jobs" not in found
    assert {"timeout", "memory limit"} <= {*found}
    assert found != identity_of(Options(limits=Limits(LIMITS.timeout / 2)))
    assert found == identity_of(Options(jobs=1))


def test_parts_of_a_call_fit_in_it() -> None:
    for limits in (LIMITS, FILE_LIMITS):
        assert limits.EVALUATIONS * limits.evaluation <= limits.timeout
        assert limits.explanation < limits.timeout
        assert limits.attempt < limits.item < limits.timeout
