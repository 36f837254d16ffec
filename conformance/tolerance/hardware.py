"""What computes, as far as tolerances and models of what goes wrong depend on it."""

from __future__ import annotations

from enum import StrEnum


class Hardware(StrEnum):
    """Which figures of a rule apply. A backend says so of itself, as it knows its device.

    Whatever is neither a GPU nor a TPU is judged by the figures of CPUs, the strictest; of
    StableHLO's interpreter it is also known what it computes instead.
    """

    CPU = "cpu"
    GPU = "gpu"
    TPU = "tpu"
    INTERPRETER = "interpreter"
