"""Inputs from an archive: arrays of parameters and processes, and invalid archives."""

from __future__ import annotations

import random
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from conformance.checking.settings import Settings
from conformance.frontends.archives import read_inputs
from conformance.frontends.arguments import GivenInputs, InputsError, Parameter, load, select_inputs
from conformance.frontends.modules import Unit, units_of
from conformance.verdict import Verdict
from reference.ir.program import Function, Operation, Program, Region, TensorType, Value
from reference.ir.types import ELEMENT_TYPES
from suites.meta.support.checking import check_text
from suites.meta.support.small_programs import array

# --- What is no archive --------------------------------------------------------------------------


def object_array(path: Path) -> None:
    np.savez(path, x=np.array([1, None], object))


def write_damaged(path: Path) -> None:
    np.savez(path, x=np.ones(50))
    path.write_bytes(path.read_bytes()[:200])


def changed_bits(path: Path) -> None:
    np.savez(path, x=np.ones(50))
    data = bytearray(path.read_bytes())
    data[300] ^= 1
    path.write_bytes(data)


def changed_compressed(path: Path) -> None:
    np.savez_compressed(path, x=np.random.default_rng(0).random(50))
    data = bytearray(path.read_bytes())
    data[60:200] = bytes(140)
    path.write_bytes(data)


def too_large(path: Path) -> None:
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (100000000000000000,), }".ljust(
        117
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.npy", b"\x93NUMPY\x01\x00v\x00" + header.ljust(117) + b"\n")


def one_array(path: Path) -> None:
    with path.open("wb") as file:
        np.save(file, np.ones(2))


def another_zip(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", "hello")


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda path: path.write_bytes(b"PK\x03\x04garbage"), "a damaged .npz archive: "),
        (write_damaged, "a damaged .npz archive: "),
        (changed_bits, "a damaged .npz archive: Bad CRC-32 for file 'x.npy'"),
        (changed_compressed, "a damaged .npz archive: "),
        (object_array, "it holds Python objects, not arrays of numbers"),
        (too_large, "an array of it does not fit in memory"),
        (another_zip, "a.txt is not an array"),
        (lambda path: path.write_text("hello"), "no .npz archive"),
        (lambda path: path.write_bytes(b""), "no .npz archive"),
        (one_array, "holds one array: give an archive"),
        (lambda path: path.mkdir(), "Is a directory"),
    ],
)
def test_invalid_archive_is_refused_with_reason(
    make: Callable[[Path], Any], reason: str, tmp_path: Path
) -> None:
    path = tmp_path / "in.npz"
    make(path)
    with pytest.raises(InputsError, match=reason) as raised:
        load(path)
    assert "\n" not in str(raised.value)


def test_bytes_changed_anywhere_are_never_another_error(tmp_path: Path) -> None:
    path = tmp_path / "in.npz"
    source = random.Random(0)
    for save in (np.savez, np.savez_compressed):
        save(path, x=np.arange(6.0), y=np.ones((2, 3), np.int8))
        whole = path.read_bytes()
        refused = 0
        for _ in range(200):
            data = bytearray(whole)
            for _ in range(3):
                data[source.randrange(len(data))] = source.randrange(256)
            path.write_bytes(data)
            try:
                load(path)
            except InputsError:
                refused += 1
        assert refused > 100


@pytest.mark.parametrize("of", [ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fn, ml_dtypes.bfloat16])
def test_archives_of_numpy_hold_narrow_types(of: type, tmp_path: Path) -> None:
    path, array = tmp_path / "in.npz", np.array([1, -2, np.inf], of)
    np.savez(path, x=array)
    assert load(path)["x"].tobytes() == array.tobytes()


# --- Which array is which parameter's ------------------------------------------------------------

A, B, C = np.ones(2, np.float32), np.ones((2, 3), np.float32), np.ones(4, np.int32)


def program_of(*arrays: Any) -> Program:
    parameters = tuple(
        Value(f"a{i}", TensorType(one.shape, ELEMENT_TYPES["f32" if one.dtype == "f4" else "si32"]))
        for i, one in enumerate(arrays)
    )
    body = Region(parameters, (Operation("return", parameters),))
    return Program((Function("main", body, tuple(parameter.type for parameter in parameters)),))


def names(*pairs: str) -> list[Parameter]:
    return [Parameter(*pair.split("=")) for pair in pairs]


def taken_names(found: GivenInputs, arrays: dict[str, Any]) -> list[str]:
    return [next(k for k, v in arrays.items() if v.shape == a.shape) for a in found.arrays]


@pytest.mark.parametrize(
    ("parameters", "named", "archive", "wanted", "ignored"),
    [
        ((A, C), ("x", "y"), {"y": C, "x": A, "z": B}, ["x", "y"], ("z",)),
        ((A, C), ("arg0=x", "arg1=w"), {"x": A, "unused": B, "w": C}, ["x", "w"], ("unused",)),
        ((A, C), ("arg0", "arg1"), {"arr_0": A, "arr_1": B, "arr_2": C}, None, ("arr_1",)),
        ((A, C), ("x", "y"), {"arr_0": B, "arr_1": A, "arr_2": C}, None, ("arr_0",)),
        ((A, C), ("arg0", "arg1"), {"arr_0": A, "arr_2": C}, None, ()),
        ((A, C), ("arg0", "arg1"), {"x": A, "unused": B, "w": C}, ["x", "w"], ("unused",)),
        ((A, C), ("x", "arg1=w"), {"x": A, "w": C}, ["x", "w"], ()),
        ((A, B), ("x", "y"), {"x": A, "arr_1": B}, ["x", "arr_1"], ()),
        ((), (), {"x": A}, [], ("x",)),
    ],
)
def test_arrays_that_a_program_does_not_take_are_named(
    parameters: Any, named: Any, archive: Any, wanted: list[str] | None, ignored: Any
) -> None:
    found = select_inputs(program_of(*parameters), archive, names(*named))
    assert found.ignored == ignored
    if wanted is not None:
        assert taken_names(found, archive) == wanted


@pytest.mark.parametrize(
    ("parameters", "named", "archive", "reason"),
    [
        ((A, C), ("arg0", "arg1"), {"arr_0": A, "arr_1": A, "arr_2": C}, "may be arr_0 or arr_1"),
        (
            (A, C),
            ("arg0", "arg1"),
            {"arr_0": C, "arr_1": B, "arr_2": A},
            "no 2 of the archive's 3 arrays fit",
        ),
        ((A,), ("arg0=arg1",), {"arg0": A, "arg1": A}, "the archive has both names"),
        ((A, C), ("x", "y"), {"x": A, "z": C}, "the program takes x, y; the archive has x, z"),
        ((A,), ("arg0=x",), {"y": A}, r"the program takes arg0 \(x\); the archive has y"),
        ((A, C), ("x", "y"), {"arr_0": A}, "the program takes x, y; the archive has arr_0"),
        ((A,), ("x",), {"x": C}, r"parameter 0 \(%x\) is tensor<2xf32>; given shape \[4\]"),
        ((A,), ("x",), {}, "the archive has nothing"),
    ],
)
def test_ambiguous_arrays_are_refused(
    parameters: Any, named: Any, archive: Any, reason: str
) -> None:
    with pytest.raises(InputsError, match=reason):
        select_inputs(program_of(*parameters), archive, names(*named))


def test_verdict_lists_unused_arrays(tmp_path: Path) -> None:
    text = """
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.tanh %x : tensor<2xf32>
  return %0 : tensor<2xf32>
}"""
    archive = tmp_path / "in.npz"
    np.savez(archive, x=A, dropped=B)
    found = check_text(tmp_path, text, Settings("reference", archive))
    assert found.verdict is Verdict.PASS
    assert found.message == "arrays of the archive that are not parameters: dropped"


TEXT = """
module @m attributes {{mhlo.num_replicas = {replicas} : i32, mhlo.num_partitions = 1 : i32}} {{
  func.func @main(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {{
    %0 = stablehlo.add %x, %y : tensor<2xf32>
    return %0 : tensor<2xf32>
  }}
}}"""
FIRST, SECOND = array([1.0, 2.0]), array([3.0, 4.0])


def unit_with(replicas: int) -> Unit:
    (unit,) = units_of(TEXT.format(replicas=replicas))
    assert isinstance(unit, Unit)
    return unit


def save_archive(folder: Path, *arrays: np.ndarray) -> Path:
    path = folder / "inputs.npz"
    np.savez(path, *arrays)
    return path


def test_first_dimension_is_the_number_of_processes(tmp_path: Path) -> None:
    with pytest.raises(InputsError, match=r"arr_0 has the shape \[2\]: for 3 processes"):
        read_inputs(unit_with(3), save_archive(tmp_path, FIRST, SECOND))
