"""Contents that depend on the whole array: what each profile promises."""

from __future__ import annotations

import numpy as np
import pytest

from generators.values.shaped_values import cast, fill_shaped, is_shaped
from reference.ir.types import Array, element_type
from reference.numerics.rounding import to_float64

SHAPE = (3, 5, 5)


def fill(profile: str, of: str = "f64", shape: tuple[int, ...] = SHAPE, seed: int = 1) -> Array:
    array = fill_shaped(element_type(of), shape, profile, seed)
    assert array.shape == shape
    assert array.dtype == element_type(of).storage
    return array


def adjoint(matrices: Array) -> Array:
    return np.conj(np.swapaxes(matrices, -1, -2))


def test_a_profile_is_its_name_before_the_arguments() -> None:
    assert is_shaped("within:0:2")
    assert is_shaped("permutation")
    assert not is_shaped("bits")
    with pytest.raises(KeyError, match="bits"):
        fill_shaped(element_type("f32"), (1,), "bits", 0)


def test_given_integers_in_order_or_one_everywhere() -> None:
    assert fill("values:1,2,-3", "si8", (3,)).tolist() == [1, 2, -3]
    assert fill("values:7", "f32", (2, 1)).tolist() == [[7], [7]]


def test_integers_within_both_ends() -> None:
    assert set(fill("within:-1:2", "si32", (200,)).tolist()) == {-1, 0, 1, 2}


def test_a_permutation_has_each_number_once() -> None:
    assert sorted(fill("permutation", "si32", (2, 4)).reshape(-1).tolist()) == list(range(8))
    assert fill("permutation", "si32", (8,)).tolist() != list(range(8))


@pytest.mark.parametrize("of", ["f64", "complex<f64>"])
@pytest.mark.parametrize("profile", ["definite", "gram", "graded"])
def test_definite_matrices(profile: str, of: str) -> None:
    matrices = fill(profile, of)
    assert np.array_equal(matrices, adjoint(matrices))
    assert (np.linalg.eigvalsh(matrices) > 0).all()


def test_a_gram_matrix_has_a_factor_of_small_integers() -> None:
    factor = np.linalg.cholesky(fill("gram"))
    assert np.array_equal(np.round(factor), np.round(factor, 9))


def test_hilbert_matrices_are_nearly_singular() -> None:
    assert (np.linalg.cond(fill("hilbert", shape=(8, 8))) > 1e9).all()


def test_triangular_matrices_have_a_dominant_diagonal_and_both_triangles() -> None:
    matrices = np.abs(fill("triangular"))
    diagonal = np.diagonal(matrices, axis1=-2, axis2=-1)
    assert (diagonal >= matrices.sum(axis=-1) - diagonal).all()
    assert np.triu(matrices, 1).any()
    assert np.tril(matrices, -1).any()


def test_diagonals_and_triangles() -> None:
    assert (np.diagonal(fill("unit_diagonal"), axis1=-2, axis2=-1) == 1).all()
    lower = fill("lower_triangular")
    assert np.array_equal(lower, np.tril(lower))
    assert np.tril(lower, -1).any()


def test_the_inverse_transform_of_a_spectrum_is_real_and_integral() -> None:
    numbers = np.fft.irfftn(fill("spectrum:4,6", "complex<f64>", (2, 4, 4)), (4, 6), (-2, -1))
    assert np.allclose(numbers, np.round(numbers))
    assert np.abs(numbers).max() > 1
    assert fill("spectrum:4", "complex<f32>", (0, 3)).size == 0


def test_exponents_within_a_range() -> None:
    for profile, low, high in (("exponents:-2:3", -2, 3), ("powers:-2:3", -2, 3)):
        significands, exponents = np.frexp(np.abs(fill(profile, shape=(300,))))
        assert set((exponents - 1).tolist()) == set(range(low, high + 1))
        assert (significands == 0.5).all() == profile.startswith("powers")
    assert (fill("exponents:0:0", shape=(50,)) < 0).any()


def test_exponents_beyond_the_types_are_clamped() -> None:
    assert np.isfinite(to_float64(fill("powers:-500:500", "f8E4M3FN", (100,)))).all()
    assert np.isfinite(to_float64(fill("exponents:-500:500", "f16", (100,)))).all()


def test_shares_are_strictly_between_0_and_1() -> None:
    shares = fill("shares", shape=(1000,))
    assert (shares.min(), shares.max()) == (1 / 64, 63 / 64)


def test_terms_of_sums() -> None:
    lone = fill("lone_one", "f32", (2, 100))
    assert (lone[:, 0] == 1).all()
    assert (np.abs(lone[:, 1:]) <= 2.0**-23).all()
    pairs = fill("cancelling", shape=(3, 7))
    assert np.array_equal(pairs[:, :3], -pairs[:, :3:-1])
    assert (pairs[:, 3] == 0.5).all()


def test_zeros_and_their_signs() -> None:
    negative = fill("negative_zeros", "complex<f32>", (4,))
    assert np.signbit(negative.view(np.float32)).all()
    assert not negative.any()
    mixed = np.signbit(fill("mixed_zeros", shape=(1000,)))
    assert 0.7 < mixed.mean() < 0.8


def test_numbers_are_cast_as_the_type_requires() -> None:
    numbers = np.array([-1, 0, 300])
    assert cast(numbers, element_type("si8")).tolist() == [-1, 0, 44]
    assert cast(numbers, element_type("ui8")).tolist() == [255, 0, 44]
    assert cast(numbers, element_type("i1")).tolist() == [True, False, True]
    assert cast(np.array([1 + 2j]), element_type("f32")).tolist() == [1]
    assert cast(np.array([1 + 2j]), element_type("complex<f32>")).tolist() == [1 + 2j]
