"""Modules of a compiler, read back as programs that the reference evaluates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from conformance.backends.base import Failed, NotReadBack
from conformance.backends.xla_messages import short_message
from conformance.hlo.placement import CopiesDiffer, Placement, placement_of
from conformance.hlo.read import read_module
from conformance.hlo.unreadable import Unreadable
from reference.interpreter.evaluate import EvaluationError, evaluate
from reference.ir.program import Program
from reference.ir.types import Array


@dataclass(frozen=True, slots=True)
class RewrittenProgram:
    """The result of a compiler for a program.

    Attributes:
        program: the module as a program, of as many processes as it is compiled for.
        placement: where a partitioner has placed the parts of arguments and results, None where
            the program is not partitioned.
    """

    program: Program
    placement: Placement | None = None

    def evaluate(self, arguments: Sequence[Array]) -> tuple[Array, ...]:
        """Return the results of main, evaluated by the reference.

        Args:
            arguments: the unpartitioned arguments of the compiled program.

        Raises:
            NotReadBack: when the reference cannot evaluate the module.
            Failed: when partitions have different copies of a result.
        """
        try:
            if self.placement is None:
                return evaluate(self.program, arguments)
            shares = self.placement.split(arguments)
            results = evaluate(self.program, [array for share in shares for array in share])
            return self.placement.join(results)
        except EvaluationError as error:
            raise NotReadBack(f"evaluation: {short_message(str(error))}") from error
        except RecursionError as error:
            raise NotReadBack("evaluation: the module is nested too deeply") from error
        except CopiesDiffer as error:
            raise Failed(str(error)) from error


def read_back(module: bytes, program: Program) -> RewrittenProgram:
    """Return the program that an optimised HLO module computes.

    Raises:
        NotReadBack: when it has a construct that no program of ours can express.
    """
    try:
        rewritten = read_module(module)
        placement = placement_of(module, program) if program.shared_among > 1 else None
    except Unreadable as error:
        raise NotReadBack(f"{error.construct}: {short_message(error.reason)}") from error
    except RecursionError as error:
        raise NotReadBack("reading: the module is nested too deeply") from error
    grid = program.process_grid if placement is None else (1, program.shared_among)
    return RewrittenProgram(replace(rewritten, process_grid=grid), placement)
