"""Modules that the workers of a test session find loaded, whichever test first needs workers.

The server that workers are forked from loads what its first user asks for. Each later worker would
load the rest again after its start.
"""

from __future__ import annotations

import multiprocessing
from multiprocessing.context import ForkServerContext

from conformance.backends.registry import BACKENDS
from conformance.checking import calls as of_checks
from conformance.executors.deferred import Deferred, modules_of
from conformance.executors.local import LocalExecutor
from conformance.fuzzing import calls as of_campaigns

CALLS = [
    value
    for module in (of_campaigns, of_checks)
    for value in vars(module).values()
    if isinstance(value, Deferred)
]
MODULES = (
    *BACKENDS["cpu"].preload, *BACKENDS["interpreter"].preload, *modules_of(CALLS),
    "conformance.campaign.tasks", "conformance.campaign.rerun", "conformance.updating.programs",
    "conformance.sweep.block",
)  # fmt: skip


def start_server() -> ForkServerContext:
    """Start the server, if it does not run, and return the context of its processes."""
    with LocalExecutor(1, preload=MODULES):
        return multiprocessing.get_context("forkserver")
