"""What workers are called for: they load what needs jaxlib, which the parent does not."""

from __future__ import annotations

from pathlib import Path

from conformance.campaign.fuzzing.finding import Finding
from conformance.campaign.fuzzing.trials import Hit, Inputs, Trial, Tried
from reference.ir.program import Program


def run_trial(trial: Trial) -> Tried:
    """In a worker: what a trial comes to.

    Raises:
        NotAvailable: when the backend cannot be had.
    """
    from conformance.campaign.fuzzing import trial as work

    return work.run_trial(trial)


def reduced(trial: Trial, hit: Hit, seconds: float) -> Finding:
    """In a worker: the finding that a hit comes to, minimised for so many seconds.

    Raises:
        NotAvailable: when the backend cannot be had.
    """
    from conformance.campaign.fuzzing import reducing as work

    return work.reduced(trial, hit, seconds)


def as_it_is(trial: Trial, hit: Hit) -> Finding:
    """In a worker: the finding that a hit comes to as it is.

    Raises:
        NotAvailable: when the backend cannot be had.
    """
    from conformance.campaign.fuzzing import reducing as work

    return work.as_it_is(trial, hit)


def gives_answer(trial: Trial, program: Program, inputs: Inputs) -> bool:
    """In a worker, which this may end: whether a program gives an answer."""
    from conformance.backends.session import open_session
    from conformance.campaign.fuzzing.trial import judged_alone

    return judged_alone(trial, open_session(trial.backend), program, inputs) is not None


def failing(trial: Trial, file: Path, inputs: Path | None) -> Hit | None:
    """In a worker: the program of a file on inputs that it fails on; None where there are none.

    Raises:
        NotAvailable: when the backend cannot be had.
        UsageError: when the file holds no program that can be tried.
    """
    from conformance.campaign.fuzzing import reading

    return reading.failing(trial, file, inputs)
