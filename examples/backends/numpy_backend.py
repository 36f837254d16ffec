"""A backend in Python: three ops with numpy; anything else is unsupported.

hlo-conformance run --backend python:mine=examples/backends/numpy_backend.py --op abs
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from conformance.backends.base import Description, Unsupported
from conformance.tolerance.hardware import Hardware

FUNCTIONS = {"abs": np.abs, "tanh": np.tanh, "multiply": np.multiply}


@dataclass
class Executable:
    """A program that `compile` accepted."""

    program: Any

    def execute(self, inputs: Sequence[Sequence[Any]]) -> list[list[Any]]:
        """Return the results of each process; these programs have one process."""
        (arguments,) = inputs
        with np.errstate(all="ignore"):
            return [self.call("main", arguments)]

    def call(self, name: str, arguments: Sequence[Any]) -> list[Any]:
        """Return the results of a function of the program."""
        function = self.program.function(name)
        names = [value.name for value in function.arguments]
        values = dict(zip(names, arguments, strict=True))
        *operations, end = function.body.operations
        for operation in operations:
            operands = [values[operand.name] for operand in operation.operands]
            if operation.name == "func.call":
                results = self.call(str(operation.attribute("callee")), operands)
            else:
                results = [FUNCTIONS[operation.name](*operands)]
            names = [value.name for value in operation.results]
            values.update(zip(names, results, strict=True))
        return [values[operand.name] for operand in end.operands]


class Backend:
    """The object that `open_backend` returns."""

    hardware = Hardware.CPU

    def describe(self) -> Description:
        """Return name, platform, device and versions."""
        return Description("mine", "numpy", "this process", (("numpy", np.__version__),))

    def configured(self, settings: object) -> "Backend":
        """Raise `Unsupported`: there are no options."""
        raise Unsupported(f"mine has no compiler that takes options: {settings}")

    def refusal(self, program: Any) -> None:
        """Return no error: `compile` finds all of them."""

    def compile(self, text: str, program: Any) -> Executable:
        """Return an executable, or raise `Unsupported`."""
        del text  # the same as `program`
        known = {*FUNCTIONS, "func.call", "return"}
        for operation in program.walk():
            if operation.name not in known:
                raise Unsupported(f"mine does not implement {operation.name}")
        return Executable(program)


def open_backend() -> Backend:
    """Return the backend; each worker process calls this once."""
    return Backend()
