"""Contractions against the specification's formula in exact arithmetic, and their rule."""

import itertools
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np
import pytest

from generators.cells import plan
from reference.interpreter.evaluate import check, evaluate, violations
from reference.ir.program import QuantizedType, TensorType, Value, single_op
from reference.ir.types import ELEMENT_TYPES as TYPES
from reference.ir.types import Array, element_type_of, to_bits
from reference.numerics.products import matmul, to_wide_type
from reference.numerics.rounding import round_to, to_float64
from reference.ops import contraction
from suites.meta.support.ops.contractions import (
    BF16,
    F32,
    F64,
    dot_general,
    old_op_program,
    operation_of,
)


def formula(lhs: Array, rhs: Array, given: dict[str, Any]) -> Array:
    """Return the specification's definition, index by index, on Python numbers."""
    batch_l, batch_r, deep_l, deep_r = (
        given.get(f"{side}_{part}_dimensions", ())
        for part in ("batching", "contracting")
        for side in ("lhs", "rhs")
    )
    rows = [d for d in range(lhs.ndim) if d not in (*batch_l, *deep_l)]
    columns = [d for d in range(rhs.ndim) if d not in (*batch_r, *deep_r)]
    sizes = [lhs.shape[d] for d in (*batch_l, *rows)] + [rhs.shape[d] for d in columns]
    result = np.zeros(sizes, object)
    depths = [range(lhs.shape[d]) for d in deep_l]
    for index in np.ndindex(*sizes):
        batch, row = index[: len(batch_l)], index[len(batch_l) : len(batch_l) + len(rows)]
        column = index[len(batch_l) + len(rows) :]
        total = Fraction(0)
        for deep in itertools.product(*depths):
            at_l = dict(zip((*batch_l, *rows, *deep_l), (*batch, *row, *deep), strict=True))
            at_r = dict(zip((*batch_r, *columns, *deep_r), (*batch, *column, *deep), strict=True))
            left = lhs[tuple(at_l[d] for d in range(lhs.ndim))]
            total += left * rhs[tuple(at_r[d] for d in range(rhs.ndim))]
        result[index] = total
    return result


def exact_elements(array: Array) -> Array:
    """Return elements as Python's exact numbers."""
    numbers = to_float64(array) if element_type_of(array).is_float else array
    return np.array([Fraction(one) for one in numbers.reshape(-1).tolist()], object).reshape(
        array.shape
    )


def _small_numbers(of: TensorType) -> Array:
    """Return an array of small numbers, most of them different from their neighbours."""
    numbers = np.arange(prod(of.static_shape)) % 5 - (not of.element.is_unsigned)
    return numbers.astype(of.storage).reshape(of.static_shape)


@pytest.mark.parametrize("name", ["si32", "ui4", "f32", "bf16", "f8E4M3FN"])
def test_the_specifications_formula(name: str) -> None:
    """Every arrangement of dimensions that is generated, on small integers."""
    seen = 0
    for number in range(120):
        operation = operation_of(plan.case("dot_general", TYPES[name], 5, number).program)
        types = [one.type for one in (*operation.operands, *operation.results)]
        lhs, rhs, result = (one for one in types if isinstance(one, TensorType))
        if prod(lhs.static_shape) * prod(rhs.static_shape) > 5000:
            continue
        seen += 1
        given = dict(operation.attributes)
        operands = (_small_numbers(lhs), _small_numbers(rhs))
        values = (Value("lhs", lhs), Value("rhs", rhs))
        (actual,) = evaluate(single_op("dot_general", values, (result,), given), operands)
        wanted = formula(exact_elements(operands[0]), exact_elements(operands[1]), given)
        to = result.element
        if to.is_integer:
            assert (to_bits(actual) == wanted % 2**to.bits).all()
        else:
            wanted = round_to(np.asarray(wanted.astype(np.float64)), to)
            np.testing.assert_array_equal(actual, wanted)
    assert seen >= 20


def test_f32_is_the_exact_sum_rounded_once() -> None:
    random = np.random.default_rng(1)
    lhs, rhs = (random.normal(size=shape).astype(np.float32) for shape in ((9, 70), (70, 8)))
    _, actual = dot_general(lhs, rhs)
    wanted = (exact_elements(lhs) @ exact_elements(rhs)).astype(np.float64).astype(np.float32)
    np.testing.assert_array_equal(actual, wanted)


@pytest.mark.parametrize("spread", [0, 12, 300], ids=["even", "uneven", "beyond pieces"])
@pytest.mark.parametrize("size", [7, 90], ids=["small", "in pieces"])
def test_f64_has_more_than_its_own_precision(size: int, spread: int) -> None:
    """Errors of sums in f64 would be many ulp of the result where terms cancel; these are none."""
    random = np.random.default_rng(size + spread)
    lhs, rhs = random.normal(size=(2, size, size))
    scale = np.exp2(random.integers(-spread, spread + 1, size).astype(float))
    lhs, rhs = lhs * scale, rhs / scale[:, None]
    _, actual = dot_general(lhs, rhs)
    rows = exact_elements(lhs[:3]) @ exact_elements(rhs[:, :9])
    magnitudes = np.abs(lhs[:3]) @ np.abs(rhs[:, :9])
    error = np.abs((exact_elements(actual[:3, :9]) - rows).astype(float))
    assert (error <= 2.0**-53 * np.abs(rows.astype(float)) + 2.0**-60 * magnitudes).all()


def test_complex_parts_are_sums_of_their_own() -> None:
    random = np.random.default_rng(4)
    for of, size in ((np.complex64, 5), (np.complex128, 5), (np.complex128, 82)):
        a, b, c, d = random.integers(-50, 50, (4, size, size)).astype(float)
        _, actual = dot_general((a + 1j * b).astype(of), (c + 1j * d).astype(of))
        np.testing.assert_array_equal(actual, a @ c - b @ d + 1j * (a @ d + b @ c))


@pytest.mark.parametrize("name", ["si8", "ui16", "si32", "ui32", "si64", "ui64"])
def test_integers_wrap(name: str) -> None:
    """By numpy's loop where there are few products, in pieces of 16 bits where there are many."""
    of, random = TYPES[name], np.random.default_rng(7)
    low, high = of.min_integer, of.max_integer
    for size in (4, 33):
        lhs, rhs = (
            random.integers(low, high, (size, size), of.storage, endpoint=True) for _ in range(2)
        )
        _, actual = dot_general(lhs, rhs)
        wanted = (lhs[:5].astype(object) @ rhs.astype(object)) % 2**of.bits
        np.testing.assert_array_equal(to_bits(actual)[:5].astype(object), wanted)


def test_integers_go_into_wider_types_unwrapped() -> None:
    """The result follows XLA's preferred_element_type; the formula's `multiply` would wrap in si8
    first.
    """
    lhs, rhs = np.full((1, 3), 100, np.int8), np.full((3, 1), -100, np.int8)
    for name, wanted in (("si32", -30000), ("si16", -30000), ("si8", -30000 % 256 - 256 + 208)):
        _, actual = dot_general(lhs, rhs, TYPES[name])
        assert int(actual[0, 0]) == (wanted if name != "si8" else -48)
    large = np.full((1, 2), 2**64 - 1, np.uint64)
    _, actual = dot_general(large, large.T.copy(), F64)
    assert actual[0, 0] == 2.0**129


def test_booleans_are_added_by_or() -> None:
    lhs = np.array([[1, 0, 1], [0, 0, 0], [0, 1, 0]], np.bool_)
    rhs = np.array([[1, 0], [0, 0], [1, 1]], np.bool_)
    _, actual = dot_general(lhs, rhs)
    np.testing.assert_array_equal(actual, [[True, True], [False, False], [False, False]])
    assert actual.dtype == np.bool_


def test_special_values() -> None:
    inf, nan = np.inf, np.nan
    lhs = np.array([[0, 1], [1, 1], [1, -1], [-0.0, -0.0], [1, nan]], np.float32)
    rhs = np.array([[inf, 1], [inf, -1]], np.float32)
    _, actual = dot_general(lhs, rhs)
    wanted = [[nan, -1], [inf, 0], [nan, 2], [nan, 0], [nan, nan]]
    np.testing.assert_array_equal(actual, np.array(wanted, np.float32))
    _, zero = dot_general(np.full((1, 1), -0.0, np.float32), np.ones((1, 1), np.float32))
    assert not np.signbit(zero[0, 0])  # +0 is what is added to
    _, none = dot_general(np.zeros((2, 0), np.float32), np.zeros((0, 3), np.float32))
    np.testing.assert_array_equal(none, np.zeros((2, 3), np.float32), strict=True)


def test_operands_of_different_types_are_evaluated_all_the_same() -> None:
    """C13 forbids them; programs of f8 types of two kinds are written nevertheless."""
    lhs, rhs = np.array([[2.0, 3.0]]), np.array([[0.5], [4.0]])
    left, right = TYPES["f8E5M2"].storage, TYPES["f8E4M3FN"].storage
    program, actual = dot_general(lhs.astype(left), rhs.astype(right), F32)
    assert actual[0, 0] == 13
    assert violations(operation_of(program)) == ("C13",)
    mixed = matmul(to_wide_type(lhs), to_wide_type(np.array([[2], [3]], np.int32)), F64)
    assert mixed[0, 0] == 13


def _violated_constraints(
    lhs: object, rhs: object, result: object, **given: Any
) -> tuple[str, ...]:
    types = [TensorType((2, 2), of) for of in (lhs, rhs, result)]  # pyright: ignore[reportArgumentType]
    values = (Value("lhs", types[0]), Value("rhs", types[1]))
    given = {"lhs_contracting_dimensions": (1,), "rhs_contracting_dimensions": (0,), **given}
    return violations(operation_of(single_op("dot_general", values, (types[2],), given)))


def _quantized_type(storage: str, axis: int | None = None) -> QuantizedType:
    count = 1 if axis is None else 2
    return QuantizedType(TYPES[storage], -8, 7, F32, (0.5,) * count, (0,) * count, axis)


def test_valid_types() -> None:
    per_tensor, per_axis = _quantized_type("si8"), _quantized_type("si8", 1)
    assert _violated_constraints(F32, F32, BF16) == ()
    assert _violated_constraints(per_tensor, per_tensor, per_tensor) == ()
    assert _violated_constraints(per_tensor, per_axis, _quantized_type("si32", 1)) == ()
    assert _violated_constraints(F32, per_axis, F32) == ()
    nothing = dict.fromkeys(("lhs_precision_type", "accumulation_type", "lhs_component_count"))
    assert (
        _violated_constraints(F32, F32, F32, precision_config=("HIGH", "HIGHEST"), **nothing) == ()
    )


def test_sizes_that_are_not_known_agree_with_all() -> None:
    types = [TensorType(shape, F32) for shape in ((None, 3), (None, 4), (2, None))]
    values = (Value("lhs", types[0]), Value("rhs", types[1]))
    given: dict[str, Any] = {"lhs_contracting_dimensions": (1,), "rhs_contracting_dimensions": (0,)}
    program = single_op("dot_general", values, (types[2],), given)
    assert check(program) == []
    (actual,) = evaluate(program, (np.ones((2, 3), np.float32), np.ones((3, 4), np.float32)))
    np.testing.assert_array_equal(actual, np.full((2, 4), 3, np.float32))


@pytest.mark.parametrize(
    ("left", "right", "shape"),
    [((3,), (3,), ()), ((2, 3), (3,), (2,)), ((3,), (3, 4), (4,)), ((2, 3), (3, 4), (2, 4))],
)
def test_dot(left: tuple[int, ...], right: tuple[int, ...], shape: tuple[int, ...]) -> None:
    lhs, rhs = (np.arange(prod(one), dtype=np.int32).reshape(one) for one in (left, right))
    program = old_op_program("dot", lhs, rhs, shape=shape)
    assert check(program) == []
    np.testing.assert_array_equal(evaluate(program, (lhs, rhs))[0], lhs @ rhs, strict=True)


def test_einsum_and_unary_einsum() -> None:
    lhs = np.arange(6, dtype=np.float32).reshape(2, 3)
    rhs = np.arange(12, dtype=np.float32).reshape(3, 4)
    program = old_op_program("einsum", lhs, rhs, shape=(4, 2), einsum_config="ij,jk->ki")
    assert check(program) == []
    np.testing.assert_array_equal(evaluate(program, (lhs, rhs))[0], (lhs @ rhs).T)
    both = np.array([[True, False]])
    program = old_op_program("einsum", both, both, shape=(), einsum_config="ij,ij->")
    assert evaluate(program, (both, both))[0].item() is True
    program = old_op_program("unary_einsum", lhs, shape=(3,), einsum_config="ij->j")
    assert check(program) == []
    np.testing.assert_array_equal(evaluate(program, (lhs,))[0], lhs.sum(axis=0), strict=True)


def test_old_ops_that_do_not_fit() -> None:
    matrix, cube = np.ones((2, 3), np.float32), np.ones((2, 2, 2), np.float32)
    for program, broken in (
        (old_op_program("dot", matrix, matrix, shape=(2, 3)), ("operands",)),
        (old_op_program("dot", cube, matrix, shape=(2, 3)), ("operands",)),
        (old_op_program("dot", matrix, matrix.T, shape=(2, 3)), ("result",)),
        (old_op_program("dot", matrix, matrix.T, shape=(2, 2), precision_config=("LOW",) * 2),
         ("attributes",)),
        (old_op_program("einsum", matrix, matrix, shape=(2,), einsum_config="ij,jk->i"),
         ("attributes",)),
        (old_op_program("unary_einsum", matrix, shape=(2,), einsum_config="ij->j"), ("result",)),
    ):  # fmt: skip
        assert violations(operation_of(program)) == broken


# -- cases ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_cases_reach_every_attribute() -> None:
    programs = [plan.case("dot_general", F32, 2, n).program for n in range(600)]
    given: list[dict[str, Any]] = [dict(operation_of(program).attributes) for program in programs]
    assert {len(one.get("precision_config", ())) for one in given} == {0, 2}
    assert {one.get("lhs_precision_type") for one in given} >= {None, "tf32", "bf16", "f32"}
    for name in ("batching", "contracting"):
        assert {len(one[f"lhs_{name}_dimensions"]) for one in given} == {0, 1, 2}
        assert {one[f"rhs_{name}_dimensions"] for one in given} >= {(), (0,), (1,), (1, 0)}
    to = {
        str(operation_of(program).results[0].type).rsplit("x", 1)[-1][-4:-1] for program in programs
    }
    assert {"f32", "f64"} <= to


def _algorithm(lhs: str, rhs: str, count: int = 1, operations: int = 1) -> dict[str, Any]:
    return {
        "lhs_precision_type": lhs, "rhs_precision_type": rhs, "accumulation_type": "f32",
        "lhs_component_count": count, "rhs_component_count": count,
        "num_primitive_operations": operations, "allow_imprecise_accumulation": False,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("of", "given", "x", "y", "result"),
    [
        ("f32", _algorithm("bf16", "bf16"), 1.00390625, 1, 1.0),  # a tie, to even
        ("f32", _algorithm("bf16", "bf16"), 1.01171875, 1, 1.015625),
        ("f32", _algorithm("tf32", "tf32"), 1 + 2.0**-11, 1, 1.0),
        ("f32", _algorithm("tf32", "tf32"), 1 + 3 * 2.0**-11, 1, 1 + 2.0**-9),
        ("f32", _algorithm("tf32", "tf32"), 3.4028234e38, 1, np.inf),
        ("f64", _algorithm("tf32", "tf32"), 2.0**-136, 1, 2.0**-136),
        ("f64", _algorithm("tf32", "tf32"), 2.0**-138, 1, 0.0),
        ("f32", _algorithm("f32", "f32"), 1.00390625, 1, 1.00390625),
        ("f32", _algorithm("f16", "f16"), 65520, 1, np.inf),
        ("f32", _algorithm("f8E5M2", "f8E4M3FN"), 1.1875, 1.0625, 1.25),
        ("f16", _algorithm("bf16", "bf16"), 65504, 0.25, 16384),  # 65536 is no f16
        ("f64", _algorithm("f32", "f32"), 1 + 2.0**-30, 1, 1.0),
        ("f64", _algorithm("f64", "f64"), 1 + 2.0**-30, 1, 1 + 2.0**-30),
        ("f32", _algorithm("bf16", "bf16", 3, 6), 1.00390625, 1, 1.00390625),
        ("f32", _algorithm("bf16", "bf16", 1, 3), 1.00390625, 1, 1.00390625),
    ],
)
def test_an_algorithm_rounds_operands_that_it_does_not_decompose(
    of: str, given: dict[str, Any], x: float, y: float, result: float
) -> None:
    lhs, rhs = (np.array([[one]]).astype(TYPES[of].storage) for one in (x, y))
    assert dot_general(lhs, rhs, **given)[1].item() == result
    if of == "f32" and result != np.inf:  # each operand has its own precision
        swapped = dict(zip(given, (given["rhs_precision_type"], given["lhs_precision_type"],
                                   *list(given.values())[2:]), strict=True))  # fmt: skip
        assert dot_general(rhs, lhs, **swapped)[1].item() == result


NAMED = {
    ("f32", "f32", 1), ("tf32", "f32", 1), ("tf32", "f32", 3), ("bf16", "bf16", 1),
    ("bf16", "f32", 1), ("bf16", "f32", 3), ("bf16", "f32", 6), ("bf16", "f32", 9),
    ("f16", "f16", 1), ("f16", "f32", 1), ("f64", "f64", 1), ("f8E5M2", "f32", 1),
}  # fmt: skip
"""Precision type, accumulation type and operations of what xla_data.proto names."""


def test_every_algorithm_that_is_named_is_drawn() -> None:
    cases = plan.cases("dot_general", TYPES["f32"], 0, 24)
    names = ("lhs_precision_type", "accumulation_type", "num_primitive_operations")
    drawn = {tuple(case.program.subject.attribute(name) for name in names) for case in cases}
    assert drawn >= NAMED
    given = [dict(case.program.subject.attributes) for case in cases]
    assert any(one.get("allow_imprecise_accumulation") for one in given)
    assert any(one.get("lhs_component_count") == 3 for one in given)


def test_quantized_operands_are_multiplied_without_the_algorithm() -> None:
    """The specification forwards only the dimensions and `precision_config`."""
    of = QuantizedType(TYPES["si8"], -128, 127, F32, (0.3,), (0,), None)
    wide = QuantizedType(TYPES["si32"], -(2**31), 2**31 - 1, F32, (0.09,), (0,), None)
    values = tuple(Value(name, TensorType((1,), of)) for name in ("x", "y"))
    given: dict[str, Any] = {
        "lhs_contracting_dimensions": (0,),
        "rhs_contracting_dimensions": (0,),
    }
    codes = [np.array([127], np.int8)] * 2
    results = [
        evaluate(single_op("dot_general", values, (TensorType((), wide),), attributes), codes)[0]
        for attributes in (given, given | _algorithm("f8E5M2", "f8E5M2"))
    ]
    assert results[0] == results[1] == 127 * 127


# --- The module's functions ----------------------------------------------------------------------


def test_operands_as_matrices() -> None:
    """Both contract their dimension of 4; the result has lhs's 3, then rhs's 2 and 5."""
    lhs, rhs = np.arange(12.0).reshape(3, 4), np.arange(40.0).reshape(2, 4, 5)
    dimensions = contraction.Dimensions((), (), (1,), (1,))
    a, b, shape = contraction.arrange_matrices(lhs, rhs, dimensions)
    assert (a.shape, b.shape, shape) == ((3, 4), (4, 10), (3, 2, 5))
    np.testing.assert_array_equal((a @ b).reshape(shape), np.einsum("ik,jkl->ijl", lhs, rhs))
    assert dimensions.rhs_result(3) == (0, 2)
    assert contraction.dot_dimensions(2) == ((), (), (1,), (0,))


COUNTS = {"lhs_component_count": 1, "rhs_component_count": 1, "num_primitive_operations": 1}


def test_only_an_algorithm_without_decomposition_rounds_operands() -> None:
    stated = {"accumulation_type": "f32", **COUNTS}
    assert contraction.rounds_operands(stated)
    assert not contraction.rounds_operands(COUNTS)
    assert not contraction.rounds_operands(stated | {"num_primitive_operations": 3})


@pytest.mark.parametrize(
    ("name", "rounded"),
    [("tf32", 1 + 2.0**-10), ("bf16", 1.0), ("f32", 1 + 2.0**-10 + 2.0**-20)],
)
def test_operands_are_rounded_to_the_stated_type(name: str, rounded: float) -> None:
    number = np.array([1 + 2.0**-10 + 2.0**-20], np.float32)
    types = {"lhs_precision_type": name, "rhs_precision_type": "f32"}
    given = {"accumulation_type": "f32", **COUNTS, **types}
    left, right = contraction.round_to_stated_types(number, number, given)
    assert left.tolist() == [rounded]
    assert right.tolist() == number.tolist()


@pytest.mark.parametrize(
    ("config", "sums"),
    [("ij,jk->ik", True), ("ij,jk->ijk", False), ("ii->i", False), ("ii", True), ("ij", False)],
)
def test_an_index_that_the_result_lacks_is_summed(config: str, sums: bool) -> None:
    assert contraction.has_sums(config) is sums


def test_products_without_sums_keep_negative_zeros() -> None:
    factors = [np.array([-0.0, 2.0], np.float32), np.array([1.0, -3.0], np.float32)]
    products = contraction.einsum_sums(factors, "i,j->ij")
    assert np.signbit(products).tolist() == [[True, False], [False, True]]
    assert contraction.einsum_sums(factors, "i,i->").tolist() == -6
    assert contraction.einsum_sums(factors, "i,i->", magnitudes=True).tolist() == 6
