"""The options of a compiler's custom call, stored as JSON in its backend_config."""

from __future__ import annotations

import json
from typing import Any

from conformance.hlo.site import Site


def configuration(site: Site, key: str = "") -> dict[str, Any]:
    """Return the options of a custom call; `key` is the name of the requested part.

    Raises:
        Unreadable: when they are no JSON.
    """
    text = site.instruction.backend_config.decode("utf-8", "replace")
    try:
        found: Any = json.loads(text or "{}")
    except ValueError:
        raise site.unreadable("its options are not JSON") from None
    part: Any = found.get(key, {}) if key and isinstance(found, dict) else found  # pyright: ignore[reportUnknownMemberType]
    if not isinstance(part, dict):
        raise site.unreadable("its options are no JSON object")
    return part  # pyright: ignore[reportUnknownVariableType]


def numbers(value: Any) -> tuple[int, ...]:
    """Return a list of integers, which JSON of protos writes as strings."""
    return tuple(int(one) for one in value or ())
