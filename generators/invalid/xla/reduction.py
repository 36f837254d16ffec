"""Near misses of XlaBuilder's reductions, windows and mappings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from generators.invalid.misses import Miss, Misses, program, tensor
from generators.regions.bodies import BodyBuilder, multi_op_bodies
from reference.ir.types import element_type

_F32 = element_type("f32")


def _reduce_window(op: str) -> Iterator[Miss]:
    given: dict[str, Any] = {
        "window_dimensions": (2,), "window_strides": (1,), "padding": "VALID",
    }  # fmt: skip
    yield "P1", program(op, {}, (), (BodyBuilder(()).finish_region(),), **given)
    result = (tensor(_F32, 2),)
    two = next(body for body in multi_op_bodies(_F32) if body.inputs == (_F32, _F32))
    types = {"x": tensor(_F32, 3), "y": tensor(_F32, 4), "i": tensor(_F32), "j": tensor(_F32)}
    yield "P2", program(op, types, result * 2, (two.region,), **given)


NEAR_MISSES: dict[str, Misses] = {"ReduceWindow": _reduce_window}
"""The generator of each op's near misses."""

INSEPARABLE: dict[str, tuple[str, ...]] = {}
"""Ids of constraints that are violated only with others: none."""
