"""Worker processes that have a backend open."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from conformance.errors import NotAvailable
from conformance.executors.local import DEFAULT_MEMORY_LIMIT, Call, Died, LocalExecutor, TimedOut

if TYPE_CHECKING:  # loads numpy, which the workers' server need not wait for
    from conformance.backends.base import Description

_START_SECONDS = 120.0

_PJRT = ("jax", "conformance.backends.pjrt", "conformance.stablehlo.parse")
"""Modules that XLA's backends need: they start no threads, which would not survive a fork."""


def executor_of(
    backend: str,
    *,
    jobs: int | None = None,
    memory_limit: int = DEFAULT_MEMORY_LIMIT,
    preload: tuple[str, ...] = (),
) -> LocalExecutor:
    """Workers that have this backend open: as many as it can use when `jobs` is None.

    `preload` names modules that the calls need, so that a new worker need not load them.
    """
    return LocalExecutor(
        jobs or workers(backend),
        partial(_warm_up, backend),
        # a GPU's driver maps far more than it uses
        memory_limit=0 if backend in ("gpu", "tpu") else memory_limit,
        preload=preload if backend.startswith("reference") else (*_PJRT, *preload),
    )


def workers(backend: str) -> int:
    """Workers by default: one per core, few that share a GPU, one as a TPU admits no more."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {"tpu": 1, "gpu": min(cores or 1, 4)}.get(backend, cores or 1)


def _warm_up(backend: str) -> None:
    from conformance.backends.registry import open_backend

    open_backend(backend)


def _description(backend: str) -> Description:
    from conformance.backends.registry import open_backend

    return open_backend(backend).describe()


def describe(executor: LocalExecutor, name: str) -> Description:
    """What a backend is, asked in a worker.

    Raises:
        NotAvailable: when it cannot be had.
    """
    from conformance.backends.base import Description

    answer = executor.one(Call(name, _description, (name,), _START_SECONDS))
    if isinstance(answer, Description):
        return answer
    if isinstance(answer, NotAvailable):
        raise answer
    if isinstance(answer, Died):
        raise NotAvailable(f"{name}: its process ended ({answer.reason}) {answer.last_words}")
    if isinstance(answer, TimedOut):
        raise NotAvailable(f"{name}: did not start within {answer.seconds:g} s")
    raise answer
