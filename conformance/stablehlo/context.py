"""The MLIR context in which texts are read. Loads jaxlib."""

from __future__ import annotations

from functools import lru_cache
from itertools import count

from jax.interpreters.mlir import make_ir_context
from jaxlib.mlir import ir

_TEXTS = 64
"""How many texts are read in one context: to make and to free one takes longer than to read a small
program (measured), and it keeps the constants of all that it has read."""

_numbers = count()


@lru_cache(maxsize=1)
def _made(generation: int) -> ir.Context:
    del generation
    return make_ir_context()


def reading_context() -> ir.Context:
    """A context to read a text in and let go of it: others have been read in it, or will be.

    Nothing that belongs to it may be kept beyond the text: after some more it is another.
    """
    return _made(next(_numbers) // _TEXTS)
