"""Normalisations by cuDNN: each row of the first dimension to mean 0 and variance 1.

Source: xla/service/gpu/backend_configs.proto (CudnnNormBackendConfig); NVIDIA, "cuDNN", layer
normalization.
"""

from __future__ import annotations

import math

from conformance.hlo.building import Building
from conformance.hlo.custom_calls.activations import constant_like
from conformance.hlo.custom_calls.configuration import configuration
from conformance.hlo.custom_calls.cublas import scratch
from conformance.hlo.shapes import Tree, array_type_of
from conformance.hlo.site import Handler, Site
from reference.ir.program import TensorType, Value, tensor_of
from reference.ir.types import ELEMENT_TYPES

_F32 = ELEMENT_TYPES["f32"]
_FORWARD = {"LAYER_FWD_INFER": 1, "LAYER_FWD_TRAIN": 3}
"""Number of results of each kind, not counting the library's workspace."""


class _Rows:
    """Arithmetic in f32 on arrays whose first dimension counts rows."""

    def __init__(self, building: Building, like: Value) -> None:
        """Prepare arithmetic on arrays of the shape of `like`."""
        self.building = building
        self.sizes = tensor_of(like).static_shape
        self.along = tuple(range(1, len(self.sizes)))

    def wide(self, value: Value) -> Value:
        """Return a value in f32, in the shape of the rows."""
        value = self.building.convert(value, _F32)
        own = tensor_of(value).static_shape
        if own == self.sizes:
            return value
        kept = tuple(d for d, size in enumerate(own) if size != 1)
        narrow = self.building.reshape(value, tuple(own[d] for d in kept))
        return self.building.broadcast(narrow, self.sizes, kept)

    def of(self, name: str, lhs: Value, rhs: Value) -> Value:
        """Add an operation of two operands, and return its result."""
        return self.building.binary(name, lhs, rhs)

    def total(self, value: Value, dimensions: tuple[int, ...]) -> Value:
        """Return the sums along some dimensions, which stay as dimensions of size 1."""
        building, scalar = self.building, TensorType((), _F32)
        inner = building.inner()
        pair = (inner.value(scalar), inner.value(scalar))
        body = inner.region(pair, (inner.binary("add", *pair),))
        left = tuple(size for d, size in enumerate(self.sizes) if d not in dimensions)
        operands = (value, building.full(0, scalar))
        found = building.one(
            "reduce", operands, TensorType(left, _F32), (body,), dimensions=dimensions
        )  # fmt: skip
        kept = tuple(1 if d in dimensions else size for d, size in enumerate(self.sizes))
        return building.reshape(found, kept)

    def mean(self, value: Value) -> Value:
        """Return the mean of each row; the other dimensions have size 1."""
        found = self.total(value, self.along)
        count = math.prod(self.sizes[1:])
        return self.of("divide", found, constant_like(self.building, count, found))


def _norm(site: Site) -> Tree:
    kind = str(configuration(site, "cudnn_norm_backend_config").get("kind", ""))
    if kind in _FORWARD:
        return _forward(site, _FORWARD[kind])
    if kind == "LAYER_BWD":
        return _backward(site)
    raise site.unreadable(f"its kind {kind} is unknown")


def _forward(site: Site, count: int) -> Tree:
    """Add a normalisation: the result and, for training, the means and inverse deviations."""
    epsilon = float(configuration(site, "cudnn_norm_backend_config").get("epsilon", 0))
    rows = _Rows(site.building, site.value(0))
    operand = rows.wide(site.value(0))
    mean = rows.mean(operand)
    centred = rows.of("subtract", operand, rows.wide(mean))
    variance = rows.mean(rows.of("multiply", centred, centred))
    shifted = rows.of("add", variance, constant_like(site.building, epsilon, variance))
    factor = site.building.unary("rsqrt", shifted)
    value = rows.of("multiply", centred, rows.wide(factor))
    value = rows.of("multiply", value, rows.wide(site.value(1)))
    value = rows.of("add", value, rows.wide(site.value(2)))
    return _results(site, (value, mean, factor)[:count])


def _backward(site: Site) -> Tree:
    """Add the gradients with respect to the operand, the scale and the bias."""
    rows = _Rows(site.building, site.value(0))
    operand, scale, gradient, mean, factor = (rows.wide(site.value(at)) for at in range(5))
    centred = rows.of("subtract", operand, mean)
    normal = rows.of("multiply", centred, factor)
    scaled = rows.of("multiply", gradient, scale)
    even = rows.wide(rows.mean(scaled))
    tilted = rows.wide(rows.mean(rows.of("multiply", scaled, normal)))
    rest = rows.of("subtract", scaled, even)
    rest = rows.of("subtract", rest, rows.of("multiply", normal, tilted))
    by_scale = rows.total(rows.of("multiply", gradient, normal), (0,))
    by_bias = rows.total(gradient, (0,))
    return _results(site, (rows.of("multiply", rest, factor), by_scale, by_bias))


def _results(site: Site, values: tuple[Value, ...]) -> Tree:
    """Return values in the types of the results, followed by the library's workspace."""
    building, shapes = site.building, site.instruction.shape.tuple_shapes
    found: list[Value] = []
    for value, shape in zip(values, shapes, strict=False):
        of = array_type_of(shape)
        found.append(building.reshape(building.convert(value, of.element), of.static_shape))
    return (*found, *(scratch(building, shape) for shape in shapes[len(found) :]))


TARGETS: dict[str, Handler] = {"__cudnn$norm": _norm}
"""The function that reads the calls of the target."""
