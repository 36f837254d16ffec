"""XLA for CPUs of a release of jaxlib as a backend: `jaxlib:VERSION`."""

from __future__ import annotations

import shlex
from pathlib import Path

from packaging.version import Version

from conformance.backends.command.backend import CommandBackend
from conformance.backends.releases.environments import OLDEST, python_of
from conformance.errors import NotAvailable

SERVER = Path(__file__).with_name("server.py")
"""The program that runs in the release's environment."""


def open_release(name: str, version: str) -> CommandBackend:
    """Return the backend of a release, whose environment is made if there is none.

    Raises:
        NotAvailable: if the release is too old, cannot be installed, or does not start.
    """
    if Version(version) < Version(OLDEST):
        raise NotAvailable(f"{name}: releases before {OLDEST} have another interface")
    return CommandBackend(name, shlex.join([str(python_of(version)), str(SERVER)]))
