"""Error bounds of reductions and of map."""

import numpy as np
import pytest

from conformance.catalog import CATALOG, rule_of
from conformance.judging.compare import judge
from conformance.tolerance.bounds.reduction import (
    count_rounding_operations,
    reduction_bound,
    weigh_rounding_operations,
)
from conformance.tolerance.ulp import bound_distances
from conformance.verdict import Verdict
from generators.families.reduction import padding_of
from generators.regions import bodies
from generators.regions.bodies import BodyBuilder, Monoid, fold_of
from generators.values.contents import fill
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Attribute, Region, TensorType, Value, single_op
from reference.ir.types import Array, ElementType, element_type
from reference.numerics.rounding import to_float64
from reference.ops.table import OPS
from suites.meta.support.ops.reductions import (
    judge_result,
    last_operation,
    reduction_of,
    reduction_program,
    types_of,
)

F32, F64, F16, BF16, SI32, SI8, UI8, I1, C64 = (
    element_type(name)
    for name in ("f32", "f64", "f16", "bf16", "si32", "si8", "ui8", "i1", "complex<f32>")
)


def bound_of(body: Monoid, *inputs: Array) -> Array:
    program, arrays = reduction_program(body, inputs)
    operation, operands = last_operation(program, arrays)
    (bound,) = reduction_bound(operation, operands, evaluate(program, arrays))
    assert bound is not None
    return bound


@pytest.mark.parametrize("of", [F16, BF16, F32, F64], ids=str)
@pytest.mark.parametrize("op", ["add", "multiply"])
def test_rounding_in_any_order_is_within_the_bound(of: ElementType, op: str) -> None:
    random = np.random.default_rng(5)
    profile = "moderate" if op == "add" else "near_one"
    numbers = fill(TensorType((40, 60), of), profile, 7)
    body = fold_of(op, of)
    expected, bound = reduction_of(body, numbers), bound_of(body, numbers)
    apply = OPS[op].evaluate
    worst = 0.0
    for _ in range(6):
        rows = list(numbers[random.permutation(40)])
        while len(rows) > 1:
            at = int(random.integers(len(rows) - 1))
            rows[at : at + 2] = [apply(rows[at], rows[at + 1])]
        distances = bound_distances(expected, rows[0], bound)
        worst = max(worst, float(distances.max()))
    assert 0.001 < worst <= 1


def test_exact_data_has_a_bound_of_zero() -> None:
    numbers = fill(TensorType((64, 8), F32), "small_integers", 1)
    assert not bound_of(fold_of("add", F32), numbers).any()
    assert not bound_of(fold_of("add", F32), numbers / np.float32(1024)).any()
    assert bound_of(fold_of("add", F32), numbers + np.float32(1e-6)).all()
    powers = fill(TensorType((30, 8), F32), "within:1:2", 1)
    assert not bound_of(fold_of("multiply", F32), powers).any()
    large = np.full((300, 1), 255.0, np.float32).astype(BF16.storage)
    assert bound_of(fold_of("add", BF16), large).all()  # partial sums need 16 bits


def test_a_missing_or_repeated_element_is_detected() -> None:
    numbers = fill(TensorType((64, 8), F32), "small_integers", 1)
    program, arrays = reduction_program(fold_of("add", F32), (numbers,))
    right = evaluate(program, arrays)
    assert judge_result(program, arrays, right, "reduce") is Verdict.PASS
    for wrong in (right[0] - numbers[7], right[0] + numbers[7]):
        assert judge_result(program, arrays, (wrong,), "reduce") is Verdict.DIVERGENT
    program, arrays = reduction_program(fold_of("maximum", F32), (numbers,))
    (most,) = evaluate(program, arrays)
    off = np.nextafter(most, np.float32(np.inf))
    assert judge_result(program, arrays, (off,), "reduce") is Verdict.DIVERGENT


def test_complex_sums_with_a_nan_part_are_judged_by_the_other() -> None:
    numbers = np.array([complex(0.1, np.nan), 0.2 + 1j, 0.7], np.complex64)
    program, arrays = reduction_program(fold_of("add", C64), (numbers,))
    (right,) = evaluate(program, arrays)
    real = np.real(right)
    near = np.asarray(complex(np.nextafter(real, np.float32(2)), np.nan), np.complex64)
    far = np.asarray(complex(real + 0.5, np.nan), np.complex64)
    assert judge_result(program, arrays, (near,), "reduce") is Verdict.PASS
    assert judge_result(program, arrays, (far,), "reduce") is Verdict.DIVERGENT


def test_rounding_operations_of_a_body() -> None:
    block = BodyBuilder.of(F32, SI32, F32, SI32)
    a, m, b, n = block.arguments
    total = block.op("add", a, b)
    larger = block.op("select", block.compare(a, b, "GT"), m, n)
    assert count_rounding_operations(block.finish_region(total, larger)) == (1, 1)
    assert count_rounding_operations(bodies.multi_op_bodies(F32)[0].region) == (0, 0)


def test_map_is_bounded_by_its_operations() -> None:
    of = TensorType((5,), F32)
    block = BodyBuilder.of(F32, F32)
    total = block.op("add", *block.arguments)

    def bound(region: Region, x: Array, y: Array) -> Array | None:
        values = Value("x", of), Value("y", of)
        program = single_op("map", values, (of,), {"dimensions": (0,)}, (region,))
        operation, operands = last_operation(program, (x, y))
        rule = rule_of(operation)
        assert rule is not None
        assert rule.bound is not None
        return rule.bound(operation, operands, evaluate(program, (x, y)))[0]

    x = fill(of, "moderate", 1)
    assert bound(block.finish_region(total), x, x) is None
    twice = bound(block.finish_region(block.op("multiply", total, total)), x, x)
    assert twice is not None
    unit = np.abs(4 * to_float64(x) ** 2) * 2.0**-23
    assert ((twice > unit) & (twice < 8 * unit)).all()


@pytest.mark.parametrize(("name", "ulps"), [("exponential", 3), ("tanh", 5), ("mhlo.erf", 16)])
def test_map_grants_an_operation_the_budget_of_its_own_rule(name: str, ulps: float) -> None:
    """On whatever hardware: a GPU may be off by 3 ulp in an exponential."""
    of = TensorType((5,), F32)
    block = BodyBuilder.of(F32)
    region = block.finish_region(block.op(name, *block.arguments))
    values = (Value("x", of),)
    program = single_op("map", values, (of,), {"dimensions": (0,)}, (region,))
    x = fill(of, "moderate", 1)
    (expected,) = evaluate(program, (x,))
    rule = rule_of(program.subject)
    assert rule is not None
    assert rule.bound is not None
    (bound,) = rule.bound(program.subject, (x,), (expected,))
    units = np.asarray(bound) / np.spacing(np.abs(expected))
    assert ((units >= ulps) & (units <= 2 * ulps + 1)).all()


def test_windows_without_their_padding_fail() -> None:
    body, arrays = fold_of("multiply", UI8), (np.array([240], np.uint8), np.array(40, np.uint8))
    values = tuple(Value(f"x{n}", of) for n, of in enumerate(types_of(arrays)))
    given: dict[str, Attribute] = {"window_dimensions": (4,), "padding": padding_of(((3, 0),))}
    result = TensorType((1,), UI8)
    program = single_op("reduce_window", values, (result,), given, (body.region,))
    assert evaluate(program, arrays)[0].tolist() == [0]
    expected = evaluate(program, arrays)
    rule = CATALOG["reduce_window"].tolerance
    for number in (128, 7):
        found = judge(program, arrays, expected, (np.array([number], np.uint8),), rule)
        assert (found.verdict, found.kind) == (Verdict.DIVERGENT, "wrong value")


def test_subnormals_may_be_flushed_in_a_whole_reduction() -> None:
    numbers = np.full(2000, 1e-40, np.float32)  # their sum is normal
    program, arrays = reduction_program(fold_of("add", F32), (numbers,))
    zero = np.zeros((), np.float32)
    assert judge_result(program, arrays, (zero,), "reduce") is Verdict.FLUSHED


def a_body(of: ElementType, kind: str) -> Monoid:
    """Return a body that is a sum up to rounding, a logarithm of a sum, or no monoid at all."""
    block = BodyBuilder.of(of, of)
    a, b = block.arguments
    if kind == "sum":
        end = block.op("add", a, block.op("multiply", b, block.constant(1.0, of)))
    elif kind == "difference":
        end = block.op("subtract", a, b)
    else:
        apart = block.op("negate", block.op("abs", block.op("subtract", a, b)))
        near = block.op("log_plus_one", block.op("exponential", apart))
        end = block.op("add", block.op("maximum", a, b), near)
    identity = bodies.literal(-1e30 if kind == "logarithm" else 0.0, of)
    return Monoid(kind, block.finish_region(end), (of,), (identity,), ())


@pytest.mark.parametrize("kind", ["sum", "logarithm"])
def test_what_no_order_of_a_rounded_body_gives_is_wrong(kind: str) -> None:
    numbers = np.random.default_rng(0).uniform(-1, 1, (100, 3)).astype(np.float32)
    program, arrays = reduction_program(a_body(F32, kind), (numbers,))
    (right,) = evaluate(program, arrays)
    for wrong in (-right, right * np.float32(1.01), np.full_like(right, np.nan)):
        assert judge_result(program, arrays, (wrong,), "reduce") is Verdict.DIVERGENT
    for end in (np.inf, -np.inf):
        near = np.nextafter(right, np.float32(end))
        assert not judge_result(program, arrays, (near,), "reduce").fails
    other = reduction_of(a_body(F32, kind), numbers[::-1])
    assert not judge_result(program, arrays, (other,), "reduce").fails


def test_a_body_that_is_not_associative_leaves_all_open() -> None:
    numbers = np.random.default_rng(0).uniform(-1, 1, (9, 3)).astype(np.float32)
    program, arrays = reduction_program(a_body(F32, "difference"), (numbers,))
    anything = np.full(3, 100, np.float32)
    assert judge_result(program, arrays, (anything,), "reduce") is Verdict.UNSPECIFIED


def test_functions_count_more_than_roundings() -> None:
    assert weigh_rounding_operations(a_body(F32, "sum").region) == (2,)
    assert weigh_rounding_operations(a_body(F32, "logarithm").region) == (66,)
