"""Special values in reductions that compilers treat otherwise: classes, each by its model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from conformance.catalog import CATALOG
from conformance.gate.reading import load
from conformance.judging.compare import judge
from conformance.known.hypothesis import Hypothesis
from conformance.known.xla.extrema import WRONG_REDUCTIONS
from conformance.tolerance.hardware import Hardware
from conformance.verdict import Record, Verdict
from generators.regions.bodies import fold_of
from generators.regions.forms import FORMS
from reference.interpreter.evaluate import evaluate
from reference.ir.program import TensorType, Value, single_op
from reference.ir.types import Array, element_type
from suites.meta.support.ops.reductions import reduction_program, row

F32 = element_type("f32")
NAN, INF = math.nan, math.inf
LEFT_OUT, ALIKE, FROM_ZERO = dict.fromkeys(one.label for one in WRONG_REDUCTIONS)

CASES: list[tuple[str, Sequence[Sequence[float]], float, Sequence[float], str]] = [
    ("maximum", [[1, NAN], [NAN, NAN], [3, 4]], -INF, [3, 4], LEFT_OUT),
    ("minimum", [[1, NAN], [NAN, 2], [3, 4]], INF, [1, 2], LEFT_OUT),
    ("maximum", [[NAN], [NAN]], -INF, [-INF], LEFT_OUT),
    ("maximum", [[1], [NAN]], 7, [7], LEFT_OUT),
    ("minimum", [[-0.0], [NAN], [0.0]], INF, [0.0], LEFT_OUT),  # of equal zeros
    ("minimum", [[-0.0], [NAN], [-0.0]], INF, [0.0], "NaN"),
    ("maximum", [[1e-40], [NAN]], -INF, [0.0], LEFT_OUT),  # and a subnormal number is lost
    ("maximum", [[1.0], [NAN]], -INF, [0.0], "NaN"),
    ("maximum", [[1], [NAN], [3]], -INF, [1], "NaN"),  # not the extremum of what is left
    ("maximum", [[1], [2]], -INF, [NAN], "NaN"),
    ("add", [[1], [NAN]], 0, [1], "NaN"),
    ("maximum", [[-0.0], [0.0]], -INF, [-0.0], ALIKE),
    ("minimum", [[-0.0], [0.0]], INF, [0.0], ALIKE),
    ("maximum", [[0.0], [0.0]], -INF, [-0.0], "signed zero"),  # there is no -0
    ("maximum", [[-0.0], [-0.0]], -INF, [0.0], "signed zero"),
    ("add", [[-0.0], [-0.0]], -0.0, [0.0], FROM_ZERO),
    ("add", [[1.0], [-1.0]], 0.0, [-0.0], "signed zero"),
]


@pytest.mark.parametrize(("op", "rows", "init", "actual", "kind"), CASES)
def test_only_results_of_model_have_its_class(op, rows, init, actual, kind):
    program, inputs = reduction_program(
        fold_of(op, F32), (np.array(rows, np.float32),), (row(F32, init).reshape(()),)
    )
    expected = evaluate(program, inputs)
    rule = CATALOG["reduce"].tolerance
    got = row(F32, *actual)
    assert judge(program, inputs, expected, expected, rule).verdict is Verdict.PASS
    found = judge(program, inputs, expected, [got], rule)
    assert (found.verdict, found.kind) == (Verdict.DIVERGENT, kind), found.message


@pytest.mark.parametrize("form", sorted(FORMS))
def test_bodies_are_recognised_in_all_forms(form: str) -> None:
    body = replace(fold_of("maximum", F32), region=FORMS[form](fold_of("maximum", F32).region))
    program, inputs = reduction_program(
        body, (np.array([[-0.0], [0.0]], np.float32),), (row(F32, -INF).reshape(()),)
    )
    rule = CATALOG["reduce"].tolerance
    found = judge(program, inputs, evaluate(program, inputs), [row(F32, -0.0)], rule)
    assert (found.verdict, found.kind) == (Verdict.DIVERGENT, ALIKE), found.message


def test_windows_have_the_classes_too():
    x, init = row(F32, 1, NAN, 3, 2), row(F32, -INF).reshape(())
    values = (Value("x", TensorType((4,), F32)), Value("init", TensorType((), F32)))
    given = {"window_dimensions": (2,), "window_strides": (2,)}
    body = fold_of("maximum", F32).region
    program = single_op("reduce_window", values, (TensorType((2,), F32),), given, (body,))
    expected = evaluate(program, (x, init))
    rule = CATALOG["reduce_window"].tolerance
    found = judge(program, (x, init), expected, [row(F32, 1, 3)], rule)
    assert (found.verdict, found.kind) == (Verdict.DIVERGENT, LEFT_OUT)


@pytest.mark.parametrize("hypothesis", WRONG_REDUCTIONS, ids=lambda one: one.label)
def test_a_scalar_that_is_its_own_init_value_is_not_explained(hypothesis: Hypothesis):
    x = Value("x", TensorType((), F32))
    region = fold_of("maximum", F32).region
    program = single_op("reduce", (x, x), (x.type,), {"dimensions": ()}, (region,))
    scalar: Array = row(F32, 0).reshape(())
    (found,) = hypothesis.errors(
        program.main.body.operations[0], (scalar, scalar), (scalar,), (scalar,)
    )
    assert np.isinf(found).all()


@pytest.mark.parametrize("kind", [LEFT_OUT, ALIKE, FROM_ZERO])
def test_shipped_entries_match_extrema_of_reductions_only(kind: str):
    known = load(None, ("cpu",), {"jaxlib": "0.12.0"})

    def ids(op: str, label: str) -> list[str]:
        record = Record(op, "f32", "cpu", 0, "", Verdict.DIVERGENT, label)
        return [one.id for one in known if one.matches(record)]

    assert 1 <= len(ids("reduce", kind)) <= 2
    assert not ids("add", kind)
    assert not ids("reduce", "NaN")
    assert not ids("reduce", "signed zero")


@pytest.mark.parametrize(
    ("terms", "actual", "kind"),
    [
        ([complex(-0.0, 2), complex(-0.0, 3)], complex(0.0, 5), FROM_ZERO),
        ([complex(-0.0, -0.0)] * 2, complex(0.0, 0.0), FROM_ZERO),
        ([complex(-0.0, -0.0)] * 2, complex(0.0, -0.0), "signed zero"),
        ([complex(0.0, 2), complex(0.0, 3)], complex(-0.0, 5), "signed zero"),
    ],
)
def test_complex_sums_from_zero_are_of_the_class_in_all_parts(
    terms: list[complex], actual: complex, kind: str
) -> None:
    of = element_type("complex<f32>")
    init = np.array(complex(-0.0, -0.0), np.complex64)
    program, inputs = reduction_program(
        fold_of("add", of), (np.array(terms, np.complex64)[:, None],), (init,)
    )
    got = np.array([actual], np.complex64)
    rule = CATALOG["reduce"].tolerance
    assert judge(program, inputs, evaluate(program, inputs), [got], rule).kind == kind


def test_small_numbers_of_f64_are_equal_zeros_on_a_tpu() -> None:
    f64 = element_type("f64")
    operand, init = np.array([[0.0], [-1e-60]]), np.array(-np.inf)
    program, inputs = reduction_program(fold_of("maximum", f64), (operand,), (init,))
    expected, rule = evaluate(program, inputs), CATALOG["reduce"].tolerance
    for platform, kind in ((Hardware.TPU, ALIKE), (Hardware.GPU, "signed zero")):
        found = judge(program, inputs, expected, [np.array([-0.0])], rule, platform=platform)
        assert found.kind == kind
