"""An infeed of an empty tuple before the last one reads nothing."""

from __future__ import annotations

from generators.families.xla.host import ARRAYS, BUILDERS, EMPTY
from suites.meta.support.built_cases import assert_valid, built, operations

TOKENS_ONLY = 1


def test_an_empty_tuple_is_read_before_the_last_item() -> None:
    empty = built(BUILDERS["Infeed"], "f32", 10, {"shape before it": EMPTY})
    assert_valid(empty)
    for case in empty:
        *_, before, last = operations([case], "Infeed")
        assert len(before.results) == TOKENS_ONLY
        assert last.operands == before.results
        assert len(last.results) > TOKENS_ONLY


def test_or_it_is_not() -> None:
    plain = built(BUILDERS["Infeed"], "f32", 10, {"shape before it": ARRAYS})
    assert all(len(one.results) > TOKENS_ONLY for one in operations(plain, "Infeed"))


def test_transfers_have_the_page_s_names() -> None:
    (first, *_) = operations(built(BUILDERS["Send"], "f32", 5), "Send")
    assert first.attribute("handle") is not None
    assert first.attribute("channel_id") is None
