"""Inputs of a checked program from an .npz archive; frontends/inputs/ draws inputs instead."""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from reference.ir.program import Program, TensorType
from reference.ir.types import Array, bits_dtype, from_bits


class InputsError(ValueError):
    """Inputs that do not fit the program or cannot be read. The message is one line."""


def load(path: Path) -> dict[str, Array]:
    """Load the arrays of an .npz archive by name.

    Raises:
        InputsError: when the file cannot be read as an archive.
    """
    try:
        with path.open("rb") as file:  # numpy leaves it open where it can't read it
            archive = np.load(file, allow_pickle=False)
            if isinstance(archive, np.ndarray):
                raise InputsError(f"{path} holds one array: give an archive (.npz)")
            found: dict[str, Any] = {name: _member(archive, name) for name in archive.files}
    except (InputsError, KeyboardInterrupt):
        raise
    except OSError as error:
        raise InputsError(f"{path}: {error.strerror or _NO_ARCHIVE}") from error
    except Exception as error:  # numpy, zipfile and zlib each have errors of their own
        raise InputsError(f"{path}: {_read_error(error)}") from error
    for name, array in found.items():
        if not isinstance(array, np.ndarray):
            raise InputsError(f"{path}: {name} is not an array")
    return found


def _member(archive: Any, name: str) -> Any:
    """Return an array of an archive.

    numpy writes the name of float8_e5m2 but cannot read it: such an array is returned as void, like
    all other types of ml_dtypes.
    """
    try:
        return archive[name]
    except ValueError as error:
        if _E5M2 not in str(error):
            raise
        content: bytes = archive.zip.read(f"{name}.npy")
        renamed = content.replace(_E5M2.encode(), b"'|V1'", 1)
        return np.load(io.BytesIO(renamed), allow_pickle=False)


_E5M2 = "'<f1'"
_NO_ARCHIVE = "no .npz archive of arrays that numpy can read"


def _read_error(error: Exception) -> str:
    """Return the reason why numpy could not read a file, for people."""
    if "Object arrays" in str(error):
        return "it holds Python objects, not arrays of numbers"
    if isinstance(error, MemoryError):
        return "an array of it does not fit in memory"
    if isinstance(error, (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError)):
        return f"a damaged .npz archive: {' '.join(str(error).split())[:120]}"
    return _NO_ARCHIVE


@dataclass(frozen=True, slots=True)
class Parameter:
    """The names of a program's parameter: in the text, and by the program's author ("")."""

    name: str
    label: str = ""


@dataclass(frozen=True, slots=True)
class GivenInputs:
    """A program's inputs from an archive, and the names of arrays that are no inputs."""

    arrays: tuple[Array, ...]
    ignored: tuple[str, ...] = ()


def select_inputs(
    program: Program, arrays: Mapping[str, Array], named: Sequence[Parameter]
) -> GivenInputs:
    """Return the program's inputs from an archive, and the names of arrays that are no inputs.

    Arrays are assigned by the names of parameters in the text, or by the author's names. Otherwise
    they are assigned in order: if they are called `arr_0`, ..., or if neither the archive nor the
    program has telling names. An archive may hold more arrays than the program takes, because jit
    leaves out arguments that no result depends on. Arrays whose names are no parameters' are
    ignored. Arrays without names are selected by type, in order, if only a single selection fits.

    Types that numpy does not have (bf16, f8, i4, ...) are given as the arrays of ml_dtypes that
    numpy saves as void, or as unsigned integers of the same width that hold their bits; a quantized
    tensor as its codes.

    Raises:
        InputsError: naming the parameter that is missing or not of its type.
    """
    types: list[TensorType] = []
    for index, parameter in enumerate(program.main.arguments):
        if not isinstance(parameter.type, TensorType):
            raise InputsError(f"{_parameter_label(index, named)} is not a tensor")
        types.append(parameter.type)
    keys = _keys(arrays, named, types)
    found = [
        _convert_array(arrays[key], of, _parameter_label(index, named))
        for index, (key, of) in enumerate(zip(keys, types, strict=True))
    ]
    return GivenInputs(tuple(found), tuple(name for name in arrays if name not in keys))


_NUMBERED = re.compile(r"arr_(\d+)")
_GENERIC = re.compile(r"(?:arg|a)?_?\d+")
"""Pattern of parameter names that printers and compilers generate."""


def _parameter_label(number: int, named: Sequence[Parameter]) -> str:
    return f"parameter {number} (%{named[number].name})"


def _keys(
    arrays: Mapping[str, Array], named: Sequence[Parameter], types: Sequence[TensorType]
) -> list[str]:
    """Return the name of the array that each parameter takes."""
    by_name, by_label = [one.name for one in named], [one.label for one in named]
    whole = [k for k in (by_name, by_label) if len({*k}) == len(k) and arrays.keys() >= {*k}]
    if len(whole) == 2 and by_name != by_label:
        raise InputsError(
            f"{', '.join(by_name)} are called {', '.join(by_label)} by the program's author, and "
            "the archive has both names; leave out the arrays that the program does not take"
        )
    if whole:
        return whole[0]
    numbered = {int(found[1]): key for key in arrays if (found := _NUMBERED.fullmatch(key))}
    each = [
        next((key for key in (one.name, one.label, numbered.get(i, "")) if key in arrays), "")
        for i, one in enumerate(named)
    ]
    if len({*each}) == len(each) == len(arrays) and "" not in each:
        return each
    in_order = [numbered[number] for number in sorted(numbered)]
    if not numbered and not any(each) and all(_GENERIC.fullmatch(o.label or o.name) for o in named):
        in_order = list(arrays)
    if len(in_order) != len(arrays) or len(in_order) < len(named):
        takes = ", ".join(_parameter_text(one) for one in named) or "nothing"
        has = ", ".join(sorted(arrays)) or "nothing"
        raise InputsError(f"the program takes {takes}; the archive has {has}")
    return (
        in_order if len(in_order) == len(named) else _fitting_arrays(in_order, arrays, named, types)
    )


def _parameter_text(parameter: Parameter) -> str:
    return (
        f"{parameter.name} ({parameter.label})"
        if parameter.label and parameter.label != parameter.name
        else parameter.name
    )


def _fitting_arrays(
    keys: Sequence[str],
    arrays: Mapping[str, Array],
    named: Sequence[Parameter],
    types: Sequence[TensorType],
) -> list[str]:
    """Return the arrays that fit the parameters in order, if there is a single such choice."""
    fits = [[_can_take(arrays[key], of) for of in types] for key in keys]
    first = _fit_types(fits, range(len(keys)))
    last = _fit_types([row[::-1] for row in fits[::-1]], range(len(keys))[::-1])
    if first is None or last is None:
        raise InputsError(
            f"no {len(types)} of the archive's {len(keys)} arrays fit the program's parameters in "
            f"order ({', '.join(map(str, types))})"
        )
    last.reverse()
    if first != last:
        number = next(i for i in range(len(types)) if first[i] != last[i])
        choice = f"{keys[first[number]]} or {keys[last[number]]}"
        raise InputsError(
            f"the archive has {len(keys)} arrays and the program takes {len(types)}: "
            f"{_parameter_label(number, named)} may be {choice}; "
            f"leave out what it does not take, or name them {', '.join(o.name for o in named)}"
        )
    return [keys[at] for at in first]


def _fit_types(fits: Sequence[Sequence[bool]], places: Sequence[int]) -> list[int] | None:
    """Return the earliest positions at which all types fit in order, or None."""
    taken: list[int] = []
    for place, row in zip(places, fits, strict=True):
        if len(taken) < len(row) and row[len(taken)]:
            taken.append(place)
    return taken if len(taken) == len(fits[0]) else None


def _can_take(array: Array, tensor_type: TensorType) -> bool:
    try:
        _convert_array(array, tensor_type, "")
    except InputsError:
        return False
    return True


def _convert_array(array: Array, tensor_type: TensorType, what: str) -> Array:
    agrees = len(array.shape) == tensor_type.rank and all(
        size in (None, actual) for size, actual in zip(tensor_type.shape, array.shape, strict=False)
    )
    if not agrees:
        raise InputsError(f"{what} is {tensor_type}; given shape {list(array.shape)}")
    element = tensor_type.stored
    storage = element.storage
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    if array.dtype == storage:
        return np.ascontiguousarray(array).reshape(array.shape)
    same_width = array.dtype.itemsize == storage.itemsize
    if same_width and array.dtype.kind == "V":
        return np.ascontiguousarray(array).view(storage).reshape(array.shape)
    if storage.isbuiltin != 1 and array.dtype == bits_dtype(element):
        codes = array if element.bits >= 8 else array & np.uint8((1 << element.bits) - 1)
        return np.asarray(from_bits(codes, element))
    raise InputsError(f"{what} is {tensor_type}, stored as {storage}; given {array.dtype}")
