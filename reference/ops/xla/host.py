"""XlaBuilder's transfers to and from a host or another process.

Source: XLA operation semantics, each op by its name. The builder's calls without a token order
themselves; here the token is an operand and a result, as in its forms with one
(InfeedWithToken and so on).
"""

from __future__ import annotations

from reference.ir.op import Op
from reference.ops.xla.building import renamed

OPS: tuple[Op, ...] = (
    renamed("Infeed", "infeed", renames={"config": "infeed_config"}),
    renamed("Outfeed", "outfeed"),
    renamed("Recv", "recv", renames={"handle": "channel_id"}),
    renamed("Send", "send", renames={"handle": "channel_id"}),
)
