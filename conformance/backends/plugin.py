"""Any PJRT plugin: a library with PJRT's C interface, driven by jaxlib's client.

jaxlib parses and verifies a module, and gives it to the plugin in the version of StableHLO that the
plugin asks for; so a plugin sees what it would see under jax. The other client on PyPI, pypjrt
(0.1.1, measured), has no types under 8 bits, takes eight times as long to run a small program, and
gives older plugins text that they cannot read.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from conformance.backends.pjrt.backend import PjrtBackend
from conformance.backends.pjrt.clients import load_plugin
from conformance.backends.versions import described_file, distribution_versions, file_version
from conformance.backends.xla_messages import short_message
from conformance.errors import NotAvailable

_NO_PLUGIN = re.compile(r"GetPjrtApi not found")
_OTHER_VERSION = re.compile(r"PJRT API (?:major )?version")


class PluginBackend(PjrtBackend):
    """The backend that uses the first device of a PJRT plugin."""

    def __init__(self, name: str, library: Path) -> None:
        """Load the library and find its device.

        Raises:
            NotAvailable: when there is no such file, it is no plugin, speaks another version of
                PJRT's interface than jaxlib, cannot be started, or has no device.
        """
        self._library = library
        super().__init__(name, device=_device(name, library))

    def _versions(self) -> tuple[tuple[str, str], ...]:
        return (
            *super()._versions(),
            *_stated_versions(self._client),
            *file_version(self._library),
            ("library", described_file(self._library)),
        )


def _stated_versions(client: Any) -> tuple[tuple[str, str], ...]:
    """Return the versions of PJRT's interface and of StableHLO that a plugin states."""
    interface = [getattr(client, f"pjrt_c_api_{part}_version", "?") for part in ("major", "minor")]
    dialect = getattr(client, "stablehlo_current_version", ())
    return tuple(
        (what, ".".join(map(str, numbers)))
        for what, numbers in (("PJRT API", interface), ("StableHLO", dialect))
        if numbers
    )


def _device(name: str, library: Path) -> Any:
    if not library.is_file():
        what = "is a folder" if library.is_dir() else "there is no such file"
        raise NotAvailable(f"{name}: {library}: {what}")
    try:
        client = load_plugin(f"{name}={library}", library)
    except RuntimeError as error:
        raise NotAvailable(f"{name}: {library} {_problem(str(error))}") from error
    devices = client.local_devices()
    if not devices:
        raise NotAvailable(f"{name}: {library} has no device")
    return devices[0]


def _problem(message: str) -> str:
    """Return a message for the user about a faulty library, from jaxlib's message."""
    ((_, version),) = distribution_versions("jaxlib")
    line = short_message(message)
    if _NO_PLUGIN.search(message):
        return "is no PJRT plugin: it has no function GetPjrtApi"
    if _OTHER_VERSION.search(message):
        return f"has another version of PJRT's interface than jaxlib {version} ({line})"
    return f"cannot be loaded by jaxlib {version} ({line})"
