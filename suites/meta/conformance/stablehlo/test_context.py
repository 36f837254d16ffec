"""The context in which texts are read."""

from __future__ import annotations

from itertools import pairwise

from conformance.stablehlo import context


def test_a_context_is_shared_by_many_texts_and_then_replaced() -> None:
    seen = [context.reading_context() for _ in range(2 * context._TEXTS)]
    changes = [n for n in range(1, len(seen)) if seen[n] is not seen[n - 1]]
    assert len(changes) in (1, 2)
    assert all(b - a == context._TEXTS for a, b in pairwise(changes))
