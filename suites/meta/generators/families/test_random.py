"""Random numbers: samples that show a distribution, parameters that have one, words of state."""

from __future__ import annotations

from math import prod

import pytest

from generators.families.random import BUILDERS, parameter_rows, sample_sizes
from reference.ir.types import element_type
from suites.meta.support.built_cases import assert_valid, built, pick_of, sizes, subjects


def test_samples_are_large_now_and_then_and_never_very_large() -> None:
    drawn = [sample_sizes(pick_of(seed)) for seed in range(300)]
    assert max(map(prod, drawn)) >= 1000
    assert all(prod(sizes) <= 4096 or len(sizes) == 1 for sizes in drawn)
    large = [prod(sample_sizes(pick_of(seed, {"large sample": "yes"}))) for seed in range(40)]
    assert {1000, 1001, 2048, 1} <= set(large)


@pytest.mark.parametrize(
    ("of", "kind", "first"),
    [
        ("f32", "NORMAL", ("values:0", "values:1")),
        ("si32", "UNIFORM", ("values:0", "values:1")),
        ("ui8", "UNIFORM", ("values:0", "values:1")),
        ("i1", "UNIFORM", ("values:0", "values:1")),
    ],
)
def test_the_first_parameters_have_a_distribution(
    of: str, kind: str, first: tuple[str, str]
) -> None:
    assert parameter_rows(element_type(of), kind)[0] == first


def test_parameters_of_unsigned_numbers_are_not_negative() -> None:
    rows = parameter_rows(element_type("ui8"), "UNIFORM")
    assert not any("-" in name for row in rows for name in row)
    signed = parameter_rows(element_type("si8"), "UNIFORM")
    assert any("-" in name for row in signed for name in row)


def test_only_floats_have_a_normal_distribution() -> None:
    for of, kinds in (("f32", {"UNIFORM", "NORMAL"}), ("si32", {"UNIFORM"}), ("i1", {"UNIFORM"})):
        cases = built(BUILDERS["rng"], of, 40)
        assert_valid(cases)
        assert {one.attribute("rng_distribution") for one in subjects(cases)} == kinds


def test_sizes_are_a_constant_that_is_the_shape() -> None:
    for case in built(BUILDERS["rng"], "f32", 20):
        assert "shape" not in {value.name for value in case.program.main.arguments}
        assert sizes(case.program.subject, 2) == (len(sizes(case.program.subject, -1)),)


def test_every_algorithm_with_every_state() -> None:
    cases = built(BUILDERS["rng_bit_generator"], "ui32", 100)
    assert_valid(cases)
    found = {(one.attribute("rng_algorithm"), *sizes(one)) for one in subjects(cases)}
    assert found == {
        ("THREE_FRY", 2), ("PHILOX", 2), ("PHILOX", 3), ("DEFAULT", 2), ("DEFAULT", 3)
    }  # fmt: skip
