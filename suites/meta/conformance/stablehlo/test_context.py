"""The context in which texts are read."""

from __future__ import annotations

from itertools import pairwise

from conformance.stablehlo import context


def test_a_context_is_shared_by_many_texts_and_then_replaced() -> None:
    """Newer versions of jax give the same context up to eleven times."""
    seen = [context.reading_context() for _ in range(13 * context._TEXTS)]
    changes = [n for n in range(1, len(seen)) if seen[n] is not seen[n - 1]]
    assert changes
    assert all((b - a) % context._TEXTS == 0 for a, b in pairwise(changes))
