"""Export of recipes to files: a module as text, and a file with its arguments."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

import jax
import numpy as np

from .recipe import Recipe


def export(one: Recipe, folder: Path) -> None:
    """Write NAME.mlir and NAME.npz, the arguments as arr_0, ... in the module's order.

    Arguments that the function does not use are kept in the module, so that both have the same.

    Raises:
        ImportError: when a package is not installed.
    """
    with jax.enable_x64(one.x64), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        function, arguments = one.make()
        lowered = jax.jit(function, keep_unused=True).lower(*arguments)
        leaves = [_to_numpy(leaf) for leaf in jax.tree.leaves(arguments)]
    (folder / f"{one.name}.mlir").write_text(lowered.as_text())
    np.savez_compressed(folder / f"{one.name}.npz", *leaves)


def _to_numpy(leaf: object) -> np.ndarray:
    """Return a numpy array as main takes it; random keys become their bits."""
    is_key = isinstance(leaf, jax.Array) and jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    return np.asarray(jax.random.key_data(leaf) if is_key else jax.numpy.asarray(leaf))


def export_all(recipes: Sequence[Recipe], folder: Path) -> int:
    """Export recipes, print a line for each, and return how many could be made."""
    folder.mkdir(parents=True, exist_ok=True)
    made = 0
    for recipe in recipes:
        begun = perf_counter()
        try:
            export(recipe, folder)
        except ImportError as error:
            print(f"{recipe.name:38} skipped: pip install {' '.join(recipe.packages)} ({error})")
        except Exception as error:  # libraries change: a recipe that fails must not end the others
            reason = str(error).strip().partition("\n")[0][:200]
            print(f"{recipe.name:38} failed: {type(error).__name__}: {reason}")
        else:
            made += 1
            lines = (folder / f"{recipe.name}.mlir").read_text().count("\n")
            print(f"{recipe.name:38} {lines:6} lines {perf_counter() - begun:7.1f} s", flush=True)
    return made
