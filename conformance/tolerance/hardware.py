"""Kinds of hardware that tolerances and models of divergences depend on."""

from __future__ import annotations

from enum import StrEnum


class Hardware(StrEnum):
    """Kind of hardware, which selects the figures of a rule; a backend states its own.

    Devices that are neither GPU nor TPU are judged by the figures of CPUs, the strictest.
    INTERPRETER is StableHLO's interpreter, whose divergences are modelled.
    """

    CPU = "cpu"
    GPU = "gpu"
    TPU = "tpu"
    INTERPRETER = "interpreter"
