"""Errors for texts that cannot be read."""

from __future__ import annotations

from typing import Any

from conformance.stablehlo.messages import place_of


class ParseError(ValueError):
    """Raised for a text that is no valid module, or has an unsupported construct."""


class Unreadable(ParseError):
    """A valid module with a construct that programs do not support."""


def refusal(operation: Any, reason: str) -> Unreadable:
    """Return the error for an unreadable operation, with its location and the reason."""
    place = place_of(str(operation.location))
    return Unreadable(f"{place}: {operation.name}: {reason}" if place else reason)
