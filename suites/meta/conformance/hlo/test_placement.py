"""Arguments are split among devices, and results put together, as a partitioned module says."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.seeded_rewritings.messages import Message
from conformance.hlo.placement import CopiesDiffer, Placement, placement_of
from conformance.hlo.unreadable import Unreadable
from conformance.stablehlo.parse import parse_module
from reference.ir.program import Program
from suites.meta.support.small_programs import are_same, array

REPLICATED, MAXIMAL, TUPLE, TILED = 0, 1, 2, 3


def program(sizes: str, count: int) -> Program:
    """Return a program of one argument and one result of these sizes, for some partitions."""
    return parse_module(
        f"""module attributes {{mhlo.num_partitions = {count} : i32}} {{
func.func @main(%x: tensor<{sizes}xf32> {{mhlo.sharding = "{{replicated}}"}}) -> tensor<{sizes}xf32> {{
  return %x : tensor<{sizes}xf32>
}}
}}"""  # noqa: E501
    )


def sharding_message(kind: int, dimensions: list[int], **given: list[int]) -> Message:
    """Return a serialised sharding."""
    numbers = {"devices": 4, "last": 8, "reshape": 9, "transpose": 10}
    made = Message()
    made.put_integer(1, kind)
    made.put_integers(3, dimensions)
    for name, values in given.items():
        made.put_integers(numbers[name], values)
    return made


def placement_in_module(of: Message, sizes: str, count: int) -> Placement | None:
    """Return the placement by a module with the same sharding of argument and result."""
    module = Message()
    module.put_messages(12, [of])
    module.put_messages(14, [of])
    return placement_of(module.serialise(), program(sizes, count))


def test_rows_lie_on_devices_in_the_order_that_is_listed() -> None:
    placement = placement_in_module(sharding_message(TILED, [2, 1], devices=[1, 0]), "4x2", 2)
    assert placement is not None
    rows = np.arange(8, dtype=np.float32).reshape(4, 2)
    shares = placement.split([rows])
    assert are_same([share[0] for share in shares], [rows[2:], rows[:2]])
    assert are_same(placement.join([share[0] for share in shares]), [rows])


def test_an_iota_is_reshaped_and_transposed() -> None:
    of = sharding_message(TILED, [4, 1, 2], last=[REPLICATED], reshape=[2, 4], transpose=[1, 0])
    placement = placement_in_module(of, "4x1", 8)
    assert placement is not None
    rows = array([[0], [1], [2], [3]])
    firsts = [int(share[0][0, 0]) for share in placement.split([rows])]
    assert firsts == [0, 1, 2, 3, 0, 1, 2, 3]


def test_uneven_shards_are_padded_and_cropped() -> None:
    placement = placement_in_module(sharding_message(TILED, [2], devices=[0, 1]), "3", 2)
    assert placement is not None
    shares = placement.split([array([1, 2, 3])])
    assert shares[1][0][0] == 3
    assert np.isnan(shares[1][0][1])
    assert are_same(placement.join([share[0] for share in shares]), [array([1, 2, 3])])


def test_copies_that_differ_are_an_error() -> None:
    placement = placement_in_module(sharding_message(REPLICATED, []), "2", 2)
    assert placement is not None
    nan = float("nan")
    assert np.isnan(placement.join([array([1, nan]), array([1, nan])])[0][1])
    with pytest.raises(
        CopiesDiffer, match=r"of result 0: at \[1\], partition 0 has 2.0, partition"
    ):
        placement.join([array([1, 2]), array([1, 3])])


def test_a_module_that_is_not_partitioned_has_no_placement() -> None:
    assert placement_of(b"", program("2", 2)) is None


@pytest.mark.parametrize(
    ("of", "why"),
    [
        (sharding_message(MAXIMAL, [1], devices=[0]), "its kind 1 has no meaning"),
        (sharding_message(TILED, [4], devices=[0, 1, 2, 3]), "over 4 devices"),
        (sharding_message(TILED, [1, 2], devices=[0, 1], last=[4]), "in part manual"),
        (sharding_message(TUPLE, []), "not those of the program"),
    ],
)
def test_a_sharding_without_a_meaning_is_unreadable(of: Message, why: str) -> None:
    with pytest.raises(Unreadable, match=why):
        placement_in_module(of, "2", 2)
