"""Sorts, selections, solvers and factorisations by libraries."""

from __future__ import annotations

from typing import Any

import numpy as np

from conformance.hlo.building import Building
from conformance.hlo.custom_calls.configuration import configuration
from conformance.hlo.custom_calls.cublas import scratch
from conformance.hlo.shapes import Tree, array_type_of
from conformance.hlo.site import Handler, Site
from reference.ir.program import Dense, Region, TensorType, Value, tensor_of
from reference.ir.types import ELEMENT_TYPES


def options_of(site: Site) -> str | tuple[Any, ...]:
    """Return a custom call's options as programs state them: a tuple if typed, else a text."""
    text = site.instruction.backend_config.decode("utf-8", "replace")
    if not text.startswith("{"):
        return text
    from jaxlib.mlir import ir  # who reads no such call need not load it

    from conformance.stablehlo.configurations import configuration as options
    from conformance.stablehlo.context import reading_context

    with reading_context():
        try:
            found = options(ir.Attribute.parse(text))
        except ir.MLIRError:
            found = None
    return text if found is None else found


def _cub_sort(site: Site) -> Tree:
    """Add a radix sort of keys along the last dimension, with values if there are any."""
    building = site.building
    options = configuration(site)
    descending = bool(options.get("descending", False))
    values = [site.value(number) for number in range(len(site.operands))]
    types = [tensor_of(value) for value in values]
    body = _comparator(building, types, "GT" if descending else "LT")
    results = building.add(
        "sort", values, types, (body,), dimension=types[0].rank - 1, is_stable=True
    )
    shapes = site.instruction.shape.tuple_shapes
    return (*results, *(scratch(building, shape) for shape in shapes[len(results) :]))


def _comparator(building: Building, types: list[TensorType], direction: str) -> Region:
    """Return a comparison of the first operand's elements, in total order where they are floats."""
    inner = building.inner()
    scalars = [TensorType((), of.element_type) for of in types for _ in range(2)]
    arguments = [inner.value(of) for of in scalars]
    kind = "TOTALORDER" if types[0].element.is_float else None
    decided = inner.compare(direction, arguments[0], arguments[1], kind)
    return inner.region(arguments, (decided,))


def _top_k(site: Site) -> Tree:
    """Add a selection of the largest or smallest elements along the last dimension."""
    shapes = site.instruction.shape.tuple_shapes
    types = [array_type_of(shape) for shape in shapes[:2]]
    options = configuration(site) if site.instruction.backend_config[:1] == b"{" else {}
    largest = bool(options.get("largest", site.instruction.largest or not options))
    chosen = site.building.add(
        "mhlo.topk", (site.value(0),),
        (types[0], TensorType(types[0].shape, ELEMENT_TYPES["si32"])),
        k=types[0].static_shape[-1], largest=largest,
    )  # fmt: skip
    index = site.building.convert(chosen[1], types[1].element)
    return (chosen[0], index, *(scratch(site.building, shape) for shape in shapes[2:]))


def _triangular_solve(site: Site) -> Tree:
    """Add a triangular solve by cuBLAS, which has the options of the opcode."""
    options = configuration(site)
    shapes = site.instruction.shape.tuple_shapes
    transposes = {"NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"}
    stated = options.get("transpose_a", "NO_TRANSPOSE")
    value = site.building.one(
        "triangular_solve", (site.value(0), site.value(1)), array_type_of(shapes[0]),
        left_side=bool(options.get("left_side")), lower=bool(options.get("lower")),
        unit_diagonal=bool(options.get("unit_diagonal")),
        transpose_a=stated if stated in transposes else "NO_TRANSPOSE",
    )  # fmt: skip
    return (value, *(scratch(site.building, shape) for shape in shapes[1:]))


def _cusolver_cholesky(site: Site) -> Tree:
    """Add a factorisation by cuSOLVER: the factor, scratch memory, and status 0 (success) for each
    matrix.
    """
    options = configuration(site)
    building, operand = site.building, site.value(0)
    of, lower = tensor_of(operand), bool(options.get("lower"))
    factor = building.one("cholesky", (operand,), of, lower=lower)
    whole = _other_triangle(building, factor, operand, lower=lower)
    shapes = site.instruction.shape.tuple_shapes
    return (whole, *(scratch(building, shape) for shape in shapes[1:]))


def _other_triangle(building: Building, factor: Value, operand: Value, *, lower: bool) -> Value:
    """Return a factor with the operand's elements outside its triangle, as LAPACK leaves them."""
    of = tensor_of(factor)
    shape = of.static_shape
    ones = np.ones(shape[-2:])
    matrix = (np.tril(ones) if lower else np.triu(ones)).astype(np.bool_)
    mask = building.constant(Dense.of(matrix, TensorType(matrix.shape, ELEMENT_TYPES["i1"])))
    wide = building.broadcast(mask, shape, (of.rank - 2, of.rank - 1))
    return building.one("select", (wide, factor, operand), of)


def _seed(site: Site) -> Tree:
    """Add the seed of a generator as 0; any number would do."""
    return site.building.full(0, site.type)


TARGETS: dict[str, Handler] = {
    "GetRngSeed": _seed,
    "TopK": _top_k,
    "__cub$DeviceRadixSort": _cub_sort,
    "__cublas$triangularSolve": _triangular_solve,
    "__gpu$TopK": _top_k,
    "cusolver$cholesky": _cusolver_cholesky,
    "__cusolver$cholesky": _cusolver_cholesky,
}
"""The function that reads the calls of each target."""
