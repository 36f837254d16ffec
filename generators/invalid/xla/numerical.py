"""Near misses of XlaBuilder's linear algebra, transforms and random numbers."""

from __future__ import annotations

from collections.abc import Iterator

from generators.invalid.misses import Miss, Misses, program, tensor
from reference.ir.types import element_type
from reference.ops.xla.shapes import Shape

_F32, _F64 = element_type("f32"), element_type("f64")
_UI32, _SI32 = element_type("ui32"), element_type("si32")


def _rng(op: str) -> Iterator[Miss]:
    names = ("mu", "sigma") if op == "RngNormal" else ("a", "b")
    result, shape = (tensor(_F32, 3),), Shape("f32", (3,))
    for number in (0, 1):
        types = dict.fromkeys(names, tensor(_F32))
        wide, other = (
            types | {names[number]: tensor(_F32, 1)},
            types | {names[number]: tensor(_F64)},
        )
        yield "P1", program(op, wide, result, shape=shape)
        yield "P2", program(op, other, result, shape=shape)


def _bernoulli(op: str) -> Iterator[Miss]:
    for mean in (tensor(_F32, 1), tensor(_F64)):
        yield "P1", program(op, {"mean": mean}, (tensor(_UI32, 3),), shape=Shape("ui32", (3,)))
    for of in (_SI32, _F32):
        shape = Shape(of.name, (3,))
        yield "P2", program(op, {"mean": tensor(_F32)}, (tensor(of, 3),), shape=shape)


NEAR_MISSES: dict[str, Misses] = {
    "RngBernoulli": _bernoulli, "RngNormal": _rng, "RngUniform": _rng,
}  # fmt: skip
"""The generator of each op's near misses."""

INSEPARABLE: dict[str, tuple[str, ...]] = {}
"""Ids of constraints that are violated only with others: none."""
