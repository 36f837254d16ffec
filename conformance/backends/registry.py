"""Backends by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # loads numpy, which looking for a name need not wait for
    from conformance.backends.base import Backend


def _pjrt(name: str) -> Backend:
    from conformance.backends.pjrt import PjrtBackend

    return PjrtBackend(name)


def _reference(name: str) -> Backend:
    from conformance.backends.fake.reference import ReferenceBackend

    return ReferenceBackend(name)


BACKENDS: dict[str, Callable[[str], Backend]] = {
    "cpu": _pjrt,
    "gpu": _pjrt,
    "tpu": _pjrt,
    "reference": _reference,
}
"""What opens each backend, given the whole name (`reference:FAULT` or `reference:FAULT@OP` for the
faulty ones)."""


def open_backend(name: str) -> Backend:
    """The backend of that name, ready to compile.

    Raises:
        KeyError: when there is no such backend, with the names there are.
        NotAvailable: when it cannot be had on this machine, with how to mend it.
    """
    family = name.partition(":")[0]
    if family not in BACKENDS or (":" in name and family != "reference"):
        raise KeyError(f"unknown backend {name!r}; known: {', '.join(BACKENDS)}")
    return BACKENDS[family](name)
