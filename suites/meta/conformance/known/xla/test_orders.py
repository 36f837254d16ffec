"""Windows whose elements are taken in an order that is not the specification's."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.catalog import rule_of
from conformance.judging.compare import judge
from conformance.known.xla.orders import LABEL, TILES, UNPADDED
from conformance.known.xla.pairs.float_pairs import LABEL as OF_PAIRS
from conformance.known.xla.windows.tiles import tiled_results
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.hardware import Hardware
from conformance.tolerance.table import RULES
from conformance.verdict import Verdict
from generators.families.reduction import padding_of
from generators.invalid.misses import program, tensor
from generators.regions.bodies import fold_of, multi_op_bodies, selector
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Attribute, Program, Value, single_op
from reference.ir.types import Array, element_type
from reference.unspecified.reduction import decompose_reduction

UI4, UI8, UI32 = element_type("ui4"), element_type("ui8"), element_type("ui32")
F32 = element_type("f32")
AFFINE = next(body for body in multi_op_bodies(UI8) if body.name == "affine maps")
"""x -> a x + b, one map after the other: associative, not commutative."""


def running_program(size: int) -> Program:
    """Return all maps up to each of these."""
    values = (Value("a", tensor(UI8, size)), Value("b", tensor(UI8, size)))
    padding = padding_of(((size - 1, 0),))
    given: dict[str, Attribute] = {"window_dimensions": (size,), "padding": padding}
    types = (tensor(UI8, size),) * 2
    return single_op("reduce_window", (*values, *AFFINE.identity), types, given, (AFFINE.region,))


def compose(a: Array, b: Array, order: list[int]) -> tuple[int, int]:
    slope, offset = 1, 0
    for n in order:
        slope, offset = slope * int(a[n]) % 256, (offset * int(a[n]) + int(b[n])) % 256
    return slope, offset


@pytest.mark.parametrize(("size", "tile"), [(17, 16), (129, 16), (70, 32)])
def test_swapped_tile_prefix_has_the_class(size: int, tile: int) -> None:
    random = np.random.default_rng(size)
    inputs = tuple(x.astype(np.uint8) for x in random.integers(0, 128, (2, size)) * 2 + 1)
    made = running_program(size)
    expected = evaluate(made, inputs)
    right = [compose(inputs[0], inputs[1], [*range(n + 1)]) for n in range(size)]
    assert np.array_equal(np.stack(expected, axis=-1), right)
    starts = [n - n % tile for n in range(size)]
    tiled = [
        compose(inputs[0], inputs[1], [*range(start, n + 1), *range(start)])
        for n, start in enumerate(starts)
    ]
    actual = [np.array(row, np.uint8) for row in zip(*tiled, strict=True)]
    found = judge(made, inputs, expected, actual, RULES["windowed reduction"])
    assert (found.verdict, found.kind) == (Verdict.DIVERGENT, TILES)
    assert found.wrong == np.count_nonzero(actual[1] != expected[1])
    actual[1][-1] += 1
    found = judge(made, inputs, expected, actual, RULES["windowed reduction"])
    assert (Verdict.DIVERGENT, "wrong value") in found.findings


def test_last_position_visited_last_has_the_class() -> None:
    """XLA folds windows with a padding of 1 at the end of their last dimension in this order."""
    types = (tensor(UI8, 2, 3), tensor(UI8, 2, 3))
    values = tuple(Value(name, of) for name, of in zip("ab", types, strict=True))
    given: dict[str, Attribute] = {"window_dimensions": (2, 3)}
    result = (tensor(UI8, 1, 1),) * 2
    made = single_op("reduce_window", (*values, *AFFINE.identity), result, given, (AFFINE.region,))
    a = np.array([[1, 3, 5], [7, 9, 11]], np.uint8)
    expected = evaluate(made, (a, a))
    for order, kind in (([0, 1, 3, 4, 2, 5], LABEL), ([0, 1, 4, 3, 2, 5], "wrong value")):
        actual = [np.array([[n]], np.uint8) for n in compose(a.ravel(), a.ravel(), order)]
        found = judge(made, (a, a), expected, actual, RULES["windowed reduction"])
        assert (found.verdict, found.kind) == (Verdict.DIVERGENT, kind)


def test_a_selection_between_equals_in_such_an_order_is_named() -> None:
    """The first of equal elements is selected."""
    types = {"x": tensor(UI8, 2, 3), "source": tensor(UI8, 1, 1), "init": tensor(UI8)}
    given: dict[str, Attribute] = {"window_dimensions": (2, 3)}
    regions = (selector(UI8, "LE"), fold_of("add", UI8).region)
    made = program("select_and_scatter", types, (types["x"],), regions, **given)
    inputs = (
        np.array([[1, 1, 0], [0, 1, 1]], np.uint8),
        np.array([[7]], np.uint8),
        np.array(0, np.uint8),
    )
    expected = evaluate(made, inputs)
    assert expected[0].tolist() == [[0, 0, 7], [0, 0, 0]]
    for actual, named in (([[0, 0, 0], [7, 0, 0]], True), ([[0, 7, 0], [0, 0, 0]], False)):
        found = judge(made, inputs, expected, [np.array(actual, np.uint8)], RULES["scatter"])
        kinds = {kind for _, kind in found.findings}
        assert found.verdict is Verdict.DIVERGENT
        assert ("wrong value" not in kinds) is named


@pytest.mark.parametrize(("place", "kind"), [((0, 2), LABEL), ((0, 0), "wrong value")])
def test_a_selection_by_a_loop_in_such_an_order_is_named(place: tuple[int, int], kind: str) -> None:
    """The comparison with NaN is false, so that the order of comparisons decides."""
    types = {"x": tensor(F32, 2, 3), "source": tensor(F32, 1, 1), "init": tensor(F32)}
    given: dict[str, Attribute] = {"window_dimensions": (2, 3)}
    regions = (selector(F32, "GT"), fold_of("add", F32).region)
    made = program("select_and_scatter", types, (types["x"],), regions, **given)
    inputs = (
        np.array([[0.25, 1.0, 0.6875], [np.nan, -np.inf, -2.5]], np.float32),
        np.array([[7]], np.float32),
        np.array(0, np.float32),
    )
    expected, actual = evaluate(made, inputs), np.zeros((2, 3), np.float32)
    assert expected[0].tolist() == [[0, 0, 0], [0, 0, 7]]
    actual[place] = 7
    found = judge(made, inputs, expected, [actual], RULES["scatter"])
    assert (found.verdict, found.kind) == (Verdict.DIVERGENT, kind)


def test_tiles_of_tiles_are_in_that_order_too() -> None:
    """300 elements have 19 tiles of 16, more than 16, so tiles are folded in tiles themselves."""
    random = np.random.default_rng(300)
    inputs = tuple(x.astype(np.uint8) for x in random.integers(0, 128, (2, 300)) * 2 + 1)
    units = np.array(1, np.uint8), np.array(0, np.uint8)
    results = next(
        tiled_results(decompose_reduction(running_program(300).subject, (*inputs, *units)))
    )
    for last, order in (
        (5, [0, 1, 2, 3, 4, 5]),
        (17, [16, 17, *range(16)]),
        (288, [288, *range(256, 288), *range(256)]),
    ):
        assert tuple(int(row[last]) for row in results) == compose(*inputs, order)


def ones_met(size: int, *, backwards: bool) -> list[int]:
    """Return the number of init values 1 in each sum of zeros of a running fold, in its own
    order.
    """
    types = tensor(UI32, size)
    given: dict[str, Attribute] = {
        "window_dimensions": (size,),
        "padding": padding_of(((0, size - 1) if backwards else (size - 1, 0),)),
    }
    values = (Value("x", types), Value("init", tensor(UI32)))
    made = single_op("reduce_window", values, (types,), given, (fold_of("add", UI32).region,))
    operands = (np.zeros(size, np.uint32), np.array(1, np.uint32))
    ((result,), *_) = tiled_results(decompose_reduction(made.subject, operands))
    return result[:: -1 if backwards else 1].tolist()


def test_each_tile_of_a_running_fold_begins_with_an_init_value() -> None:
    """The figures are XLA's own. What the last tile lacks is filled with init values, too: where
    the fold goes backwards, they come first."""
    assert ones_met(40, backwards=False) == [2] * 16 + [3] * 16 + [4] * 8
    assert ones_met(32, backwards=True) == [2] * 16 + [3] * 16
    assert ones_met(17, backwards=True) == [17] + [18] * 16
    assert ones_met(300, backwards=False)[-1] == 22
    assert ones_met(300, backwards=True)[-1] == 39


def test_omitted_padding_and_tile_init_values_have_a_class() -> None:
    """Padding is of 6 too: of what is left out of the last window, 6 to the power of 32 is 0; a
    tile of 16 and the fold of the tiles before it begin with a 6 each."""
    types = (tensor(UI32, 64),)
    values = (Value("x", types[0]), Value("init", tensor(UI32)))
    given: dict[str, Attribute] = {
        "window_dimensions": (64,),
        "padding": padding_of(((0, 63),)),
    }
    made = single_op("reduce_window", values, types, given, (fold_of("multiply", UI32).region,))
    inputs = (np.full(64, 3, np.uint32), np.array(6, np.uint32))
    expected = evaluate(made, inputs)
    assert expected[0][63] == 0
    for last, kind in ((3 * 6**2, UNPADDED), (3 * 6**5, "wrong value")):
        actual = expected[0].copy()
        actual[63] = last
        found = judge(made, inputs, expected, [actual], RULES["windowed reduction"])
        assert (found.verdict, found.kind) == (Verdict.DIVERGENT, kind)


@pytest.mark.parametrize(
    ("actual", "kind"),
    [([1, 5, 5], UNPADDED), ([1, 9, 9], "wrong value"), ([1, 5, 9], "wrong value")],
)
def test_all_windows_or_none_are_without_init_value(actual: list[int], kind: str) -> None:
    """The init value 9 is larger than all elements, and so is the maximum of each window."""
    made = single_op(
        "reduce_window",
        (Value("x", tensor(UI32, 2)), Value("init", tensor(UI32))),
        (tensor(UI32, 3),),
        {"window_dimensions": (2,), "padding": padding_of(((1, 1),))},
        (fold_of("maximum", UI32).region,),
    )
    inputs = (np.array([1, 5], np.uint32), np.array(9, np.uint32))
    expected = evaluate(made, inputs)
    found = judge(
        made, inputs, expected, [np.array(actual, np.uint32)], RULES["windowed reduction"]
    )
    assert found.kind == kind


def test_tile_init_values_replacing_padding_have_a_class_in_narrow_types() -> None:
    """In 4 bits nearly every number of factors 2 gives 0; with two factors, 7 * 2 * 2 is 12."""
    types = (tensor(UI4, 100),)
    values = (Value("x", types[0]), Value("init", tensor(UI4)))
    given: dict[str, Attribute] = {
        "window_dimensions": (100,),
        "padding": padding_of(((99, 0),)),
    }
    made = single_op("reduce_window", values, types, given, (fold_of("multiply", UI4).region,))
    storage = UI4.storage
    inputs = (np.full(100, 7, storage), np.array(2, storage))
    expected = evaluate(made, inputs)
    for first, kind in ((12, UNPADDED), (8, "wrong value")):
        actual = expected[0].copy()
        actual[0] = first
        found = judge(made, inputs, expected, [actual], RULES["windowed reduction"])
        assert (found.verdict, found.kind) == (Verdict.DIVERGENT, kind)


SELECTED = """
func.func @main(%x: tensor<2x3xF>, %y: tensor<1x2xF>) -> tensor<2x3xF> {
  %z = stablehlo.constant dense<ZERO> : tensor<F>
  %0 = "stablehlo.select_and_scatter"(%x, %y, %z) ({
  ^bb0(%a: tensor<F>, %b: tensor<F>):
    %1 = stablehlo.compare GT, %a, %b : (tensor<F>, tensor<F>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }, {
  ^bb0(%a: tensor<F>, %b: tensor<F>):
    %1 = stablehlo.FOLD %a, %b : tensor<F>
    stablehlo.return %1 : tensor<F>
  }) {window_dimensions = array<i64: 2, 2>}
    : (tensor<2x3xF>, tensor<1x2xF>, tensor<F>) -> tensor<2x3xF>
  return %0 : tensor<2x3xF>
}
"""


def _findings(
    x: Array, y: Array, right: tuple[int, int], actual: Array, **words: str
) -> tuple[tuple[Verdict, str], ...]:
    """Return the findings for other results of SELECTED, whose y[0, 0] belongs at `right`."""
    text = SELECTED.replace("F>", "f4E2M1FN>")
    for word, given in words.items():
        text = text.replace(word, given)
    selected = parse_module(text)
    (expected,) = evaluate(selected, [x, y])
    assert expected[right] == y[0, 0]
    rule = rule_of(selected.subject)
    assert rule is not None
    return judge(selected, [x, y], [expected], [actual], rule).findings


def test_element_order_takes_precedence_over_flushing_in_narrow_types() -> None:
    """All numbers of f4E2M1FN are normal in the wider type: an element that is 0 in place of -1 was
    selected at another position, and is no flushed subnormal number.
    """
    of = element_type("f4E2M1FN")
    x = np.array([[0, 3, 0], [3, 0, 0]]).astype(of.storage)
    y = np.array([[-1, 0]]).astype(of.storage)
    actual = np.zeros(x.shape, of.storage)
    actual[0, 1] = -1  # the last of equal elements, column by column
    found = _findings(x, y, (1, 0), actual, ZERO="0.0", FOLD="add")
    assert found == ((Verdict.DIVERGENT, "order of the elements"),)


def test_element_order_takes_precedence_over_partly_flushed_comparisons() -> None:
    """Between 0.5, which is subnormal, and zeros: where nothing was selected, flushed comparisons
    select nothing either, and yet select another element than was."""
    of = element_type("f4E2M1FN")
    x = np.array([[-0.0, -0.0, 0], [-0.0, -0.5, 0]]).astype(of.storage)
    y = np.array([[0.5, 0]]).astype(of.storage)
    actual = np.full(x.shape, -6, of.storage)
    actual[0, 1] = 0.5
    actual[1, 2] = 0
    found = _findings(x, y, (1, 0), actual, ZERO="-6.0", FOLD="maximum")
    assert found == ((Verdict.DIVERGENT, "order of the elements"),)


def test_padding_of_f64_as_a_pair_is_not_left_out() -> None:
    """The init value is no number of f32. As a pair it is -inf, and so are windows of padding."""
    types = (tensor(element_type("f64"), 4),)
    values = (Value("x", types[0]), Value("init", tensor(element_type("f64"))))
    given: dict[str, Attribute] = {"window_dimensions": (2,), "padding": padding_of(((1, 0),))}
    body = fold_of("maximum", element_type("f64")).region
    made = single_op("reduce_window", values, types, given, (body,))
    inputs = (np.array([-np.inf, -np.inf, 0.0, -1e-60]), np.array(-1e299))
    expected, actual = evaluate(made, inputs), [np.array([-np.inf, -np.inf, 0.0, -0.0])]
    of_tpu, of_gpu = {OF_PAIRS, "zeros taken for equal"}, {UNPADDED, "signed zero"}
    for platform, kinds in ((Hardware.TPU, of_tpu), (Hardware.GPU, of_gpu)):
        found = judge(
            made, inputs, expected, actual, RULES["windowed reduction"], platform=platform
        )
        assert {one.kind for one in found.failing} == kinds
