"""Products of matrices by cuBLAS and cublasLt: alpha * lhs . rhs + beta * C, and an epilogue.

Source: xla/service/gpu/backend_configs.proto (GemmBackendConfig); NVIDIA, "cuBLAS", cublasLtMatmul.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from conformance.hlo.building import Building
from conformance.hlo.custom_calls.activations import (
    Activation,
    constant_like,
    gelu,
    identity,
    relu,
    silu,
)
from conformance.hlo.custom_calls.configuration import configuration, numbers
from conformance.hlo.protos import Shape
from conformance.hlo.shapes import Tree, array_type_of, element_of
from conformance.hlo.site import Handler, Site
from reference.ir.program import TensorType, Value, tensor_of
from reference.ir.types import ELEMENT_TYPES, ElementType

_ACTIVATIONS: dict[str, Activation] = {
    "DEFAULT": identity, "BIAS": identity, "RELU": relu, "BIAS_RELU": relu, "GELU": gelu,
    "GELU_AUX": gelu, "BIAS_GELU": gelu, "BIAS_GELU_AUX": gelu, "SILU": silu, "BIAS_SILU": silu,
    "SWISH": silu, "BIAS_SWISH": silu,
}  # fmt: skip
"""The function of each epilogue."""


@dataclass(frozen=True, slots=True)
class _Operands:
    """Operands of a matrix product besides lhs and rhs; None, or no scales, if the call lacks
    them.
    """

    matrix: Value | None
    vector: Value | None
    scales: tuple[Value, ...]
    result_scale: Value | None


def accumulation_type(element: ElementType) -> ElementType:
    """Return the type in which products of a type are accumulated."""
    if element.is_complex or element.bits > ELEMENT_TYPES["f32"].bits:
        return element
    return ELEMENT_TYPES["si32"] if element.is_integer else ELEMENT_TYPES["f32"]


def _results(site: Site) -> tuple[Shape, ...]:
    shape = site.instruction.shape
    return tuple(shape.tuple_shapes) or (shape,)


def scratch(building: Building, shape: Shape) -> Value:
    """Return a library's scratch memory, whose contents mean nothing, as zeros."""
    return building.full(0, array_type_of(shape))


def _operands(site: Site, config: dict[str, Any], scaled: bool) -> _Operands:
    """Return operands by role, in this order: matrix, scales, vector, scale of the result."""
    rest = [site.value(number) for number in range(2, len(site.operands))]
    matrix = rest.pop(0) if float(config.get("beta", 0)) else None
    scales = (rest.pop(0), rest.pop(0)) if scaled else ()
    has_vector = str(config.get("epilogue", "DEFAULT")).startswith("BIAS")
    narrow = scaled and element_of(_results(site)[0]).bits == 8
    result_scale = next((one for one in reversed(rest) if narrow and not tensor_of(one).rank), None)
    rest = [one for one in rest if one is not result_scale]
    vector = rest.pop(0) if has_vector else None
    if rest:
        raise site.unreadable(f"it has {len(rest)} operands of unknown meaning")
    return _Operands(matrix, vector, scales, result_scale)


def _product(site: Site, config: dict[str, Any], to: ElementType) -> Value:
    """Return the product of both matrices in the accumulation type."""
    stated: dict[str, Any] = config.get("dot_dimension_numbers", {})
    sizes = array_type_of(_results(site)[0]).shape
    pair = (site.value(0), site.value(1))
    return site.building.one(
        "dot_general", pair, TensorType(sizes, to),
        lhs_batching_dimensions=numbers(stated.get("lhs_batch_dimensions")),
        rhs_batching_dimensions=numbers(stated.get("rhs_batch_dimensions")),
        lhs_contracting_dimensions=numbers(stated.get("lhs_contracting_dimensions")),
        rhs_contracting_dimensions=numbers(stated.get("rhs_contracting_dimensions")),
    )  # fmt: skip


def _multiply_by(building: Building, value: Value, factor: complex) -> Value:
    if factor == 1:
        return value
    return building.binary("multiply", value, constant_like(building, factor, value))


def _times(building: Building, value: Value, scale: Value) -> Value:
    """Return a value times a scalar, which is broadcast."""
    of = tensor_of(value)
    scalar = building.reshape(building.convert(scale, of.element), ())
    return building.binary("multiply", value, building.broadcast(scalar, of.static_shape))


def _add_matrix(building: Building, value: Value, other: Value) -> Value:
    """Return the sum with a matrix, or with a vector along the last dimension."""
    of = tensor_of(value)
    other = building.convert(other, of.element)
    if tensor_of(other).shape != of.shape:
        other = building.broadcast(other, of.static_shape, (of.rank - 1,))
    return building.binary("add", value, other)


def _matmul(site: Site) -> Tree:
    return matmul(site, scaled=False)


def _matmul_f8(site: Site) -> Tree:
    return matmul(site, scaled=True)


def matmul(site: Site, *, scaled: bool) -> Tree:
    """Add a matrix product; `scaled` if its matrices have scales."""
    building, config = site.building, configuration(site, "gemm_backend_config")
    epilogue = str(config.get("epilogue", "DEFAULT"))
    if epilogue not in _ACTIVATIONS:
        raise site.unreadable(f"its epilogue {epilogue} is unknown")
    shapes = _results(site)
    result = array_type_of(shapes[0])
    to = accumulation_type(result.element)
    given = _operands(site, config, scaled)
    alpha = complex(float(config.get("alpha_real", 1)), float(config.get("alpha_imag", 0)))
    value = _product(site, config, to)
    for scale in given.scales:
        value = _times(building, value, scale)
    value = _multiply_by(building, value, alpha if to.is_complex else alpha.real)
    if given.matrix is not None:
        matrix = building.convert(given.matrix, to)
        value = _add_matrix(building, value, _multiply_by(building, matrix, float(config["beta"])))
    if given.vector is not None:
        value = _add_matrix(building, value, given.vector)
    before, value = value, _ACTIVATIONS[epilogue](building, value, 0)
    largest = value
    if given.result_scale is not None:
        value = _times(building, value, given.result_scale)
    first = building.convert(value, result.element)
    if not site.instruction.shape.tuple_shapes:
        return first
    others = (_other(building, shape, epilogue, before, largest) for shape in shapes[1:])
    return (first, *others)


def _other(building: Building, shape: Shape, epilogue: str, before: Value, after: Value) -> Value:
    """Return a result after the first: the epilogue's input, a largest value, or scratch memory."""
    of = array_type_of(shape)
    if epilogue.endswith("AUX") and of.shape == tensor_of(before).shape:
        return building.convert(before, of.element)
    if of == TensorType((), ELEMENT_TYPES["f32"]):
        return _largest_element(building, building.unary("abs", after))
    return scratch(building, shape)


def _largest_element(building: Building, value: Value) -> Value:
    """Return the largest element of a value, as a scalar."""
    of = tensor_of(value)
    scalar = TensorType((), of.element_type)
    inner = building.inner()
    pair = (inner.value(scalar), inner.value(scalar))
    body = inner.region(pair, (inner.binary("maximum", *pair),))
    return building.one(
        "reduce", (value, building.full(0, scalar)), scalar, (body,),
        dimensions=tuple(range(of.rank)),
    )  # fmt: skip


TARGETS: dict[str, Handler] = {
    "__cublas$gemm": _matmul,
    "__cublas$lt$matmul": _matmul,
    "__cublas$lt$matmul$f8": _matmul_f8,
}
"""The function that reads the calls of each target."""
