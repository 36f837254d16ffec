"""Convolutions against the specification's formulas in exact arithmetic, and their rule."""

from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
import pytest

from conformance.judging.compare import judge
from conformance.tolerance.bounds.convolution import CONVOLVED
from conformance.verdict import Verdict
from generators.cells import plan
from reference.interpreter.evaluate import EvaluationError, check, evaluate, violations
from reference.ir.constants import matrix
from reference.ir.program import (
    Attribute,
    Dense,
    Operation,
    Program,
    QuantizedType,
    TensorType,
    Value,
    single_op,
)
from reference.ir.types import ELEMENT_TYPES as TYPES
from reference.ir.types import Array, element_type_of, to_bits
from reference.ops import convolution as implementation
from reference.ops.convolution import Geometry, convolve, geometry, num_windows
from reference.ops.table import OPS
from suites.meta.support.ops.contractions import ONE_SPATIAL

F32, SI64 = TYPES["f32"], TYPES["si64"]


def operation_of(program: Program) -> Operation:
    return program.subject


def dense(numbers: Any) -> Dense:
    array = np.array(numbers, np.int64).reshape(-1, 2)
    return Dense.of(array, TensorType(array.shape, SI64))


def attributes(spatial: int, **given: Any) -> dict[str, Any]:
    """Return the usual order of dimensions, and further attributes."""
    last, middle = spatial + 1, tuple(range(1, spatial + 1))
    return {
        "input_batch_dimension": 0,
        "input_feature_dimension": last,
        "input_spatial_dimensions": middle,
        "kernel_input_feature_dimension": spatial,
        "kernel_output_feature_dimension": last,
        "kernel_spatial_dimensions": tuple(range(spatial)),
        "output_batch_dimension": 0,
        "output_feature_dimension": last,
        "output_spatial_dimensions": middle,
        **given,
    }


def program_of(lhs: TensorType, rhs: TensorType, result: TensorType, **given: Attribute) -> Program:
    return single_op("convolution", (Value("lhs", lhs), Value("rhs", rhs)), (result,), given)


# -- the specification, word by word ------------------------------------------------------------


def _put(numbers: Any, permutation: tuple[int, ...]) -> list[Any]:
    """`permute` of the specification."""
    found = [0] * len(permutation)
    for number, dimension in zip(numbers, permutation, strict=True):
        found[dimension] = number
    return found


def _pad(lhs: Array, of: Geometry) -> Array:
    """`pad` with zeros, negative amounts and holes."""
    rank = lhs.ndim
    low, high, holes = [0] * rank, [0] * rank, [0] * rank
    for number, dimension in enumerate(of.input_spatial):
        low[dimension], high[dimension] = of.padding[number]
        holes[dimension] = of.lhs_dilation[number] - 1
    sizes = [
        max(0, low[d] + high[d] + (n + (n - 1) * holes[d] if n else 0))
        for d, n in enumerate(lhs.shape)
    ]
    found = np.zeros(sizes, object)
    for index in np.ndindex(*lhs.shape):
        at = tuple(low[d] + i * (1 + holes[d]) for d, i in enumerate(index))
        if all(0 <= i < size for i, size in zip(at, sizes, strict=True)):
            found[at] = lhs[index]
    return found


def _one_group(lhs: Array, rhs: Array, of: Geometry) -> Array:
    """`convolution` of one group of features and batches, window by window."""
    padded = _pad(lhs, of)
    spatial = range(len(of.strides))
    counts = [
        num_windows(of, n, lhs.shape[of.input_spatial[n]], rhs.shape[of.kernel_spatial[n]])
        for n in spatial
    ]
    places = (of.output_batch, *of.output_spatial, of.output_feature)
    batch, made = lhs.shape[of.input_batch], rhs.shape[of.kernel_output_feature]
    found = np.zeros(_put([batch, *counts, made], places), object)
    for index in np.ndindex(*found.shape):
        total = 0
        for place in np.ndindex(*(rhs.shape[d] for d in of.kernel_spatial)):
            where = [
                index[of.output_spatial[n]] * of.strides[n]
                + (rhs.shape[of.kernel_spatial[n]] - 1 - i if of.reversal[n] else i)
                * of.rhs_dilation[n]
                for n, i in enumerate(place)
            ]
            for feature in range(rhs.shape[of.kernel_input_feature]):
                here = _put([index[of.output_batch], *where, feature], of.input_dimensions)
                kernel = (*place, feature, index[of.output_feature])
                there = _put(kernel, of.kernel_dimensions)
                total += padded[tuple(here)] * rhs[tuple(there)]
        found[index] = total
    return found


def formula(lhs: Array, rhs: Array, of: Geometry) -> Array:
    """Return the specification's definition: split, convolve, concatenate."""
    groups = of.feature_groups * of.batch_groups
    along = of.input_feature if of.feature_groups > 1 else of.input_batch
    one = replace(of, feature_groups=1, batch_groups=1)
    lhses = np.split(lhs, groups, along)
    rhses = np.split(rhs, groups, of.kernel_output_feature)
    parts = [_one_group(a, b, one) for a, b in zip(lhses, rhses, strict=True)]
    return np.concatenate(parts, of.output_feature)


def _small_numbers(of: TensorType) -> Array:
    numbers = np.arange(prod(of.static_shape)) % 7 - 3
    return numbers.reshape(of.static_shape)


@pytest.mark.parametrize("name", ["si32", "f32", "si8"])
def test_the_specifications_formula(name: str) -> None:
    """Every combination of attributes that is generated, on small integers."""
    seen = 0
    for number in range(80):
        operation = operation_of(plan.case("convolution", TYPES[name], 5, number).program)
        types = [one.type for one in (*operation.operands, *operation.results)]
        lhs, rhs, result = (one for one in types if isinstance(one, TensorType))
        if prod(result.static_shape) * prod(rhs.static_shape) > 5000:
            continue
        seen += 1
        given = dict(operation.attributes)
        operands = _small_numbers(lhs), _small_numbers(rhs)
        arrays = [operand.astype(TYPES[name].storage) for operand in operands]
        (actual,) = evaluate(program_of(lhs, rhs, result, **given), arrays)
        wanted = formula(*operands, geometry(given, lhs.rank - 2))
        assert actual.shape == wanted.shape
        if name == "f32":
            np.testing.assert_array_equal(actual, wanted.astype(np.float32), strict=True)
        else:
            assert (to_bits(actual) == wanted % 2 ** TYPES[name].bits).all()
    assert seen >= 30


def test_dynamic_conv_takes_its_padding_in_any_integer_type() -> None:
    lhs, rhs = np.arange(5.0, dtype=np.float32).reshape(1, 5, 1), np.ones((2, 1, 1), np.float32)
    for name in ("si8", "si64", "ui8", "si4", "ui4"):
        for low, high in ((0, 0), (1, 2), (-1, 3)):
            if low < 0 and name.startswith("ui"):
                continue
            padding = np.array([[low, high]]).astype(TYPES[name].storage)
            types = (TensorType((1, 5, 1), F32), TensorType((2, 1, 1), F32),
                     TensorType((1, 2), TYPES[name]))  # fmt: skip
            values = tuple(Value(f"v{n}", of) for n, of in enumerate(types))
            result = TensorType((1, None, 1), F32)
            program = single_op("dynamic_conv", values, (result,), attributes(1))
            assert check(program) == []
            (actual,) = evaluate(program, (lhs, rhs, padding))
            plain = attributes(1, padding=dense([low, high]))
            (wanted,) = evaluate(program_of(*types[:2], result, **plain), (lhs, rhs))
            np.testing.assert_array_equal(actual, wanted, strict=True)
            assert actual.shape == (1, 4 + low + high, 1)


def test_a_padding_that_does_not_give_the_result_stated() -> None:
    types = (TensorType((1, 5, 1), F32), TensorType((2, 1, 1), F32), TensorType((1, 2), SI64))
    values = tuple(Value(f"v{n}", of) for n, of in enumerate(types))
    result = TensorType((1, 4, 1), F32)
    program = single_op("dynamic_conv", values, (result,), attributes(1))
    arrays = [np.ones(of.static_shape, of.storage) for of in types]
    with pytest.raises(EvaluationError, match="shape"):
        evaluate(program, arrays)


@pytest.mark.parametrize(
    ("image", "window", "padding", "dilations", "stride", "wanted"),
    [
        (4, 3, (0, 0), (1, 1), 1, 2), (0, 1, (0, 0), (1, 1), 1, 0), (0, 1, (2, 1), (1, 1), 1, 3),
        (4, 0, (0, 0), (1, 1), 1, 5), (4, 3, (-2, -2), (1, 1), 1, 0),
        (4, 3, (-3, -3), (1, 1), 1, 0), (4, 2, (0, 0), (2, 3), 2, 2),
        (3, 5, (0, 0), (1, 1), 1, 0), (1, 1, (0, 0), (9, 9), 5, 1),
        (4, 0, (-3, -3), (1, 1), 1, 0),
    ],
)  # fmt: skip
def test_numbers_of_windows(
    image: int, window: int, padding: tuple[int, int], dilations: tuple[int, int], stride: int,
    wanted: int,
) -> None:  # fmt: skip
    given = attributes(
        1, padding=dense(padding), window_strides=(stride,), lhs_dilation=dilations[:1],
        rhs_dilation=dilations[1:],
    )  # fmt: skip
    assert num_windows(geometry(given, 1), 0, image, window) == wanted
    types = (TensorType((1, image, 2), F32), TensorType((window, 2, 3), F32))
    program = program_of(*types, TensorType((1, wanted, 3), F32), **given)
    assert check(program) == []
    (actual,) = evaluate(program, [np.ones(of.static_shape, np.float32) for of in types])
    assert actual.shape == (1, wanted, 3)
    assert window or not actual.any()


def test_omitted_attributes_have_defaults() -> None:
    types = (TensorType((2, 5, 4, 2), F32), TensorType((2, 3, 2, 3), F32))
    result = TensorType((2, 4, 2, 3), F32)
    arrays = [_small_numbers(of).astype(np.float32) for of in types]
    full = attributes(
        2, window_strides=(1, 1), padding=dense([[0, 0]] * 2), lhs_dilation=(1, 1),
        rhs_dilation=(1, 1), window_reversal=(False, False), feature_group_count=1,
        batch_group_count=1, precision_config=("DEFAULT",) * 2,
    )  # fmt: skip
    programs = [program_of(*types, result, **given) for given in (full, attributes(2))]
    assert all(check(program) == [] for program in programs)
    first, second = (evaluate(program, arrays)[0] for program in programs)
    np.testing.assert_array_equal(first, second)


def test_slabs_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    lhs, rhs = np.arange(3 * 9 * 8 * 2.0).reshape(3, 9, 8, 2), np.arange(12.0).reshape(2, 3, 2, 1)
    of = geometry(attributes(2), 2)
    whole = convolve(lhs.astype(np.float32), rhs.astype(np.float32), of, np.matmul)
    monkeypatch.setattr(implementation, "_SLAB", 100)
    for image in (lhs, lhs[:1]):
        parts = convolve(image.astype(np.float32), rhs.astype(np.float32), of, np.matmul)
        np.testing.assert_array_equal(parts, whole[: len(image)])


def test_padding_is_made_of_zeros_that_count() -> None:
    """0 times NaN or infinity is NaN, whether the 0 is an element of lhs or padding."""
    types = (TensorType((1, 2, 1), F32), TensorType((2, 1, 1), F32), TensorType((1, 3, 1), F32))
    given = attributes(1, padding=dense([1, 0]))
    program = program_of(*types[:2], TensorType((1, 2, 1), F32), **given)
    lhs, rhs = np.ones((1, 2, 1), np.float32), np.array([np.inf, 1], np.float32).reshape(2, 1, 1)
    (actual,) = evaluate(program, (lhs, rhs))
    np.testing.assert_array_equal(actual.ravel(), np.array([np.nan, np.inf], np.float32))


def test_padding_that_cuts_off_as_much_as_dilation_adds() -> None:
    """The image has as many places as before, and others: found by a campaign, and two votes."""
    lhs, kernel = np.array([3.0, 5.0], np.float32).reshape(1, 2, 1), np.ones((1, 1, 1), np.float32)
    given: dict[str, Attribute] = {
        "lhs_dilation": (2,), "padding": matrix([(0, -1)]),
        **ONE_SPATIAL,
    }  # fmt: skip
    of = TensorType((1, 2, 1), TYPES["f32"])
    program = program_of(of, TensorType((1, 1, 1), TYPES["f32"]), of, **given)
    (actual,) = evaluate(program, (lhs, kernel))
    assert actual.reshape(-1).tolist() == [3.0, 0.0]


def test_booleans_and_wider_results() -> None:
    i1 = TYPES["i1"]
    types = (TensorType((1, 3, 1), i1), TensorType((2, 1, 1), i1), TensorType((1, 2, 1), i1))
    lhs = np.array([0, 0, 1], np.bool_).reshape(1, 3, 1)
    (actual,) = evaluate(program_of(*types, **attributes(1)), (lhs, np.ones((2, 1, 1), np.bool_)))
    assert actual.ravel().tolist() == [False, True]
    si8, si32 = TYPES["si8"], TYPES["si32"]
    types = (TensorType((1, 3, 1), si8), TensorType((2, 1, 1), si8), TensorType((1, 2, 1), si32))
    program = program_of(*types, **attributes(1))
    assert violations(operation_of(program)) == ("C27",)
    (actual,) = evaluate(program, [np.full(of.static_shape, 100, np.int8) for of in types[:2]])
    assert actual.ravel().tolist() == [20000, 20000]


def _quantized_type(storage: str, axis: int | None = None) -> QuantizedType:
    count = 1 if axis is None else 2
    return QuantizedType(TYPES[storage], -8, 7, F32, (0.5,) * count, (0,) * count, axis)


@pytest.mark.parametrize(
    ("lhs", "rhs", "result"),
    [
        (_quantized_type("si8"), _quantized_type("si8"), _quantized_type("si32")),
        (_quantized_type("si8"), _quantized_type("si8", 2), _quantized_type("si32", 2)),
        (_quantized_type("si8"), _quantized_type("si8", 2), _quantized_type("si8")),
        (F32, _quantized_type("si4", 2), F32),
    ],
)
def test_valid_quantized_types(lhs: Any, rhs: Any, result: Any) -> None:
    types = TensorType((1, 3, 1), lhs), TensorType((2, 1, 2), rhs), TensorType((1, 2, 2), result)
    assert violations(operation_of(program_of(*types, **attributes(1)))) == ()


def test_sizes_that_are_not_known_agree_with_all() -> None:
    lhs, rhs = TensorType((None, 5, None), F32), TensorType((2, None, 3), F32)
    result = TensorType((2, None, None), F32)
    assert check(program_of(lhs, rhs, result, **attributes(1, feature_group_count=3))) == []
    wrong = TensorType((2, 3, 3), F32)
    program = program_of(lhs, rhs, wrong, **attributes(1))
    assert violations(operation_of(program)) == ("C25",)


@pytest.mark.slow
def test_cases_reach_every_attribute() -> None:
    given: list[dict[str, Any]] = []
    for number in range(400):
        program = plan.case("convolution", F32, 2, number).program
        given.append(dict(operation_of(program).attributes))
    paddings = [one["padding"].array for one in given if "padding" in one]
    assert {array.shape[0] for array in paddings} == {0, 1, 2, 3}
    assert any((array < 0).any() for array in paddings)
    for name in ("window_strides", "lhs_dilation", "rhs_dilation"):
        assert max(max(one.get(name) or (1,)) for one in given) > 2
        assert any(name not in one for one in given)
    assert any(any(one.get("window_reversal", ())) for one in given)
    assert {one["feature_group_count"] for one in given} >= {1, 2, 3}
    assert {one["batch_group_count"] for one in given} >= {1, 2, 3}
    for name in ("input_batch_dimension", "kernel_output_feature_dimension"):
        assert {one[name] for one in given} >= {0, 1, 2, 3}
    assert OPS["dynamic_conv"].element_types == OPS["convolution"].element_types


# -- the rule ---------------------------------------------------------------------------------


def _verdict_on(lhs: Array, rhs: Array, change: Array | float, platform: str = "cpu") -> Verdict:
    types = [TensorType(one.shape, element_type_of(one)) for one in (lhs, rhs)]
    shape = (len(lhs), *(a - b + 1 for a, b in zip(lhs.shape[1:3], rhs.shape, strict=False)))
    result = TensorType((*shape, rhs.shape[-1]), types[0].element)
    program = program_of(types[0], types[1], result, **attributes(2))
    expected = evaluate(program, (lhs, rhs))
    actual = (expected[0] + np.asarray(change)).astype(lhs.dtype)
    return judge(program, (lhs, rhs), expected, (actual,), CONVOLVED, platform=platform)


def test_the_rule() -> None:
    random = np.random.default_rng(3)
    lhs, rhs = random.normal(size=(2, 7, 7, 3)), random.normal(size=(3, 3, 3, 4))
    single = lhs.astype(np.float32), rhs.astype(np.float32)
    assert _verdict_on(*single, 1e-6).verdict is Verdict.PASS
    assert _verdict_on(*single, 1e-4).verdict is not Verdict.PASS
    assert _verdict_on(*single, 1e-3, "gpu").verdict is Verdict.PASS
    assert _verdict_on(*single, 3e-2, "tpu").verdict is Verdict.PASS
    assert _verdict_on(*single, 1.0, "tpu").verdict is not Verdict.PASS
    whole = np.rint(lhs).astype(np.float32), np.rint(rhs).astype(np.float32)
    for platform in ("cpu", "gpu"):  # by the sums that the text defines it is exact
        assert _verdict_on(*whole, 1e-5, platform).verdict is Verdict.DIVERGENT
    integers = whole[0].astype(np.int32), whole[1].astype(np.int32)
    assert _verdict_on(*integers, 1).verdict is Verdict.DIVERGENT
    assert _verdict_on(0 * whole[0], whole[1], 1e-9, "gpu").verdict is not Verdict.PASS
