"""Cases of the ops of reference/ops/folds/reduction.py."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from generators.case.case import Case
from generators.case.shapes import Pick, choose, shape
from generators.programs.building import Builder, constant, inputs, operand
from generators.regions import bodies
from generators.regions.bodies import BodyBuilder, Monoid
from generators.values.contents import profiles_of
from generators.values.profiles import ProfileRow
from reference.ir.program import Attribute, Dense, Program, Region, TensorType, Value, single_op
from reference.ir.types import BOOLEAN, ElementType, element_type
from reference.numerics.contributions import windows_along

_I1, _SI64 = BOOLEAN[0], element_type("si64")
_LARGEST = 1 << 16  # elements times window, so that a case stays small


def monoid(element: ElementType, pick: Pick, *, single: bool = False) -> Monoid:
    """A body for elements of a type with its identity; `single` for one input only."""
    kind = pick(8)
    wider = bodies.wider_than(element)
    if kind == 7 and wider and pick(4) == 3:
        return bodies.fold_of(choose(pick, bodies.ops_of(element)), element, choose(pick, wider))
    if kind >= 5 and not single:
        return choose(pick, bodies.several(element))()
    return bodies.fold_of(choose(pick, bodies.ops_of(element)), element, swapped=kind == 4)


def _placed(
    pick: Pick, body: Monoid, sizes: tuple[int, ...]
) -> tuple[tuple[Value | Dense, ...], tuple[ProfileRow, ...]]:
    """The inputs and init values of a reduction, and the rows of profiles for all of them."""
    placed: list[Value | Dense] = []
    for number, of in enumerate(body.inputs):
        profiles = tuple(row[number] for row in body.rows)
        placed.append(operand(pick, f"input{number}", TensorType(sizes, of), profiles))
    names: list[str] = []
    for number, (of, start) in enumerate(zip(body.inputs, body.identity, strict=True)):
        value, name = _init(pick, f"init{number}", of, start, alone=0 in sizes)
        placed.append(value)
        names.append(name)
    return tuple(placed), tuple((*row, *names) for row in body.rows)


def _init(
    pick: Pick, name: str, element: ElementType, identity: Dense, *, alone: bool = False
) -> tuple[Value | Dense, str]:
    """An init value: mostly the identity, as a constant or a parameter; seldom anything.

    -0 is an identity of sums as 0 is, and the only one that leaves -0 as it is; where the init
    value is `alone`, most of those of sums are.
    """
    kind, number = pick(12), identity.array
    if kind == 11:
        return Value(name, identity.type), choose(pick, profiles_of(element))
    whole = np.real(number).astype(np.float64)
    if whole == 0 and kind in (range(4, 11) if alone else (6, 7, 9, 10)) and element.part.is_float:
        if kind < 8:
            return constant(identity.type, "negative_zeros", 0), "negative_zeros"
        return Value(name, identity.type), "negative_zeros"
    if kind >= 8 and abs(whole) <= 1 and whole == np.trunc(whole):
        return Value(name, identity.type), f"values:{int(whole)}"
    return identity, profiles_of(element)[0]


def _results(body: Monoid, sizes: tuple[int, ...]) -> tuple[TensorType, ...]:
    return tuple(TensorType(sizes, of) for of in body.results)


def _program(
    op: str,
    placed: tuple[Value | Dense, ...],
    results: tuple[TensorType, ...],
    given: dict[str, Attribute],
    body: Monoid,
) -> Program:
    """The program of one reduction, after the constants that its body names."""
    program = single_op(op, placed, results, given, (body.region,))
    if not body.outside:
        return program
    main = program.main
    region = replace(main.body, operations=(*body.outside, *main.body.operations))
    return Program((replace(main, body=region),))


def _dimensions(pick: Pick, rank: int) -> tuple[int, ...]:
    """Which dimensions go: the last, the first, all, none, or any of them in any order."""
    if not rank:
        return ()
    kind = pick(8)
    if kind < 2:
        return (rank - 1,)
    if kind < 4:
        return (0,)
    if kind == 4:
        return tuple(range(rank))
    chosen = tuple(d for d in range(rank) if pick(2))
    return chosen[::-1] if kind == 7 else chosen


def _reduce(op: str, element: ElementType, pick: Pick) -> Case:
    sizes = shape(pick, min_rank=1 if pick(8) else 0)
    body = monoid(element, pick)
    dimensions = _dimensions(pick, len(sizes))
    kept = tuple(n for d, n in enumerate(sizes) if d not in dimensions)
    placed, rows = _placed(pick, body, sizes)
    given: dict[str, Attribute] = {"dimensions": dimensions}
    program = _program(op, placed, _results(body, kept), given, body)
    return Case(program, inputs(pick, placed, rows))


_WINDOW_SIZES = (
    (),
    (1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 31, 32, 33, 64, 100, 129, 257, 0),
    (1, 2, 3, 4, 5, 7, 8, 9, 16, 0),
    (1, 2, 3, 4, 5, 6),
    (1, 2, 3, 4),
)
_WINDOW_RANKS = (1,) * 6 + (2,) * 8 + (3,) * 3 + (4,) * 3 + (0,)
_WINDOWS = (1, 2, 2, 2, 3, 3, 3, 4, 5, 7)
_STEPS = (1, 1, 1, 1, 2, 2, 3, 4)
_PADS = (0, 0, 0, 0, 1, 1, 1, 2, 3, -1, -2)


def _sizes(pick: Pick, ranks: tuple[int, ...] = _WINDOW_RANKS) -> tuple[int, ...]:
    rank = choose(pick, ranks)
    return tuple(choose(pick, _WINDOW_SIZES[rank]) for _ in range(rank))


def padding_of(pairs: tuple[tuple[int, int], ...]) -> Dense:
    """Low and high padding of each dimension as the attribute has them."""
    array = np.array(pairs, np.int64).reshape(len(pairs), 2)
    return Dense.of(array, TensorType((len(pairs), 2), _SI64))


def _window(pick: Pick, size: int) -> tuple[int, int, int, int, tuple[int, int]]:
    """Window, stride, dilations and padding along a dimension; sometimes a running fold."""
    kind = pick(8)
    if kind == 7 and size:
        return size, 1, 1, 1, choose(pick, ((size - 1, 0), (0, size - 1)))
    window, stride = choose(pick, _WINDOWS), choose(pick, _STEPS)
    if kind < 4:  # one in two with neither dilation nor negative padding
        low, high = (max(0, choose(pick, _PADS)) for _ in range(2))
        return window, stride, 1, 1, (low, high)
    base, dilation = choose(pick, _STEPS), choose(pick, _STEPS)
    dilated = (size - 1) * base + 1 if size else 0
    low, high = choose(pick, _PADS), choose(pick, _PADS)
    low = max(low, -dilated)
    return window, stride, base, dilation, (low, max(high, -dilated - min(low, 0)))


def _reduce_window(op: str, element: ElementType, pick: Pick) -> Case:
    sizes = _sizes(pick)
    body = monoid(element, pick)
    along = [_window(pick, size) for size in sizes]
    counts = tuple(windows_along(n, *row) for n, row in zip(sizes, along, strict=True))
    window = tuple(row[0] for row in along)
    if math.prod(counts) * math.prod(window) > _LARGEST:
        sizes, along, counts, window = (), [], (), ()
    optional: dict[str, tuple[int, ...]] = {
        "window_strides": tuple(row[1] for row in along),
        "base_dilations": tuple(row[2] for row in along),
        "window_dilations": tuple(row[3] for row in along),
    }
    explicit = pick(3) == 2
    given: dict[str, Attribute] = {"window_dimensions": window}
    given |= {k: v for k, v in optional.items() if explicit or any(n != 1 for n in v)}
    pairs = tuple(row[4] for row in along)
    if explicit or any(map(any, pairs)):
        given["padding"] = padding_of(pairs)
    placed, rows = _placed(pick, body, sizes)
    program = _program(op, placed, _results(body, counts), given, body)
    return Case(program, inputs(pick, placed, rows))


_SCATTERS = ("add", "add", "add", "maximum", "minimum", "multiply", "or", "and", "xor")
_POOLING_RANKS = (1,) * 12 + (2,) * 8 + (3, 4, 0)  # XLA takes its time to compile high ranks
_SELECTORS = ("GE", "GE", "GT", "LE", "LT")


def _pooling(pick: Pick, size: int) -> tuple[int, int, tuple[int, int]]:
    """Window, stride and padding along a dimension; nearly always every window has elements."""
    window, stride = choose(pick, _WINDOWS[:8]), choose(pick, _STEPS)
    low, high = (min(choose(pick, _PADS), window - 1) for _ in range(2))
    if pick(6) < 5:
        low, high = max(low, 0), max(high, 0)
    if size + low + high < window and pick(4) < 3:
        low = high = window // 2  # some window at least, and it has elements
    low = max(low, -size)
    return window, stride, (low, max(high, -size - min(low, 0)))


def _select_and_scatter(op: str, element: ElementType, pick: Pick) -> Case:
    # rank 0 ends XLA, and with it a batch of cases: one type will do
    sizes = _sizes(pick, _POOLING_RANKS if element.name == "f32" else _POOLING_RANKS[:-1])
    along = [_pooling(pick, size) for size in sizes]
    counts = tuple(
        windows_along(n, window, stride, 1, 1, pads)
        for n, (window, stride, pads) in zip(sizes, along, strict=True)
    )
    known = bodies.ops_of(element)
    name = choose(pick, tuple(op for op in _SCATTERS if op in known))
    wider = bodies.wider_than(element)
    body = bodies.fold_of(name, element, choose(pick, wider) if wider and pick(24) == 23 else None)
    given: dict[str, Attribute] = {"window_dimensions": tuple(row[0] for row in along)}
    strides, pairs = tuple(row[1] for row in along), tuple(row[2] for row in along)
    explicit = pick(3) == 2
    if explicit or any(n != 1 for n in strides):
        given["window_strides"] = strides
    if explicit or any(map(any, pairs)):
        given["padding"] = padding_of(pairs)
    shown = ("permutation", "small_integers", *profiles_of(element))
    if element.is_boolean:
        shown = ("bits",)
    init, init_name = _init(pick, "init_value", element, body.identity[0])
    rows = tuple(
        (first, *body.rows[n % len(body.rows)], init_name) for n, first in enumerate(shown)
    )
    placed = (
        operand(pick, "operand", TensorType(sizes, element), shown),
        operand(pick, "source", TensorType(counts, element), tuple(row[1] for row in rows)),
        init,
    )
    regions = (bodies.selector(element, choose(pick, _SELECTORS)), body.region)
    result = TensorType(sizes, body.results[0])
    program = single_op(op, placed, (result,), given, regions)
    return Case(program, inputs(pick, placed, rows))


Mapping = tuple[tuple[ElementType, ...], Region]
"""The element types of the inputs of `map`, and its computation."""


def _applied(element: ElementType, pick: Pick) -> Mapping:
    """One op of two operands."""
    known = bodies.ops_of(element)
    tried = ("add", "multiply", "maximum", "minimum", "and", "xor")
    names = tuple(n for n in tried if n in known or (element.is_complex and n == "add"))
    block = BodyBuilder.of(element, element)
    return (element, element), block.returns(block.op(choose(pick, names), *block.arguments))


def _chosen(element: ElementType, pick: Pick) -> Mapping:
    """One of two elements by a third one."""
    block = BodyBuilder.of(_I1, element, element)
    predicate, *values = block.arguments
    if pick(2):
        predicate = block.op("not", predicate)
    return (_I1, element, element), block.returns(block.op("select", predicate, *values))


def _compared(element: ElementType, pick: Pick) -> Mapping:
    """A comparison with a constant: the result is of another type."""
    block = BodyBuilder.of(element)
    direction = choose(pick, ("EQ", "NE") if element.is_complex else ("GT", "LE", "EQ", "NE"))
    limit = block.constant(1, element)
    return (element,), block.returns(block.compare(block.arguments[0], limit, direction))


def _promoted(element: ElementType, pick: Pick) -> Mapping:
    """A conversion to a wider type, where there is one."""
    block = BodyBuilder.of(element)
    to = choose(pick, bodies.wider_than(element) or (element,))
    return (element,), block.returns(block.op("convert", block.arguments[0], to=to))


def _clamped(element: ElementType, pick: Pick) -> Mapping:
    """Bounds from constants, and a result of no operation but these."""
    block = BodyBuilder.of(element)
    low, high = block.constant(pick(2), element), block.constant(2, element)
    if element.is_complex:
        return (element,), block.returns(block.op("add", block.arguments[0], low))
    return (element,), block.returns(block.op("clamp", low, block.arguments[0], high))


def _kept(element: ElementType, pick: Pick) -> Mapping:
    """One of the arguments as it is, or a constant."""
    block = BodyBuilder.of(element, element)
    if pick(3) == 2:
        return (element, element), block.returns(block.constant(1, element))
    return (element, element), block.returns(block.arguments[pick(2)])


_MAPPINGS: tuple[Callable[[ElementType, Pick], Mapping], ...] = (
    _applied, _applied, _chosen, _compared, _promoted, _clamped, _kept,
)  # fmt: skip


def _map(op: str, element: ElementType, pick: Pick) -> Case:
    sizes = shape(pick)
    types, region = choose(pick, _MAPPINGS)(element, pick)
    names = profiles_of(element)
    rows = tuple(tuple("bits" if t is _I1 else name for t in types) for name in names)
    placed = tuple(
        operand(pick, f"input{n}", TensorType(sizes, t), tuple(row[n] for row in rows))
        for n, t in enumerate(types)
    )
    (value,) = region.operations[-1].operands
    assert isinstance(value.type, TensorType)
    result = TensorType(sizes, value.type.element_type)
    given: dict[str, Attribute] = {"dimensions": tuple(range(len(sizes)))}
    program = single_op(op, placed, (result,), given, (region,))
    return Case(program, inputs(pick, placed, rows))


BUILDERS: dict[str, Builder] = {
    "map": partial(_map, "map"),
    "reduce": partial(_reduce, "reduce"),
    "reduce_window": partial(_reduce_window, "reduce_window"),
    "select_and_scatter": partial(_select_and_scatter, "select_and_scatter"),
}
"""What builds the cases of each op."""
