"""Inputs of a program to check, out of an .npz archive; conformance/drawing.py draws others."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from reference.program import Program, TensorType
from reference.types import Array, bits_dtype, from_bits


class InputsError(ValueError):
    """Inputs that are not what the program takes, or cannot be had: one line."""


def load(path: Path) -> dict[str, Array]:
    """The arrays of an .npz archive by name.

    Raises:
        InputsError: when it cannot be read as one.
    """
    try:
        with np.load(path, allow_pickle=False) as archive:
            if isinstance(archive, np.ndarray):
                raise InputsError(f"{path}: one array, not an archive of them (.npz)")
            return {name: archive[name] for name in archive.files}
    except InputsError:
        raise
    except (OSError, ValueError, EOFError, KeyError, AttributeError) as error:
        reason = getattr(error, "strerror", None) or "no .npz archive of arrays that numpy can read"
        raise InputsError(f"{path}: {reason}") from error


def given(
    program: Program, arrays: Mapping[str, Array], names: tuple[str, ...]
) -> tuple[Array, ...]:
    """The program's inputs out of an archive: by the parameters' names, or in order as `arr_0`, ...

    `names` are the parameters' names in the source, without the %. Types that numpy does not have
    (bf16, f8, i4, ...) are given as the arrays of ml_dtypes that numpy saves as void, or as
    unsigned integers of the same width that hold their bits; a quantized tensor as its codes.

    Raises:
        InputsError: naming the parameter that is missing or not of its type.
    """
    parameters = program.main.arguments
    positional = [f"arr_{number}" for number in range(len(parameters))]
    unknown = set(arrays) - set(names) - set(positional)
    if unknown or len(arrays) != len(parameters):
        takes = ", ".join(names) or "nothing"
        has = ", ".join(sorted(arrays)) or "nothing"
        raise InputsError(f"the program takes {takes}; the archive has {has}")
    found: list[Array] = []
    for number, (parameter, name) in enumerate(zip(parameters, names, strict=True)):
        array = arrays.get(name, arrays.get(positional[number]))
        if array is None:
            raise InputsError(f"no array for parameter {number} (%{name})")
        of = parameter.type
        if not isinstance(of, TensorType):
            raise InputsError(f"parameter {number} (%{name}) is no tensor")
        found.append(_as(array, of, f"parameter {number} (%{name})"))
    return tuple(found)


def _as(array: Array, of: TensorType, what: str) -> Array:
    agrees = len(array.shape) == of.rank and all(
        size in (None, actual) for size, actual in zip(of.shape, array.shape, strict=False)
    )
    if not agrees:
        raise InputsError(f"{what} is {of}; given shape {list(array.shape)}")
    element = of.stored
    storage = element.storage
    if array.dtype == storage:
        return np.ascontiguousarray(array).reshape(array.shape)
    same_width = array.dtype.itemsize == storage.itemsize
    if same_width and array.dtype.kind == "V":
        return np.ascontiguousarray(array).view(storage).reshape(array.shape)
    if storage.isbuiltin != 1 and array.dtype == bits_dtype(element):
        codes = array if element.bits >= 8 else array & np.uint8((1 << element.bits) - 1)
        return np.asarray(from_bits(codes, element))
    raise InputsError(f"{what} is {of}, stored as {storage}; given {array.dtype}")
