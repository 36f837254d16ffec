"""Every supported opcode with its meaning."""

from __future__ import annotations

from conformance.hlo import collectives, control, elementwise, folding, moving, products
from conformance.hlo.custom_calls import table
from conformance.hlo.site import Handler

HANDLERS: dict[str, Handler] = {
    **elementwise.HANDLERS,
    **moving.HANDLERS,
    **folding.HANDLERS,
    **products.HANDLERS,
    **control.HANDLERS,
    **collectives.HANDLERS,
    **table.HANDLERS,
}
"""The function that reads each opcode, by XLA's spelling."""
