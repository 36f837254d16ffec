"""Worker processes that have a backend open."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.backends import isa
from conformance.backends.registry import BACKENDS, Choice, parse
from conformance.errors import NotAvailable
from conformance.executors.agent import WorkerSpec
from conformance.executors.deferred import modules_of
from conformance.executors.executor import LOCAL, Engine, EngineName, Executor
from conformance.executors.local import Call, LocalExecutor, WorkerCrash, WorkerTimeout
from conformance.limits import LIMITS, Limits

if TYPE_CHECKING:  # loads numpy, which the workers' server need not wait for
    from conformance.backends.base import Description

_MAPS = Path("/proc/self/maps")


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def executor_of(
    choice: Choice,
    *,
    jobs: int | None = None,
    limits: Limits = LIMITS,
    functions: Iterable[Callable[..., Any]] = (),
    engine: Engine = LOCAL,
    notice: Callable[[str], None] = _say,
) -> Executor:
    """Return an executor whose workers have a backend open: as many as it can use if `jobs` is
    None.

    `limits` hold for each worker. `functions` are the functions that will be called: a new worker
    need not load their modules. `engine` is where the workers run. `notice` is called for each
    machine that cannot be used.

    Raises:
        NotAvailable: when the engine is not available.
    """
    family = BACKENDS[choice.family]
    warm_up, preload = (
        partial(_open_backend, choice.spelling),
        (*family.preload, *modules_of(functions)),
    )
    if engine.name is EngineName.LOCAL:
        return LocalExecutor(jobs or workers(choice), warm_up, limits=limits, preload=preload)
    from conformance.executors.on_ray import ray_executor

    here = tuple(isa.identity([choice.name]).items())
    identity = partial(_identity, choice.spelling)
    opening = WorkerSpec(warm_up, limits, preload, family.workers, identity, here)
    return ray_executor(engine, opening, jobs=jobs, device=family.device, notice=notice)


def workers(choice: Choice) -> int:
    """Return the default number of workers of a backend: one per core, or as many as can share its
    device.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(cores or 1, BACKENDS[choice.family].workers or cores or 1)


def _open_backend(spelling: str) -> bool:
    """Open the backend; return whether the memory limit applies.

    It does on CPUs only, because drivers of other devices map more memory than they use.
    """
    from conformance.backends.session import open_session
    from conformance.tolerance.hardware import Hardware

    return open_session(spelling).hardware in (Hardware.CPU, Hardware.INTERPRETER)


def _description(spelling: str) -> Description:
    from conformance.backends.session import open_session

    return open_session(spelling).describe()


def _identity(spelling: str) -> dict[str, str]:
    """Return the values that identify a backend, by name."""
    found = _description(spelling)
    here = isa.identity([parse(spelling).name])
    return {"platform": found.platform, "device": found.device, **dict(found.versions), **here}


def describe(executor: Executor, choice: Choice) -> Description:
    """Return the description of a backend, from a worker.

    Raises:
        NotAvailable: if the backend is not available.
    """
    from conformance.backends.base import Description

    name = choice.name
    try:
        answer = executor.one(Call(name, _description, (choice.spelling,), Limits.START))
    except NotAvailable as error:  # of the workers, which know no backend's name
        raise NotAvailable(f"{name}: {error}") from error
    if isinstance(answer, Description):
        return answer
    if isinstance(answer, NotAvailable):
        raise answer
    if isinstance(answer, WorkerCrash):
        raise NotAvailable(f"{name}: its process ended ({answer.reason}) {answer.last_words}")
    if isinstance(answer, WorkerTimeout):
        raise NotAvailable(f"{name}: did not start within {answer.seconds:g} s")
    raise answer


def libraries(executor: Executor, choice: Choice) -> list[str]:
    """Return the paths of the shared libraries that a worker has loaded with the backend open.

    Empty on systems that do not report them.
    """
    answer = executor.one(Call(choice.name, _libraries, (choice.spelling,), Limits.START))
    return answer if isinstance(answer, list) else []


def _libraries(spelling: str) -> list[str]:
    from conformance.backends.session import open_session

    open_session(spelling)
    try:
        lines = _MAPS.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return []
    mapped = (line.split(maxsplit=5) for line in lines)
    paths = {parts[5] for parts in mapped if len(parts) > 5 and "x" in parts[1]}
    return sorted(path for path in paths if path.startswith("/"))
