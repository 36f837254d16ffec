"""A recipe: how a program of somebody else's library is made, with arguments as its users have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Made = tuple[Callable[..., Any], tuple[Any, ...]]
"""A function that `jax.jit` takes, and its arguments: trees of arrays."""


@dataclass(frozen=True)
class Recipe:
    """A program by name; `packages` are what to install for it, as pip names them.

    `make` imports them, so that a recipe whose packages are missing raises ImportError only when
    it is made. With `x64`, 64-bit types are on while it is made and exported.
    """

    name: str
    packages: tuple[str, ...]
    make: Callable[[], Made]
    x64: bool = False


RECIPES: list[Recipe] = []
"""All of them, in the order of the files."""


def recipe(*packages: str, x64: bool = False) -> Callable[[Callable[[], Made]], Recipe]:
    """Return a decorator that makes a recipe of a function, under its name, and lists it."""

    def made(function: Callable[[], Made]) -> Recipe:
        RECIPES.append(Recipe(function.__name__, packages, function, x64))
        return RECIPES[-1]

    return made
