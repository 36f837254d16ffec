"""Near misses of the ops of reference/ops/random.py."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from generators.invalid.misses import Miss, Misses, program, tensor
from reference.ir.program import Dense, Program, TensorType, Value, single_op
from reference.ir.types import ELEMENT_TYPES as TYPES

_F32, _F64, _SI32, _SI64, _UI64 = (TYPES[name] for name in ("f32", "f64", "si32", "si64", "ui64"))
_SCALAR, _SIZES, _RESULT = tensor(_F32), tensor(_SI64, 2), tensor(_F32, 2, 3)

INSEPARABLE: dict[str, tuple[str, ...]] = {}
"""Ids of constraints that are violated only with others, by op: none."""


def _rng_program(
    a: TensorType = _SCALAR,
    b: TensorType = _SCALAR,
    shape: TensorType = _SIZES,
    result: TensorType = _RESULT,
    distribution: str = "UNIFORM",
) -> Program:
    sizes = np.resize(np.array([2, 3], shape.element.storage), shape.static_shape)
    operands = (Value("a", a), Value("b", b), Dense.of(sizes, shape))
    return single_op("rng", operands, (result,), {"rng_distribution": distribution})


def _rng(_: str) -> Iterator[Miss]:
    for shape in ((1,), (2, 3), (0,)):
        yield "I1", _rng_program(a=tensor(_F32, *shape))
        yield "I2", _rng_program(b=tensor(_F32, *shape))
    yield "I3", _rng_program(shape=tensor(_SI64))
    yield "I3", _rng_program(shape=tensor(_SI64, 2, 1))
    for of in (_SI32, TYPES["ui64"], TYPES["si8"]):
        yield "I3", _rng_program(shape=tensor(of, 2))
    for name in ("GAUSSIAN", "BERNOULLI"):
        yield "I4", _rng_program(distribution=name)
    for of in (_F64, TYPES["bf16"], _SI32):
        yield "C1", _rng_program(b=tensor(of))
        yield "C1", _rng_program(a=tensor(of))
        yield "C1", _rng_program(result=tensor(of, 2, 3))
    for name in ("si32", "ui8", "i1"):
        of = TYPES[name]
        yield (
            "C2",
            _rng_program(tensor(of), tensor(of), result=tensor(of, 2, 3), distribution="NORMAL"),
        )
    for shape in ((3, 2, 1), (6,), (), (1, 2, 3)):
        yield "C3", _rng_program(result=tensor(_F32, *shape))
    yield "C3", _rng_program(shape=tensor(_SI64, 3))
    yield "C3", _rng_program(shape=tensor(_SI64, 0))


def _rng_bit_generator(op: str) -> Iterator[Miss]:
    state, output = tensor(_UI64, 2), tensor(TYPES["ui32"], 4)

    def write_program(
        before: TensorType = state, after: TensorType | None = None, name: str = "THREE_FRY"
    ) -> Program:
        results = (after or before, output)
        return program(op, {"initial_state": before}, results, (), rng_algorithm=name)

    for name in ("MERSENNE", "THREEFRY", "PCG"):
        yield "I1", write_program(name=name)
    for of in (_SI64, TYPES["ui32"], _F64):
        yield "I2", write_program(tensor(of, 2))
    for shape in ((2, 1), (1, 2)):
        yield "I2", write_program(tensor(_UI64, *shape))
    for after in (
        tensor(_UI64, 3),
        tensor(_SI64, 2),
        tensor(_UI64, 1, 2),
        tensor(TYPES["ui32"], 2),
    ):
        yield "C1", write_program(after=after)
    for size in (0, 1, 3, 4):
        yield "C2", write_program(tensor(_UI64, size))
    for size in (0, 1, 4):
        yield "C2", write_program(tensor(_UI64, size), name="PHILOX")


NEAR_MISSES: dict[str, Misses] = {"rng": _rng, "rng_bit_generator": _rng_bit_generator}
"""The generator of each op's near misses."""
