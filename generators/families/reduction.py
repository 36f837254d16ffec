"""Cases of the ops of reference/ops/folds/reduction.py."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from generators.case.case import Case, InputRecipe
from generators.case.choices import Pick, choose, name_of, seldom
from generators.case.shapes import (
    is_large,
    limit_elements,
    rank_label,
    shape,
    size_label,
    step_label,
)
from generators.programs.building import Builder, constant, inputs, operand, prepend_operations
from generators.regions import bodies, forms
from generators.regions.bodies import BodyBuilder, Monoid
from generators.values.contents import profiles_of
from reference.ir.constants import matrix
from reference.ir.program import (
    Attribute,
    Dense,
    Function,
    Program,
    Region,
    TensorType,
    Value,
    single_op,
)
from reference.ir.types import BOOLEAN, ElementType, element_type
from reference.numerics.contributions import count_windows

_I1, _SI64 = BOOLEAN[0], element_type("si64")
_LARGEST = 1 << 16  # elements times window, so that a case stays small
_LARGEST_OF_FEW = 100


def monoid(element: ElementType, pick: Pick, *, single: bool = False) -> Monoid:
    """Return a body for elements of a type with its identity; `single` for one input only."""
    wider = bodies.wider_than(element)
    kinds = (
        ("an op",) * 16 + ("operands swapped",) * 4 + (forms.IN_FUNCTIONS, forms.NOT_ELEMENTWISE)
    )
    kinds += ("promoted",) * bool(wider) + ("several ops",) * 11 * (not single)
    kind = choose(pick, kinds, "body")
    if kind == "several ops":
        return choose(pick, bodies.multi_op_bodies(element), "body of several ops", paired=False)
    ops = _body_ops(element, kind)
    op = choose(pick, ops, "op of the body")
    if kind == "promoted":
        return bodies.fold_of(op, element, choose(pick, wider))
    body = bodies.fold_of(op, element, swapped=kind == "operands swapped")
    if kind == forms.NOT_ELEMENTWISE:
        return forms.write_non_elementwise(body, pick)
    return forms.call_body(body) if kind == forms.IN_FUNCTIONS else body


def _body_ops(element: ElementType, kind: str) -> tuple[str, ...]:
    """Return the ops that a body of this kind may apply."""
    if kind == forms.NOT_ELEMENTWISE:
        return forms.non_elementwise_ops(element)
    return bodies.monoid_ops(element)


def _place_operands(
    pick: Pick, body: Monoid, sizes: tuple[int, ...]
) -> tuple[tuple[Value | Dense, ...], tuple[InputRecipe, ...]]:
    """Return the inputs and init values of a reduction, and their recipes."""
    placed: list[Value | Dense] = []
    for index, of in enumerate(body.inputs):
        profiles = tuple(row[index] for row in body.rows)
        placed.append(operand(pick, f"input{index}", TensorType(sizes, of), profiles))
    names: list[str] = []
    for index, (of, start) in enumerate(zip(body.inputs, body.identity, strict=True)):
        value, name = _choose_init(pick, f"init{index}", of, start, is_only_leaf=0 in sizes)
        placed.append(value)
        names.append(name)
    rows, first = ([(*row, *names) for row in some] for some in (body.rows, body.always))
    return tuple(placed), inputs(pick, tuple(placed), tuple(rows), first=first)


_INITS = ("identity",) * 8 + ("identity as a parameter",) * 3 + ("anything",)


def _choose_init(
    pick: Pick, name: str, element: ElementType, identity: Dense, *, is_only_leaf: bool = False
) -> tuple[Value | Dense, str]:
    """Return an init value: mostly the identity, as a constant or a parameter; rarely any value.

    Both -0 and 0 are identities of sums, but only -0 leaves -0 unchanged; if
    `is_only_leaf`, most init values of sums are -0.
    """
    number = identity.array
    shown = choose(pick, _INITS, "init value")
    if shown == "anything":
        return Value(name, identity.type), choose(pick, profiles_of(element))
    kind = pick(8) if shown == "identity" else 8 + pick(3)
    whole = np.real(number).astype(np.float64)
    if (
        whole == 0
        and kind in (range(4, 11) if is_only_leaf else (6, 7, 9, 10))
        and element.part.is_float
    ):
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
    """Return the program of one reduction, with the constants and functions that its body uses."""
    program = single_op(op, placed, results, given, (body.region,))
    return prepend_operations(program, body.outside, body.functions)


def _dimensions(pick: Pick, rank: int) -> tuple[int, ...]:
    """Choose the reduced dimensions: the last, the first, all, none, or any in any order."""
    if not rank:
        return ()
    kinds = ("last", "last", "first", "first", "all", "some", "some", "some, backwards", "none")
    kind = choose(pick, kinds, "dimensions")
    if kind in ("last", "first"):
        return (rank - 1,) if kind == "last" else (0,)
    if kind in ("all", "none"):
        return tuple(range(rank)) if kind == "all" else ()
    chosen = tuple(d for d in range(rank) if pick(2)) or (pick(rank),)
    return chosen[::-1] if kind == "some, backwards" else chosen


def _swap_sizes(sizes: tuple[int, ...], one: int, other: int) -> tuple[int, ...]:
    swapped = list(sizes)
    swapped[one], swapped[other] = sizes[other], sizes[one]
    return tuple(swapped)


_LARGE = ((5000,), (70, 80), (3, 4100), (4100, 3), (17, 16, 17))


def _reduce(op: str, element: ElementType, pick: Pick) -> Case:
    sizes = shape(pick, empty="a 0")  # an empty reduction returns its init values
    body = monoid(element, pick)
    if len(body.inputs) == 1 and is_large(pick, element):
        sizes = choose(pick, _LARGE)
    if body.few:
        sizes = limit_elements(sizes)
    dimensions = _dimensions(pick, len(sizes))
    if 0 in sizes and dimensions and not any(sizes[d] == 0 for d in dimensions):
        sizes = _swap_sizes(
            sizes, sizes.index(0), dimensions[0]
        )  # otherwise there would be no results
    pick.has_empty_results = any(n == 0 for d, n in enumerate(sizes) if d not in dimensions)
    kept = tuple(n for d, n in enumerate(sizes) if d not in dimensions)
    placed, recipes = _place_operands(pick, body, sizes)
    given: dict[str, Attribute] = {"dimensions": dimensions}
    return Case(_program(op, placed, _results(body, kept), given, body), recipes)


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
    rank = choose(pick, ranks, "rank", rank_label)
    return tuple(choose(pick, _WINDOW_SIZES[rank], "size", size_label) for _ in range(rank))


def padding_of(pairs: Sequence[tuple[int, int]]) -> Dense:
    """Return low and high padding of each dimension as the value of the attribute."""
    return matrix(pairs, 2)


Along = tuple[int, int, int, int, tuple[int, int]]
"""Window, stride, dilations of base and window, and padding along one dimension."""


_LARGE_IN_WINDOWS = ((4200,), (64, 66), (3, 1400), (17, 16, 17))


def _window(pick: Pick, size: int, *, large: bool) -> Along:
    """Choose window, stride, dilations and padding along a dimension; sometimes a running fold.

    `large` operands, which would have too many elements to fold, have adjacent windows instead, for
    which compilers have kernels.
    """
    kinds = ("plain",) * 4 + ("dilated or cut",) * 3 + ("running fold",) * (size > 0)
    if large:
        kinds = ("side by side",) * 4 + ("plain", "dilated or cut")
    kind = choose(pick, kinds, "along a dimension")
    if kind == "side by side":
        window = choose(pick, _STEPS, "window", step_label)
        base = choose(pick, _STEPS, "base dilation", step_label)
        return window, window, base, 1, (0, 0)
    if kind == "running fold":
        ends = ((size - 1, 0), (0, size - 1))
        return size, 1, 1, 1, choose(pick, ends, "running from", _name_padded_end)
    window = choose(pick, _WINDOWS, "window", step_label)
    stride = choose(pick, _STEPS, "stride", step_label)
    if kind == "plain":  # one in two with neither dilation nor negative padding
        low, high = (max(0, choose(pick, _PADS)) for _ in range(2))
        return window, stride, 1, 1, (low, high)
    base = choose(pick, _STEPS, "base dilation", step_label)
    dilation = choose(pick, _STEPS, "window dilation", step_label)
    dilated = (size - 1) * base + 1 if size else 0
    low, high = choose(pick, _PADS, "low", _sign), choose(pick, _PADS, "high", _sign)
    low = max(low, -dilated)
    return window, stride, base, dilation, (low, max(high, -dilated - min(low, 0)))


def _pad_for_window(size: int, along: Along) -> Along:
    """Return the dimension with enough padding for at least one window."""
    window, stride, base, dilation, (low, high) = along
    room = low + high + ((size - 1) * base + 1 if size else 0)
    missing = max((window - 1) * dilation + 1 - room, 0)
    return window, stride, base, dilation, (low, high + missing)


def _name_padded_end(padding: tuple[int, int]) -> str:
    return "the first" if padding[1] == 0 else "the last"


def _sign(padding: int) -> str:
    return "0" if padding == 0 else "more" if padding > 0 else "less"


def _reduce_window(op: str, element: ElementType, pick: Pick) -> Case:
    sizes = _sizes(pick)
    body = monoid(element, pick)
    large = len(body.inputs) == 1 and not body.few and is_large(pick, element)
    if large:
        sizes = choose(pick, _LARGE_IN_WINDOWS)
    if body.few:
        sizes = tuple(min(size, 9) for size in limit_elements(sizes))
    along = [_window(pick, size, large=large) for size in sizes]
    if choose(pick, ("some",) * 11 + ("empty",), "windows") == "some":
        along = [_pad_for_window(size, row) for size, row in zip(sizes, along, strict=True)]
    counts = tuple(count_windows(n, *row) for n, row in zip(sizes, along, strict=True))
    window = tuple(row[0] for row in along)
    pick.has_empty_results = 0 in counts
    most = _LARGEST_OF_FEW if body.few else _LARGEST << 2 * large
    if math.prod(counts) * math.prod(window) > most:
        sizes, along, counts, window = (), [], (), ()
    optional: dict[str, tuple[int, ...]] = {
        "window_strides": tuple(row[1] for row in along),
        "base_dilations": tuple(row[2] for row in along),
        "window_dilations": tuple(row[3] for row in along),
    }
    explicit = seldom(pick, 3, "defaults written")
    given: dict[str, Attribute] = {"window_dimensions": window}
    given |= {k: v for k, v in optional.items() if explicit or any(n != 1 for n in v)}
    pairs = tuple(row[4] for row in along)
    if explicit or any(map(any, pairs)):
        given["padding"] = padding_of(pairs)
    placed, recipes = _place_operands(pick, body, sizes)
    return Case(_program(op, placed, _results(body, counts), given, body), recipes)


_SCATTERS = ("add", "add", "add", "maximum", "minimum", "multiply", "or", "and", "xor")
_POOLING_RANKS = (1,) * 12 + (2,) * 8 + (3, 4, 0)  # XLA compiles high ranks slowly
_SELECTORS = ("GE", "GE", "GT", "LE", "LT")


def _pooling(pick: Pick, size: int) -> tuple[int, int, tuple[int, int]]:
    """Choose window, stride and padding along a dimension; mostly every window has elements."""
    window = choose(pick, _WINDOWS[:8], "window", step_label)
    stride = choose(pick, _STEPS, "stride", step_label)
    low, high = (min(choose(pick, _PADS, name, _sign), window - 1) for name in ("low", "high"))
    if pick(6) < 5:
        low, high = max(low, 0), max(high, 0)
    if size + low + high < window and pick(4) < 3:
        low = high = window // 2  # at least one window, and it has elements
    low = max(low, -size)
    return window, stride, (low, max(high, -size - min(low, 0)))


def _selector(element: ElementType, pick: Pick) -> tuple[Region, tuple[Function, ...], bool]:
    """Return a predicate of select_and_scatter, its callees, and whether it is elementwise."""
    region = bodies.selector(element, choose(pick, _SELECTORS, "select"))
    kinds = ("one op",) * 22 + (forms.IN_FUNCTIONS, forms.NOT_ELEMENTWISE)
    kind = choose(pick, kinds, "select is", paired=False)
    if kind == forms.IN_FUNCTIONS:
        return *forms.outline_to_functions(region, "select"), True
    if kind == forms.NOT_ELEMENTWISE:
        return forms.region_of_form(region, pick), (), False
    return region, (), True


def select_and_scatter(
    op: str,
    element: ElementType,
    pick: Pick,
    padded: Callable[[int], tuple[int, int]] | None = None,
) -> Case:
    """Return a case of select_and_scatter, with any padding or with `padded` of a window's size."""
    # rank 0 crashes XLA, and with it a batch of cases: one type suffices
    sizes = _sizes(pick, _POOLING_RANKS if element.name == "f32" else _POOLING_RANKS[:-1])
    wider = bodies.wider_than(element)
    kinds = ("an op",) * 21 + (forms.IN_FUNCTIONS, forms.NOT_ELEMENTWISE)
    kind = choose(pick, (*kinds, *("promoted",) * bool(wider)), "body", paired=False)
    known = _body_ops(element, kind)
    name = choose(pick, tuple(op for op in _SCATTERS if op in known), "op of scatter")
    body = bodies.fold_of(name, element, choose(pick, wider) if kind == "promoted" else None)
    if kind == forms.NOT_ELEMENTWISE:
        body = forms.write_non_elementwise(body, pick)
    elif kind == forms.IN_FUNCTIONS:
        body = forms.call_body(body)
    select, functions, plain = _selector(element, pick)
    if body.few or not plain:
        sizes = limit_elements(sizes)
    along = [_pooling(pick, size) for size in sizes]
    if padded is not None:
        along = [(window, stride, padded(window)) for window, stride, _ in along]
    counts = tuple(
        count_windows(n, window, stride, 1, 1, pads)
        for n, (window, stride, pads) in zip(sizes, along, strict=True)
    )
    pick.has_empty_results = 0 in sizes
    given: dict[str, Attribute] = {"window_dimensions": tuple(row[0] for row in along)}
    strides, pairs = tuple(row[1] for row in along), tuple(row[2] for row in along)
    explicit = seldom(pick, 3, "defaults written")
    if explicit or any(n != 1 for n in strides):
        given["window_strides"] = strides
    if explicit or any(map(any, pairs)):
        given["padding"] = padding_of(pairs)
    shown = ("permutation", "small_integers", *profiles_of(element))
    if element.is_boolean:
        shown = ("bits",)
    init, init_name = _choose_init(pick, "init_value", element, body.identity[0])
    rows = tuple(
        (first, *body.rows[n % len(body.rows)], init_name) for n, first in enumerate(shown)
    )
    placed = (
        operand(pick, "operand", TensorType(sizes, element), shown),
        operand(pick, "source", TensorType(counts, element), tuple(row[1] for row in rows)),
        init,
    )
    result = TensorType(sizes, body.results[0])
    program = single_op(op, placed, (result,), given, (select, body.region))
    program = prepend_operations(program, (), (*functions, *body.functions))
    return Case(program, inputs(pick, placed, rows))


Mapping = tuple[tuple[ElementType, ...], Region]
"""The element types of the inputs of `map`, and its computation."""


def _binary_map(element: ElementType, pick: Pick) -> Mapping:
    """Return a mapping by one op of two operands."""
    known = bodies.monoid_ops(element)
    tried = ("add", "multiply", "maximum", "minimum", "and", "xor")
    names = tuple(n for n in tried if n in known or (element.is_complex and n == "add"))
    block = BodyBuilder.of(element, element)
    name = choose(pick, names, "op of the body")
    return (element, element), block.finish_region(block.op(name, *block.arguments))


def _select_map(element: ElementType, pick: Pick) -> Mapping:
    """Return a mapping that selects one of two elements by a third element."""
    block = BodyBuilder.of(_I1, element, element)
    predicate, *values = block.arguments
    if seldom(pick, 2, "predicate negated"):
        predicate = block.op("not", predicate)
    return (_I1, element, element), block.finish_region(block.op("select", predicate, *values))


def _comparison_map(element: ElementType, pick: Pick) -> Mapping:
    """Return a comparison with a constant, whose result has another type."""
    block = BodyBuilder.of(element)
    directions = ("EQ", "NE") if element.is_complex else ("GT", "LE", "EQ", "NE")
    direction = choose(pick, directions, "direction")
    limit = block.constant(1, element)
    return (element,), block.finish_region(block.compare(block.arguments[0], limit, direction))


def _conversion_map(element: ElementType, pick: Pick) -> Mapping:
    """Return a conversion to a wider type, if the type has a wider type."""
    block = BodyBuilder.of(element)
    to = choose(pick, bodies.wider_than(element) or (element,))
    return (element,), block.finish_region(block.op("convert", block.arguments[0], to=to))


def _clamp_map(element: ElementType, pick: Pick) -> Mapping:
    """Return a mapping that clamps elements between constants."""
    block = BodyBuilder.of(element)
    low, high = block.constant(pick(2), element), block.constant(2, element)
    if element.is_complex:
        return (element,), block.finish_region(block.op("add", block.arguments[0], low))
    return (element,), block.finish_region(block.op("clamp", low, block.arguments[0], high))


def _identity_or_constant_map(element: ElementType, pick: Pick) -> Mapping:
    """Return a mapping to an argument, unchanged, or to a constant."""
    block = BodyBuilder.of(element, element)
    if pick(3) == 2:
        return (element, element), block.finish_region(block.constant(1, element))
    return (element, element), block.finish_region(block.arguments[pick(2)])


def _map_in_functions(element: ElementType, pick: Pick) -> Mapping:
    """Return one op of two operands, from which `_map` makes functions."""
    return _binary_map(element, pick)


def _non_elementwise_map(element: ElementType, pick: Pick) -> Mapping:
    """Return an exact operation, on tensors or in a branch or a loop."""
    exact = element.is_integer or element.is_boolean
    types, region = (_binary_map if exact else _select_map)(element, pick)
    return types, forms.region_of_form(region, pick, "form of the body")


_MAPPINGS: tuple[Callable[[ElementType, Pick], Mapping], ...] = (
    _binary_map, _binary_map, _select_map, _comparison_map, _conversion_map, _clamp_map,
    _identity_or_constant_map, _non_elementwise_map,
)  # fmt: skip

_CALLED = ("f32", "si32")
"""Element types for which the computation of `map` calls functions: XLA refuses all types."""


def _map(op: str, element: ElementType, pick: Pick) -> Case:
    sizes = shape(pick)
    makers = (*_MAPPINGS, *(_map_in_functions,) * (element.name in _CALLED))
    maker = choose(pick, makers, "body", name_of)
    types, region = maker(element, pick)
    functions: tuple[Function, ...] = ()
    if maker is _map_in_functions:
        region, functions = forms.outline_to_functions(region)
    if maker is _non_elementwise_map:
        sizes = limit_elements(sizes)
    pick.has_empty_results = 0 in sizes
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
    program = prepend_operations(single_op(op, placed, (result,), given, (region,)), (), functions)
    return Case(program, inputs(pick, placed, rows))


BUILDERS: dict[str, Builder] = {
    "map": partial(_map, "map"),
    "reduce": partial(_reduce, "reduce"),
    "reduce_window": partial(_reduce_window, "reduce_window"),
    "select_and_scatter": partial(select_and_scatter, "select_and_scatter"),
}
"""The builder of each op's cases."""
