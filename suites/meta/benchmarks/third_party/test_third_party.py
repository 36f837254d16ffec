"""The benchmark on programs of other people's libraries, without these libraries."""

from __future__ import annotations

from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks.third_party.__main__ import select_recipes
from benchmarks.third_party.checking import rows
from benchmarks.third_party.exporting import export, export_all
from benchmarks.third_party.recipe import Made, Recipe


def _product() -> Made:
    return lambda x, _, y: x["a"] * y, (
        {"a": jnp.arange(3.0)},
        jnp.int32(4),
        jnp.full(3, 0.1, jnp.bfloat16),
    )


def _miss_library() -> Made:
    raise ImportError("no such library")


def test_there_are_many_programs_of_many_packages() -> None:
    recipes = select_recipes([])
    assert len({recipe.name for recipe in recipes}) == len(recipes) >= 40
    assert len({package for recipe in recipes for package in recipe.packages}) >= 12
    assert {recipe.packages for recipe in select_recipes(["optax_lamb"])} == {("optax",)}


def test_a_program_is_exported_with_the_arguments_it_takes(tmp_path: Path) -> None:
    export(Recipe("product", (), _product), tmp_path)
    text = (tmp_path / "product.mlir").read_text()
    assert "stablehlo.multiply" in text
    with np.load(tmp_path / "product.npz") as archive:
        assert [archive[f"arr_{n}"].shape for n in range(3)] == [(3,), (), (3,)]
    (row,) = rows([tmp_path / "product.mlir"], ["real"], "reference", 60.0, 1)
    assert (row.name, row.inputs, row.verdict) == ("product", "real", "pass")


def test_missing_library_is_reported_and_skipped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipes = [Recipe("absent", ("absent-lib",), _miss_library), Recipe("product", (), _product)]
    assert export_all(recipes, tmp_path) == 1
    said = capsys.readouterr().out
    assert "skipped: pip install absent-lib (no such library)" in said
