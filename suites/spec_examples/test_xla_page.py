"""The examples of XLA's operation semantics page, with its figures, evaluated.

Operands, attributes and results are the page's, each under its heading. Forms that only older
versions of the page have come with the examples of these.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from generators.regions.bodies import BodyBuilder, fold_of
from reference.interpreter.evaluate import check, evaluate, split_by_process
from reference.ir.constants import matrix
from reference.ir.program import (
    Function,
    Operation,
    Program,
    Region,
    TensorType,
    TupleType,
    Value,
    attributes,
    single_op,
)
from reference.ir.types import Array, element_type, element_type_of
from reference.ops.table import OPS
from reference.ops.xla.contraction import DotDimensionNumbers, default_dimension_numbers
from reference.ops.xla.lowering import lower_program
from reference.ops.xla.shapes import Shape

F32, S32 = element_type("f32"), element_type("si32")
PRED = np.bool_
ADD = fold_of("add", F32).region


def f32(numbers: Any) -> Array:
    return np.array(numbers, np.float32)


def s32(numbers: Any) -> Array:
    return np.array(numbers, np.int32)


def type_of(array: Array) -> TensorType:
    return TensorType(array.shape, element_type_of(array))


def program_of(
    op: str, operands: tuple[Array, ...], results: tuple[Array, ...], regions: tuple[Region, ...],
    given: dict[str, Any],
) -> Program:  # fmt: skip
    values = tuple(Value(f"v{n}", type_of(array)) for n, array in enumerate(operands))
    return single_op(op, values, tuple(map(type_of, results)), given, regions)


V = f32([[[10, 11, 12], [15, 16, 17]], [[20, 21, 22], [25, 26, 27]],
         [[30, 31, 32], [35, 36, 37]], [[40, 41, 42], [45, 46, 47]]])  # fmt: skip
OUT_OF_ORDER = f32([10, 20, 30, 40, 11, 21, 31, 41, 12, 22, 32, 42,
                    15, 25, 35, 45, 16, 26, 36, 46, 17, 27, 37, 47])  # fmt: skip
B = f32([[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]])
A = f32([0, 1, 2, 3, 4])
THREE = f32([[[1, 2, 3], [4, 5, 6]]] * 4)
INF = float("inf")
POOL = f32([10000, 1000, 100, 10, 1])
LESS = BodyBuilder.of(*[element_type(n) for n in ("si32", "si32", "si32", "si32", "f32", "f32")])
BY_FIRST = LESS.finish_region(LESS.compare(LESS.arguments[0], LESS.arguments[1], "LT"))
PAIR_OF_F32 = BodyBuilder.of(F32, F32)
NUMBERS = default_dimension_numbers(1)
GREATER = PAIR_OF_F32.finish_region(PAIR_OF_F32.compare(*PAIR_OF_F32.arguments, "GE"))

EXAMPLES: list[tuple[str, tuple[Array, ...], tuple[Array, ...], dict[str, Any], tuple[Region, ...]]]
EXAMPLES = [
    ("Broadcast", (f32(2),), (f32([[2, 2, 2]] * 2),), {"broadcast_sizes": (2, 3)}, ()),
    ("Clamp", (s32(0), s32([-1, 5, 9]), s32(6)), (s32([0, 5, 6]),), {}, ()),
    ("Collapse", (V,), (V.reshape(24),), {"dimensions": (0, 1, 2)}, ()),
    ("Collapse", (V,), (V.reshape(8, 3),), {"dimensions": (0, 1)}, ()),
    ("Collapse", (V,), (V.reshape(4, 6),), {"dimensions": (1, 2)}, ()),
    ("ConcatInDim", (s32([2, 3]), s32([4, 5]), s32([6, 7])), (s32([2, 3, 4, 5, 6, 7]),),
     {"dimension": 0}, ()),
    ("ConcatInDim", (s32([[1, 2], [3, 4], [5, 6]]), s32([[7, 8]])),
     (s32([[1, 2], [3, 4], [5, 6], [7, 8]]),), {"dimension": 0}, ()),
    ("ConvertElementType", (s32([0, 1, 2]),), (f32([0, 1, 2]),), {"new_element_type": "f32"}, ()),
    ("DotGeneral", (f32([[1, 2, 3], [4, 5, 6]]), f32([[1, 1, 1], [2, 2, 2]])),
     (f32([[6, 12], [15, 30]]),), {"dimension_numbers": DotDimensionNumbers((1,), (1,))}, ()),
    ("DotGeneral", (f32([[[1, 2], [3, 4]], [[5, 6], [7, 8]]]), f32([[[1, 0], [0, 1]]] * 2)),
     (f32([[[1, 2], [3, 4]], [[5, 6], [7, 8]]]),),
     {"dimension_numbers": DotDimensionNumbers((2,), (1,), (0,), (0,))}, ()),
    ("DynamicSlice", (A, s32(2)), (f32([2, 3]),), {"slice_sizes": (2,)}, ()),
    ("DynamicSlice", (B, s32(2), s32(1)), (f32([[7, 8], [10, 11]]),), {"slice_sizes": (2, 2)}, ()),
    ("DynamicUpdateSlice", (A, f32([5, 6]), s32(2)), (f32([0, 1, 5, 6, 4]),), {}, ()),
    ("DynamicUpdateSlice", (B, f32([[12, 13], [14, 15], [16, 17]]), s32(1), s32(1)),
     (f32([[0, 1, 2], [3, 12, 13], [6, 14, 15], [9, 16, 17]]),), {}, ()),
    ("Iota", (), (s32([[n] * 8 for n in range(4)]),),
     {"shape": Shape("si32", (4, 8)), "iota_dimension": 0}, ()),
    ("Iota", (), (s32([list(range(8))] * 4),),
     {"shape": Shape("si32", (4, 8)), "iota_dimension": 1}, ()),
    ("Reduce", (THREE, f32(0)), (f32([[4, 8, 12], [16, 20, 24]]),),
     {"dimensions_to_reduce": (0,)}, (ADD,)),
    ("Reduce", (THREE, f32(0)), (f32([[6, 15]] * 4),), {"dimensions_to_reduce": (2,)}, (ADD,)),
    ("Reduce", (THREE, f32(0)), (f32([20, 28, 36]),), {"dimensions_to_reduce": (0, 1)}, (ADD,)),
    ("Reduce", (THREE, f32(0)), (f32(84),), {"dimensions_to_reduce": (0, 1, 2)}, (ADD,)),
    ("ReduceWindow", (POOL, f32(INF)), (f32([100, 1]),),
     {"window_dimensions": (3,), "window_strides": (2,), "padding": "VALID"},
     (fold_of("minimum", F32).region,)),
    ("ReduceWindow", (POOL, f32(INF)), (f32([1000, 10, 1]),),
     {"window_dimensions": (3,), "window_strides": (2,), "padding": "SAME"},
     (fold_of("minimum", F32).region,)),
    ("Reshape", (V,), (V.reshape(24),), {"dimensions": (24,)}, ()),
    ("Reshape", (V,), (V.reshape(8, 3),), {"dimensions": (8, 3)}, ()),
    ("Reshape", (f32([[5]]),), (f32(5),), {"dimensions": ()}, ()),
    ("Reshape", (f32(5),), (f32([[5]]),), {"dimensions": (1, 1)}, ()),
    ("Reshape (ordered)", (V,), (V.reshape(24),), {"dimensions": (0, 1, 2), "new_sizes": (24,)},
     ()),
    ("Reshape (ordered)", (V,), (V.reshape(8, 3),),
     {"dimensions": (0, 1, 2), "new_sizes": (8, 3)}, ()),
    ("Reshape (ordered)", (V,), (V.reshape(8, 3),), {"new_sizes": (8, 3)}, ()),
    ("Reshape (ordered)", (V,), (OUT_OF_ORDER,), {"dimensions": (1, 2, 0), "new_sizes": (24,)},
     ()),
    ("Reshape (ordered)", (V,),
     (f32([[10, 20, 30], [40, 11, 21], [31, 41, 12], [22, 32, 42],
           [15, 25, 35], [45, 16, 26], [36, 46, 17], [27, 37, 47]]),),
     {"dimensions": (1, 2, 0), "new_sizes": (8, 3)}, ()),
    ("Reshape (ordered)", (V,),
     (f32([[[10, 20], [30, 40], [11, 21], [31, 41], [12, 22], [32, 42]],
           [[15, 25], [35, 45], [16, 26], [36, 46], [17, 27], [37, 47]]]),),
     {"dimensions": (1, 2, 0), "new_sizes": (2, 6, 2)}, ()),
    ("Reshape (ordered)", (f32([[5]]),), (f32(5),), {"dimensions": (0, 1), "new_sizes": ()}, ()),
    ("Reshape (ordered)", (f32(5),), (f32([[5]]),), {"dimensions": (), "new_sizes": (1, 1)}, ()),
    ("Select", (np.array([1, 0, 0, 1], PRED), s32([1, 2, 3, 4]), s32([100, 200, 300, 400])),
     (s32([1, 200, 300, 4]),), {}, ()),
    ("Select", (np.array(True), s32([1, 2, 3, 4]), s32([100, 200, 300, 400])),
     (s32([1, 2, 3, 4]),), {}, ()),
    # of the page's figure (2) what the text says: 9 is selected by both windows, and 8 is 2 + 6
    ("SelectAndScatter", (f32([[1, 2, 0, 3, 1], [4, 5, 9, 6, 2]]), f32([[2, 6]]), f32(0)),
     (f32([[0, 0, 0, 0, 0], [0, 0, 8, 0, 0]]),),
     {"window_dimensions": (2, 3), "window_strides": (2, 2), "padding": "VALID"}, (GREATER, ADD)),
    ("Slice", (A,), (f32([2, 3]),),
     {"start_indices": (2,), "limit_indices": (4,), "strides": (1,)}, ()),
    ("Slice", (B,), (f32([[7, 8], [10, 11]]),),
     {"start_indices": (2, 1), "limit_indices": (4, 3), "strides": (1, 1)}, ()),
    ("Sort", (s32([3, 1]), s32([42, 50]), f32([-3.0, 1.1])),
     (s32([1, 3]), s32([50, 42]), f32([1.1, -3.0])), {"dimension": 0, "is_stable": True},
     (BY_FIRST,)),
    # a broadcast of the page on broadcasting: a matrix and a row, a matrix and a column
    ("Add", (f32([[1, 2, 3], [4, 5, 6]]), f32([7, 8, 9])), (f32([[8, 10, 12], [11, 13, 15]]),),
     {"broadcast_dimensions": (1,)}, ()),
    ("Add", (f32([[1, 2, 3], [4, 5, 6]]), f32([7, 8])), (f32([[8, 9, 10], [12, 13, 14]]),),
     {"broadcast_dimensions": (0,)}, ()),
]  # fmt: skip


@pytest.mark.parametrize(
    ("op", "operands", "results", "given", "regions"),
    EXAMPLES,
    ids=[f"{example[0]}-{n}" for n, example in enumerate(EXAMPLES)],
)
def test_an_example(op, operands, results, given, regions) -> None:
    program = program_of(op, operands, results, regions, given)
    assert check(program) == []
    for got, want in zip(evaluate(program, operands), results, strict=True):
        np.testing.assert_array_equal(got, want)
    assert {operation.name for operation in lower_program(program).walk()}.isdisjoint({op})


PREFERRED = [
    # sums of products of 100 and of 3: 30,000 wraps in eight bits, and 9.25 is no bf16's neighbour
    ("si8", "si32", [100, 100, 100], 30_000),
    ("si32", "si8", [100, 100, 100], 30_000 - 117 * 256),
    ("bf16", "f32", [1.0078125, 1.0078125, 1.0078125], 3 * 1.0078125**2),
    ("f32", "bf16", [1.0078125, 1.0078125, 1.0078125], 3.046875),
    ("f16", "f32", [300.0, 300.0, 1.0], 180_001.0),
    ("f32", "f16", [300.0, 300.0, 1.0], INF),
    ("complex<f32>", "complex<f64>", [1j, 2.0, 0.0], 3.0),
]
"""An element type, the preferred element type, the elements of both operands, and their product."""

CONVOLUTIONS = {
    "Conv": {"padding": "VALID"},
    "ConvWithGeneralPadding": {"padding": ((0, 0),)},
    "ConvWithGeneralDimensions": {"padding": "VALID", "dimension_numbers": NUMBERS},
    "ConvGeneral": {"padding": ((0, 0),), "dimension_numbers": NUMBERS},
    "ConvGeneralDilated": {
        "padding": ((0, 0),), "dimension_numbers": NUMBERS, "lhs_dilation": (1,),
        "rhs_dilation": (1,),
    },
}  # fmt: skip


@pytest.mark.parametrize(("of", "preferred", "elements", "product"), PREFERRED)
@pytest.mark.parametrize("op", ["Dot", "DotGeneral", *CONVOLUTIONS])
def test_results_have_the_preferred_element_type(
    op: str, of: str, preferred: str, elements: list[Any], product: Any
) -> None:
    """A wider type holds more than the operands' type; in a narrower type, the product wraps."""
    convolves = op in CONVOLUTIONS
    shape = (1, 1, 3) if convolves else (3,)
    array = np.array(elements, element_type(of).storage).reshape(shape)
    want = np.array(product, element_type(preferred).storage).reshape((1,) * 3 * convolves)
    given: dict[str, Any] = {"preferred_element_type": preferred}
    if convolves:
        groups = {"feature_group_count": 1, "batch_group_count": 1, "window_strides": (1,)}
        given |= groups | CONVOLUTIONS[op]
    elif op == "DotGeneral":
        given["dimension_numbers"] = DotDimensionNumbers((0,), (0,))
    program = program_of(op, (array, array), (want,), (), given)
    assert check(program) == []
    (found,) = evaluate(program, (array, array))
    assert found.dtype == want.dtype
    np.testing.assert_array_equal(found, want)
    (found,) = evaluate(lower_program(program), (array, array))
    np.testing.assert_array_equal(found, want)


def test_a_result_of_another_type_than_the_preferred_one_is_no_result() -> None:
    array, want = np.ones((1, 1, 3), np.float32), np.ones((1, 1, 1), np.float64)
    given: dict[str, Any] = {
        "feature_group_count": 1, "batch_group_count": 1, "window_strides": (1,),
        "padding": "VALID", "preferred_element_type": "f32",
    }  # fmt: skip
    program = program_of("Conv", (array, array), (want,), (), given)
    assert [ids for _, ids in check(program)] == [("result",)]


def test_same_padding_with_a_stride_is_read_by_the_words_of_the_page() -> None:
    """Six elements, windows of three, steps of two: one zero at each end.

    XlaBuilder's source pads for ceil(6 / 2) windows, by a zero behind the end alone: the sums of
    the page's words are not those. The page's example, of five elements, has both.
    """

    def sums(size: int) -> list[float]:
        line, one = f32(range(1, size + 1)).reshape(1, 1, size), f32([[[1, 1, 1]]])
        given: dict[str, Any] = {
            "feature_group_count": 1, "batch_group_count": 1, "window_strides": (2,),
            "padding": "SAME",
        }  # fmt: skip
        program = program_of("Conv", (line, one), (np.zeros((1, 1, 3), np.float32),), (), given)
        assert check(program) == []
        return evaluate(program, (line, one))[0].ravel().tolist()

    assert sums(6) == [3, 9, 15]  # not [6, 12, 11]
    assert sums(5) == [3, 9, 9]
    for op in ("Conv", "ConvWithGeneralDimensions", "ReduceWindow", "SelectAndScatter"):
        assert any("SAME" in reading for reading in OPS[op].readings)


@pytest.mark.parametrize("rhs", [[[1, 1, 1], [2, 2, 2]]])
def test_a_scaled_dot_is_like_a_dot_general(rhs: list[list[int]]) -> None:
    """The page's figures of DotGeneral: with scales of 1, and with a scale for each row of lhs."""
    of, numbers = element_type("bf16").storage, DotDimensionNumbers((1,), (1,))
    lhs, one = np.array([[1, 2, 3], [4, 5, 6]], of), np.ones((1, 1), of)
    for scale, result in (
        (one, [[6, 12], [15, 30]]), (np.array([[2], [0.5]], of), [[12, 24], [7.5, 15]]),
    ):  # fmt: skip
        operands, want = (lhs, scale, np.array(rhs, of), one), np.array(result, of)
        given = {"dimension_numbers": numbers}
        program = program_of("ScaledDot", operands, (want,), (), given)
        assert check(program) == []
        np.testing.assert_array_equal(evaluate(program, operands)[0], want)


def test_bernoulli_numbers_are_zero_or_one() -> None:
    """A mean of F32, a shape of U32."""
    given, of = {"shape": Shape("ui32", (40, 50))}, np.zeros((40, 50), np.uint32)
    program = program_of("RngBernoulli", (f32(0.25),), (of,), (), given)
    assert check(program) == []
    (numbers,) = evaluate(program, (f32(0.25),))
    assert set(np.unique(numbers)) == {0, 1}
    assert abs(numbers.mean() - 0.25) < 0.05


def test_elements_of_other_widths_have_other_dimensions() -> None:
    infer = OPS["BitcastConvertType"].infer
    of = {name: element_type(name) for name in ("f32", "f16")}
    assert infer(TensorType((10,), of["f32"]), new_element_type="f16").shape == (10, 2)
    assert infer(TensorType((), of["f32"]), new_element_type="f16").shape == (2,)
    assert infer(TensorType((10, 2), of["f16"]), new_element_type="f32").shape == (10,)


def running_body() -> Region:
    """f(x, c) -> (c + x, c + x)."""
    scalar = TensorType((), F32)
    x, c, total = Value("x", scalar), Value("c", scalar), Value("t", scalar)
    add = Operation("add", (c, x), (total,))
    return Region((x, c), (add, Operation("return", (total, total))))


@pytest.mark.parametrize(("is_reverse", "steps"), [(False, [11, 13, 16]), (True, [16, 15, 13])])
def test_a_scan_goes_through_its_inputs_in_either_order(is_reverse: bool, steps: list[int]) -> None:
    given = {"scan_dimension": 0, "num_carries": 1, "is_reverse": is_reverse}
    operands, results = (f32([1, 2, 3]), f32(10)), (f32(steps), f32(16))
    program = program_of("Scan", operands, results, (running_body(),), given)
    assert check(program) == []
    for got, want in zip(evaluate(program, operands), results, strict=True):
        np.testing.assert_array_equal(got, want)


def test_topk_orders_equal_elements_by_index() -> None:
    operand = f32([[3, 1, 3, 2], [0.0, -0.0, -1, 0.0]])
    largest = program_of(
        "TopK", (operand,), (f32([[3, 3], [0, 0]]), s32([[0, 2], [0, 1]])), (),
        {"k": 2, "largest": True},
    )  # fmt: skip
    values, indices = evaluate(largest, (operand,))
    assert (values.tolist(), indices.tolist()) == ([[3, 3], [0, 0]], [[0, 2], [0, 1]])
    smallest = program_of(
        "TopK", (operand,), (values, indices), (), {"k": 2, "largest": False}
    )  # fmt: skip
    assert evaluate(smallest, (operand,))[1].tolist() == [[1, 3], [2, 0]]


@pytest.mark.parametrize(("index", "chosen"), [(0, 10), (1, 20), (2, 30), (-1, 30), (3, 30)])
def test_an_index_without_a_branch_stands_for_the_last(index: int, chosen: int) -> None:
    scalar = TensorType((), F32)
    same = Region((Value("x", scalar),), (Operation("return", (Value("x", scalar),)),))
    operands = (s32(index), f32(10), f32(20), f32(30))
    program = program_of("Conditional", operands, (f32(0),), (same,) * 3, {})
    assert evaluate(program, operands)[0] == chosen


def run_two_replicas(
    op: str, per_process: list[Array], results: list[Array], regions: tuple[Region, ...] = (),
    **given: Any,
) -> list[Any]:  # fmt: skip
    program = program_of(op, (per_process[0],), (results[0],), regions, given)
    program = replace(program, process_grid=(2, 1))
    assert check(program) == []
    return [
        share[0].tolist() for share in split_by_process(program, evaluate(program, per_process))
    ]


PAIR = matrix([[0, 1]])


def test_two_replicas_gather_and_reduce() -> None:
    operands = [f32([1.0, 2.5]), f32([3.0, 5.25])]
    gathered = f32([1.0, 2.5, 3.0, 5.25])
    assert run_two_replicas(
        "AllGather", operands, [gathered], all_gather_dimension=0, shard_count=2,
        replica_groups=PAIR,
    ) == [gathered.tolist()] * 2  # fmt: skip
    added = f32([4.0, 7.75])
    for op, regions in (("AllReduce", (ADD,)), ("CrossReplicaSum", ())):
        results = run_two_replicas(op, operands, [added], regions, replica_groups=PAIR)
        assert results == [added.tolist()] * 2


def test_two_replicas_exchange_and_share_out() -> None:
    """The shapes of the page: f32[2,4] to f32[4,2], and to f32[2,2]."""
    left, right = f32(np.arange(8).reshape(2, 4)), f32(np.arange(8).reshape(2, 4) + 10)
    exchanged = run_two_replicas(
        "AllToAll", [left, right], [np.zeros((4, 2), np.float32)], split_dimension=1,
        concat_dimension=0, split_count=2, replica_groups=PAIR,
    )  # fmt: skip
    assert exchanged[0] == [[0, 1], [4, 5], [10, 11], [14, 15]]
    assert exchanged[1] == [[2, 3], [6, 7], [12, 13], [16, 17]]
    shared = run_two_replicas(
        "ReduceScatter", [left, right], [np.zeros((2, 2), np.float32)], (ADD,),
        scatter_dimension=1, shard_count=2, replica_groups=PAIR,
    )  # fmt: skip
    assert shared == [[[10, 12], [18, 20]], [[14, 16], [22, 24]]]


def test_two_replicas_exchange_parts_of_different_sizes() -> None:
    """RaggedAllToAll: input, input_offsets, send_sizes, output, output_offsets, recv_sizes."""
    first = f32([1, 2, 2]), s32([0, 1]), s32([1, 2]), f32([0] * 4), s32([0, 0]), s32([1, 1])
    second = f32([3, 4, 0]), s32([0, 1]), s32([1, 1]), f32([0] * 4), s32([1, 2]), s32([2, 1])
    program = program_of("RaggedAllToAll", first, (first[3],), (), {"replica_groups": PAIR})
    program = replace(program, process_grid=(2, 1))
    assert check(program) == []
    shares = split_by_process(program, evaluate(program, (*first, *second)))
    assert [share[0].tolist() for share in shares] == [[1, 3, 0, 0], [2, 2, 4, 0]]


def test_irregular_tensor_follows_its_offsets_and_sizes() -> None:
    """The rows of the page's example, sent to three replicas by each, one behind the other."""
    data = f32(np.arange(24).reshape(8, 3))
    offsets, sizes = s32([0, 1, 4]), s32([1, 3, 4])
    zeros = np.zeros((12, 3), np.float32)
    operands = [
        (data, offsets, sizes, zeros, s32([n, 3 * n, 4 * n]), s32([size] * 3))
        for n, size in enumerate(sizes.tolist())
    ]
    program = program_of(
        "RaggedAllToAll", operands[0], (zeros,), (), {"replica_groups": matrix([[0, 1, 2]])}
    )
    program = replace(program, process_grid=(3, 1))
    inputs = [array for operand in operands for array in operand]
    shares = split_by_process(program, evaluate(program, inputs))
    for n, (share,) in enumerate(shares):
        part = data[offsets[n] : offsets[n] + sizes[n]]
        assert share[: 3 * len(part)].tolist() == [*part.tolist()] * 3
        assert not share[3 * len(part) :].any()


@pytest.mark.parametrize("chosen", [True, False])
def test_select_between_two_tuples(chosen: bool) -> None:
    """For the page tuples are scalars: pred is a scalar, and the tuples have one shape."""
    left, right = Value("left", TensorType((2,), F32)), Value("right", TensorType((2,), F32))
    pred, pairs = Value("pred", TensorType((), element_type("i1"))), ((left, right), (right, left))
    whole = TupleType((left.type, TupleType((right.type,))))
    operations: list[Operation] = []

    def add(name: str, *operands: Value, result: Any, **given: Any) -> Value:
        value = Value(f"v{len(operations)}", result)
        operations.append(Operation(name, operands, (value,), attributes(**given)))
        return value

    tuples = [
        add("Tuple", first, add("Tuple", second, result=whole.types[1]), result=whole)
        for first, second in pairs
    ]
    selected = add("Select (tuples)", pred, *tuples, result=whole)
    first = add("GetTupleElement", selected, result=left.type, index=0)
    inner = add("GetTupleElement", selected, result=whole.types[1], index=1)
    second = add("GetTupleElement", inner, result=right.type, index=0)
    operations.append(Operation("return", (first, second)))
    region = Region((pred, left, right), tuple(operations))
    program = Program((Function("main", region, (left.type, right.type)),))
    assert check(program) == []
    found = evaluate(program, (np.array(chosen), f32([1, 2]), f32([3, 4])))
    ordered = [[1, 2], [3, 4]]
    assert [one.tolist() for one in found] == (ordered if chosen else ordered[::-1])


@pytest.mark.parametrize(
    ("size", "op", "initial", "expected"),
    [(5, "add", 0, 15), (5, "multiply", 1, 120), (6, "add", 0, 21)],
)
def test_padding_is_no_part_of_sums_and_products(
    size: int, op: str, initial: int, expected: int
) -> None:
    """SetDimensionSize: the sum and the product of the first five, and the sum of the first six."""
    of, scalar = TensorType((10,), F32), TensorType((), F32)
    v, val, init = Value("v", of), Value("val", TensorType((), S32)), Value("init", scalar)
    padded, result = Value("padded", TensorType((None,), F32, (10,))), Value("result", scalar)
    body = (
        Operation("SetDimensionSize", (v, val), (padded,), attributes(dimension=0)),
        Operation(
            "Reduce", (padded, init), (result,), attributes(dimensions_to_reduce=(0,)),
            (fold_of(op, F32).region,),
        ),
        Operation("return", (result,)),
    )  # fmt: skip
    program = Program((Function("main", Region((v, val, init), body), (scalar,)),))
    assert check(program) == []
    (found,) = evaluate(program, (f32(range(1, 11)), s32(size), f32(initial)))
    assert found == expected
