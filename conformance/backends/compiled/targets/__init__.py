"""Targets of compilation: descriptions of GPUs, which XLA reads, and names of TPUs."""

from __future__ import annotations

from pathlib import Path

_FOLDER = Path(__file__).parent

GPU_TARGETS = tuple(sorted(path.stem for path in _FOLDER.glob("*.txtpb")))
"""GPUs whose description is shipped (a GpuTargetConfigProto of XLA as text); the default first."""

TPU_TOPOLOGIES = ("v5e", "v6e")
"""Generations of TPUs whose topologies libtpu makes without a TPU; the default first."""


def gpu_description(target: str) -> str:
    """Return the description of a GPU of `GPU_TARGETS`, as XLA reads it."""
    return (_FOLDER / f"{target}.txtpb").read_text("utf-8")
