"""XlaBuilder's transfers to and from a host or another process.

Source: XLA operation semantics, each op by its name. The builder's calls without a token are
ordered implicitly; here the token is an operand and a result, as in its forms with a token
(InfeedWithToken and so on).
"""

from __future__ import annotations

from typing import Any

from reference.ir.op import Op
from reference.ir.program import Value
from reference.ops.xla.building import Building, lowered_op, renamed_op


def _infeed(building: Building, token: Value, **given: Any) -> tuple[Value, ...]:
    """Read a shape from the infeed; "for an empty tuple shape" nothing is read.

    A token is then the only result. StableHLO's infeed always takes an item, so the call becomes an
    `after_all`, which preserves the order.
    """
    if len(building.results) == 1:
        return (building.op("after_all", token),)
    theirs = {_RENAMED[name]: value for name, value in given.items()}
    return building.ops("infeed", token, results=building.results, **theirs)


_RENAMED = {"config": "infeed_config"}

OPS: tuple[Op, ...] = (
    lowered_op(
        "Infeed", "infeed", _infeed, operands=("token",), attributes=("config",),
        optional=("config",), renames=_RENAMED,
    ),
    renamed_op("Outfeed", "outfeed"),
    renamed_op("Recv", "recv", renames={"handle": "channel_id"}),
    renamed_op("Send", "send", renames={"handle": "channel_id"}),
)  # fmt: skip
