"""Programs that the interpreter refuses: it does not implement them, or they crash it.

Source: stablehlo/reference/Ops.cpp, and jaxlib 0.10.2 and 0.12.0, measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod
from typing import Any

from reference.ir.op import Dialect, Structure
from reference.ir.program import (
    Operation,
    Program,
    QuantizedType,
    Region,
    TensorType,
    TupleType,
    tensor_of,
)
from reference.ops.structure import structure_of
from reference.ops.table import OPS
from reference.ops.xla.composites import write_composites

_NO_CODE = "the interpreter has no code for it"
_DECOMPOSED = f"{_NO_CODE}, and StableHLO no pass that decomposes it"

_OPS: dict[str, str] = {
    "batch_norm_grad": _DECOMPOSED,
    "batch_norm_inference": _DECOMPOSED,
    "batch_norm_training": _DECOMPOSED,
    "cholesky": _DECOMPOSED,
    "einsum": _DECOMPOSED,
    "real_dynamic_slice": _NO_CODE,
    "rng": "the interpreter does not generate random numbers",
    "rng_bit_generator": "the interpreter does not generate random numbers",
    "set_dimension_size": _NO_CODE,
    "torch_index_select": _DECOMPOSED,
    "unary_einsum": _DECOMPOSED,
}
"""Ops that the interpreter never runs, with the reason."""

_STRUCTURES: dict[Structure, str] = {
    Structure.CALLS_TARGET: _NO_CODE,
    Structure.COMMUNICATES: "the interpreter runs a single process",
    Structure.STARTS: _NO_CODE,
    Structure.TRANSFERS: "the interpreter runs a single process, without a host",
}
"""Kinds of ops that the interpreter never runs, with the reason."""


def refusal_of(program: Program) -> str | None:
    """Return in one line why the interpreter cannot run a program, or None."""
    if any(isinstance(value.type, TupleType) for value in program.main.arguments):
        return "main: tuples are not supported as arguments"
    return next(_reasons(write_composites(program)), None)


def verifier_refusal_of(program: Program) -> str | None:
    """Return why not even MLIR's verifier can run on a program, or None.

    It reads the first input of a reduction without inputs, which may crash the process.
    """
    nothing = any(
        operation.name == "reduce" and not operation.operands for operation in program.walk()
    )
    return "reduce: a reduction without inputs may crash the process" if nothing else None


def _undefined_by_stablehlo(operation: Operation) -> str | None:
    """Return why the StableHLO that the interpreter implements does not define an operation."""
    ids = ", ".join(operation.waives)
    return f"StableHLO does not define what XlaBuilder permits here ({ids})" if ids else None


def _reasons(program: Program) -> Iterator[str]:
    for operation in program.walk():
        name, structure = operation.name, structure_of(operation)
        twin = OPS[name].twin if name in OPS else ""
        forms = (*_FORMS_OF_ALL, _FORMS.get(name), _FORMS.get(twin))
        reason = (
            _undefined_by_stablehlo(operation)
            or _OPS.get(name)
            or (structure and _STRUCTURES.get(structure))
        )
        if name in OPS and OPS[name].dialect is Dialect.MHLO:
            reason = _NO_CODE
        reason = reason or next(filter(None, (form(operation) for form in forms if form)), None)
        if reason:
            yield f"{name}: {reason}"


# --- Forms of ops --------------------------------------------------------------------------------

Form = Callable[[Operation], str | None]
"""A function from an operation to the reason why the interpreter does not run it, or None."""


def _unknown_size(operation: Operation) -> str | None:
    types = (value.type for value in operation.results)
    if all(of.is_static for of in types if isinstance(of, TensorType)):
        return None
    return "results whose sizes are known only at run time are not implemented"


def is_quantized(program: Program) -> bool:
    """Return whether a program has quantized types. It is compiled in a module of its own, because
    no pass of StableHLO lowers a call with such types.
    """
    return any(map(_quantized_types, program.walk()))


def _quantized_types(operation: Operation) -> list[QuantizedType]:
    values = (*operation.operands, *operation.results)
    types = (value.type.element_type for value in values if isinstance(value.type, TensorType))
    return [of for of in types if isinstance(of, QuantizedType)]


def _unsigned_storage(operation: Operation) -> str | None:
    """Refuse unsigned storage: the pass that lowers quantized arithmetic reads storage as
    signed."""
    if any(of.storage_type.is_unsigned for of in _quantized_types(operation)):
        return "quantized types of unsigned storage are not lowered"
    return None


def _refuse_compare(operation: Operation) -> str | None:
    ordered = operation.attribute("comparison_direction") not in ("EQ", "NE")
    is_complex = tensor_of(operation.operands[0]).stored.is_complex
    return "complex numbers have no order" if ordered and is_complex else None


def _remainder(operation: Operation) -> str | None:
    is_complex = tensor_of(operation.results[0]).stored.is_complex
    return "not implemented for complex numbers" if is_complex else None


def _refuse_fft(operation: Operation) -> str | None:
    operand, result = tensor_of(operation.operands[0]), tensor_of(operation.results[0])
    if operand.stored.part.bits < DOUBLE:
        return "a sum of f32 starts with an f64 zero, which crashes the process"
    given: dict[str, Any] = dict(operation.attributes)
    lengths = given["fft_length"]
    if given["fft_type"] == "IRFFT" and lengths[-1] % 2:
        return "an IRFFT of odd length reads uninitialised memory, or crashes the process"
    return _too_many(prod(result.static_shape) * sum(lengths))


def _refuse_gather(operation: Operation) -> str | None:
    """Refuse empty slices whose index may equal the operand's size: the interpreter reads there."""
    (result,) = operation.results
    of, given = result.type, dict[str, Any](operation.attributes)
    if 0 not in given["slice_sizes"] or not isinstance(of, TensorType) or 0 in of.static_shape:
        return None
    return "reading an element of an empty slice may crash the process"


def _refuse_triangular_solve(operation: Operation) -> str | None:
    a, b = map(tensor_of, operation.operands)
    if operation.attribute("transpose_a") == "ADJOINT" and not a.stored.is_complex:
        return "the adjoint of a real matrix crashes the process"
    if a.rank > MATRIX and not operation.attribute("unit_diagonal") and 0 not in b.shape:
        return "a batch of matrices without unit diagonals crashes the process"
    return None


def _refuse_contraction(operation: Operation) -> str | None:
    """Refuse contractions that are too large; `dot` becomes a `dot_general`."""
    given: dict[str, Any] = dict(operation.attributes)
    lhs, result = tensor_of(operation.operands[0]), tensor_of(operation.results[0])
    dimensions = given.get("lhs_contracting_dimensions", (lhs.rank - 1,))
    depth, elements = prod(lhs.static_shape[d] for d in dimensions), prod(result.static_shape)
    return _too_many(elements * depth) if depth or not elements else _NOTHING_TO_ADD


def _refuse_ragged_dot(operation: Operation) -> str | None:
    """Refuse ragged products that are too large: each group becomes a product over all rows."""
    groups = tensor_of(operation.operands[2]).static_shape[-1]
    lhs, given = tensor_of(operation.operands[0]), dict[str, Any](operation.attributes)
    if not groups:
        return "the pass cannot decompose it without groups, or crashes"
    if lhs.stored.is_complex or lhs.stored.is_boolean:
        return "the pass that decomposes it crashes on complex numbers and i1"
    if not given.get("rhs_group_dimensions") and tensor_of(operation.operands[1]).rank > lhs.rank:
        return "the pass that decomposes it crashes if rhs has a higher rank than lhs"
    depth = prod(lhs.static_shape[d] for d in given.get("lhs_contracting_dimensions", ()))
    elements = prod(tensor_of(operation.results[0]).static_shape)
    return _too_many(elements * depth * groups) if depth or not elements else _NOTHING_TO_ADD


def _refuse_broadcast_select(operation: Operation) -> str | None:
    """Refuse operands of several shapes: the pass leaves operations of the dialect shape."""
    if len({tensor_of(value).shape for value in operation.operands}) == 1:
        return None
    return "the pass that decomposes it leaves shape.shape_of, which crashes the process"


def _refuse_sort(operation: Operation) -> str | None:
    of, dimension = tensor_of(operation.operands[0]), operation.attribute("dimension", -1)
    assert isinstance(dimension, int)
    length = of.static_shape[dimension] if -of.rank <= dimension < of.rank else 0
    comparisons = prod(of.static_shape) * length.bit_length()
    if comparisons <= MOST_COMPARISONS:
        return None
    return f"{comparisons} comparisons take too long (limit: {MOST_COMPARISONS})"


def _refuse_fold(operation: Operation) -> str | None:
    """Refuse bodies that compute in another type than the results.

    StableHLO's passes give quantized bodies the operands' codes unchanged, even if their types
    differ.
    """
    types = [
        (tensor_of(taken).element_type, tensor_of(given).element_type)
        for taken, given in zip(operation.operands, operation.results, strict=False)
    ]
    if any(taken != given for taken, given in types):
        return "bodies in another element type crash the process, or get unconverted codes"
    quantized = any(isinstance(of, QuantizedType) for of, _ in types)
    if quantized and any(map(_holds_more, operation.regions)):
        return "quantized bodies that call functions or contain regions crash the process"
    return None


def _holds_more(body: Region) -> bool:
    return any(
        operation.regions or structure_of(operation) is Structure.CALLS
        for operation in body.operations
    )


def _refuse_convolution(operation: Operation) -> str | None:
    given: dict[str, Any] = dict(operation.attributes)
    result = tensor_of(operation.results[0])
    batch, feature = given["output_batch_dimension"], given["output_feature_dimension"]
    groups = given["feature_group_count"] * given["batch_group_count"]
    sizes = result.static_shape
    if feature < batch and 0 not in sizes and sizes[batch] * groups != sizes[feature]:
        return "results with the feature dimension before the batch dimension crash the process"
    if 0 not in sizes and 0 in tensor_of(operation.operands[1]).shape:
        return _NOTHING_TO_ADD
    kernel = tensor_of(operation.operands[1]).static_shape
    depth = prod(kernel) // max(1, kernel[given["kernel_output_feature_dimension"]])
    return _too_many(prod(sizes) * depth)


def _too_many(products: int) -> str | None:
    """Refuse sums of too many products: each takes microseconds."""
    if products <= MOST_PRODUCTS:
        return None
    return f"{products} products take too long (limit: {MOST_PRODUCTS})"


MATRIX = 2
"""Number of dimensions of a matrix."""

DOUBLE = 64
"""Width of f64 in bits."""

MOST_PRODUCTS = 1 << 16
"""The largest number of products in a program that runs; each program runs on several inputs."""

MOST_COMPARISONS = 1 << 15
"""The largest number of comparisons in a sort; each evaluates the comparator."""

_NOTHING_TO_ADD = "sums without terms crash the process"

_FORMS_OF_ALL: tuple[Form, ...] = (_unknown_size, _unsigned_storage)
"""Functions that refuse operations of any op in some forms."""

_FORMS: dict[str, Form] = {
    "chlo.broadcast_select": _refuse_broadcast_select,
    "chlo.ragged_dot": _refuse_ragged_dot,
    "compare": _refuse_compare,
    "convolution": _refuse_convolution,
    "dot": _refuse_contraction,
    "dot_general": _refuse_contraction,
    "dynamic_conv": _refuse_convolution,
    "fft": _refuse_fft,
    "gather": _refuse_gather,
    "reduce": _refuse_fold,
    "reduce_window": _refuse_fold,
    "remainder": _remainder,
    "scatter": _refuse_fold,
    "select_and_scatter": _refuse_fold,
    "sort": _refuse_sort,
    "triangular_solve": _refuse_triangular_solve,
}
"""Functions that refuse operations of an op in some forms, by op."""
