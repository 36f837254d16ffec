"""XlaBuilder's infeed: of an item, or of an empty tuple, which only keeps the order."""

from __future__ import annotations

from reference.ir.program import TensorType, TokenType
from reference.ir.types import element_type
from reference.ops.xla.host import OPS
from suites.meta.support.ops.lowering import lower, records_of

ITEM, TOKEN = TensorType((2,), element_type("f32")), TokenType()
RECORDS = records_of(OPS)


def test_an_item_is_read_before_the_token() -> None:
    (made,) = lower(RECORDS["Infeed"], TOKEN, results=(ITEM, TOKEN), config="c")
    assert made.name == "infeed"
    assert made.attribute("infeed_config") == "c"
    assert [value.type for value in made.results] == [ITEM, TOKEN]


def test_nothing_is_read_for_an_empty_tuple() -> None:
    (made,) = lower(RECORDS["Infeed"], TOKEN, results=(TOKEN,))
    assert made.name == "after_all"


def test_a_handle_is_a_channel() -> None:
    assert dict(RECORDS["Send"].renames) == {"handle": "channel_id"}
    assert "handle" in RECORDS["Recv"].attributes
