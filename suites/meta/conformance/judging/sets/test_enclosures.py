"""Enclosures of operations and collectives hold the results at every point of their operands."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from conformance.judging.perturbation.evaluations import PermittedResults
from conformance.judging.perturbation.judge import judge_program
from conformance.judging.sets.enclosures import Enclosures
from conformance.judging.sets.evaluate import evaluate_sets
from conformance.judging.sets.facts import stored
from conformance.judging.sets.special import SPECIAL
from conformance.judging.sets.sums import body_increases
from conformance.judging.sets.value_set import ValueSet
from conformance.stablehlo.parse import parse_module
from conformance.verdict import Verdict
from reference.interpreter.evaluate import apply
from reference.ir.program import Operation, Program
from reference.ir.types import Array
from reference.ops.table import OPS
from suites.meta.support.small_programs import op_program, tensor_of

POINTS, SIZE = 40, 6

ATTRIBUTES = {
    "compare": {"comparison_direction": "LT", "compare_type": "FLOAT"},
    "reduce_precision": {"exponent_bits": 5, "mantissa_bits": 4},
}

TO = {"compare": "i1", "real": "f32", "imag": "f32"}
WHOLE = ("and",)

OTHERS = ("select", "complex", "real", "imag", "fft")
"""Ops with operands of several types."""

MONOTONIC = {one.name for one in OPS.values() if one.monotonic and not one.twin}
REAL = sorted({*MONOTONIC, *SPECIAL} - {*OTHERS, *WHOLE})


def sampled(
    operation: Operation, low: Sequence[Array], high: Sequence[Array], whole: bool
) -> tuple[ValueSet, list[Array]]:
    """Return the set of an operation on intervals, and its results at points in them."""
    random = np.random.default_rng(1)
    nothing = np.zeros(low[0].shape, np.bool_)
    sets = [ValueSet(((a, b),), nothing) for a, b in zip(low, high, strict=True)]
    (found,) = Enclosures("cpu").of(operation, sets)
    results: list[Array] = []
    for _ in range(POINTS):
        parts = [random.uniform(0, 1, a.shape) for a in low]
        points = [
            (a + part * (b.astype(np.float64) - a)).round() if whole
            else a + part.astype(a.dtype) * (b - a)
            for a, b, part in zip(low, high, parts, strict=True)
        ]  # fmt: skip
        given = [point.astype(a.dtype) for point, a in zip(points, low, strict=True)]
        results += apply(operation, given)
    return found, results


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("op", REAL)
def test_results_inside_of_intervals_are_held(op: str, sign: int) -> None:
    record, random = OPS[op], np.random.default_rng(len(op))
    count = len(record.operands)
    low = [random.uniform(0.1, 2, SIZE).astype(np.float32) * np.float32(sign) for _ in range(count)]
    high = [one + random.uniform(0, 1, SIZE).astype(np.float32) for one in low]
    of = tensor_of(SIZE)
    result = tensor_of(SIZE, of=TO.get(op, "f32"))
    operation = op_program(op, [of] * count, result, **ATTRIBUTES.get(op, {})).subject
    assert stored(operation).name == TO.get(op, "f32")
    with np.errstate(all="ignore"):
        found, results = sampled(operation, low, high, whole=False)
    assert all(found.holds(one).all() for one in results)


@pytest.mark.parametrize("op", REAL)
def test_results_across_the_ends_of_domains_are_held(op: str) -> None:
    """Roots, logarithms and inverse functions are NaN outside of their domains."""
    record, random = OPS[op], np.random.default_rng(len(op))
    count = len(record.operands)
    low = [-random.uniform(0.1, 4, SIZE).astype(np.float32) for _ in range(count)]
    high = [random.uniform(0.1, 4, SIZE).astype(np.float32) for _ in range(count)]
    result = tensor_of(SIZE, of=TO.get(op, "f32"))
    given = ATTRIBUTES.get(op, {})
    operation = op_program(op, [tensor_of(SIZE)] * count, result, **given).subject
    with np.errstate(all="ignore"):
        found, results = sampled(operation, low, high, whole=False)
    assert all(found.holds(one).all() for one in results)


@pytest.mark.parametrize(
    ("op", "low", "high", "outside"),
    [("sqrt", -1.0, 4.0, 2.1), ("log", -1.0, 1.0, 0.1), ("chlo.asin", 0.0, 2.0, 1.6),
     ("log_plus_one", -2.0, 0.0, 0.1), ("chlo.acosh", 0.0, 2.0, 1.4)],
)  # fmt: skip
def test_numbers_reach_no_further_than_a_domain(
    op: str, low: float, high: float, outside: float
) -> None:
    operation = op_program(op, [tensor_of(1)], tensor_of(1)).subject
    ends = [np.full(1, end, np.float32) for end in (low, high)]
    (found,) = Enclosures("cpu").of(operation, [ValueSet(((ends[0], ends[1]),), np.zeros(1, bool))])
    assert found.nan.all()
    assert not found.holds(np.full(1, outside, np.float32)).any()


def test_zero_times_what_may_be_infinite_is_zero_or_nan() -> None:
    operation = op_program("multiply", [tensor_of(1)] * 2, tensor_of(1)).subject
    zero, one, infinity = (np.full(1, end, np.float32) for end in (0, 1, np.inf))
    large = ValueSet(((one, infinity),), np.zeros(1, np.bool_))
    (found,) = Enclosures("cpu").of(operation, [ValueSet.of(zero), large])
    held = [bool(found.holds(np.full(1, end, np.float32)).all()) for end in (0, np.nan, 1, np.inf)]
    assert held == [True, True, False, False]


SCATTER = """func.func @main(%x: tensor<4xf32>, %i: tensor<3x1xi32>, %u: tensor<3xf32>)
    -> tensor<4xf32> {
  %r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<
      inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      BODY
    }) : (tensor<4xf32>, tensor<3x1xi32>, tensor<3xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}"""
ADDED = "%c = stablehlo.add %a, %b : tensor<f32>\n stablehlo.return %c : tensor<f32>"


@pytest.mark.parametrize("body", [ADDED, "stablehlo.return %b : tensor<f32>"])
def test_scattered_intervals_are_held(body: str) -> None:
    operation = parse_module(SCATTER.replace("BODY", body)).subject
    data, low = np.arange(4, dtype=np.float32), np.array([1, 2, 3], np.float32)
    indices = np.array([[0], [2], [2]], np.int32)
    updates = ValueSet(((low, low + np.float32(0.5)),), np.zeros(3, np.bool_))
    (found,) = Enclosures("cpu").of(operation, [ValueSet.of(data), ValueSet.of(indices), updates])
    for part in np.random.default_rng(2).uniform(0, 0.5, (POINTS, 3)).astype(np.float32):
        assert found.holds(apply(operation, [data, indices, low + part])[0]).all()
    assert found.holds(data).tolist() == [False, True, body != ADDED, True]


@pytest.mark.parametrize("op", ["and", "remainder", "add", "multiply"])
def test_integers_inside_of_intervals_are_held(op: str) -> None:
    of = tensor_of(SIZE, of="si32")
    operation = op_program(op, [of, of], of).subject
    low = [np.full(SIZE, start, np.int32) for start in (5, 3)]
    high = [one + np.arange(SIZE, dtype=np.int32) * 3 for one in low]
    found, results = sampled(operation, low, high, whole=True)
    assert all(found.holds(result).all() for result in results)


TRANSFORMS = {"FFT": ("complex<f32>", 6, 6), "IFFT": ("complex<f32>", 6, 6),
              "RFFT": ("f32", 6, 4), "IRFFT": ("complex<f32>", 4, 6)}  # fmt: skip
"""Types of Fourier transforms, with the type of the operand and the sizes of both."""


def drawn(of: str, size: int, *, width: float = 1.0) -> list[Array]:
    """Return the ends of random intervals."""
    random = np.random.default_rng(size)
    parts = [random.uniform(-2, 2, size) + 1j * random.uniform(-2, 2, size) for _ in range(2)]
    low, high = parts[0], parts[0] + width * (np.abs(parts[1].real) + 1j * np.abs(parts[1].imag))
    storage = np.complex64 if of.startswith("complex") else np.float32
    return [one.astype(storage) if of.startswith("complex") else one.real.astype(storage)
            for one in (low, high)]  # fmt: skip


def inside(low: Array, high: Array) -> list[Array]:
    """Return random points of intervals; of rectangles, if the numbers are complex."""
    random = np.random.default_rng(1)
    found: list[Array] = []
    for _ in range(POINTS):
        point = np.empty_like(low)
        for name in ("real", "imag") if np.iscomplexobj(low) else ("real",):
            a, b = getattr(low, name), getattr(high, name)
            setattr(point, name, a + random.uniform(0, 1, low.shape).astype(a.dtype) * (b - a))
        found.append(point)
    return found


@pytest.mark.parametrize("kind", TRANSFORMS)
def test_transforms_inside_of_intervals_are_held(kind: str) -> None:
    of, size, length = TRANSFORMS[kind]
    to = "f32" if kind == "IRFFT" else "complex<f32>"
    result, operand = tensor_of(length, of=to), tensor_of(size, of=of)
    operation = op_program("fft", [operand], result, fft_type=kind, fft_length=(SIZE,)).subject
    low, high = drawn(of, size)
    (found,) = Enclosures("cpu").of(operation, [ValueSet(((low, high),), np.zeros(size, np.bool_))])
    for point in inside(low, high):
        assert found.holds(apply(operation, [point])[0]).all()
    (center,) = apply(operation, [(low + high) / 2])
    assert not found.holds(center + 100).any()


@pytest.mark.parametrize("op", ["multiply", "divide", "abs", "add"])
def test_functions_of_complex_numbers_inside_of_rectangles_are_held(op: str) -> None:
    of = tensor_of(SIZE, of="complex<f32>")
    count = 1 if op == "abs" else 2
    result = tensor_of(SIZE) if op == "abs" else of
    operation = op_program(op, [of] * count, result).subject
    low, high = drawn("complex<f32>", SIZE)
    nothing, by = np.zeros(SIZE, np.bool_), drawn("complex<f32>", SIZE)[1]
    others = [ValueSet.of(by)] if op == "divide" else [ValueSet(((low, high),), nothing)]
    sets = [ValueSet(((low, high),), nothing), *others][:count]
    (found,) = Enclosures("cpu").of(operation, sets)
    for point in inside(low, high):
        second = by if op == "divide" else inside(low, high)[3]
        assert found.holds(apply(operation, [point, second][:count])[0]).all()
    assert not found.holds(np.full(SIZE, 1e3, found.intervals[0][0].dtype)).any()


def test_a_product_of_infinite_complex_numbers_may_be_anything() -> None:
    of = tensor_of(SIZE, of="complex<f32>")
    operation = op_program("multiply", [of, of], of).subject
    low, high = drawn("complex<f32>", SIZE)
    high.imag = np.inf
    rectangle = ValueSet(((low, high),), np.zeros(SIZE, np.bool_))
    (found,) = Enclosures("cpu").of(operation, [rectangle, ValueSet.of(low)])
    assert found.holds(np.full(SIZE, np.nan, np.complex64)).all()


@pytest.mark.parametrize("body", ["add", "maximum", "minimum"])
def test_folds_inside_of_intervals_are_held(body: str) -> None:
    program = parse_module(f"""
func.func @main(%x: tensor<6xf32>, %i: tensor<f32>) -> tensor<f32> {{
  %r = stablehlo.reduce(%x init: %i) applies stablehlo.{body} across dimensions = [0]
    : (tensor<6xf32>, tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
}}""")
    assert body_increases(program.subject)
    low = np.linspace(-3, 2, SIZE).astype(np.float32)
    init = ValueSet.of(np.zeros((), np.float32))
    given = ValueSet(((low, low + np.float32(1)),), np.zeros(SIZE, np.bool_))
    (found,) = Enclosures("cpu").of(program.subject, [given, init])
    for part in np.random.default_rng(2).uniform(0, 1, (POINTS, SIZE)).astype(np.float32):
        assert found.holds(apply(program.subject, [low + part, init.point])[0]).all()
    assert not found.holds(np.array(1e6, np.float32))


COUNT, OF = 4, "tensor<4xf32>"
GROUPS = "replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>"
CHANNEL = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>"


def fold(body: str) -> str:
    return f"""({{
      ^bb0(%l: tensor<f32>, %r: tensor<f32>):
        %s = stablehlo.{body} %l, %r : tensor<f32>
        stablehlo.return %s : tensor<f32>
    }})"""


COLLECTIVES = {
    "all_gather": (f"<{{all_gather_dim = 0, {GROUPS}, {CHANNEL}, use_global_device_ids}}>", 16),
    "all_reduce add": (f"{fold('add')} {{{GROUPS}, {CHANNEL}, use_global_device_ids}}", 4),
    "all_reduce maximum": (f"{fold('maximum')} {{{GROUPS}, {CHANNEL}, use_global_device_ids}}", 4),
    "reduce_scatter": (
        f"{fold('add')} {{{GROUPS}, {CHANNEL}, scatter_dimension = 0, use_global_device_ids}}",
        1,
    ),
    "all_to_all": (
        f"{{split_dimension = 0, concat_dimension = 0, split_count = 4, {GROUPS}, {CHANNEL}}}", 4,
    ),
    "collective_permute": (
        "{source_target_pairs = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>, " + CHANNEL + "}", 4,
    ),
    "collective_broadcast": (f"{{{GROUPS}, {CHANNEL}}}", 4),
}  # fmt: skip
"""The rest of an operation's text, and the size of its result, by op and body."""


def program_of(name: str, after: str = "") -> Program:
    """Return tanh(x), a collective of it, and a choice of 0 or 100 by its sign if `after`."""
    rest, size = COLLECTIVES[name]
    op, result = name.split(" ")[0], f"tensor<{size}xf32>"
    return parse_module(f"""
module attributes {{mhlo.num_partitions = {COUNT} : i32, mhlo.num_replicas = 1 : i32}} {{
  func.func @main(%x: {OF}) -> {result} {{
    %0 = stablehlo.tanh %x : {OF}
    %c = "stablehlo.{op}"(%0) {rest} : ({OF}) -> {result}
    {after.format(of=result, size=size)}
  }}
}}""")


PLAIN = "return %c : {of}"

CHOSEN = """
    %zero = stablehlo.constant dense<0.0> : {of}
    %hundred = stablehlo.constant dense<100.0> : {of}
    %p = stablehlo.compare GT, %c, %zero : ({of}, {of}) -> tensor<{size}xi1>
    %y = stablehlo.select %p, %zero, %hundred : tensor<{size}xi1>, {of}
    return %y : {of}"""


def given() -> list[Array]:
    random = np.random.default_rng(3)
    return [random.uniform(-1, 1, 4).astype(np.float32) for _ in range(COUNT)]


@pytest.mark.parametrize("name", COLLECTIVES)
def test_moved_results_lie_in_the_sets(name: str) -> None:
    program, inputs = program_of(name, PLAIN), given()
    permitted = PermittedResults(program, inputs)
    sets = permitted.sets
    assert sets is not None
    assert len(sets) == COUNT
    for results in permitted.moved_samples():
        assert all(one.holds(result).all() for one, result in zip(sets, results, strict=True))
    for one, expected in zip(sets, permitted.expected, strict=True):
        assert not one.holds(expected + np.float32(0.01)).any()


def choice(name: str) -> tuple[PermittedResults, list[Array]]:
    permitted = PermittedResults(program_of(name, CHOSEN), given())
    return permitted, [np.array(one) for one in permitted.expected]


@pytest.mark.parametrize("name", COLLECTIVES)
def test_a_value_between_two_outcomes_is_wrong(name: str) -> None:
    permitted, actual = choice(name)
    assert judge_program(permitted, actual).verdict is Verdict.PASS
    actual[2][0] = 57
    wrong = judge_program(permitted, actual)
    assert (wrong.verdict, wrong.wrong) == (Verdict.DIVERGENT, 1)


def test_a_sum_over_processes_that_may_have_either_sign_has_two_outcomes() -> None:
    """The hull of samples may hold everything between; only the set knows two outcomes."""
    small = np.float32(3e-8)
    inputs = [np.full(4, one, np.float32) for one in (0.5, -0.5, small, -small)]
    sets = evaluate_sets(program_of("all_reduce add", CHOSEN), inputs, "cpu")
    assert sets is not None
    for value, is_possible in ((0.0, True), (100.0, True), (57.0, False)):
        assert bool(sets[0].holds(np.full(4, value, np.float32)).all()) is is_possible


def test_a_collective_in_a_branch_is_not_followed() -> None:
    text = f"""
module attributes {{mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32}} {{
  func.func @main(%x: {OF}, %p: tensor<i1>) -> {OF} {{
    %y = "stablehlo.if"(%p) ({{
      %c = "stablehlo.collective_permute"(%x) {COLLECTIVES["collective_permute"][0]}
        : ({OF}) -> {OF}
      stablehlo.return %c : {OF}
    }}, {{
      stablehlo.return %x : {OF}
    }}) : (tensor<i1>) -> {OF}
    return %y : {OF}
  }}
}}""".replace("[[0, 1], [1, 2]]> : tensor<2x2xi64>", "[[0, 1]]> : tensor<1x2xi64>")
    inputs = [given()[0], np.array(True)] * 2
    assert evaluate_sets(parse_module(text), inputs, "cpu") is None
