"""Near misses of the ops of reference/ops/normalization.py."""

from __future__ import annotations

from collections.abc import Iterator

from generators.invalid.misses import Miss, Misses, program, tensor
from reference.ir.program import Program, TensorType
from reference.ir.types import ELEMENT_TYPES as TYPES
from reference.ops.table import OPS

_F32, _OTHERS = TYPES["f32"], (TYPES["f64"], TYPES["bf16"])
_SHAPE, _FEATURES = (2, 3, 4), 3

INSEPARABLE: dict[str, tuple[str, ...]] = {
    "batch_norm_grad": ("I1", "I2", "I3", "I4", "I5"),
    "batch_norm_inference": ("I1",),
    "batch_norm_training": ("I1",),
}
"""Ids of constraints that are violated only with others, by op.

C2 requires one element type, so that an inadmissible type also violates C2, or all inputs are
inadmissible; C4 of `batch_norm_grad` requires one shape of all inputs of rank 1. If only sizes are
compared, a rank of 2 violates nothing else."""

_RESULTS = {
    "batch_norm_grad": ("grad_operand", "grad_scale", "grad_offset"),
    "batch_norm_inference": ("result",),
    "batch_norm_training": ("output", "batch_mean", "batch_var"),
}
_LARGE = ("operand", "grad_output", "grad_operand", "result", "output")
_OTHER_SHAPES = ((2, 3, 5), (2, 4, 3), (3, 2, 4), (2, 3, 4, 1), (2, 12), (1, 3, 4))


def _build_program(op: str, changed: dict[str, TensorType], index: int = 1) -> Program:
    """Return a program that is valid except for its changed types."""

    def of(name: str) -> TensorType:
        usual = tensor(_F32, *_SHAPE) if name in _LARGE else tensor(_F32, _FEATURES)
        return changed.get(name, usual)

    operands = {name: of(name) for name in OPS[op].operands}
    results = tuple(of(name) for name in _RESULTS[op])
    return program(op, operands, results, (), epsilon=0.5, feature_index=index)


def _common(op: str) -> Iterator[Miss]:
    """Yield near misses of C1 (no such dimension), C2 (element types)."""
    for index in (3, -1, 7):
        yield "C1", _build_program(op, {}, index)
    for name in (*OPS[op].operands, *_RESULTS[op]):
        shape = _SHAPE if name in _LARGE else (_FEATURES,)
        for other in _OTHERS:
            yield "C2", _build_program(op, {name: tensor(other, *shape)})


def _size_misses(op: str) -> Iterator[Miss]:
    """Yield near misses of `batch_norm_inference` and `batch_norm_training`: I2 to I5, C3 to C7."""
    yield from _common(op)
    vectors = OPS[op].operands[1:]
    for index, name in enumerate(vectors, 2):
        for shape in ((1, 3), (3, 1)):
            yield f"I{index}", _build_program(op, {name: tensor(_F32, *shape)})
    sized = vectors if op == "batch_norm_inference" else (*vectors, "batch_mean", "batch_var")
    for index, name in enumerate(sized, 3):
        for size in (4, 2, 1, 0):
            yield f"C{index}", _build_program(op, {name: tensor(_F32, size)})
    for shape in _OTHER_SHAPES:
        yield "C7", _build_program(op, {_RESULTS[op][0]: tensor(_F32, *shape)})


def _grad(op: str) -> Iterator[Miss]:
    """Yield near misses of C3, C4 (shapes), C5 (number of features)."""
    yield from _common(op)
    for shape in _OTHER_SHAPES:
        yield "C3", _build_program(op, {"grad_output": tensor(_F32, *shape)})
        yield "C3", _build_program(op, {"grad_operand": tensor(_F32, *shape)})
    vectors = ("scale", "mean", "variance", "grad_scale", "grad_offset")
    for name in vectors[1:]:
        for size in (4, 1, 0):
            yield "C4", _build_program(op, {name: tensor(_F32, size)})
    for size in (4, 2, 1, 0):
        yield "C5", _build_program(op, dict.fromkeys(vectors, tensor(_F32, size)))


NEAR_MISSES: dict[str, Misses] = {
    "batch_norm_grad": _grad,
    "batch_norm_inference": _size_misses,
    "batch_norm_training": _size_misses,
}
"""The generator of each op's near misses."""
