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
    from conformance.backends.command.fork_server import ForkServer

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
    preload = (*family.preload, *modules_of(functions))
    if engine.name is EngineName.LOCAL:
        server = _fork_server(choice)
        path = None if server is None else server.path
        warm_up = partial(_open_backend, choice.spelling, path)
        given = jobs or workers(choice), warm_up
        return LocalExecutor(*given, limits=limits, preload=preload, companion=server)
    from conformance.executors.on_ray import ray_executor

    here = tuple(isa.identity([choice.name]).items())
    identity = partial(_identity, choice.spelling)
    warm_up = partial(_open_backend, choice.spelling)
    opening = WorkerSpec(warm_up, limits, preload, family.workers, identity, here)
    return ray_executor(engine, opening, jobs=jobs, device=family.device, notice=notice)


def workers(choice: Choice) -> int:
    """Return the default number of workers of a backend: one per core, or as many as can share its
    device.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(cores or 1, BACKENDS[choice.family].workers or cores or 1)


def _fork_server(choice: Choice) -> ForkServer | None:
    """Return a fork server for a backend that is a command; None for another."""
    command = BACKENDS[choice.family].command
    if command is None:
        return None
    from conformance.backends.command.fork_server import ForkServer

    return ForkServer(partial(command, choice))


def _open_backend(spelling: str, path: Path | None = None) -> bool:
    """Open the backend; return whether the memory limit applies.

    It does on CPUs only, because drivers of other devices map more memory than they use. `path` is
    where the backend's fork server listens, if it has one.
    """
    if path is not None:
        from conformance.backends.command.children import use_fork_server

        use_fork_server(parse(spelling).name, path)
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
        if answer.forks and isinstance(executor, LocalExecutor) and executor.companion:
            executor.companion.start()
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
