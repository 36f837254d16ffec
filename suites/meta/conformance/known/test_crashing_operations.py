"""Conditions on operations on which XLA's compilers crash, and windows that it shrinks."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.known.crashing_operations import CONDITIONS, describes, satisfies
from conformance.known.shrunk_ranges import WindowDimension, are_exchanged
from conformance.stablehlo.emit import spell_operation
from conformance.stablehlo.parse import parse_module

LEADING, SINGLE = "gather of leading dimension", "gather of single elements"
SHRUNK = "shrunk window"
OUTSIDE, SEVERAL = "window partly outside", "several updates of one element"
WHOLE = "updates of the input's sizes"


def tensor(*sizes: int) -> str:
    return f"tensor<{''.join(f'{size}x' for size in sizes)}f32>"


def indices(*sizes: int) -> str:
    return f"tensor<{''.join(f'{size}x' for size in sizes)}i32>"


def gather(
    sizes: list[int],
    slices: list[int],
    collapsed: list[int],
    indexed: list[int],
    batch: tuple[int, ...] = (5,),
    batching: list[int] | None = None,
    dynamic: bool = False,
) -> str:
    """Return a gather whose index vectors lie along the first dimension of the indices."""
    batching = batching or []
    kept = [n for d, n in enumerate(slices) if d not in {*collapsed, *batching}]
    offsets = [*range(len(batch), len(batch) + len(kept))]
    one, two, result = tensor(*sizes), indices(len(indexed), *batch), tensor(*batch, *kept)
    numbers = (
        f"#stablehlo.gather<offset_dims = {offsets}, collapsed_slice_dims = {collapsed}, "
        f"operand_batching_dims = {batching}, "
        f"start_indices_batching_dims = {[1 + n for n in range(len(batching))]}, "
        f"start_index_map = {indexed}, index_vector_dim = 0>"
    )
    third = f", {indices(len(sizes))}" if dynamic else ""
    name = "dynamic_gather" if dynamic else "gather"
    given = "" if dynamic else f", slice_sizes = array<i64: {', '.join(map(str, slices))}>"
    text = f"""
    func.func @main(%x: {one}, %i: {two}) -> {result} {{
      %s = stablehlo.constant dense<{slices}> : {indices(len(sizes))}
      %0 = "stablehlo.{name}"(%x, %i{", %s" if dynamic else ""}) <{{
        dimension_numbers = {numbers}, indices_are_sorted = false{given}
      }}> : ({one}, {two}{third}) -> {result}
      return %0 : {result}
    }}"""
    return spell_operation(parse_module(text).main.body.operations[1])


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(
    ("given", "found"),
    [
        (([1, 3, 3], [1, 3, 1], [0], [1, 2]), [LEADING]),
        (([1, 3, 3], [1, 1, 3], [0], [2, 1]), [LEADING]),
        (([1, 3, 3], [1, 2, 3], [0], [2, 1]), []),  # two elements of a dimension
        (([1, 3, 3], [1, 1, 1], [0], [1, 2]), []),  # single elements of both
        (([1, 3, 3], [1, 3, 3], [0], [1, 2]), []),
        (([1, 3, 3], [1, 3, 1], [0, 2], [1, 2]), []),
        (([1, 3, 3], [1, 3, 1], [0], [2]), []),  # nothing that has an index is whole
        (([1, 3, 3, 3], [1, 3, 1, 2], [0], [1, 2]), []),  # a part without an index
        (([1, 3, 3], [1, 3, 1], [0], [1, 2], (1, 3)), []),
        (([1, 3, 3], [1, 3, 1], [0], [1, 2], (1,)), []),
        (([1, 3, 3], [1, 3, 1], [0], [0, 1, 2]), []),
        (([3, 1, 3], [3, 1, 1], [1], [0, 2]), []),  # not before the others
        (([2, 1, 3, 3], [1, 1, 3, 1], [0, 1], [0, 2, 3]), [LEADING]),
        (([1, 2, 1], [1, 1, 1], [0, 2], [1, 2]), [LEADING]),
        (([1, 4], [1, 1], [0, 1], [1]), [SINGLE]),
        (([4, 1], [1, 1], [0, 1], [0], (1, 3)), [SINGLE]),
        (([1, 4], [1, 1], [0, 1], [1], (1,)), []),
        (([1, 4], [1, 1], [0, 1], [0, 1]), []),
        (([1, 1], [1, 1], [0, 1], [1]), []),
        (([2, 4], [1, 1], [0, 1], [1]), []),  # the dimension without an index has two elements
        (([1, 3, 4], [1, 1, 1], [0, 1, 2], [1, 2]), [SINGLE]),
        (([1, 3, 4], [1, 1, 1], [0, 1, 2], [2]), []),
        (([1, 4], [1, 1], [1], [1]), []),
        (([3, 1, 4], [1, 1, 1], [1, 2], [2], (3, 5), [0]), [SINGLE]),
        (([3, 4], [1, 1], [1], [1], (3, 5), [0]), []),
    ],
)
def test_gathers(given: tuple[Any, ...], found: list[str], dynamic: bool) -> None:
    text = gather(*given, dynamic=dynamic)
    assert [name for name in CONDITIONS if satisfies(text, name)] == found


def convolution(
    places: list[int],
    taps: list[int],
    made: list[int],
    pads: list[list[int]],
    reversed_: list[bool],
    **given: list[int],
) -> str:
    count = len(places)
    spatial = "".join(f"{n}, " for n in range(count))
    image, kernel = tensor(1, *places, 1), tensor(*taps, 1, 1)
    result = tensor(1, *made, 1)
    window = "".join(f", {name} = {numbers}" for name, numbers in given.items())
    flags = ", ".join("true" if one else "false" for one in reversed_)
    text = f"""
    func.func @main(%x: {image}, %k: {kernel}) -> {result} {{
      %0 = stablehlo.convolution(%x, %k)
        dim_numbers = [b, {spatial}f]x[{spatial}i, o]->[b, {spatial}f],
        window = {{pad = {pads}{window}, reverse = [{flags}]}}
        {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}}
        : ({image}, {kernel}) -> {result}
      return %0 : {result}
    }}"""
    return spell_operation(parse_module(text).subject)


@pytest.mark.parametrize(
    ("given", "window", "found"),
    [
        # jaxlib 0.10.2 compiled each of these, and crashed where True
        (([1], [3], [1], [[1, 1]], [True]), {}, True),
        (([1], [3], [1], [[1, 1]], [False]), {}, False),
        (([2], [3], [2], [[1, 1]], [True]), {}, False),  # both elements of the image are met
        (([1], [1], [3], [[1, 1]], [True]), {}, False),
        (([3], [2], [2], [[0, -1]], [True]), {"stride": [2], "lhs_dilate": [2]}, True),
        (([3], [2], [4], [[0, 0]], [True]), {"lhs_dilate": [2]}, False),
        (([1], [2], [1], [[0, 2]], [True]), {"rhs_dilate": [2]}, True),
        # holes of the image leave a single position, but XLA keeps four
        (([3], [4], [1], [[-1, -2]], [True]), {"stride": [2], "lhs_dilate": [3]}, False),
        # a place that holes leave fixes the position
        (([2], [2], [2], [[2, -1]], [True]), {"lhs_dilate": [2], "rhs_dilate": [2]}, True),
        (([1, 3], [1, 2], [2, 2], [[-1, 2], [0, 0]], [False, True]), {}, True),
        (([1, 3], [3, 1], [1, 3], [[1, 1], [0, 0]], [True, True]), {}, False),
        (([1, 3], [3, 1], [1, 3], [[1, 1], [0, 0]], [False, True]), {}, True),
        (([3, 1], [3, 1], [7, 1], [[3, 3], [2, -1]], [True, False]), {"stride": [1, 2]}, True),
        (([1, 3], [3, 3], [1, 3], [[1, 1], [1, 1]], [False, True]), {}, False),  # exchanged
        (([5, 5], [2, 3], [4, 3], [[0, 0], [0, 0]], [False, True]), {}, False),
        (([1, 2, 2], [3, 1, 1], [1, 2, 2], [[1, 1], [0, 0], [0, 0]], [True] * 3), {}, True),
        (([1, 2, 2], [3, 1, 1], [1, 2, 2], [[1, 1], [0, 0], [0, 0]], [False] * 3), {}, False),
        (
            ([1, 2, 2, 2], [3, 1, 1, 1], [1, 2, 2, 2], [[1, 1]] + 3 * [[0, 0]], [False] * 4),
            {},
            True,
        ),
    ],
)
def test_windows_that_meet_an_image_with_one_element(
    given: tuple[Any, ...], window: dict[str, list[int]], found: bool
) -> None:
    text = convolution(*given, **window)
    assert [name for name in CONDITIONS if satisfies(text, name)] == [SHRUNK] * found


@pytest.mark.parametrize(
    ("size", "index", "negative"),
    [(129, "i8", True), (128, "i8", False), (260, "i8", False), (200, "ui8", False)],
)
def test_largest_start_index_in_a_narrow_type(size: int, index: str, negative: bool) -> None:
    text = f"""
    func.func @main(%x: {tensor(3, size)}, %u: {tensor(1, 1)}, %i: tensor<{index}>) -> {tensor(3, size)} {{
      %0 = stablehlo.dynamic_update_slice %x, %u, %i, %i : ({tensor(3, size)}, {tensor(1, 1)}, tensor<{index}>, tensor<{index}>) -> {tensor(3, size)}
      return %0 : {tensor(3, size)}
    }}"""  # noqa: E501
    written = spell_operation(parse_module(text).subject)
    assert satisfies(written, "negative largest start index") is negative


@pytest.mark.parametrize(("length", "part"), [(8, False), (4, True)])
def test_fft_of_a_part_is_shorter_than_the_dimension(length: int, part: bool) -> None:
    of = "tensor<2x8xcomplex<f32>>"
    text = f"""
    func.func @main(%x: {of}) -> {of} {{
      %0 = stablehlo.fft %x, type = FFT, length = [{length}] : ({of}) -> {of}
      return %0 : {of}
    }}"""
    assert satisfies(spell_operation(parse_module(text).subject), "fft of a part") is part


@pytest.mark.parametrize(
    ("index", "vectors", "update", "numbers", "found"),
    [
        # one update of two elements, of one element, and of one element in a dimension of 300
        ("i32", [1], [2], "update_window_dims = [0], scatter_dims_to_operand_dims = [0]", OUTSIDE),
        ("i32", [1], [1], "update_window_dims = [0], scatter_dims_to_operand_dims = [0]", ""),
        ("ui8", [1], [1], "update_window_dims = [0], scatter_dims_to_operand_dims = [0]", OUTSIDE),
        ("i32", [0], [], "inserted_window_dims = [0]", ""),
        ("i32", [0, 3], [3], "inserted_window_dims = [0]", SEVERAL),
        ("i32", [0, 3], [3, 300], "update_window_dims = [1]", ""),
        ("i32", [0, 3], [3, 1], "update_window_dims = [1]", SEVERAL),
        ("i32", [0, 3], [3, 2], "update_window_dims = [1]", ""),
        ("i32", [0, 1], [1, 1], "update_window_dims = [1]", ""),  # a single update
    ],
)
@pytest.mark.parametrize("of", ["f32", "complex<f32>", "f8E4M3FN"])
def test_windows_of_scatters(
    index: str, vectors: list[int], update: list[int], numbers: str, found: str, of: str
) -> None:
    types = tensor(300), indices(*vectors).replace("i32", index), tensor(*update)
    text = f"""
    func.func @main(%x: {types[0]}, %i: {types[1]}, %u: {types[2]}) -> {types[0]} {{
      %0 = "stablehlo.scatter"(%x, %i, %u) ({{
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        stablehlo.return %b : tensor<f32>
      }}) {{scatter_dimension_numbers = #stablehlo.scatter<{numbers}, index_vector_dim = 0>}}
        : ({", ".join(types)}) -> {types[0]}
      return %0 : {types[0]}
    }}"""
    written = spell_operation(parse_module(text.replace("f32", of)).subject)
    assert [name for name in CONDITIONS if satisfies(written, name)] == [*filter(None, [found])]


@pytest.mark.parametrize(
    ("sizes", "update", "numbers", "found"),
    [
        # jaxlib 0.12 computed each, and wrongly where updates have the input's sizes
        ([4, 2], [4, 2], "update_window_dims = [1], inserted_window_dims = [0]", [WHOLE]),
        ([4, 2], [3, 2], "update_window_dims = [1], inserted_window_dims = [0]", []),
        ([3, 1], [3, 1], "update_window_dims = [1], inserted_window_dims = [0]", [SEVERAL, WHOLE]),
        ([2, 2], [2, 2], "update_window_dims = [0], inserted_window_dims = [1]", [WHOLE]),
        ([1, 2], [1, 2], "update_window_dims = [1], inserted_window_dims = [0]", []),  # one update
    ],
)
def test_updates_without_an_index(
    sizes: list[int], update: list[int], numbers: str, found: list[str]
) -> None:
    types = tensor(*sizes), indices(0, update[0]), tensor(*update)
    text = f"""
    func.func @main(%x: {types[0]}, %i: {types[1]}, %u: {types[2]}) -> {types[0]} {{
      %0 = "stablehlo.scatter"(%x, %i, %u) ({{
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        stablehlo.return %b : tensor<f32>
      }}) {{scatter_dimension_numbers = #stablehlo.scatter<{numbers}, index_vector_dim = 0>}}
        : ({", ".join(types)}) -> {types[0]}
      return %0 : {types[0]}
    }}"""
    written = spell_operation(parse_module(text).subject)
    assert [name for name in CONDITIONS if satisfies(written, name)] == found


@pytest.mark.parametrize(
    ("window", "pads", "found"),
    [
        ([1, 2, 2], [[0, 0], [1, 0], [1, 0]], True),
        ([1, 2, 2], [[0, 0], [0, 0], [0, 1]], True),
        ([1, 2, 2], [[0, 0], [0, 0], [0, 0]], False),
        ([1, 2, 2], [[0, 0], [-1, 0], [0, 0]], False),
        ([1, 1, 2], [[0, 0], [0, 0], [1, 1]], False),  # windows lie along one dimension
        ([2, 1, 2], [[0, 0], [1, 1], [0, 0]], False),  # padded where windows have one element
    ],
)
def test_windows_that_are_padded_in_a_plane(
    window: list[int], pads: list[list[int]], found: bool
) -> None:
    sizes = [5 + low + high - n + 1 for n, (low, high) in zip(window, pads, strict=True)]
    types = tensor(5, 5, 5), tensor(*sizes)
    text = f"""
    func.func @main(%x: {types[0]}, %i: tensor<f32>) -> {types[1]} {{
      %0 = "stablehlo.reduce_window"(%x, %i) ({{
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %1 = stablehlo.subtract %a, %b : tensor<f32>
        stablehlo.return %1 : tensor<f32>
      }}) {{window_dimensions = array<i64: {", ".join(map(str, window))}>,
            padding = dense<{pads}> : tensor<3x2xi64>}} : ({types[0]}, tensor<f32>) -> {types[1]}
      return %0 : {types[1]}
    }}"""
    written = spell_operation(parse_module(text).subject)
    assert satisfies(written, "padded window of several dimensions") is found


@pytest.mark.parametrize(
    ("text", "described"),
    [
        ("stablehlo.fft && condition: fft of a part", True),
        ("stablehlo.fft && f64 && condition: fft of a part", False),
        ("stablehlo.fft && condition: shrunk window", False),
    ],
)
def test_all_parts_of_a_text_must_describe_the_operation(text: str, described: bool) -> None:
    of = "tensor<8xcomplex<f32>>"
    program = f"""
    func.func @main(%x: {of}) -> {of} {{
      %0 = stablehlo.fft %x, type = FFT, length = [4] : ({of}) -> {of}
      return %0 : {of}
    }}"""
    assert describes(text, spell_operation(parse_module(program).subject)) is described


def dimension(image: int, window: int, result: int, **given: int) -> WindowDimension:
    terms = {"stride": 1, "low": 0, "high": 0, "holes": 1, "steps": 1} | given
    return WindowDimension(image, window, result, **terms)


@pytest.mark.parametrize(
    ("of", "left"),
    [
        (dimension(1, 3, 1, low=1, high=1), range(1, 2)),
        (dimension(1, 3, 1, low=1, high=1, steps=2), range(1, 1)),
        (dimension(1, 3, 2, low=2, high=1), range(3)),  # several places, each with its position
        (dimension(1, 2, 2, low=3, high=-1, holes=2), range(0)),  # no sum reaches the image
        (dimension(4, 2, 3, stride=3, low=2, high=-2, holes=3), range(0)),  # all sums are in holes
        # 2 * position + place is at most 1: whatever the place, the position is 0
        (dimension(3, 2, 2, low=-1, high=2, steps=2), range(1)),
        (dimension(3, 2, 2, high=1, steps=2), range(2)),
        (dimension(3, 3, 1), range(3)),
        (dimension(3, 3, 1, low=2, high=-2), range(2, 3)),
        (dimension(3, 4, 1, stride=2, low=-1, high=-2, holes=3), range(4)),
        (dimension(4, 3, 4, stride=3, low=3, high=-1, holes=3), range(1)),
        (dimension(2, 2, 2, low=2, high=-1, holes=2, steps=2), range(1, 2)),
        (dimension(2, 3, 1, low=-1, holes=3), range(3)),
    ],
)
def test_positions_are_limited_by_one_variable_at_a_time(of: WindowDimension, left: range) -> None:
    assert of.positions == left or (not of.positions and not left)


@pytest.mark.parametrize(
    ("window", "is_reversed", "is_exchanged"),
    [
        ([dimension(1, 2, 1), dimension(2, 2, 2)], [1, 1], True),
        ([dimension(2, 2, 1), dimension(2, 2, 2)], [1, 1], False),  # as many products
        ([dimension(1, 2, 1)], [1], False),
        ([dimension(1, 2, 1), dimension(1, 2, 1), dimension(1, 2, 1)], [1, 1, 1], False),
        # dimensions that are exchanged with no other
        ([dimension(1, 2, 1), dimension(3, 3, 1)], [1, 0], False),
        ([dimension(1, 2, 1), dimension(3, 3, 1)], [1, 1], True),
        ([dimension(1, 2, 1), dimension(2, 2, 2, holes=2)], [1, 0], False),
        ([dimension(1, 2, 1), dimension(2, 2, 2, holes=2, high=1)], [1, 0], True),
        # a single element with full padding makes as many products as the window
        ([dimension(1, 2, 2, low=1, high=1), dimension(3, 3, 1, low=1)], [1, 0], False),
        ([dimension(1, 2, 2, low=1, high=0), dimension(3, 3, 1, low=1)], [1, 0], True),
    ],
)
def test_image_and_window_are_exchanged_for_fewer_products(
    window: list[WindowDimension], is_reversed: list[int], is_exchanged: bool
) -> None:
    assert are_exchanged(window, is_reversed) == is_exchanged
