"""A backend in a Python file of the user's: `python:NAME=FILE`."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from conformance.backends.base import Backend, BackendError, Description, Executable, Settings
from conformance.backends.versions import described_file
from conformance.errors import NotAvailable
from reference.ir.program import Program

FUNCTION = "open_backend"
"""The function of the file that returns the backend."""


class FileBackend:
    """The backend that a file's `open_backend` returns, by the name that the user chose."""

    def __init__(self, name: str, path: Path) -> None:
        """Load the file and open the backend.

        Raises:
            NotAvailable: when there is no such file, it cannot be loaded, or it opens no backend.
        """
        module = _load(name, path)
        opens = getattr(module, FUNCTION, None)
        if not callable(opens):
            raise NotAvailable(f"{name}: {path} has no function {FUNCTION}()")
        try:
            backend: Any = opens()
        except NotAvailable:
            raise
        except Exception as error:
            raise NotAvailable(f"{name}: {FUNCTION}() of {path}: {_line(error)}") from error
        missing = [one for one in _MEMBERS if not hasattr(backend, one)]
        if missing:
            raise NotAvailable(
                f"{name}: what {FUNCTION}() of {path} returns has no {', '.join(missing)}"
            )
        self._backend: Backend = backend
        self.name, self.hardware = name, backend.hardware
        self.batches: bool = getattr(backend, "batches", True)
        self._file = ("file", described_file(path))

    def describe(self) -> Description:
        """Return what the backend says of itself, and the digest of its file."""
        own = self._backend.describe()
        return Description(self.name, own.platform, own.device, (*own.versions, self._file))

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
