"""Functions that only workers load."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True, slots=True)
class Deferred:
    """A function by its module and its name there, loaded when it is called.

    The parent can request calls without loading the module, which may need jaxlib.
    """

    module: str
    name: str

    @property
    def function(self) -> Callable[..., Any]:
        """The function, loaded with its module."""
        return getattr(import_module(self.module), self.name)

    def __call__(self, *arguments: Any) -> Any:
        """Load the function if necessary, and call it."""
        return self.function(*arguments)


def modules_of(functions: Iterable[Callable[..., Any]]) -> tuple[str, ...]:
    """Return the modules that a worker needs for calls of these functions."""
    named = (
        function.module if isinstance(function, Deferred) else function.__module__
        for function in functions
    )
    return tuple(dict.fromkeys(named))
