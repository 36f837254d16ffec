"""Patterns that compilers rewrite: what each writes, in rows, and helpers of patterns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from generators.case.stream import stream
from generators.chains.chain import LARGEST, Chain
from generators.chains.patterns import pattern
from generators.chains.patterns.folds import body_and_init, can_be_multiplied
from generators.chains.patterns.gradients import _FUNCTIONS
from generators.chains.patterns.pattern import Pattern, conjunction, edges_of
from generators.chains.strategy import PATTERNS
from generators.values.contents import materialise
from reference.interpreter.evaluate import body_of, check, evaluate
from reference.ir.program import Operation, TensorType, Value
from reference.ir.types import ALL, Array, element_type
from suites.meta.support.built_cases import evaluate_chain, pick_of, steps_of, write_chains
from suites.meta.support.claims import (
    Items,
    contradictions,
    equals,
    holds,
    holds_mostly,
    includes,
    items_of,
    occurs,
    plain,
    varies,
)

F32, F64, SI8 = (element_type(name) for name in ("f32", "f64", "si8"))
BY_NAME = {one.name: one for one in PATTERNS}


@dataclass(frozen=True, slots=True)
class Written:
    """A chain, and the result that a pattern wrote into it."""

    chain: Chain
    result: Value

    @property
    def steps(self) -> list[str]:
        return steps_of(self.chain)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.result.type.static_shape  # type: ignore[union-attr]

    def value(self, first: Array) -> Array:
        """Return the result for these elements of the first parameter."""
        return evaluate_chain(self.chain, self.result, first)

    def all(self, name: str) -> list[Operation]:
        return [operation for operation in self.chain.operations if operation.name == name]

    def first(self, name: str) -> Any:
        return self.all(name)[0]

    def constants(self) -> list[Any]:
        return [plain(one.attribute("value")) for one in self.all("constant")]


# --- What patterns write -------------------------------------------------------------------------

WHOLE = np.array([1, 2, 3, 5], np.float32)
INTEGERS = np.array([1, 2, 3, 5], np.int32)
FOUR = ("f32", (4,), 40)
FOUR_INTEGERS = ("si32", (4,), 40)
SELF = {
    "subtract": 0 * WHOLE, "add": 2 * WHOLE, "multiply": WHOLE**2, "maximum": WHOLE,
    "minimum": WHOLE,
}  # fmt: skip
OPPOSITE: dict[str, Callable[[Any, Any], Any]] = {
    "LT": np.greater_equal, "LE": np.greater, "GT": np.less_equal, "GE": np.less,
    "EQ": np.not_equal, "NE": np.equal,
}  # fmt: skip


def undoes(given: Array) -> Callable[[Written], bool]:
    """Return whether a result is the operand, or its inverse for a square root's."""
    return lambda one: np.allclose(
        one.value(given), np.divide(1, given) if "rsqrt" in one.steps else given, rtol=1e-6
    )


def is_bitwise_identity(one: Written) -> bool:
    *inverted, op = one.steps
    plain_value = {"and": INTEGERS, "or": INTEGERS, "xor": 0 * INTEGERS}[op]
    with_inverse = np.full(4, {"and": 0, "or": -1, "xor": -1}[op])
    return np.array_equal(one.value(INTEGERS), with_inverse if inverted else plain_value)


def direction(one: Written) -> str:
    return str(one.first("compare").attribute("comparison_direction"))


def is_opposite(one: Written) -> bool:
    if len({*one.first("compare").operands}) > 1:
        return one.steps == ["compare", "not"]
    return np.array_equal(one.value(WHOLE), OPPOSITE[direction(one)](WHOLE, WHOLE))


def is_in_range(one: Written) -> bool:
    (constant,) = one.all("constant")
    of: Any = constant.results[0].type.element  # type: ignore[union-attr]
    numbers = constant.attribute("value").array.astype(int)  # type: ignore[union-attr]
    return of.min_integer <= numbers.min() <= numbers.max() <= of.max_integer


def iota_sizes(one: Written) -> Items:
    types: Any = [iota.results[0].type for iota in one.all("iota")]
    return Items((str(of.element), *of.static_shape) for of in types)


ALGEBRA = [
    *(holds(name, (of, (4,), 20), "undo each other", undoes(WHOLE if of == "f32" else INTEGERS))
      for name, of in (
          ("double negation", "f32"), ("double complement", "si32"), ("add then subtract", "si32"),
          ("sign times magnitude", "f32"), ("select of same value", "f32"),
          ("square of root", "f32"))),
    equals("self arithmetic", FOUR, "ops", lambda one: one.steps[0], SELF),
    holds("self arithmetic", FOUR, "values",
          lambda one: np.array_equal(one.value(WHOLE), SELF[one.steps[0]])),
    holds("self bitwise", FOUR_INTEGERS, "with itself or its inverse", is_bitwise_identity),
    equals("negated comparison", FOUR, "directions", direction, OPPOSITE),
    holds("negated comparison", FOUR, "the opposite", is_opposite),
    *(holds("product or quotient by constant", (of, (2,), 30), "no -1 in ui2, no 128 in si8",
            is_in_range) for of in ("ui2", "si8", "si4")),
    holds("round trip conversion", ("si8", (4,), 20), "a type is left and returned to",
          lambda one: one.result.type == one.chain.data[0].type
          and one.steps[0] == one.steps[-1] == "convert"),
    holds("round trip bitcast", FOUR, "bits are kept, or the sign is changed",
          lambda one: np.array_equal(one.value(WHOLE), -WHOLE if "xor" in one.steps else WHOLE)),
    includes("function of iota", ("f32", (4,), 150), "more than si8 holds", iota_sizes,
             {("si8", 129)}),
    occurs("function of iota", ("f32", (4,), 150), "more than ui8 holds",
           lambda one: any(of == "ui8" and max(sizes) > 256 for of, *sizes in iota_sizes(one))),
]  # fmt: skip

TABLE = np.arange(12, dtype=np.int32).reshape(4, 3)
LOOP, BRANCH, ROWS = ("f32", (2,), 100), ("si32", (2,), 150), ("si32", (4, 3), 100)


def branch_index(one: Written) -> Items:
    """Return the constant that selects a branch; nothing if it is a predicate, a parameter is."""
    index = one.first("case" if "case" in one.steps else "if").operands[0]
    made = next((o for o in one.chain.operations if index in o.results), None)
    if made is None:
        return Items(("a parameter",))
    return Items((int(made.attribute("value").array),) if "case" in one.steps else ())  # type: ignore[union-attr]


def is_table(one: Written) -> bool:
    turned = "reverse" in one.steps
    return np.array_equal(one.value(TABLE), TABLE[::-1] if turned else TABLE)


def takes_all_rows(one: Written) -> bool:
    in_order = "reshape" not in one.steps and "iota" in one.steps
    return in_order and one.value(TABLE).shape == TABLE.shape


CONTROL = [
    equals("counted loop", LOOP, "comparisons",
           lambda one: Items(o.attribute("comparison_direction")
                             for o in one.first("while").regions[0].operations
                             if o.name == "compare"), {"LT", "LE", "GT", "GE", "NE"}),
    equals("loop of at most one iteration", ("si32", (2,), 40), "once or not at all",
           lambda one: tuple(one.value(np.array([3, 4], np.int32)).tolist()), {(3, 4), (6, 8)}),
    equals("conditional", BRANCH, "in and out of range", branch_index,
           {0, 1, 2, -1, 7, "a parameter"}),
    equals("function call", LOOP, "once or twice", lambda one: one.steps.count("func.call"),
           {1, 2}),
    occurs("gather of rows", ROWS, "all rows in order", takes_all_rows),
    holds("gather of rows", ROWS, "all rows in order are the table",
          lambda one: not takes_all_rows(one) or is_table(one)),
    equals("gather of rows", ROWS, "a single vector, or several",
           lambda one: len(one.first("gather").operands[1].type.static_shape)
           - (one.first("gather").attribute("index_vector_dim") == 0), {0, 1}),
    holds("gather then scatter", ("si32", (4, 3), 20), "rows are put back", is_table),
]  # fmt: skip

NUMBERS = np.array([[3, 1, 2], [5, 4, 6]], np.int32)
MATRIX = ("si32", (2, 3), 40)


def summed_dimensions(one: Written) -> Any:
    """Return the dimensions along which a product with ones sums, or None."""
    along = one.first("dot_general").attribute("lhs_contracting_dimensions")
    constants = one.all("constant")
    is_sum = along and constants and (constants[-1].attribute("value").array == 1).all()  # type: ignore[union-attr]
    return along if is_sum else None


def sorts(one: Written) -> bool:
    axis = one.first("sort").attribute("dimension")
    steps = np.diff(np.take_along_axis(NUMBERS, one.value(NUMBERS), axis), axis=axis)
    return bool((steps > 0).all() or (steps < 0).all())


FOLDS = [
    holds("reduction of unit dimension", MATRIX, "the value",
          lambda one: np.array_equal(one.value(NUMBERS).reshape(2, 3), NUMBERS)),
    occurs("product with ones", MATRIX, "sums", summed_dimensions),
    holds("product with ones", MATRIX, "a sum", lambda one: (d := summed_dimensions(one)) is None
          or np.array_equal(one.value(NUMBERS), NUMBERS.sum(axis=d))),
    holds("argsort", MATRIX, "sorted positions sort the value", sorts),
    equals("slice of sort", ("si32", (4, 2), 20), "the first", lambda one: one.shape[0], {1, 2}),
    holds("high rank sum of products", ("f32", (2,), 10), "one of many dimensions",
          lambda one: one.steps[-2:] == ["multiply", "reduce"] and len(one.shape) >= 6),
    occurs("gradient", ("f32", (3,), 60), "one function",
           lambda one: len(one.chain.operations) <= 3),
    occurs("gradient", ("f32", (3,), 60), "several functions",
           lambda one: len(one.chain.operations) >= 10),
    equals("gradient", ("f32", (3,), 60), "the value of the function may be a result",
           lambda one: len(one.chain.data), {1, 2}),
]  # fmt: skip

GRID = np.arange(12, dtype=np.float32).reshape(3, 4)
IMAGE, LINE = ("f32", (3, 4), 40), ("f32", (5,), 150)


def keeps(given: Array) -> Callable[[Written], bool]:
    return lambda one: np.array_equal(one.value(given), given)


def is_undone(one: Written) -> bool:
    first, second = (o.attribute("permutation") for o in one.all("transpose"))
    order = [first[d] for d in second]  # type: ignore[index,union-attr]
    return order == sorted(order)


def counts_dimension(one: Written) -> bool:
    of = one.first("dynamic_slice").operands[1].type.element
    return of.is_unsigned or of.max_integer > 200


HALVES = np.array([0x1234, 0x00FF, 0], np.uint16)
MOVEMENT = [
    *(holds(name, IMAGE, "there and back", keeps(GRID))
      for name in ("reshape and transpose", "broadcast then slice")),
    equals("double reverse", IMAGE, "steps", lambda one: tuple(one.steps),
           {("reverse", "reverse"), ("reverse", "add", "reverse")}),
    holds("double reverse", IMAGE, "none, unless something is added between",
          lambda one: np.array_equal(one.value(GRID), GRID) == (len(one.steps) == 2)),
    varies("concatenate of slices", IMAGE, "in order or swapped", keeps(GRID)),
    holds_mostly("concatenate of slices", IMAGE, "mostly in order", keeps(GRID)),
    holds("concatenate of slices", IMAGE, "all elements",
          lambda one: np.array_equal(np.sort(one.value(GRID), axis=None), GRID.reshape(-1))),
    varies("double transpose", ("f32", (2, 3, 4), 60), "undone, repeated or another", is_undone),
    equals("pad of pad", ("f32", (3,), 60), "padding adds and crops",
           lambda one: Items(n for o in one.all("pad") for n in items_of("edge_padding_low")(o)),
           {-2, -1, 0, 1, 2}),
    includes("slice at index", LINE, "indices in range, at the edges and beyond",
             lambda one: Items(one.constants()),
             {0, 1, 4, 5, 6, -1, 127, 2**31 - 1, -(2**31)}),
    holds("slice at index", ("f32", (200,), 60), "signed types that cannot count are no indices",
          counts_dimension),
    holds("write back slice", ("i1", (3, 4), 20), "a part is put where it was",
          keeps(GRID % 2 == 0)),
    holds("bitcast to halves and back", ("ui16", (3,), 20), "bits",
          lambda one: np.array_equal(
              one.value(HALVES), HALVES.byteswap() if "reverse" in one.steps else HALVES)),
]  # fmt: skip

COLUMN = np.array([3, 1, 4, 2, 5], np.int32)
FIVE, TWO = ("si32", (5,), 150), ("si32", (2,), 80)
GROWING = (5, 1, 1, 1, (4, 0))
RUNNING: dict[str, Callable[[Array], Array]] = {
    "add": np.cumsum, "maximum": np.maximum.accumulate, "minimum": np.minimum.accumulate,
}  # fmt: skip


def along(one: Written) -> Items:
    """Return size, stride, dilations and padding of each dimension of a window."""
    window = one.first("reduce_window")
    names = ("window_dimensions", "window_strides", "base_dilations", "window_dilations")
    rows: Any = zip(*map(window.attribute, names), plain(window.attribute("padding")), strict=True)
    return Items(rows)


def any_row(predicate: Callable[..., bool]) -> Callable[[Written], bool]:
    return lambda one: any(predicate(*row) for row in along(one))


def is_running(one: Written) -> bool:
    return (
        along(one) == (GROWING,)
        and one.first("reduce_window").regions[0].operations[0].name in RUNNING
    )


def is_running_fold(one: Written) -> bool:
    running = RUNNING[one.first("reduce_window").regions[0].operations[0].name]
    return np.array_equal(one.value(COLUMN), running(COLUMN))


WINDOWS = [
    includes("window reduction", FIVE, "growing, and all", along, {GROWING, (5, 1, 1, 1, (0, 0))}),
    *(occurs("window reduction", FIVE, text, any_row(predicate)) for text, predicate in (
        ("side by side", lambda size, stride, *_: size == stride > 1),
        ("dilated", lambda _size, _stride, base, window, _pad: base > 1 and window > 1),
        ("cropped, and added at the other side", lambda *row: min(row[4]) < 0 < max(row[4])))),
    occurs("window reduction", FIVE, "growing windows", is_running),
    holds("window reduction", FIVE, "growing windows are a running fold",
          lambda one: not is_running(one) or is_running_fold(one)),
    includes("window reduction", FIVE, "large arrays",
             lambda one: one.first("reduce_window").operands[0].type.static_shape,
             {(5,), (64, 64), (8192,)}),
    holds("windows of pad", TWO, "a pad leaves an element",
          lambda one: min(one.first("reduce_window").operands[0].type.static_shape) > 0),
    varies("windows of pad", TWO, "a pad has the value of the fold or another",
           lambda one: one.first("pad").operands[1] == one.first("reduce_window").operands[1]),
    *(claim for name in ("small convolution", "convolution of pad") for claim in (
        varies(name, ("f32", (3,), 150), "by feature",
               lambda one: one.first("convolution").attribute("feature_group_count") > 1),
        equals(name, ("f32", (3,), 150), "dilated images",
               lambda one: items_of("lhs_dilation")(one.first("convolution")), {1, 2}))),
    holds("convolution of pad", ("f32", (3,), 150), "pads", lambda one: "pad" in one.steps),
]  # fmt: skip

CLAIMS = [*ALGEBRA, *CONTROL, *FOLDS, *MOVEMENT, *WINDOWS]


@pytest.mark.parametrize("name", sorted({claim.op for claim in CLAIMS}))
def test_patterns_are_as_claimed(name: str) -> None:
    def examples_of(source: tuple[str, tuple[int, ...], int]) -> list[Written]:
        return [Written(*made) for made in write_chains((BY_NAME[name],), name, *source)]

    assert not contradictions((claim for claim in CLAIMS if claim.op == name), examples_of)


def test_counters_reach_the_ends_of_their_type_and_never_wrap() -> None:
    """The loop ends, after at most seven iterations."""
    turns: set[int] = set()
    types: set[str] = set()
    for made in write_chains(PATTERNS, "counted loop", "si32", (2,), 60):
        loop = Written(*made).first("while")
        types.add(str(loop.operands[0].type.element))
        step = loop.regions[1].operations[-1].operands[0].name
        counted: list[bool] = []

        def count_turns(
            one: Operation, results: tuple[Array, ...], step: str = step,
            counted: list[bool] = counted,
        ) -> tuple[Array, ...]:  # fmt: skip
            counted.append(one.name == "add" and one.results[0].name == step)
            return results

        case = made[0].case([made[1]])
        evaluate(case.program, materialise(case.program, case.inputs[0]), on_result=count_turns)
        turns.add(sum(counted))
    assert turns == {0, 1, 2, 3, 5, 7}
    assert {"si4", "ui2", "ui8", "si64"} <= types


SHAPES = ((), (1,), (3,), (2, 3), (0,), (4, 1, 2), (33,))


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda one: one.name)
def test_every_pattern_is_valid_on_the_types_it_takes(pattern: Pattern) -> None:
    written = 0
    for index, of in enumerate(ALL):
        for place, shape in enumerate(SHAPES):
            kind = TensorType(shape, of)
            if (index + place) % 3 or not pattern.takes(kind):
                continue
            chain = Chain(stream(1, 100 * index + place), exact=True)
            chain.data.append(chain.parameter(kind))
            result = pattern.write(chain, chain.data[0])
            assert check(chain.case([result]).program) == [], kind
            written += 1
    assert written


# --- Types that patterns take --------------------------------------------------------------------

TYPES = ("i1", "si8", "ui8", "f32", "f8E4M3FN", "f8E8M0FNU", "complex<f32>")


@pytest.mark.parametrize(
    ("predicate", "accepted"),
    [
        (pattern.is_any, TYPES),
        (pattern.is_number, ("si8", "ui8", "f32", "f8E4M3FN", "complex<f32>")),
        (pattern.is_signed, ("si8", "f32", "f8E4M3FN", "complex<f32>")),
        (pattern.is_integer, ("si8", "ui8")),
        (pattern.is_float, ("f32", "f8E4M3FN")),
        (pattern.is_continuous, ("f32", "complex<f32>")),
        (pattern.is_real, ("f32",)),
        (pattern.is_ordered, ("si8", "ui8", "f32", "f8E4M3FN")),
        (pattern.is_bits, ("i1", "si8", "ui8")),
        (pattern.is_complex, ("complex<f32>",)),
    ],
)
def test_types_that_a_predicate_accepts(
    predicate: pattern.Takes, accepted: tuple[str, ...]
) -> None:
    found = tuple(of for of in TYPES if predicate(TensorType((2,), element_type(of))))
    assert found == accepted


SHAPED_INTEGERS = conjunction(pattern.is_shaped, pattern.is_integer)


@pytest.mark.parametrize(
    ("takes", "shape", "of", "accepted"),
    [
        (pattern.is_small, (LARGEST // 8,), "f32", True),
        (pattern.is_small, (LARGEST // 8 + 1,), "f32", False),
        (pattern.is_shaped, (), "f32", False),
        (SHAPED_INTEGERS, (1,), "si8", True),
        (SHAPED_INTEGERS, (1,), "f32", False),
        (SHAPED_INTEGERS, (), "si8", False),
        (can_be_multiplied, (512,), "si8", True),
        (can_be_multiplied, (513,), "si8", False),
        (can_be_multiplied, (2,), "si4", False),
        (can_be_multiplied, (2,), "i1", False),
        (BY_NAME["arithmetic with iota"].takes, (127,), "si8", True),
        (BY_NAME["arithmetic with iota"].takes, (128,), "si8", False),
        (BY_NAME["arithmetic with iota"].takes, (), "si8", False),
    ],
)
def test_shapes_that_a_predicate_accepts(
    takes: pattern.Takes, shape: tuple[int, ...], of: str, accepted: bool
) -> None:
    assert takes(TensorType(shape, element_type(of))) is accepted


def test_edges_of_an_integer_type() -> None:
    assert edges_of(SI8) == (127, 64, 63, -128)
    assert edges_of(element_type("ui8")) == (255, 128, 127, 0)


# --- Helpers of patterns -------------------------------------------------------------------------


@pytest.mark.parametrize("of", ["si8", "ui8", "f32", "f8E4M3FN", "i1", "bf16"])
def test_an_init_value_is_neutral(of: str) -> None:
    element = element_type(of)
    number = np.array([1]).astype(element.storage)
    for seed in range(30):
        chain = Chain(pick_of(seed))
        region, _ = body_and_init(chain, element)
        init = chain.operations[-1].attribute("value").array  # type: ignore[union-attr]
        (found,) = body_of(region)(np.asarray(init), number[0])
        assert found == number[0]


AT = np.array([0.3, 0.7, 1.9])
STEP = 1e-6


def test_each_derivative_is_the_slope_of_its_function() -> None:
    for index, (function, derivative) in enumerate(_FUNCTIONS):
        for seed in range(2):
            chain = Chain(pick_of(seed))
            x = chain.parameter(TensorType((3,), F64))
            chain.data.append(x)
            y = function(chain, x)
            slope = derivative(chain, x, y, chain.number(2, TensorType((3,), F64)))
            rise = evaluate_chain(chain, y, AT + STEP) - evaluate_chain(chain, y, AT - STEP)
            found = evaluate_chain(chain, slope, AT)
            np.testing.assert_allclose(found, 2 * rise / (2 * STEP), rtol=1e-6, err_msg=str(index))
