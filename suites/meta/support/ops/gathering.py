"""Programs that gather and scatter, traced and judged."""

from __future__ import annotations

from typing import Any

from conformance.judging.compare import judge
from conformance.tolerance.bounds.scatter import SCATTERED_UPDATES
from conformance.transforms.inline import inline_subject_bodies
from conformance.transforms.substitute import embed_free_values
from conformance.verdict import Verdict
from generators.case.case import Case
from generators.invalid.misses import program, tensor
from generators.values.contents import materialise
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Dense, Operation, Program, Region
from reference.ir.types import ELEMENT_TYPES, Array

F32, F64, F16, SI32, SI64, SI8, UI8, SI4, I1, C64 = (
    ELEMENT_TYPES[name]
    for name in ("f32", "f64", "f16", "si32", "si64", "si8", "ui8", "si4", "i1", "complex<f32>")
)


def traced_case(case: Case, number: int) -> tuple[Operation, list[Array], tuple[Array, ...]]:
    """Return the operation of a case, its bodies without calls, its operands and its results."""
    inputs = materialise(case.program, case.inputs[number])
    known = {v.name: a for v, a in zip(case.program.main.arguments, inputs, strict=True)}
    operations = inline_subject_bodies(case.program).main.body.operations
    for operation in operations[:-2]:
        value = operation.attribute("value")
        assert isinstance(value, Dense)
        known[operation.results[0].name] = value.array
    operands = [known[v.name] for v in operations[-2].operands]
    return embed_free_values(operations[-2], known), operands, evaluate(case.program, inputs)


POINTS: dict[str, Any] = {
    "update_window_dims": (), "inserted_window_dims": (0,), "scatter_dims_to_operand_dims": (0,),
    "index_vector_dim": 1, "input_batching_dims": (), "scatter_indices_batching_dims": (),
}  # fmt: skip


def points(of: Any, size: int, count: int, body: Region, index: Any = SI32, **more: Any) -> Program:
    types = {"x": tensor(of, size), "i": tensor(index, count), "u": tensor(of, count)}
    return program("scatter", types, (tensor(of, size),), (body,), **(POINTS | more))


def judge_result(made: Program, inputs: list[Array], actual: list[Array]) -> tuple[Verdict, str]:
    found = judge(made, inputs, evaluate(made, inputs), actual, SCATTERED_UPDATES)
    return found.verdict, found.kind
