"""A backend in Python of the user's: in a file, `python:NAME=FILE`, or in an installed package that
has an entry point of the group `hlo_conformance.backends`, `python:NAME`.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from conformance.backends.base import Backend, BackendError, Description, Executable, Settings
from conformance.backends.versions import described_file
from conformance.errors import NotAvailable, describe_unknown
from reference.ir.program import Program

FUNCTION = "open_backend"
"""The function of the file that returns the backend."""

GROUP = "hlo_conformance.backends"
"""The group of entry points, each a function without arguments that returns a backend."""


def installed() -> dict[str, EntryPoint]:
    """Return the entry points of installed packages by name."""
    return {point.name: point for point in entry_points(group=GROUP)}


def open_file(name: str, path: Path) -> PythonBackend:
    """Return the backend that a file's `open_backend` returns, by the name that the user chose.

    Raises:
        NotAvailable: when there is no such file, it cannot be loaded, or it opens no backend.
    """
    opens = getattr(_load(name, path), FUNCTION, None)
    if not callable(opens):
        raise NotAvailable(f"{name}: {path} has no function {FUNCTION}()")
    return PythonBackend(name, opens, f"{FUNCTION}() of {path}", ("file", described_file(path)))


def open_installed(name: str, entry: str) -> PythonBackend:
    """Return the backend of an entry point.

    Raises:
        NotAvailable: when there is no such entry point, or it cannot be loaded or opens no backend.
    """
    known = installed()
    if entry not in known:
        unknown = f"no installed package has an entry point of {GROUP}"
        if known:
            unknown = describe_unknown(f"entry point of {GROUP}", entry, known)
        raise NotAvailable(f"{name}: {unknown}; a file is given as python:NAME=FILE")
    found = known[entry]
    try:
        opens = found.load()
    except Exception as error:
        raise NotAvailable(f"{name}: {found.value} cannot be loaded: {_line(error)}") from error
    made = found.dist
    version = (made.name, made.version) if made else ("package", "?")
    return PythonBackend(name, opens, found.value, version)


class PythonBackend:
    """The backend that a function of the user's returns, by the name that the user chose."""

    def __init__(
        self, name: str, opens: Callable[[], Any], where: str, version: tuple[str, str]
    ) -> None:
        """Open the backend; `where` is the function for messages, `version` what made it.

        Raises:
            NotAvailable: when the function fails, or returns no backend.
        """
        try:
            backend: Any = opens()
        except NotAvailable:
            raise
        except Exception as error:
            raise NotAvailable(f"{name}: {where}: {_line(error)}") from error
        missing = [member for member in _MEMBERS if not hasattr(backend, member)]
        if missing:
            raise NotAvailable(f"{name}: what {where} returns has no {', '.join(missing)}")
        self._backend: Backend = backend
        self.name, self.hardware = name, backend.hardware
        self.batches: bool = getattr(backend, "batches", True)
        self._version = version

    def describe(self) -> Description:
        """Return what the backend says of itself, and the version of its file or package."""
        own = self._backend.describe()
        return Description(self.name, own.platform, own.device, (*own.versions, self._version))

    def configured(self, settings: Settings) -> Backend:
        """Return the same backend with other compiler settings (see `base.Backend`)."""
        return self._backend.configured(settings)

    def refusal(self, program: Program) -> BackendError | None:
        """Return the error that is certain without compiling, or None."""
        return self._backend.refusal(program)

    def compile(self, text: str, program: Program) -> Executable:
        """Compile a module (see `base.Backend`)."""
        return self._backend.compile(text, program)


_MEMBERS = ("hardware", "describe", "configured", "refusal", "compile")


def _load(name: str, path: Path) -> ModuleType:
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "there is no such file"
        raise NotAvailable(f"{name}: {path}: {what}")
    spec = importlib.util.spec_from_file_location(f"_backend_{name.replace(':', '_')}", path)
    if spec is None or spec.loader is None:
        raise NotAvailable(f"{name}: {path} is not a Python file: its name must end with .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    sys.path.insert(0, str(path.parent))  # for modules beside the file
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise NotAvailable(f"{name}: {path} cannot be loaded: {_line(error)}") from error
    finally:
        sys.path.remove(str(path.parent))
    return module


def _line(error: Exception) -> str:
    """Return an error as one line, with the line of the file that raised it."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = (
        f", line {trace.tb_lineno} of {Path(trace.tb_frame.f_code.co_filename).name}"
        if trace
        else ""
    )
    return f"{type(error).__name__}: {' '.join(str(error).split())}{where}"
