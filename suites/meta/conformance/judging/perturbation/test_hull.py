"""The hull of samples: bounds, margins, signs of zeros, NaN, and classes of failures."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.judging.perturbation.hull import failure_answers, is_near, is_within
from conformance.verdict import Verdict
from reference.ir.types import ELEMENT_TYPES, Array

F32, C64 = ELEMENT_TYPES["f32"], ELEMENT_TYPES["complex<f32>"]
NAN, INF = float("nan"), float("inf")


def row(*numbers: complex, of: str = "f4") -> Array:
    return np.array(numbers, of)


@pytest.mark.parametrize(
    ("value", "margin", "within"),
    [(1.0, 0.0, True), (2.0, 0.0, True), (1.5, 0.0, True), (2.5, 0.0, False), (0.5, 0.0, False),
     (3.0, 1.0, True), (0.0, 1.0, True), (3.5, 1.0, False), (NAN, 1.0, False)],
)  # fmt: skip
def test_the_hull_extends_from_the_least_to_the_greatest_sample(
    value: float, margin: float, within: bool
) -> None:
    assert is_within([row(1.0), row(2.0)], row(value), F32, margin)[0] == within


@pytest.mark.parametrize(
    ("samples", "value", "within"),
    [((0.0, 0.0), -0.0, False), ((0.0, -0.0), -0.0, True), ((-1.0, 1.0), -0.0, True),
     ((-0.0, -0.0), 0.0, False)],
)  # fmt: skip
def test_a_zero_has_the_sign_of_a_sample(
    samples: tuple[float, ...], value: float, within: bool
) -> None:
    assert is_within([row(one) for one in samples], row(value), F32)[0] == within


def test_nan_is_permitted_if_a_sample_is_nan_and_widens_nothing() -> None:
    samples = [row(1.0, 1.0), row(NAN, NAN)]
    assert is_within(samples, row(NAN, 1.0), F32).all()
    assert not is_within(samples, row(2.0, -1.0), F32).any()


def test_an_infinite_sample_permits_every_number_on_its_side() -> None:
    samples = [row(1.0, 1.0), row(INF, INF)]
    assert list(is_within(samples, row(1e30, 0.5), F32)) == [True, False]


def test_the_width_of_one_part_widens_the_other_part_of_a_complex_number() -> None:
    samples = [row(1 + 1j, of="c8"), row(1 + 2j, of="c8")]
    assert is_within(samples, row(1.5 + 1.5j, of="c8"), C64)[0]
    assert not is_within(samples, row(2.5 + 1.5j, of="c8"), C64)[0]


def classes(samples: list[Array], value: Array) -> list[tuple[Verdict, str]]:
    answers = failure_answers(samples, value, F32)
    return [(verdict, kind) for mask, verdict, kind in answers if mask.any()]


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (NAN, [(Verdict.DIVERGENT, "NaN")]),
        (INF, [(Verdict.DIVERGENT, "infinity")]),
        (40.0, [(Verdict.INACCURATE, "accuracy")]),
        (1000.0, []),
    ],
)
def test_classes_of_elements_outside_the_hull(
    value: float, found: list[tuple[Verdict, str]]
) -> None:
    assert classes([row(1.0), row(2.0)], row(value)) == found


def test_a_zero_of_the_wrong_sign_has_a_class_of_its_own() -> None:
    assert classes([row(0.0), row(0.0)], row(-0.0)) == [(Verdict.DIVERGENT, "signed zero")]


def test_an_element_is_near_within_64_widths_or_ulp() -> None:
    samples = [row(1.0, 1.0, 1.0), row(2.0, 1.0, 1.0)]
    ulp = float(np.spacing(np.float32(1.0)))
    value = row(64.0, 1.0 + 64 * ulp, 1.0 + 80 * ulp)
    assert list(is_near(samples, value, F32)) == [True, True, False]
    assert not is_near(samples, samples[0], F32).any()
