"""XlaBuilder's transfers have no conditions, and so no near misses."""

from __future__ import annotations

from generators.invalid.xla import host
from reference.ops.xla.host import OPS


def test_there_is_nothing_to_miss() -> None:
    assert host.NEAR_MISSES == {}
    assert not any(record.constraints for record in OPS)
