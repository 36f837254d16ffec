"""Running folds by tiles, worked out by hand for tiles of 16."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from conformance.known.xla.windows.tiles import tiled_results
from generators.regions.bodies import fold_of
from reference.ir.constants import matrix
from reference.ir.program import Operation, Region, Value, single_op
from reference.ir.types import Array, element_type
from reference.unspecified.reduction import decompose_reduction
from suites.meta.support.small_programs import tensor_of

F32 = element_type("f32")
SUM = fold_of("add", F32).region
_PAIR = (Value("a", tensor_of()), Value("b", tensor_of()))
SECOND = Region(_PAIR, (Operation("return", (_PAIR[1],)),))
"""A body that returns its second argument, and does not commute."""


def folds(size: int, init: float, body: Region = SUM, **changed: Any) -> list[list[float]]:
    """Return the results for numbers 1, 2 and so on, by default of all prefixes."""
    given: dict[str, Any] = {"window_dimensions": (size,), "padding": ((size - 1, 0),)} | changed
    given["padding"] = matrix(given["padding"])
    values = (Value("x", tensor_of(size)), Value("init", tensor_of()))
    operation = single_op("reduce_window", values, (tensor_of(size),), given, (body,)).subject
    x: Array = np.arange(1, size + 1, dtype=np.float32)
    parts = decompose_reduction(operation, (x, np.array(init, np.float32)))
    return [results[0].tolist() for results in tiled_results(parts)]


PREFIXES = [n * (n + 1) / 2 for n in range(1, 21)]
"""Sums of the numbers up to each."""
SUFFIXES = [210 - n * (n - 1) / 2 for n in range(1, 21)]


def test_init_value_is_added_once_for_each_fold() -> None:
    """Each tile begins with 1, its prefix is 1, or the second's 1 + (1 + sum of the first)."""
    (found,) = folds(20, 1)
    assert found == [number + (2 if n < 16 else 3) for n, number in enumerate(PREFIXES)]


def test_suffixes_are_folded_from_the_end() -> None:
    """The last tile has four elements and twelve init values."""
    (found,) = folds(20, 0, padding=((0, 19),))
    assert found == SUFFIXES
    (found,) = folds(20, 1, padding=((0, 19),))
    assert found == [number + (15 if n < 16 else 14) for n, number in enumerate(SUFFIXES)]


def test_prefix_of_a_tile_is_the_second_argument_of_the_body() -> None:
    assert folds(20, 7, SECOND) == [[7.0] * 16 + [16.0] * 4]


def test_each_smaller_size_of_tiles_is_tried() -> None:
    assert [len(folds(size, 0)) for size in (16, 17, 33, 65)] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "changed",
    [
        {"padding": ((10, 9),)},
        {"padding": ((9, 0),), "window_dimensions": (10,)},
        {"padding": ((19, 0),), "window_dimensions": (20,), "window_strides": (2,)},
        {"padding": ((38, 0),), "window_dilations": (2,)},
    ],
    ids=["centred", "short", "strided", "dilated"],
)
def test_other_windows_are_no_running_folds(changed: dict[str, Any]) -> None:
    assert folds(20, 0, **changed) == []
