"""StableHLO's interpreter as a backend.

Source: jaxlib 0.10.2 and 0.12.0, measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from conformance.backends.base import (
    Backend,
    BackendError,
    Description,
    Failed,
    Settings,
    Unsupported,
    single_process_inputs,
)
from conformance.backends.interpreter.limits import refusal_of, verifier_refusal_of
from conformance.backends.interpreter.rewriting import adapt
from conformance.backends.versions import distribution_versions
from conformance.backends.xla_messages import short_message, verifier_error
from conformance.errors import NotAvailable
from conformance.stablehlo.emit import emit
from conformance.tolerance.hardware import Hardware
from conformance.transforms.complex_parts import join_complex, part_types, split_complex
from reference.ir.op import Dialect
from reference.ir.program import Program, TensorType, ValueType
from reference.ir.types import Array
from reference.ops.table import OPS

_DEPRECATED = frozenset(
    record.name
    for record in OPS.values()
    if record.dialect is Dialect.STABLEHLO and not record.specified
)
"""Ops that the specification no longer has; a pass lowers some of them."""

_OF_DEPRECATED = "stablehlo-legalize-deprecated-ops"
_OF_CHLO = "chlo-legalize-to-stablehlo"
_IS_CHLO = '"chlo.'
_OF_QUANTIZED = (
    "stablehlo-legalize-quantized-op-to-qdq",
    "stablehlo-legalize-quant-to-math",
    _OF_CHLO,
)
"""Passes that lower quantized ops: to ops on the numbers represented, and the rest to arithmetic.
"""


class InterpreterBackend:
    """StableHLO's interpreter in jaxlib, as a backend."""

    name = "interpreter"
    hardware = Hardware.INTERPRETER

    def __init__(self) -> None:
        """Load jaxlib's dialects.

        Raises:
            NotAvailable: when jaxlib cannot be imported, or has no interpreter.
        """
        try:
            from jaxlib.mlir.dialects import stablehlo
        except ImportError as error:
            why = str(error).partition("\n")[0]
            raise NotAvailable(f"jaxlib cannot be imported ({why}); pip install -U jax") from error
        if not hasattr(stablehlo, "eval_module"):
            raise NotAvailable("this jaxlib has no interpreter of StableHLO; pip install -U jax")
        stablehlo.register_stablehlo_passes()
        self._dialect = stablehlo

    def describe(self) -> Description:
        """Return the versions of jaxlib and of the StableHLO in it."""
        dialect = ("StableHLO", str(self._dialect.get_current_version()))
        versions = (*distribution_versions("jaxlib"), dialect)
        return Description(self.name, self.name, "StableHLO's interpreter", versions)

    def configured(self, settings: Settings) -> Backend:
        """Raise Unsupported: the interpreter has no compiler."""
        del settings
        raise Unsupported(f"the backend {self.name} has no compiler and takes no compiler options")

    def refusal(self, program: Program) -> BackendError | None:
        """Return the error for programs that the interpreter does not implement, or that crash
        it.
        """
        reason = refusal_of(program)
        return None if reason is None else Unsupported(reason)

    def compile(self, text: str, program: Program) -> InterpreterExecutable:
        """Parse and verify a module (see `conformance.backends.base.Backend`)."""
        from conformance.stablehlo.parse import diagnose

        unasked = verifier_refusal_of(program)
        if unasked is not None:
            raise Unsupported(unasked)
        invalid = diagnose(text)
        if invalid is not None:
            raise verifier_error(invalid)
        refusal = self.refusal(program)
        if refusal is not None:
            raise refusal
        return InterpreterExecutable(program)


class InterpreterExecutable:
    """A verified module, in a context of its own."""

    def __init__(self, program: Program) -> None:
        """Rewrite a program for the interpreter, and lower operations that it does not implement.

        Raises:
            Unsupported: when a pass of StableHLO cannot lower it.
        """
        self._program = program
        self._result_types = program.main.result_types
        self._context, self._module = _lower_module(emit(adapt(program)))

    def lowered_program(self) -> Program | None:
        """Return the program whose ops of CHLO a pass has decomposed; None if there are none."""
        from conformance.stablehlo.parse import parse_module

        text = emit(self._program)
        return parse_module(str(_lower_module(text)[1])) if _IS_CHLO in text else None

    def execute(self, inputs: Sequence[Sequence[Array]]) -> list[list[Array]]:
        """Run main (see `conformance.backends.base.Executable`).

        Raises:
            Failed: when the interpreter stops with a message.
        """
        from jaxlib.mlir import ir
        from jaxlib.mlir.dialects import stablehlo

        from conformance.stablehlo.elements import array_of, attribute_of

        with self._context, ir.Location.unknown():
            arguments = [
                attribute_of(array) for array in split_complex(single_process_inputs(inputs))
            ]
            results = stablehlo.eval_module(self._module, arguments)
            types = map(_static_type, part_types(self._result_types))
            read = [array_of(result, of) for result, of in zip(results, types, strict=True)]
        arrays = [array for array in read if array is not None]
        if len(arrays) < len(read):
            raise Failed("a result is not a dense attribute")
        return [join_complex(arrays, self._result_types)]


def _lower_module(text: str) -> tuple[Any, Any]:
    """Return a context, and in it a module whose operations are lowered by passes of StableHLO.

    Raises:
        Unsupported: when they cannot lower an operation.
    """
    from jax.interpreters.mlir import make_ir_context
    from jaxlib.mlir import ir, passmanager

    from conformance.stablehlo.parse import load_quantization

    quantized = "!quant." in text
    deprecated = any(f'"stablehlo.{name}"' in text for name in _DEPRECATED)
    passes = [_OF_DEPRECATED] if deprecated else []
    passes += _OF_QUANTIZED if quantized else [_OF_CHLO] if _IS_CHLO in text else ()
    context: Any = make_ir_context()
    with context:
        if quantized:
            load_quantization(context)
        module: Any = ir.Module.parse(text)
        if passes:
            pipeline = f"builtin.module(func.func({','.join(passes)}))"
            try:
                passmanager.PassManager.parse(pipeline).run(module.operation)
            except ir.MLIRError as error:
                said = [found.message for found in error.error_diagnostics] or [str(error)]
                raise Unsupported(short_message(said[0])) from error
    return context, module


def _static_type(of: ValueType) -> TensorType:
    if not isinstance(of, TensorType):
        raise Unsupported(f"results of main must be tensors, not {of}")
    return TensorType(of.static_shape, of.stored)
