"""XLA for CPUs of a release of jaxlib as a backend, `jaxlib:VERSION`, and the environment that it
runs in: made once, and kept in the user's cache.
"""

from __future__ import annotations

import fcntl
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from packaging.version import Version

from conformance.backends.base import BackendError, Failed, Unsupported, outer_types
from conformance.backends.command.backend import CommandBackend, CommandExecutable
from conformance.backends.xla_messages import classify
from conformance.backends.xla_refusals import transfer_refusal, xla_refusal
from conformance.errors import NotAvailable
from reference.ir.program import Program, TensorType

SERVER = Path(__file__).with_name("server.py")
"""The program that runs in the release's environment."""

OLDEST = "0.4.30"
"""The oldest release whose interface server.py knows."""

_PYTHONS = ("python3.11", "python3.12", "python3.13", "python3.10", "python3.14", "python3")


class ReleaseBackend(CommandBackend):
    """XLA of another release; its messages are read as those of the installed one."""

    def __init__(self, name: str, version: str, command: str) -> None:
        """Start the release's process (see `CommandBackend`)."""
        super().__init__(name, command)
        self._version = version

    def refusal(self, program: Program) -> BackendError | None:
        """Return the error for programs that this release does not take (see `base.Backend`)."""
        if program.shared_among > 1:
            return Unsupported("the protocol has no arrays that are divided among devices")
        moved = (
            transfer_refusal(of, self._version)
            for of in outer_types(program)
            if isinstance(of, TensorType)
        )
        refused = xla_refusal(program, "cpu") or next(filter(None, moved), None)
        return refused or super().refusal(program)

    def compile(self, text: str, program: Program) -> CommandExecutable:
        """Compile a module (see `base.Backend`)."""
        try:
            return super().compile(text, program)
        except Failed as error:
            raise classify(str(error), text, program) from error


def command_of(name: str, version: str) -> str:
    """Return the command of a release's backend. Its environment is made if there is none.

    Raises:
        NotAvailable: if the release is too old, or cannot be installed.
    """
    if Version(version) < Version(OLDEST):
        raise NotAvailable(f"{name}: releases before {OLDEST} have another interface")
    return shlex.join([str(python_of(version)), str(SERVER)])


def cache_folder() -> Path:
    """Return the folder of the environments."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "hlo-conformance" / "jaxlib"


def python_of(version: str) -> Path:
    """Return the Python of the environment with a release, which is made if there is none.

    Raises:
        NotAvailable: when it cannot be installed.
    """
    folder = cache_folder() / version
    python = folder / "bin" / "python"
    if python.exists():
        return python
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / f"{version}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # of several workers one installs
        if not python.exists():
            _make(version, folder)
    return python


def _make(version: str, folder: Path) -> None:
    sys.stderr.write(f"installing jaxlib {version} into {folder}\n")
    unfinished = folder.with_name(f"{version}.part")
    reasons: list[str] = []
    for commands in _ways(version, unfinished):
        shutil.rmtree(unfinished, ignore_errors=True)
        failed = _first_failure(commands)
        if failed is None:
            unfinished.rename(folder)
            return
        reasons.append(failed)
    shutil.rmtree(unfinished, ignore_errors=True)
    raise NotAvailable(f"jaxlib {version} cannot be installed: {reasons[0]}")


def pythons() -> list[str]:
    """Return the Pythons of this machine: this one, those on the path, those of pyenv."""
    kept = sorted((Path.home() / ".pyenv" / "versions").glob("3.*/bin/python3"), reverse=True)
    found = [sys.executable, *filter(None, map(shutil.which, _PYTHONS)), *map(str, kept)]
    return list(dict.fromkeys(found))


def releases() -> list[str]:
    """Return the releases of jaxlib that any Python of this machine can have, oldest first.

    Raises:
        NotAvailable: when no package index answers.
    """
    found: set[str] = set()
    for python in pythons():
        ask = (python, "-m", "pip", "index", "versions", "jaxlib")
        told = subprocess.run(ask, capture_output=True, text=True, check=False).stdout
        listed = re.search(r"Available versions: (.*)", told)
        found |= set(listed[1].split(", ")) if listed else set()
    if not found:
        raise NotAvailable("pip finds no releases of jaxlib: is a package index reachable?")
    known = [one for one in found if Version(one) >= Version(OLDEST)]
    return sorted(known, key=Version)


def _ways(version: str, folder: Path) -> Iterator[list[Sequence[str | Path]]]:
    """Yield the commands that make an environment: with uv, or with any Python that is here."""
    packages = (f"jax=={version}", f"jaxlib=={version}")
    if uv := shutil.which("uv"):
        yield [
            (uv, "venv", "--quiet", folder),
            (uv, "pip", "install", "--quiet", "--python", folder / "bin" / "python", *packages),
        ]
    for python in pythons():
        yield [
            (python, "-m", "venv", folder),
            (folder / "bin" / "python", "-m", "pip", "install", "--quiet", *packages),
        ]


def _first_failure(commands: Sequence[Sequence[str | Path]]) -> str | None:
    """Run commands until one fails; return the last line of its error, None if none does."""
    for command in commands:
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        if ended.returncode:
            lines = [line for line in ended.stderr.splitlines() if line.lower().startswith("error")]
            told = (lines or ended.stderr.splitlines() or ["no message"])[-1]
            return told.partition(" ")[2].strip() if lines else told.strip()
    return None
