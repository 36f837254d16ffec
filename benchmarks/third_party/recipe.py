"""Recipes: how to build a program of a third-party library, with realistic arguments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Made = tuple[Callable[..., Any], tuple[Any, ...]]
"""A function for `jax.jit`, and its arguments: trees of arrays."""


@dataclass(frozen=True)
class Recipe:
    """A program by name, and the packages that it needs, by their names for pip.

    `make` imports them, so that a recipe whose packages are missing raises ImportError only when
    it is made. With `x64`, 64-bit types are on while it is made and exported.
    """

    name: str
    packages: tuple[str, ...]
    make: Callable[[], Made]
    x64: bool = False


RECIPES: list[Recipe] = []
"""All recipes, in the order of the files."""


def recipe(*packages: str, x64: bool = False) -> Callable[[Callable[[], Made]], Recipe]:
    """Return a decorator that registers a function as a recipe under the function's name."""

    def register(function: Callable[[], Made]) -> Recipe:
        RECIPES.append(Recipe(function.__name__, packages, function, x64))
        return RECIPES[-1]

    return register
