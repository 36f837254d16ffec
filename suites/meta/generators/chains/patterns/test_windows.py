"""Windows that compilers have other code for: whole, growing, side by side, cropped."""

from __future__ import annotations

from typing import Any

import numpy as np

from generators.chains.chain import Chain
from generators.chains.patterns.windows import PATTERNS
from reference.ir.program import Operation
from suites.meta.support.built_cases import evaluate_chain, steps_of, write_chains

NUMBERS = np.array([3, 1, 4, 2, 5], np.int32)
MANY = 150


def windows_of(chain: Chain) -> Operation:
    return next(one for one in chain.operations if one.name == "reduce_window")


def along(chain: Chain) -> list[tuple[Any, ...]]:
    one = windows_of(chain)
    names = ("window_dimensions", "window_strides", "base_dilations", "window_dilations")
    padding: Any = one.attribute("padding")
    given: Any = [one.attribute(name) for name in names]
    return [(*row, tuple(pair)) for *row, pair in zip(*given, padding.array.tolist(), strict=True)]


def test_windows_of_every_kind() -> None:
    found = [
        row
        for chain, _ in write_chains(PATTERNS, "window reduction", "si32", (5,), MANY)
        for row in along(chain)
    ]
    assert (5, 1, 1, 1, (4, 0)) in found  # growing
    assert (5, 1, 1, 1, (0, 0)) in found  # all
    assert any(row[0] == row[1] > 1 for row in found)  # side by side
    assert any(row[2] > 1 and row[3] > 1 for row in found)  # dilated
    assert any(min(row[4]) < 0 for row in found)  # cropped
    assert any(
        min(row[4]) < 0 < max(row[4]) for row in found
    )  # cropped, and added at the other side


def test_growing_windows_are_a_running_fold() -> None:
    running = {"add": np.cumsum, "maximum": np.maximum.accumulate, "minimum": np.minimum.accumulate}
    seen = 0
    for chain, result in write_chains(PATTERNS, "window reduction", "si32", (5,), MANY):
        op = windows_of(chain).regions[0].operations[0].name
        if along(chain) == [(5, 1, 1, 1, (4, 0))] and op in running:
            assert evaluate_chain(chain, result, NUMBERS).tolist() == running[op](NUMBERS).tolist()
            seen += 1
    assert seen > 0


def test_large_arrays_are_folded_too() -> None:
    sizes = {windows_of(chain).operands[0].type.static_shape  # type: ignore[union-attr]
             for chain, _
             in write_chains(PATTERNS, "window reduction", "si32", (5,), MANY)}  # fmt: skip
    assert {(5,), (64, 64), (8192,)} <= sizes


def test_at_least_one_element_is_left_by_a_pad() -> None:
    for chain, _ in write_chains(PATTERNS, "windows of pad", "si32", (2,), 80):
        padded = windows_of(chain).operands[0].type.static_shape  # type: ignore[union-attr]
        assert min(padded) > 0


def test_a_pad_has_the_value_of_the_fold_or_another() -> None:
    alike = {
        next(one for one in chain.operations if one.name == "pad").operands[1]
        == windows_of(chain).operands[1]
        for chain, _ in write_chains(PATTERNS, "windows of pad", "si32", (2,), 40)
    }
    assert alike == {True, False}


def test_convolutions_by_feature_and_with_dilated_images() -> None:
    for name in ("small convolution", "convolution of pad"):
        found = [
            next(one for one in chain.operations if one.name == "convolution")
            for chain, _ in write_chains(PATTERNS, name, "f32", (3,), MANY)
        ]
        assert {one.attribute("feature_group_count") for one in found} > {1}
        bases: Any = [one.attribute("lhs_dilation") for one in found]
        assert {size for one in bases for size in one} == {1, 2}
        assert ("pad" in steps_of(write_chains(PATTERNS, name, "f32", (3,), 1)[0][0])) == (
            name != "small convolution"
        )
