"""Near misses of the ops of reference/ops/folds/reduction.py."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from generators.families.reduction import padding_of
from generators.invalid.misses import Miss, Misses, program, tensor
from generators.regions.bodies import BodyBuilder, literal, selector
from reference.ir.program import Attribute, Dense, Program, QuantizedType, Region, TensorType, Value
from reference.ir.types import ElementType, element_type

_F32, _F64, _F16, _SI32, _I1 = (element_type(name) for name in ("f32", "f64", "f16", "si32", "i1"))


def adder(*types: ElementType, returned: tuple[ElementType, ...] | None = None) -> Region:
    """Return a body that adds its inputs pairwise, or returns constants of other types."""
    block = BodyBuilder.of(*types, *types)
    pairs = zip(block.arguments[: len(types)], block.arguments[len(types) :], strict=True)
    if returned is not None:
        return block.finish_region(*(block.constant(1, of) for of in returned))
    return block.finish_region(*(block.op("add", *pair) for pair in pairs))


def bad_bodies(element: ElementType, narrow: ElementType, other: ElementType) -> Iterator[Region]:
    """Yield bodies that do not fold elements of a type: too narrow, of another kind, mismatched."""
    yield adder(narrow)
    yield adder(other)
    yield adder(element, element)
    yield adder(element, returned=())
    yield adder(element, returned=(element, element))
    yield adder(element, returned=(other,))
    yield BodyBuilder.of(element, other).finish_region(
        *BodyBuilder.of(element, other).arguments[:1]
    )
    block = BodyBuilder.of(element)
    yield block.finish_region(*block.arguments)
    wide = Value("a0", tensor(element, 1)), Value("a1", tensor(element, 1))
    yield BodyBuilder(wide).finish_region(wide[0])


_ROW, _MATRIX, _WIDE = tensor(_F32, 2), tensor(_F32, 2, 3), tensor(_F32, 3, 4)
_SCALAR, _SQUARE = tensor(_F32), tensor(_F32, 2, 2)


def _reduce_program(
    inputs: tuple[TensorType, ...] = (_MATRIX,),
    inits: tuple[TensorType, ...] = (_SCALAR,),
    results: tuple[TensorType, ...] = (_ROW,),
    dimensions: tuple[int, ...] = (1,),
    body: Region | None = None,
) -> Program:
    operands = {f"input{n}": of for n, of in enumerate(inputs)}
    operands |= {f"init{n}": of for n, of in enumerate(inits)}
    return program("reduce", operands, results, (body or adder(_F32),), dimensions=dimensions)


def _reduce(_: str) -> Iterator[Miss]:
    """Yield near misses of I2 (init value of rank 1) and C1 to C8."""
    pair, two = (_SCALAR,) * 2, adder(_F32, _F32)
    yield "I2", _reduce_program(inits=(tensor(_F32, 1),))
    yield "I2", _reduce_program(inits=(tensor(_F32, 2),))
    for shape in ((2, 4), (2,), (2, 3, 1), (3, 3)):
        result = tensor(_F32, *(n for d, n in enumerate(shape) if d != 1))
        inputs = (tensor(_F32, 2, 3), tensor(_F32, *shape))
        yield "C1", _reduce_program(inputs, pair, (_ROW, result), body=two)
    for of in (_F64, _F16, _SI32):
        yield "C2", _reduce_program(inits=(tensor(of),))
    yield "C3", _reduce_program((), (), (), (), BodyBuilder(()).finish_region())
    yield "C3", _reduce_program(results=(tensor(_F32, 2),) * 2)
    yield "C3", _reduce_program((_MATRIX,) * 2, pair, body=two)
    for dimension in (2, -1, 7):
        yield "C4", _reduce_program(dimensions=(dimension,))
    for dimensions in ((1, 1), (0, 1, 1)):
        rest = tuple(n for d, n in enumerate((2, 3)) if d not in dimensions)
        yield "C5", _reduce_program(dimensions=dimensions, results=(tensor(_F32, *rest),))
    yield "C6", _reduce_program(body=adder(_F16), results=(tensor(_F16, 2),))
    for body in bad_bodies(_F32, _F16, _SI32):
        yield "C6", _reduce_program(body=body)
    for shape in ((3,), (2, 1), (), (2, 3), (0,)):
        yield "C7", _reduce_program(results=(tensor(_F32, *shape),))
    for of in (_F64, _F16, _SI32):
        yield "C8", _reduce_program(results=(tensor(of, 2),))
    yield "C8", _reduce_program(body=adder(_F64))


_WINDOW: dict[str, Attribute] = {
    "window_dimensions": (2, 1),
    "window_strides": (1, 2),
    "base_dilations": (1, 1),
    "window_dilations": (1, 1),
    "padding": padding_of(((0, 0), (1, 0))),
}
"""Attributes of windows over 3 x 4 elements, with results of 2 x 3."""


def _window_program(
    inputs: tuple[TensorType, ...] = (_WIDE,),
    inits: tuple[TensorType, ...] = (_SCALAR,),
    results: tuple[TensorType, ...] = (_MATRIX,),
    body: Region | None = None,
    given: dict[str, Attribute] | None = None,
) -> Program:
    operands = {f"input{n}": of for n, of in enumerate(inputs)}
    operands |= {f"init{n}": of for n, of in enumerate(inits)}
    regions = (body or adder(_F32),)
    return program("reduce_window", operands, results, regions, **_WINDOW | (given or {}))


_PER_DIMENSION = (
    ("C4", "C5", "window_dimensions"),
    ("C6", "C7", "window_strides"),
    ("C8", "C9", "base_dilations"),
    ("C10", "C11", "window_dilations"),
)


def _bad_paddings() -> Iterator[Dense]:
    """Yield paddings of a wrong shape for rank 2."""
    si64 = element_type("si64")
    for shape in ((3, 2), (1, 2), (2, 1), (4,), (2, 3), (2, 2, 1)):
        yield Dense.of(np.zeros(shape, np.int64), TensorType(shape, si64))


def _reduce_window(_: str) -> Iterator[Miss]:
    """Yield near misses of I2 (init value of rank 1) and C1 to C16."""
    pair, body = (tensor(_F32),) * 2, adder(_F32, _F32)
    good = tensor(_F32, 2, 3)
    yield "I2", _window_program(inits=(tensor(_F32, 1),))
    yield "C1", _window_program((), (), (), BodyBuilder(()).finish_region())
    yield "C1", _window_program(results=(good, good))
    yield "C1", _window_program((tensor(_F32, 3, 4),) * 2, pair, (good,), body)
    for shape in ((3, 5), (4, 3), (3,), (3, 4, 1)):
        inputs = (tensor(_F32, 3, 4), tensor(_F32, *shape))
        yield "C2", _window_program(inputs, pair, (good, good), body)
    for of in (_F64, _F16, _SI32):
        yield "C3", _window_program(inits=(tensor(of),))
    for sized, positive, name in _PER_DIMENSION:
        for wrong in ((), (1,), (1, 1, 1)):
            yield sized, _window_program(given={name: wrong})
        for wrong in ((0, 1), (1, -1), (-2, 2)):
            yield positive, _window_program(given={name: wrong})
    for padding in _bad_paddings():
        yield "C12", _window_program(given={"padding": padding})
    yield "C13", _window_program(body=adder(_F16), results=(tensor(_F16, 2, 3),))
    for bad in bad_bodies(_F32, _F16, _SI32):
        yield "C13", _window_program(body=bad)
    for shape in ((2, 4), (2,), (2, 3, 1)):
        both = (good, tensor(_F32, *shape))
        yield "C14", _window_program((tensor(_F32, 3, 4),) * 2, pair, both, body)
    for shape in ((3, 4), (2, 2), (2,), (), (0, 3)):
        yield "C15", _window_program(results=(tensor(_F32, *shape),))
    for of in (_F64, _F16, _SI32):
        yield "C16", _window_program(results=(tensor(of, 2, 3),))
    yield "C16", _window_program(body=adder(_F64))


_POOLING: dict[str, Attribute] = {
    "window_dimensions": (2, 1),
    "window_strides": (1, 2),
    "padding": padding_of(((0, 0), (0, 0))),
}
"""Attributes of windows over 3 x 4 elements, with a source of 2 x 2."""


def _pooling_program(
    operand: TensorType = _WIDE,
    source: TensorType = _SQUARE,
    init_value: TensorType = _SCALAR,
    result: TensorType = _WIDE,
    select: Region | None = None,
    scatter: Region | None = None,
    given: dict[str, Attribute] | None = None,
) -> Program:
    operands = {"operand": operand, "source": source, "init_value": init_value}
    regions = (select or selector(_F32, "GE"), scatter or adder(_F32))
    return program("select_and_scatter", operands, (result,), regions, **_POOLING | (given or {}))


def _bad_selectors() -> Iterator[Region]:
    """Yield regions that are no predicates, or predicates on other types."""
    yield selector(_F64, "GE")
    yield selector(_SI32, "GE")
    yield adder(_F32)
    yield adder(_F32, returned=(_I1, _I1))
    yield adder(_F32, returned=())
    for count in (1, 3):
        block = BodyBuilder.of(*(_F32,) * count)
        first, last = block.arguments[0], block.arguments[-1]
        yield block.finish_region(block.compare(first, last, "GE"))


def _select_and_scatter(_: str) -> Iterator[Miss]:
    """Yield near misses of I3 (init value of rank 1) and C1 to C12."""
    yield "I3", _pooling_program(init_value=tensor(_F32, 1))
    for of in (_F64, _F16, _SI32):
        yield "C1", _pooling_program(source=tensor(of, 2, 2))
        yield "C3", _pooling_program(init_value=tensor(of))
        yield "C12", _pooling_program(result=tensor(of, 3, 4))
    yield "C12", _pooling_program(scatter=adder(_F64))
    for shape in ((2, 4), (3, 2), (2,), (2, 2, 1), (0, 2)):
        yield "C2", _pooling_program(source=tensor(_F32, *shape))
    for wrong in ((), (2,), (2, 1, 1)):
        yield "C4", _pooling_program(given={"window_dimensions": wrong})
        yield "C6", _pooling_program(given={"window_strides": wrong})
    for wrong in ((0, 1), (2, -1), (-2, 1)):
        yield "C5", _pooling_program(given={"window_dimensions": wrong})
        yield "C7", _pooling_program(given={"window_strides": wrong})
    for padding in _bad_paddings():
        yield "C8", _pooling_program(given={"padding": padding})
    for bad in _bad_selectors():
        yield "C9", _pooling_program(select=bad)
    yield "C10", _pooling_program(scatter=adder(_F16), result=tensor(_F16, 3, 4))
    for bad in bad_bodies(_F32, _F16, _SI32):
        yield "C10", _pooling_program(scatter=bad)
    for shape in ((3, 3), (4, 3), (3,), (3, 4, 1), (2, 2)):
        yield "C11", _pooling_program(result=tensor(_F32, *shape))


def _map_program(
    inputs: tuple[TensorType, ...] = (_MATRIX, _MATRIX),
    result: TensorType = _MATRIX,
    dimensions: tuple[int, ...] = (0, 1),
    computation: Region | None = None,
) -> Program:
    operands = {f"input{n}": of for n, of in enumerate(inputs)}
    regions = (computation or adder(_F32),)
    return program("map", operands, (result,), regions, dimensions=dimensions)


def _per_axis() -> TensorType:
    si8 = element_type("si8")
    of = QuantizedType(si8, -128, 127, _F32, (0.5, 0.25), (0, 0), 0)
    return TensorType((2, 3), of)


def _map(_: str) -> Iterator[Miss]:
    """Yield near misses of I1 (quantized per axis) and C1 to C4."""
    given = _per_axis()
    block = BodyBuilder((Value("a0", TensorType((), given.element_type)),))
    one = block.finish_region(block.op("constant", to=_F32, value=literal(1, _F32)))
    yield "I1", _map_program((given,), computation=one)
    for shape in ((2, 4), (3, 2), (2,), (2, 3, 1), (), (0, 3)):
        bad = tensor(_F32, *shape)
        yield "C1", _map_program((tensor(_F32, 2, 3), bad))
        yield "C1", _map_program(result=bad)
    block = BodyBuilder(())
    nothing = block.finish_region(block.constant(1, _F32))
    yield "C2", _map_program((), dimensions=(), computation=nothing)
    for dimensions in ((), (0,), (1, 0), (0, 1, 2), (0, 0), (1, 2), (-1, 1)):
        yield "C3", _map_program(dimensions=dimensions)
    for bad in _bad_computations():
        yield "C4", _map_program(computation=bad)
    for of in (_F64, _SI32, _I1):
        yield "C4", _map_program(result=tensor(of, 2, 3))


def _bad_computations() -> Iterator[Region]:
    """Yield computations that do not map two f32 to a single f32."""
    yield adder(_F64)
    yield adder(_SI32)
    yield adder(_F32, _F32)
    yield adder(_F32, returned=())
    yield adder(_F32, returned=(_F32, _F32))
    yield adder(_F32, returned=(_F64,))
    for count in (1, 3):
        block = BodyBuilder.of(*(_F32,) * count)
        yield block.finish_region(block.arguments[0])
    wide = Value("a0", tensor(_F32, 2)), Value("a1", tensor(_F32, 2))
    yield BodyBuilder(wide).finish_region(wide[0])


NEAR_MISSES: dict[str, Misses] = {
    "map": _map,
    "reduce": _reduce,
    "reduce_window": _reduce_window,
    "select_and_scatter": _select_and_scatter,
}
"""The generator of each op's near misses."""

INSEPARABLE: dict[str, tuple[str, ...]] = {
    # An init value has the type of its input (C2, C3), also if that is quantized per axis.
    "reduce": ("I1",),
    "reduce_window": ("I1",),
    # The element types of operand, source (C1) and init value (C3) are the same.
    "select_and_scatter": ("I1", "I2"),
}
"""Ids of constraints that are violated only with others, by op: see each comment."""
