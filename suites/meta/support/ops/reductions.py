"""Reductions written as loops from the specification, and helpers to make and judge programs.

The loops fold one element after the other through the body itself, from the left, with one init
value before them: an order that the specification permits.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

from conformance.catalog import CATALOG
from conformance.judging.compare import judge
from conformance.transforms.inline import inline_subject_bodies
from conformance.transforms.substitute import embed_free_values
from conformance.verdict import Verdict
from generators.regions.bodies import Monoid
from reference.interpreter.evaluate import body_of, evaluate
from reference.ir.program import Dense, Operation, Program, Region, TensorType, Value, single_op
from reference.ir.types import Array, ElementType, element_type, element_type_of
from reference.unspecified import table

F32, F64, F16, BF16, SI32, SI8, UI8, I1, C64 = (
    element_type(name)
    for name in ("f32", "f64", "f16", "bf16", "si32", "si8", "ui8", "i1", "complex<f32>")
)
OPS_HERE = ("reduce", "reduce_window", "select_and_scatter", "map")
Scalars = tuple[Array, ...]


# --- The specification, as loops -----------------------------------------------------------------


def fold_leaves(body: Callable[..., Any], inits: Scalars, leaves: Sequence[Scalars]) -> Scalars:
    now = inits
    for leaf in leaves:
        now = body(*now, *leaf)
    return now


def convert_to_arguments(arrays: Sequence[Array], region: Region) -> tuple[Array, ...]:
    """Return operands as arrays of the types of the body's arguments (values are kept
    by widening).
    """
    types = [value.type for value in region.arguments]
    return tuple(
        x.astype(of.storage) if isinstance(of, TensorType) else x
        for x, of in zip(arrays, types, strict=False)
    )


def loop_reduce(operation: Operation, operands: Sequence[Array]) -> tuple[Array, ...]:
    region = operation.regions[0]
    body, count = body_of(region), len(operands) // 2
    inputs = convert_to_arguments(operands[:count], region)
    inits = convert_to_arguments(operands[count:], region)
    dimensions = sorted(attribute(operation, "dimensions"))
    shape = inputs[0].shape
    kept = [d for d in range(len(shape)) if d not in dimensions]
    results = tuple(np.empty([shape[d] for d in kept], x.dtype) for x in inputs)
    for index in np.ndindex(*results[0].shape):
        leaves: list[Scalars] = []
        for inner in product(*(range(shape[d]) for d in dimensions)):
            at = [0] * len(shape)
            for d, i in (*zip(kept, index, strict=True), *zip(dimensions, inner, strict=True)):
                at[d] = i
            leaves.append(tuple(np.asarray(x[tuple(at)]) for x in inputs))
        for array, leave in zip(results, fold_leaves(body, inits, leaves), strict=True):
            array[index] = leave
    return results


def attribute(operation: Operation, name: str, default: Any = None) -> Any:
    return operation.attribute(name, default)


def places(
    operation: Operation, shape: tuple[int, ...], results: tuple[int, ...]
) -> Iterator[tuple[tuple[int, ...], list[tuple[int, ...] | None]]]:
    """Return the indices of each window's elements, None for elements outside the input."""
    rank = len(shape)
    ones = (1,) * rank
    window = attribute(operation, "window_dimensions")
    strides = attribute(operation, "window_strides", ones)
    base = attribute(operation, "base_dilations", ones)
    dilations = attribute(operation, "window_dilations", ones)
    padding = attribute(operation, "padding")
    low = padding.array[:, 0].tolist() if padding else [0] * rank
    for index in np.ndindex(*results):
        covered: list[tuple[int, ...] | None] = []
        for inner in np.ndindex(*window):
            at = [index[d] * strides[d] + inner[d] * dilations[d] - low[d] for d in range(rank)]
            inside = all(
                a >= 0 and a % base[d] == 0 and a // base[d] < shape[d] for d, a in enumerate(at)
            )
            covered.append(tuple(a // base[d] for d, a in enumerate(at)) if inside else None)
        yield index, covered


def loop_reduce_window(operation: Operation, operands: Sequence[Array]) -> tuple[Array, ...]:
    region = operation.regions[0]
    body, count = body_of(region), len(operands) // 2
    inputs = convert_to_arguments(operands[:count], region)
    inits = convert_to_arguments(operands[count:], region)
    of = operation.results[0].type
    assert isinstance(of, TensorType)
    results = tuple(np.empty(of.static_shape, x.dtype) for x in inputs)
    for index, covered in places(operation, inputs[0].shape, of.static_shape):
        leaves = [
            inits if at is None else tuple(np.asarray(x[at]) for x in inputs) for at in covered
        ]
        for array, leave in zip(results, fold_leaves(body, inits, leaves), strict=True):
            array[index] = leave
    return results


def loop_select_and_scatter(operation: Operation, operands: Sequence[Array]) -> tuple[Array, ...]:
    operand, source, init = operands
    select, scatter = (body_of(region) for region in operation.regions)
    (source, init) = convert_to_arguments((source, init), operation.regions[1])
    result = np.full(operand.shape, init)
    for index, covered in places(operation, operand.shape, source.shape):
        inside = [at for at in covered if at is not None]
        if not inside:
            continue
        best = inside[0]
        for at in inside[1:]:
            (keep,) = select(np.asarray(operand[best]), np.asarray(operand[at]))
            best = best if keep else at
        (one,) = scatter(np.asarray(result[best]), np.asarray(source[index]))
        result[best] = one
    return (result,)


def loop_map(operation: Operation, operands: Sequence[Array]) -> tuple[Array, ...]:
    body = body_of(operation.regions[0])
    of = operation.results[0].type
    assert isinstance(of, TensorType)
    result = np.empty(of.static_shape, of.storage)
    for index in np.ndindex(*result.shape):
        (result[index],) = body(*(np.asarray(x[index]) for x in operands))
    return (result,)


LOOPS: dict[str, Callable[[Operation, Sequence[Array]], tuple[Array, ...]]] = {
    "reduce": loop_reduce,
    "reduce_window": loop_reduce_window,
    "select_and_scatter": loop_select_and_scatter,
    "map": loop_map,
}


def last_operation(
    program: Program, inputs: Sequence[Array]
) -> tuple[Operation, tuple[Array, ...]]:
    """Return a program's last operation, what it names of constants and calls of functions written
    into it; its operands.
    """
    known = {a.name: x for a, x in zip(program.main.arguments, inputs, strict=True)}
    for operation in program.main.body.operations[:-2]:
        value = operation.attribute("value")
        assert isinstance(value, Dense)
        known[operation.results[0].name] = value.array
    found = inline_subject_bodies(program).subject
    return embed_free_values(found, known), tuple(known[operand.name] for operand in found.operands)


def judge_result(
    program: Program, inputs: Sequence[Array], actual: Sequence[Array], op: str
) -> Verdict:
    expected = evaluate(program, inputs)
    return judge(program, inputs, expected, actual, CATALOG[op].tolerance).verdict


def open_in(program: Program, inputs: Sequence[Array]) -> Array:
    """Return the mask of unspecified elements of the first result."""
    operation, operands = last_operation(program, inputs)
    return table.unspecified_mask(operation, operands, evaluate(program, inputs)[0])


# --- Programs of one reduction -------------------------------------------------------------------


def types_of(arrays: Sequence[Array]) -> list[TensorType]:
    return [TensorType(x.shape, element_type_of(x)) for x in arrays]


def reduction_program(
    body: Monoid, inputs: Sequence[Array], inits: Sequence[Array] | None = None
) -> tuple[Program, tuple[Array, ...]]:
    """Return the reduction of dimension 0, and its inputs; init values are the identity if not
    given.
    """
    starts = tuple(inits or (dense.array for dense in body.identity))
    arrays = (*inputs, *starts)
    values = tuple(Value(f"x{n}", of) for n, of in enumerate(types_of(arrays)))
    results = tuple(TensorType(inputs[0].shape[1:], of) for of in body.results)
    program = single_op("reduce", values, results, {"dimensions": (0,)}, (body.region,))
    return program, arrays


def reduction_of(body: Monoid, *inputs: Array, inits: Sequence[Array] | None = None) -> Array:
    program, arrays = reduction_program(body, inputs, inits)
    return evaluate(program, arrays)[0]


def is_open(body: Monoid, *inputs: Array, inits: Sequence[Array] | None = None) -> Array:
    return open_in(*reduction_program(body, inputs, inits))


def row(of: ElementType, *numbers: float) -> Array:
    wide = np.array(numbers, np.complex128 if of.is_complex else np.float64)
    return wide.astype(of.storage)
