"""Sort: against a sort that calls the comparator pair by pair, and the rule by its properties."""

from __future__ import annotations

from functools import cmp_to_key
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from conformance.judging.compare import judge
from conformance.known.xla.sorts import LABEL as NEGATIVE
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.bounds.sorting import SORTED, in_order, same_elements
from conformance.transforms.inline import with_plain_bodies
from conformance.verdict import Verdict
from generators.case.choices import Pick
from generators.cells.plan import cases
from generators.invalid.misses import program, tensor
from generators.regions.bodies import BodyBuilder
from generators.regions.comparators import comparators
from generators.values.contents import materialise
from reference.interpreter.evaluate import body_of, evaluate
from reference.ir.program import Program, Region, TensorType
from reference.ir.regions import Body
from reference.ir.types import ALL, ELEMENT_TYPES, Array, from_bits, to_bits
from reference.ops.sorts import sorting
from reference.ops.sorts.comparators import order_of
from reference.unspecified.sorting import NO_ORDER, unspecified_slices
from suites.meta.support.counting import calls_of

F32, F64, BF16, SI32, SI64, UI8, I1, C64 = (
    ELEMENT_TYPES[name]
    for name in ("f32", "f64", "bf16", "si32", "si64", "ui8", "i1", "complex<f32>")
)
NAN, INF = float("nan"), float("inf")


def by_first(*of: Any, way: str = "LT", kind: str | None = None) -> Region:
    """A comparator of the first operand."""
    block = BodyBuilder.of(*(one for one in of for _ in range(2)))
    lhs, rhs = block.arguments[:2]
    if kind is None:
        return block.returns(block.compare(lhs, rhs, way))
    given = {"comparison_direction": way, "compare_type": kind}
    return block.returns(block.op("compare", lhs, rhs, to=I1, **given))


def sort_of(
    comparator: Region, *types: TensorType, dimension: int = 0, stable: bool = True
) -> Program:
    named = {f"input{n}": of for n, of in enumerate(types)}
    return program("sort", named, types, (comparator,), dimension=dimension, is_stable=stable)


def one_by_one(rows: tuple[Array, ...], body: Body) -> list[int]:
    """The stable order of one slice, by Python's sort and single calls of the comparator."""

    def before(i: int, j: int) -> bool:
        pairs = ((np.asarray(array[i]), np.asarray(array[j])) for array in rows)
        return bool(body(*(side for pair in pairs for side in pair))[0])

    def compared(i: int, j: int) -> int:
        return -1 if before(i, j) else int(before(j, i))

    return sorted(range(len(rows[0])), key=cmp_to_key(compared))


@pytest.mark.parametrize("of", ALL[::2], ids=str)
def test_sort_is_a_stable_sort_by_the_comparator(of: Any) -> None:
    seen = 0
    for case in cases("sort", of, seed=4, count=60):
        operation = with_plain_bodies(case.program).subject
        if len(case.program.main.arguments) < len(operation.operands):
            continue
        inputs = materialise(case.program, case.inputs[0])
        if inputs[0].size > 70 or any(m.any() for _, m in unspecified_slices(operation, inputs)):
            continue
        a: dict[str, Any] = dict(operation.attributes)
        body, results = body_of(operation.regions[0]), evaluate(case.program, inputs)
        rows = tuple(np.moveaxis(x, a["dimension"], -1) for x in inputs)
        sorted_rows = tuple(np.moveaxis(x, a["dimension"], -1) for x in results)
        for at in np.ndindex(*rows[0].shape[:-1]):
            order = one_by_one(tuple(x[at] for x in rows), body)
            for x, y in zip(rows, sorted_rows, strict=True):
                assert np.array_equal(to_bits(x[at][order]), to_bits(y[at])), operation
        seen += 1
    assert seen >= 3


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 16, 33, 100])
@pytest.mark.parametrize("way", ["LT", "GT"])
def test_merging_is_what_sorting_by_keys_is(size: int, way: str) -> None:
    body = body_of(by_first(F32, way=way))
    rng = np.random.default_rng(size)
    rows = (rng.integers(-3, 4, (3, 2, size)).astype(np.float32),)
    codes = sorting.keys_of(rows, body)
    assert codes is not None
    merged = sorting.sort_by_comparator(rows, body)
    assert np.array_equal(merged, sorting.sort_by_codes(codes, rows[0].shape))


def test_merging_gives_a_permutation_whatever_the_comparator() -> None:
    block = BodyBuilder.of(SI32, SI32)
    lhs, rhs = block.arguments
    odd = block.op(
        "and", block.op("multiply", lhs, block.op("add", lhs, rhs)), block.constant(1, SI32)
    )
    body = body_of(block.returns(block.compare(odd, block.constant(0, SI32), "NE")))
    rng = np.random.default_rng(1)
    rows = (rng.integers(0, 100, (20, 37)).astype(np.int32),)
    order = sorting.sort_by_comparator(rows, body)
    assert (np.sort(order, axis=-1) == np.arange(37)).all()


# --- What comparators are seen to order by -------------------------------------------------------


def keys(region: Region) -> list[tuple[str, str, bool]] | None:
    order = order_of(region)
    if order is None:
        return None
    return [(key.value.name, key.compare_type, key.descending) for key in order.keys]


def test_one_key_however_written() -> None:
    assert keys(by_first(F32)) == [("a0", "", False)]
    assert keys(by_first(F32, SI32, way="GT", kind="TOTALORDER")) == [("a0", "TOTALORDER", True)]
    block = BodyBuilder.of(SI32, SI32)
    lhs, rhs = block.arguments
    assert keys(block.returns(block.compare(rhs, lhs, "LT"))) == [("a0", "", True)]
    block = BodyBuilder.of(SI32, SI32)
    assert keys(block.returns(block.op("not", block.compare(lhs, rhs, "GE")))) == [
        ("a0", "", False)
    ]


def test_two_keys_and_which_comes_first() -> None:
    block = BodyBuilder.of(SI32, SI32, UI8, UI8)
    one, one_right, two, two_right = block.arguments
    equal = block.compare(two, two_right, "EQ")
    less = block.compare(two, two_right, "LT")
    more = block.compare(one, one_right, "GT")
    region = block.returns(block.op("select", equal, more, less))
    assert keys(region) == [("a2", "", False), ("a0", "", True)]


def test_what_is_no_order_by_keys_is_called() -> None:
    assert keys(by_first(F32, way="LE")) is None
    block = BodyBuilder.of(SI32, SI32)
    difference = block.op("subtract", *block.arguments)
    assert keys(block.returns(block.compare(difference, block.constant(0, SI32), "LT"))) is None
    block = BodyBuilder.of(SI32, SI32, SI32, SI32)
    crossed = block.compare(block.arguments[0], block.arguments[3], "LT")
    assert keys(block.returns(crossed)) is None
    block = BodyBuilder.of(SI32, SI32, SI32, SI32)
    first = block.compare(block.arguments[0], block.arguments[1], "LT")
    second = block.compare(block.arguments[2], block.arguments[3], "LT")
    assert keys(block.returns(block.op("and", first, second))) is None


def test_a_comparator_that_never_holds_leaves_everything_in_place() -> None:
    block = BodyBuilder.of(F32, F32)
    region = block.returns(block.constant(0, I1))
    assert keys(region) == []
    made = sort_of(region, tensor(F32, 4))
    x = np.array([3, NAN, 1, 2], np.float32)
    assert np.array_equal(evaluate(made, [x])[0], x, equal_nan=True)


def test_captured_values_are_seen() -> None:
    """A comparator may use values of the function around it."""
    text = """
    func.func @main(%x: tensor<5xi32>, %m: tensor<i32>) -> tensor<5xi32> {
      %r = "stablehlo.sort"(%x) ({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>):
        %k = stablehlo.and %a, %m : tensor<i32>
        %l = stablehlo.and %b, %m : tensor<i32>
        %p = stablehlo.compare LT, %k, %l : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %p : tensor<i1>
      }) {dimension = 0 : i64, is_stable = true} : (tensor<5xi32>) -> tensor<5xi32>
      return %r : tensor<5xi32>
    }"""
    made = parse_module(text)
    x = np.array([7, 4, 1, 2, 3], np.int32)
    assert evaluate(made, [x, np.asarray(np.int32(3))])[0].tolist() == [4, 1, 2, 7, 3]


# --- Order of special values ---------------------------------------------------------------------


def sorted_by(kind: str | None, values: list[float], way: str = "LT", of: Any = F32) -> list[str]:
    x = np.array(values).astype(of.storage)
    made = sort_of(by_first(of, way=way, kind=kind), tensor(of, len(values)))
    result = evaluate(made, [x])[0].astype(np.float64)
    return ["-nan" if np.isnan(v) and np.signbit(v) else str(v) for v in result.tolist()]


@pytest.mark.parametrize("of", [F32, F64, BF16], ids=str)
def test_total_order(of: Any) -> None:
    values = [1.0, NAN, 0.0, -0.0, -INF, -NAN, INF, -1.0]
    ascending = ["-nan", "-inf", "-1.0", "-0.0", "0.0", "1.0", "inf", "nan"]
    assert sorted_by("TOTALORDER", values, of=of) == ascending
    assert sorted_by("TOTALORDER", values, "GT", of) == ascending[::-1]


def test_zeros_are_equal_without_total_order() -> None:
    assert sorted_by("FLOAT", [0.0, -0.0, 1.0, -0.0, 0.0]) == ["0.0", "-0.0", "-0.0", "0.0", "1.0"]
    assert sorted_by("FLOAT", [0.0, -0.0, 1.0, -1.0], "GT") == ["1.0", "0.0", "-0.0", "-1.0"]


@pytest.mark.parametrize("name", ["si2", "ui2", "si4", "ui4", "si8", "ui8", "si64", "ui64", "i1"])
def test_integers_from_the_least_to_the_greatest(name: str) -> None:
    of = ELEMENT_TYPES[name]
    values = sorted({of.min_integer, 0, 1, of.max_integer})
    x = np.array(values[::-1], object).astype(of.storage)
    made = sort_of(by_first(of), tensor(of, len(values)))
    assert [int(v) for v in evaluate(made, [x])[0]] == values


def test_complex_numbers_by_their_parts() -> None:
    x = np.array([1 + 2j, 1 - 1j, 0 + 5j, -1 + 0j], np.complex64)
    made = sort_of(by_first(C64), tensor(C64, 4))
    assert evaluate(made, [x])[0].tolist() == [-1, 5j, 1 - 1j, 1 + 2j]


# --- The rule ------------------------------------------------------------------------------------


def judged(made: Program, inputs: list[Array], actual: list[Array]) -> tuple[Verdict, str]:
    found = judge(made, inputs, evaluate(made, inputs), actual, SORTED)
    return found.verdict, found.kind


PAIRS = (tensor(SI32, 5), tensor(SI32, 5))
KEYS, PLACES = np.array([2, 1, 2, 1, 0], np.int32), np.arange(5, dtype=np.int32)


def permuted(order: list[int]) -> list[Array]:
    return [KEYS[order], PLACES[order]]


def test_ties_of_an_unstable_sort_are_free_and_those_of_a_stable_one_are_not() -> None:
    for stable in (True, False):
        made = sort_of(by_first(SI32, SI32), *PAIRS, stable=stable)
        given = [KEYS, PLACES]
        assert judged(made, given, permuted([4, 1, 3, 0, 2]))[0] is Verdict.PASS
        verdict = judged(made, given, permuted([4, 3, 1, 0, 2]))[0]
        assert verdict is (Verdict.DIVERGENT if stable else Verdict.PASS)
        assert judged(made, given, permuted([1, 4, 3, 0, 2]))[0] is Verdict.DIVERGENT


@pytest.mark.parametrize("stable", [True, False])
def test_elements_of_several_operands_stay_together(stable: bool) -> None:
    made = sort_of(by_first(SI32, SI32), *PAIRS, stable=stable)
    mixed = [KEYS[[4, 1, 3, 0, 2]], PLACES[[4, 0, 2, 1, 3]]]  # both fine by themselves
    verdict, kind = judged(made, [KEYS, PLACES], mixed)
    assert (verdict, kind) == (Verdict.DIVERGENT, "no permutation of the elements")


def test_an_element_twice_is_no_permutation() -> None:
    made = sort_of(by_first(F32), tensor(F32, 2, 4), dimension=1, stable=False)
    x = np.array([[3, 1, 2, 2], [0, -0.0, NAN, 1]], np.float32)
    x[1, 2] = 5
    wrong = np.array([[1, 1, 2, 3], [-0.0, 0, 1, 5]], np.float32)
    found = judge(made, [x], evaluate(made, [x]), [wrong], SORTED)
    assert (found.verdict, found.kind) == (Verdict.DIVERGENT, "no permutation of the elements")
    assert {element.index[0] for element in found.elements} == {0}


def test_same_elements_and_in_order() -> None:
    x = np.array([[1, 2, 2], [3, 3, 1]], np.int64)
    y = np.array([[2, 1, 2], [3, 1, 1]], np.int64)
    assert same_elements((x,), (y,)).tolist() == [True, False]
    nan = np.array([[NAN, 1.0]])
    assert same_elements((nan,), (np.array([[1.0, -NAN]]),)).tolist() == [True]
    assert same_elements((np.array([[0.0, 1]]),), (np.array([[-0.0, 1]]),)).tolist() == [False]
    body = body_of(by_first(SI64))
    assert in_order((np.array([[1, 2, 2], [3, 3, 1]]),), body).tolist() == [True, False]


def test_subnormals_taken_for_zeros_are_flushed() -> None:
    x = np.array([1e-45, 0, -1e-45, 1], np.float32)
    for stable in (True, False):
        made = sort_of(by_first(F32, SI32), tensor(F32, 4), tensor(SI32, 4), stable=stable)
        given = [x, np.arange(4, dtype=np.int32)]
        assert judged(made, given, given)[0] is Verdict.FLUSHED
    made = sort_of(by_first(F32, kind="TOTALORDER"), tensor(F32, 4), stable=False)
    assert judged(made, [x], [x[[3, 0, 1, 2]]])[0] is Verdict.DIVERGENT


ALIKE = from_bits(np.array([0x7FC00000, 0xFFC00000], np.uint32), F32)
"""A NaN of each sign, the bits that most machines make."""


def test_results_may_hold_any_nan_where_a_comparator_tells_them_apart() -> None:
    """In total order -NaN comes first, but what comes out there may be any NaN; elements that are
    alike otherwise stay ties."""
    plus, minus = ALIKE
    x = np.array([minus, 1, plus, minus, -1], np.float32)
    places = np.array([7, 7, 7, 8, 9], np.int32)
    sorted_ = np.array([minus, minus, -1, 1, plus], np.float32)
    for one in (plus, minus):
        for dimension in (0, -1):
            kind = by_first(F32, SI32, kind="TOTALORDER")
            made = sort_of(kind, tensor(F32, 5), tensor(SI32, 5), dimension=dimension, stable=False)
            given = [x, places]
            for order, right in (
                ([0, 3, 4, 1, 2], True), ([3, 0, 4, 1, 2], True), ([3, 2, 4, 1, 0], True),
                ([0, 2, 4, 1, 3], False), ([4, 0, 3, 1, 2], False),
            ):  # fmt: skip
                values = np.where(np.isnan(x[order]), one, x[order])
                verdict, _ = judged(made, given, [values, places[order]])
                assert verdict is (Verdict.PASS if right else Verdict.DIVERGENT), order
            assert judged(made, given, [sorted_, places[[0, 3, 4, 1, 2]]])[0] is Verdict.PASS


@pytest.mark.parametrize("name", ["bitcast_convert", "TOTALORDER", "EQ", "select"])
def test_a_comparator_that_sees_which_nan_was_computed_leaves_its_slices_open(name: str) -> None:
    """Which NaN inf - inf is, sign included, is nobody's to say."""
    block = BodyBuilder.of(F32, F32)
    keys = [block.op("subtract", value, value) for value in block.arguments]
    kind = {"compare_type": "TOTALORDER"}
    if name == "bitcast_convert":
        lhs, rhs = (block.op(name, key, to=SI32) for key in keys)
        less = block.compare(lhs, rhs, "LT")
    elif name == "select":  # as JAX does it: no matter which NaN it was
        nan = block.constant(NAN, F32)
        odd = [block.compare(key, key, "NE") for key in keys]
        lhs, rhs = (block.op("select", *one) for one in zip(odd, (nan, nan), keys, strict=True))
        less = block.op("compare", lhs, rhs, to=I1, comparison_direction="LT", **kind)
    else:
        way = "EQ" if name == "EQ" else "LT"
        less = block.op("compare", *keys, to=I1, comparison_direction=way, **kind)
    made = sort_of(block.returns(less), tensor(F32, 2, 2), dimension=1)
    x = np.array([[INF, 1], [2, 3]], np.float32)
    masks = [
        mask
        for label, mask in unspecified_slices(made.main.body.operations[-2], [x])
        if label != NO_ORDER
    ]
    open_ = np.logical_or.reduce(masks) if masks else np.zeros(2, bool)
    assert open_.tolist() == [name in ("bitcast_convert", "TOTALORDER"), False]


def test_slices_of_a_negative_dimension_that_are_not_sorted_are_named() -> None:
    x = np.array([[3, 1], [2, 5]], np.float32)
    made = sort_of(by_first(F32), tensor(F32, 2, 2), dimension=-2)
    assert judged(made, [x], [x]) == (Verdict.DIVERGENT, NEGATIVE)
    moved = np.array([[2, 5], [3, 1]], np.float32)
    assert judged(made, [x], [moved]) == (Verdict.DIVERGENT, "wrong value")
    lost = np.array([[3, 1], [3, 5]], np.float32)
    assert judged(made, [x], [lost]) == (Verdict.DIVERGENT, "no permutation of the elements")
    tiny = np.array([[3, 1], [2, 1e-40]], np.float32)
    assert judged(made, [tiny], [tiny]) == (Verdict.DIVERGENT, NEGATIVE)
    equal = np.array([[2e-40, 1], [1e-40, 2]], np.float32)  # if both are taken for zeros
    assert judged(made, [equal], [equal])[0] is Verdict.FLUSHED
    for dimension in (0, -1):
        made = sort_of(by_first(F32), tensor(F32, 2, 2), dimension=dimension)
        assert judged(made, [x], [x]) == (Verdict.DIVERGENT, "wrong value")


@pytest.mark.parametrize("change", ["64 ulp", "sign", "NaN", "swap"])
def test_operands_that_come_back_changed_are_not_named(change: str) -> None:
    x = np.array([[3, 1], [2, 5]], np.float32)
    made = sort_of(by_first(F32), tensor(F32, 2, 2), dimension=-2, stable=True)
    got = x.copy()
    if change == "swap":
        got[1] = got[1, ::-1]
    else:
        got[1, 1] = {"64 ulp": got[1, 1] * (1 + 64 * 2**-23), "sign": -5, "NaN": NAN}[change]
    found = judge(made, [x], evaluate(made, [x]), [got], SORTED)
    assert found.verdict is Verdict.DIVERGENT
    assert NEGATIVE not in {kind for _, kind in found.findings}


def test_a_comparator_without_order_leaves_its_slices_open() -> None:
    made = sort_of(by_first(F32), tensor(F32, 2, 3), dimension=1)
    x = np.array([[2, NAN, 1], [3, 2, 1]], np.float32)
    operation = made.main.body.operations[-2]
    (found,) = unspecified_slices(operation, [x])
    assert found[0] == NO_ORDER
    assert found[1].tolist() == [True, False]
    assert judged(made, [x], [np.array([[2, NAN, 1], [1, 2, 3]], "f4")])[0] is Verdict.UNSPECIFIED
    assert judged(made, [x], [np.array([[1, 2, NAN], [3, 2, 1]], "f4")])[0] is Verdict.DIVERGENT
    made = sort_of(by_first(SI32, way="LE"), tensor(SI32, 3))
    for values, open_ in (([1, 2, 3], True), ([1, 1, 2], True)):
        ((_, mask),) = unspecified_slices(
            made.main.body.operations[-2], [np.array(values, np.int32)]
        )
        assert bool(mask) == open_


def test_long_slices_are_looked_at_too() -> None:
    made = sort_of(by_first(F32), tensor(F32, 5000))
    operation = made.main.body.operations[-2]
    x = np.arange(5000, dtype=np.float32)
    assert unspecified_slices(operation, [x]) == []
    x[77] = NAN
    ((label, mask),) = unspecified_slices(operation, [x])
    assert (label, bool(mask)) == (NO_ORDER, True)


# --- Speed, and what JAX writes ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "kind"), [("f32", "TOTALORDER"), ("f64", "FLOAT"), ("si32", None)]
)
def test_a_million_elements_are_not_compared_pair_by_pair(name: str, kind: str | None) -> None:
    of, count = ELEMENT_TYPES[name], 1 << 20
    x = (np.random.default_rng(0).normal(size=count) * 1e6).astype(of.storage)
    made = sort_of(by_first(of, SI32, kind=kind), tensor(of, count), tensor(SI32, count))
    given = [x, np.arange(count, dtype=np.int32)]
    result, order = evaluate(made, given)
    assert calls_of(lambda: evaluate(made, given)) < 200
    assert np.array_equal(result, np.sort(x))
    assert np.array_equal(x[order], result)


JAX: dict[str, Any] = {
    "sort": lambda x: jnp.sort(x),
    "argsort": lambda x: jnp.argsort(x),
    "descending": lambda x: jnp.argsort(x, descending=True),
    "two keys": lambda x: lax.sort((jnp.round(x), -x, x), num_keys=2),
    "axis": lambda x: jnp.sort(x.reshape(-1, 4), axis=0),
}


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        (name, dtype)
        for name in JAX
        for dtype in ("float32", "bfloat16", "uint32", "complex64", "bool")
        if name != "two keys" or dtype in ("float32", "bfloat16")
    ],
)
def test_sorts_that_jax_exports(name: str, dtype: str) -> None:
    rng = np.random.default_rng(3)
    wide = rng.choice([0.0, -0.0, 1.5, -2.5, 1e3, NAN, -INF, INF, 3.25], 64)
    if dtype in ("int8", "uint32", "bool"):
        wide = rng.integers(0, 99, 64)
    x = jnp.asarray(wide).astype(dtype)
    if dtype == "complex64":
        x = x + 1j * x[::-1]
    text = jax.jit(JAX[name]).lower(x).as_text()
    made = parse_module(text)
    regions = [o.regions[0] for o in made.walk() if o.name == "sort"]
    assert all(order_of(region) is not None for region in regions)
    results = evaluate(made, [np.asarray(x)])
    for got, want in zip(results, jax.tree.leaves(jax.jit(JAX[name])(x)), strict=True):
        assert np.array_equal(
            got.astype(np.complex128), np.asarray(want).astype(np.complex128), equal_nan=True
        )


# --- Comparators of several operands -------------------------------------------------------------


def comparator_of(of: Any, **planned: str) -> Region:
    """A comparator whose choices are planned, the others the first."""
    return comparators(of, Pick(lambda _: 0, planned)).region


@pytest.mark.parametrize("of", [F32, SI32, UI8, C64], ids=str)
@pytest.mark.parametrize("way", ["LT", "GT"])
def test_elements_of_different_operands_are_compared(of: Any, way: str) -> None:
    """On operands that are one, as such cases have it, it is the order of one operand."""
    region = comparator_of(of, comparator="across", direction=way)
    assert order_of(region) is None
    types = (tensor(of, 7), tensor(of, 7), tensor(SI32, 7))
    made = sort_of(region, *types)
    x = np.array([2, 0, 1, 2, 0, 3, 1]).astype(of.storage)
    inputs = [x, x, np.arange(7, dtype=np.int32)]
    results = evaluate(made, inputs)
    plain = evaluate(sort_of(by_first(of, of, SI32, way=way), *types), inputs)
    for one, other in zip(results, plain, strict=True):
        assert np.array_equal(to_bits(one), to_bits(other))
    assert judged(made, inputs, list(results)) == (Verdict.PASS, "")
    wrong = [array[::-1] for array in results]
    assert judged(made, inputs, wrong)[0] is Verdict.DIVERGENT


def test_the_second_operand_decides_first() -> None:
    """A backend that compares by the first operand first is caught."""
    planned = {"comparator": "two keys", "second operand decides first": "yes"}
    region = comparator_of(SI32, **planned)
    inputs = [np.array(row, np.int32) for row in ([3, 1, 2, 0], [1, 1, 0, 0])]
    made = sort_of(region, *(tensor(SI32, 4),) * 2)
    first, second = evaluate(made, inputs)
    assert (first.tolist(), second.tolist()) == ([0, 2, 1, 3], [0, 0, 1, 1])
    order = np.lexsort(inputs[::-1])
    assert judged(made, inputs, [x[order] for x in inputs])[0] is Verdict.DIVERGENT


def test_standard_has_comparators_of_several_operands() -> None:
    regions = [one.program.subject.regions[0] for one in cases("sort", SI32, seed=0, count=32)]
    compared = [
        (region.arguments.index(one.operands[0]), region.arguments.index(one.operands[1]))
        for region in regions
        for one in region.operations
        if one.name == "compare" and set(one.operands) <= set(region.arguments)
    ]
    assert any(lhs // 2 != rhs // 2 for lhs, rhs in compared)
    assert any(min(pair) >= 2 for pair in compared)
