"""Single HLO instructions, read by their handler and evaluated."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from conformance.hlo.building import Building
from conformance.hlo.protos import Instruction, Shape
from conformance.hlo.shapes import Tree, leaves
from conformance.hlo.site import Handler, Site
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Function, Program, TensorType, Value
from reference.ir.types import Array, element_type_of

TUPLE = 13
NUMBERS = {
    "i1": 1, "si8": 2, "si32": 4, "si64": 5, "ui32": 8, "ui64": 9, "f16": 10, "f32": 11, "f64": 12,
    "complex<f32>": 15, "bf16": 16, "si4": 21,
}  # fmt: skip
"""XLA's numbers of element types."""


def shape(of: str, *sizes: int, **given: Any) -> Shape:
    return Shape(NUMBERS[of], list(sizes), **given)


def tuple_shape(*parts: Shape) -> Shape:
    return Shape(TUPLE, tuple_shapes=list(parts))


def instruction(opcode: str, result: Shape, **given: Any) -> Instruction:
    return Instruction(opcode=opcode, shape=result, **given)


def site_of(
    one: Instruction, operands: Sequence[Tree] = (), shapes: Sequence[Shape] = (), grid=(1, 1)
) -> Site:
    """Return an instruction in an empty region of a module that calls nothing."""
    computations: Any = SimpleNamespace(grid=grid)
    return Site(one, tuple(operands), tuple(shapes), Building(), computations)


def evaluate_instruction(handler: Handler, one: Instruction, *operands: Array) -> list[Array]:
    """Return the results of the operations that a handler adds, on these operands."""
    values = [
        Value(f"operand {n}", TensorType(array.shape, element_type_of(array)))
        for n, array in enumerate(operands)
    ]
    shapes = [Shape(NUMBERS[element_type_of(array).name], list(array.shape)) for array in operands]
    site = site_of(one, values, shapes)
    results = tuple(leaves(handler(site)))
    body = site.building.region(values, results)
    program = Program((Function("main", body, tuple(result.type for result in results)),))
    return list(evaluate(program, list(operands)))


def custom_call(target: str, result: Shape, options: str = "", **given: Any) -> Instruction:
    return instruction(
        "custom-call", result, custom_call_target=target, backend_config=options.encode(), **given
    )
