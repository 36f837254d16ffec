"""The MLIR context in which texts are read. Loads jaxlib."""

from __future__ import annotations

from functools import lru_cache
from itertools import count

from jax.interpreters.mlir import make_ir_context
from jaxlib.mlir import ir

_TEXTS = 64
"""Number of texts that share a context. Making and freeing a context takes longer than reading a
small program (measured), but a context keeps the constants of everything read in it."""

_numbers = count()


@lru_cache(maxsize=1)
def _cached_context(generation: int) -> ir.Context:
    del generation
    return make_ir_context()


def reading_context() -> ir.Context:
    """Return a context in which to read a text; it is shared with other texts.

    Nothing that belongs to it may be kept beyond the text, as it is replaced from time to time.
    """
    return _cached_context(next(_numbers) // _TEXTS)
