"""The kinds of hardware that have tolerance figures of their own."""

from __future__ import annotations

from enum import StrEnum


class Hardware(StrEnum):
    """Which figures of a rule apply. A backend says so of itself, as it knows its device.

    Whatever is neither a GPU nor a TPU is judged by the figures of CPUs, the strictest.
    """

    CPU = "cpu"
    GPU = "gpu"
    TPU = "tpu"
