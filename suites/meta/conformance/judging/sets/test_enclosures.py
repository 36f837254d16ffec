"""Enclosures of single operations hold the results at every point of the operands' intervals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from conformance.judging.sets.enclosures import Enclosures
from conformance.judging.sets.facts import stored
from conformance.judging.sets.special import SPECIAL
from conformance.judging.sets.sums import body_increases
from conformance.judging.sets.value_set import ValueSet
from conformance.stablehlo.parse import parse_module
from reference.interpreter.evaluate import apply
from reference.ir.program import Operation
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


@pytest.mark.parametrize("op", ["and", "remainder", "add", "multiply"])
def test_integers_inside_of_intervals_are_held(op: str) -> None:
    of = tensor_of(SIZE, of="si32")
    operation = op_program(op, [of, of], of).subject
    low = [np.full(SIZE, start, np.int32) for start in (5, 3)]
    high = [one + np.arange(SIZE, dtype=np.int32) * 3 for one in low]
    found, results = sampled(operation, low, high, whole=True)
    assert all(found.holds(one).all() for one in results)


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
