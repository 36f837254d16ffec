"""Archives of a program's inputs, which all commands write and read in this form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from conformance.frontends.arguments import GivenInputs, InputsError, load, select_inputs
from conformance.frontends.modules import Unit
from conformance.frontends.naming import parameters
from reference.ir.program import Program
from reference.ir.types import Array


def read_inputs(unit: Unit, path: Path) -> GivenInputs:
    """Read the program's inputs from an archive, for each process in order.

    Raises:
        InputsError: naming the archive, the function, and the parameter that is missing or not of
            its type.
    """
    program, named = unit.flat.program, parameters(unit)
    archive = load(path)
    try:
        found = [
            select_inputs(program, one, named)
            for one in _split_by_process(archive, program.process_count)
        ]
    except InputsError as error:
        raise InputsError(f"{path}: @{unit.name}: {error}") from None
    return GivenInputs(tuple(array for one in found for array in one.arrays), found[0].ignored)


def stack_inputs(program: Program, inputs: Sequence[Array]) -> list[Array]:
    """Return the array of each parameter in the form of an archive.

    Those of several processes are stacked along a new first dimension.
    """
    if program.process_count == 1:
        return list(inputs)
    parameters = len(program.main.arguments)
    return [np.stack(inputs[number::parameters]) for number in range(parameters)]


def _split_by_process(archive: Mapping[str, Array], count: int) -> list[Mapping[str, Array]]:
    """Return the arrays for each process.

    Raises:
        InputsError: when the first dimension of an array is not the number of processes.
    """
    if count == 1:
        return [archive]
    for name, array in archive.items():
        if array.shape[:1] != (count,):
            raise InputsError(
                f"{name} has the shape {list(array.shape)}: for {count} processes its first "
                f"dimension must be {count}, with the array of each"
            )
    return [{name: array[number] for name, array in archive.items()} for number in range(count)]
