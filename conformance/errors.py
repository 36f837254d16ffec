"""What users are told, and no traceback: errors of what was asked for."""

from __future__ import annotations


class UsageError(Exception):
    """What was asked for makes no sense; the message says what and, if it can, what was meant."""
