"""Backends that judge rewriting: the reference evaluates the optimised module of a compiler.

A program is compiled ahead of time by the real compiler. The optimised module is read back and
the reference evaluates it, so that the results are what the compiler means. Nothing runs on the
device: errors of code generation and of libraries do not show. Constants that the compiler folded
are its own values.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Self

from conformance.backends.base import (
    BackendError,
    Description,
    Settings,
    Unsupported,
)
from conformance.backends.compiled.compilers import MOST_DEVICES, Compiler
from conformance.backends.compiled.modules import RewrittenProgram, read_back
from conformance.backends.pjrt.clients import load_handlers
from conformance.backends.pjrt.options import compile_options
from conformance.backends.verification import verify
from conformance.backends.xla_messages import classify
from reference.interpreter import quantized
from reference.interpreter.evaluate import split_by_process
from reference.ir.program import Program, TensorType
from reference.ir.types import Array
from reference.ops.structure import HOST

NO_DEVICE_CODE = "rewriting: no device code was run"
"""The remark that reports make on backends that compile for an absent device."""

_DEFAULTS = Settings()


class CompiledBackend:
    """A compiler of XLA, whose optimised modules the reference evaluates."""

    def __init__(self, name: str, compiler: Compiler, settings: Settings = _DEFAULTS) -> None:
        """Wrap a compiler; `name` is the name in records."""
        self.name = name
        self.hardware = compiler.hardware
        self._compiler = compiler
        self._settings = settings

    def configured(self, settings: Settings) -> Self:
        """Return the same compiler with other settings."""
        return type(self)(self.name, self._compiler, settings)

    def describe(self) -> Description:
        """Return the target and the versions of the compiler, and that nothing runs there."""
        versions = (*self._compiler.versions, ("judged", NO_DEVICE_CODE))
        device = f"{self._compiler.target}, compiled for only"
        return Description(self.name, self._compiler.platform, device, versions)

    def refusal(self, program: Program) -> BackendError | None:
        """Return the error of a program that cannot be compiled or evaluated here."""
        operations = list(program.walk())
        waiting = {operation.name for operation in operations} & HOST
        if waiting:
            return Unsupported(f"{min(waiting)}: this backend has no host transfers")
        if any(map(quantized.has_quantized_values, operations)):
            return Unsupported("quantized types can't be translated to XLA HLO")
        if any(isinstance(of, TensorType) and of.bounds for of in program.main.result_types):
            return Unsupported("the compiler does not report the sizes of results of bounded size")
        return None

    def compile(self, text: str, program: Program) -> CompiledExecutable:
        """Compile a module. The optimised module is read when it is first evaluated.

        Raises:
            BackendError: the compiler's answer, when it is an error.
        """
        return CompiledExecutable(self.optimise(text, program), program)

    def optimise(self, text: str, program: Program) -> bytes:
        """Compile a module and return the optimised HLO module as a serialised proto.

        Raises:
            BackendError: the compiler's answer, when it is an error.
        """
        verify(text, program, self.refusal)
        load_handlers(text)
        count = max(program.process_count, program.shared_among)
        if count > MOST_DEVICES:
            raise Unsupported(
                f"the program needs {count} devices, topologies have at most {MOST_DEVICES}"
            )
        try:
            devices = self._compiler.describe_devices(count)
            omitted = (*self._settings.without, *self._compiler.passes_to_omit(program))
            settings = replace(self._settings, without=omitted)
            options = compile_options(text, program, devices, settings)
            return self._compiler.optimise(text, devices, options)
        except (RuntimeError, TypeError, ValueError) as error:
            raise classify(str(error), text, program) from error


class CompiledExecutable:
    """An optimised module, read and evaluated when results are requested.

    An invalid program counts as accepted as soon as it compiles, even if its module cannot be read.
    """

    def __init__(self, module: bytes, program: Program) -> None:
        """Wrap a serialised HLO module and the program that it was compiled from."""
        self._module, self._program = module, program
        self._latest: tuple[list[Array], list[list[Array]]] | None = None

    def optimised_module(self) -> bytes:
        """Return the optimised module as a serialised HloModuleProto."""
        return self._module

    @cached_property
    def optimised_program(self) -> RewrittenProgram:
        """The optimised module as a program.

        Raises:
            NotReadBack: when it has a construct that no program of ours can express.
        """
        return read_back(self._module, self._program)

    def execute(self, inputs: Sequence[Sequence[Array]]) -> list[list[Array]]:
        """Evaluate main in every process (see `conformance.backends.base.Executable`).

        Raises:
            NotReadBack: when the optimised module cannot be read or evaluated.
            Failed: when partitions have different copies of a result.
        """
        arguments = [array for share in inputs for array in share]
        if self._latest is None or not _are_same(self._latest[0], arguments):
            results = self.optimised_program.evaluate(arguments)
            shares = [list(share) for share in split_by_process(self._program, results)]
            self._latest = arguments, shares
        return self._latest[1]


def _are_same(before: Sequence[Array], now: Sequence[Array]) -> bool:
    """Return whether two lists hold the same array objects, so that evaluation gives the same
    results.
    """
    return len(before) == len(now) and all(map(operator.is_, before, now))
