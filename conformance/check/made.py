"""Programs that were made and not read, as what `check` works on."""

from __future__ import annotations

from conformance.frontends.modules import Unit
from conformance.stablehlo.emit import emit
from conformance.transforms.inline import inline
from reference.ir.program import Program


def unit_of(program: Program) -> Unit:
    """Return a program as a unit, which a backend gets as text.

    Raises:
        EmitError: when it cannot be written.
        NotInlined: when its calls cannot be written out.
    """
    text = emit(program)
    flat = inline(program)
    return Unit("main", program, flat, text, text, (), original=text)
