"""Archives of a program's inputs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from conformance.frontends.archives import read_inputs, stack_inputs
from conformance.frontends.arguments import InputsError
from conformance.frontends.modules import Unit, units_of
from suites.meta.support.small_programs import array, op_program, tensor_of

TEXT = """
module @m attributes {{mhlo.num_replicas = {replicas} : i32, mhlo.num_partitions = 1 : i32}} {{
  func.func @main(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {{
    %0 = stablehlo.add %x, %y : tensor<2xf32>
    return %0 : tensor<2xf32>
  }}
}}"""
X, Y = array([1.0, 2.0]), array([3.0, 4.0])


def unit_with(replicas: int) -> Unit:
    (unit,) = units_of(TEXT.format(replicas=replicas))
    assert isinstance(unit, Unit)
    return unit


def save_archive(folder: Path, *arrays: np.ndarray) -> Path:
    path = folder / "inputs.npz"
    np.savez(path, *arrays)
    return path


def test_one_process_has_the_arrays_themselves(tmp_path: Path) -> None:
    found = read_inputs(unit_with(1), save_archive(tmp_path, X, Y))
    assert [one.tolist() for one in found.arrays] == [X.tolist(), Y.tolist()]


def test_arrays_of_processes_are_stacked_and_taken_apart(tmp_path: Path) -> None:
    unit = unit_with(2)
    inputs = (X, Y, X + 10, Y + 10)
    stacked = stack_inputs(unit.flat.program, inputs)
    assert [one.shape for one in stacked] == [(2, 2), (2, 2)]
    found = read_inputs(unit, save_archive(tmp_path, *stacked))
    assert [one.tolist() for one in found.arrays] == [one.tolist() for one in inputs]


def test_first_dimension_is_the_number_of_processes(tmp_path: Path) -> None:
    with pytest.raises(InputsError, match=r"arr_0 has the shape \[2\]: for 3 processes"):
        read_inputs(unit_with(3), save_archive(tmp_path, X, Y))


def test_a_single_process_is_not_stacked() -> None:
    program = op_program("negate", [tensor_of(2)], tensor_of(2))
    assert stack_inputs(program, [X])[0] is X
    two = replace(program, process_grid=(1, 2))
    assert stack_inputs(two, [X, Y])[0].tolist() == [X.tolist(), Y.tolist()]
