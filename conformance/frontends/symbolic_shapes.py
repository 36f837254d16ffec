"""Programs with dimensions of unknown size, specialised to inputs of given sizes.

XLA compiles static shapes only. To run an export of jax with symbolic shapes, refine it first:
write the sizes of the arguments into the module, and propagate them to all shapes that depend on
them. jaxlib has both steps; the result is an equivalent program of static shapes.

Source: StableHLO, docs/dynamism.md (refinement); jax.export (how it calls an exported function).
"""

from __future__ import annotations

import jaxlib._jax as private
from jax.interpreters.mlir import make_ir_context
from jaxlib.mlir import ir
from jaxlib.mlir.passmanager import PassManager

from conformance.frontends.dialects import print_module, register
from conformance.stablehlo.emit import spell
from conformance.stablehlo.parse import Unreadable
from reference.ir.program import ValueType

_ARGUMENTS = "builtin.module(stablehlo-refine-arguments{{types={}}})"


def specialise_main(text: str, types: tuple[ValueType, ...]) -> str:
    """Return the module's text with `main` taking these static types, static throughout.

    Raises:
        Unreadable: when some size does not follow from the arguments' types.
    """
    register()
    listed = ",".join(spell(of) for of in types)
    with make_ir_context():
        module = ir.Module.parse(text)
        try:
            PassManager.parse(_ARGUMENTS.format(listed)).run(module.operation)
            refined = private.mlir.refine_polymorphic_shapes(
                mlir_module=print_module(module).encode(),
                enable_shape_assertions=True,
                validate_static_shapes=True,
            )
            return print_module(ir.Module.parse(refined))
        except (ir.MLIRError, ValueError, RuntimeError) as error:
            reason = str(error).strip().partition("\n")[0]
            raise Unreadable(
                f"its shapes do not follow from the shapes of its inputs: {reason}"
            ) from None
