"""Distances in units in the last place, and in units of a bound."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.tolerance.ulp import (
    MAX_ERROR_POINTS,
    bound_distances,
    error_histogram,
    error_points,
    part_distances,
    ulp_distances,
    ulps_from_prediction,
)
from conformance.verdict import HISTOGRAM_EDGES
from suites.meta.support.small_programs import array

LARGEST = float(np.finfo(np.float32).max)
TINY = float(np.finfo(np.float32).smallest_subnormal)
ULP = float(np.finfo(np.float32).eps)
INF, NAN = np.inf, np.nan


@pytest.mark.parametrize(
    ("want", "got", "distance"),
    [
        (1.0, 1.0 + ULP, 1),
        (1.0, 1.0 - ULP, 2),
        (0.0, -0.0, 0),
        (-TINY, TINY, 2),
        (LARGEST, INF, 1),
        (-INF, INF, INF),
        (NAN, -NAN, 0),
        (NAN, 1.0, INF),
        (1.0, NAN, INF),
    ],
)
def test_numbers_in_between_are_counted(want: float, got: float, distance: float) -> None:
    (found,) = ulp_distances(array([want]), array([got]))
    assert found == distance or (distance == INF and found > 1e9)


def test_distances_of_f64_beyond_the_exact_integers_are_near() -> None:
    (found,) = ulp_distances(array([-1.0], "f64"), array([1.0], "f64"))
    assert found == pytest.approx(2 * 0x3FF0000000000000, rel=1e-12)


def test_complex_error_is_in_ulps_of_the_larger_part() -> None:
    want, got = array([1 + 0j], "complex<f32>"), array([1 + ULP * 3j], "complex<f32>")
    assert ulp_distances(want, got).tolist() == [3]
    real, imag = part_distances(want, got)
    assert (real.tolist(), imag.tolist()) == ([0], [3])
    nan = array([complex(NAN, 0)], "complex<f32>")
    assert ulp_distances(nan, nan).tolist() == [0]
    assert ulp_distances(want, nan).tolist() == [INF]


@pytest.mark.parametrize(
    ("want", "got", "bound", "units"),
    [
        (1.0, 1.5, 0.25, 2),
        (1.0, 1.0, 0.0, 0),
        (1.0, 2.0, 0.0, INF),
        (1.0, NAN, 1.0, INF),
        (LARGEST, INF, LARGEST / 4, 0),
        (LARGEST / 2, INF, LARGEST / 4, INF),
        (INF, INF, 1.0, 0),
    ],
)
def test_errors_in_units_of_the_bound(want: float, got: float, bound: float, units: float) -> None:
    found = bound_distances(array([want]), array([got]), np.array([bound]))
    assert found.tolist() == [units]


def test_complex_errors_have_a_modulus() -> None:
    want, got = array([0j], "complex<f32>"), array([3 + 4j], "complex<f32>")
    assert bound_distances(want, got, np.array([2.5])).tolist() == [2]


def test_predicted_elements_are_equal_bits_or_near_numbers() -> None:
    found = ulps_from_prediction(array([0.0, 1.0, NAN, 1.0]), array([-0.0, 1.0 + ULP, NAN, 1.0]))
    assert found.tolist() == [0, 1, 0, 0]
    assert ulps_from_prediction(array([1, 2], "si32"), array([1, 3], "si32")).tolist() == [0, INF]


def test_errors_fall_into_the_bin_up_to_its_edge() -> None:
    edges = np.array(HISTOGRAM_EDGES, np.float64)
    found = error_histogram(np.array([edges[0], edges[1], edges[-1] * 2 + 1]))
    assert len(found) == len(edges) + 1
    assert (found[0], found[1], found[-1]) == (1, 1, 1)


def test_points_are_the_worst_errors_with_their_sign() -> None:
    x = array(np.arange(1, 101))
    got = x.copy()
    got[7] = np.nextafter(got[7], np.float32(0))
    found = error_points((x,), x, got, np.ones(100, bool))
    assert found[0] == (8.0, -1.0)
    assert len(found) <= MAX_ERROR_POINTS
    without = error_points((x,), x, got, np.arange(100) != 7)
    assert all(error == 0 for _, error in without)


def test_only_real_unary_functions_have_points() -> None:
    x, n = array([1.0]), array([1], "si32")
    counted = np.ones(1, bool)
    assert error_points((x, x), x, x, counted) == []
    assert error_points((n,), n, n, counted) == []
    assert error_points((array([INF]),), x, x, counted) == []
