"""Several operands of all_gather, gathered along their first dimension, whichever is asked for.

What each process gives then stands as a block in the result's memory, one behind the other: the
elements are in other places, unless the dimension asked for is the first. The blocks may be in
XLA's order of the process group beside that (misread_groups.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from conformance.known.mistaken import gives
from conformance.known.xla.processes.misread_groups import misread
from conformance.transforms.collective import collective_of
from reference.ir.processes import Process
from reference.ir.program import Program
from reference.ir.types import Array
from reference.ops.distribution.distribution import all_gather

LABEL = "gathered along the first dimension"


def explains(program: Program, inputs: Sequence[Array], actual: Sequence[Array]) -> bool:
    """Whether a program of several processes gives just what that mistake makes of its inputs."""
    read = (program, *(other for _, other in misread(program)))
    return any(_makes(one, inputs, actual) for one in read)


def _makes(program: Program, inputs: Sequence[Array], actual: Sequence[Array]) -> bool:
    one = collective_of(program)
    if one is None or not one.attribute("all_gather_dim", 0) or len(one.operands) < 2:
        return False
    given: dict[str, Any] = {**dict(one.attributes), "all_gather_dim": 0}

    def first(operands: tuple[Array, ...], process: Process) -> Sequence[Array]:
        return all_gather(operands, process=process, results=(), **given)

    return gives(program, inputs, actual, one, first)
