"""Each slip changes one thing of an instruction, or says that it could not."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from benchmarks.seeded_rewritings import fields
from benchmarks.seeded_rewritings.messages import Message
from benchmarks.seeded_rewritings.sites import Site, opcode_of, shape_of
from benchmarks.seeded_rewritings.slips import SLIPS

F32 = 11  # PrimitiveType


def shape(element: int, *sizes: int, layout: Sequence[int] = ()) -> bytes:
    made, order = Message(), Message()
    made.put_integer(fields.ELEMENT_TYPE, element)
    made.put_integers(fields.SIZES, list(sizes))
    if layout:
        order.put_integers(1, list(layout))
        made.put_data(fields.LAYOUT, order.serialise())
    return made.serialise()


MATRIX = shape(F32, 2, 3)


def instruction(
    number: int, opcode: str, *operands: int, of: bytes = MATRIX, dimensions: Sequence[int] = ()
) -> Message:
    made = Message()
    made.put_integer(fields.ID, number)
    made.put_data(fields.OPCODE, opcode.encode())
    made.put_data(fields.SHAPE, of)
    made.put_integers(fields.OPERANDS, list(operands))
    if dimensions:
        made.put_integers(fields.DIMENSIONS, list(dimensions))
    return made


def struct(**values: int) -> Message:
    """Return a message with integers, by their numbers: f1, f2, ..."""
    made = Message()
    for name, value in values.items():
        made.put_integer(int(name[1:]), value)
    return made


def site(*instructions: Message) -> Site:
    """Return the last instruction as a site."""
    return Site(list(instructions), len(instructions) - 1)


A, B = instruction(1, "parameter"), instruction(2, "parameter")


def parameters() -> list[Message]:
    first, second = instruction(1, "parameter"), instruction(2, "parameter")
    second.put_integer(fields.PARAMETER, 1)
    return [first, second]


@pytest.mark.parametrize(
    ("slip", "opcode", "swapped"),
    [("operands swapped", "subtract", [2, 1]), ("operands swapped", "add", None),
     ("parts concatenated in another order", "concatenate", [2, 1])],
)  # fmt: skip
def test_operands_of_one_shape_are_swapped(
    slip: str, opcode: str, swapped: list[int] | None
) -> None:
    one = site(*parameters(), instruction(3, opcode, 1, 2))
    assert SLIPS[slip](one) == (swapped is not None)
    assert one.operand_ids == (swapped or [1, 2])


def test_operands_of_two_shapes_or_one_value_are_not_swapped() -> None:
    other = instruction(2, "parameter", of=shape(F32, 3, 2))
    assert not SLIPS["operands swapped"](site(A, other, instruction(3, "divide", 1, 2)))
    assert not SLIPS["operands swapped"](site(A, instruction(3, "divide", 1, 1)))


def test_alternatives_of_select_and_bounds_of_clamp() -> None:
    three = [*parameters(), instruction(3, "parameter")]
    select = site(*three, instruction(4, "select", 1, 2, 3))
    assert SLIPS["select turned"](select)
    assert select.operand_ids == [1, 3, 2]
    clamp = site(*three, instruction(4, "clamp", 1, 2, 3))
    assert SLIPS["bounds of clamp swapped"](clamp)
    assert clamp.operand_ids == [3, 2, 1]


@pytest.mark.parametrize(
    ("slip", "opcode", "replaced"),
    [
        ("sum replaced", "add", "subtract"), ("product replaced", "multiply", "add"),
        ("maximum replaced", "minimum", "maximum"), ("logic replaced", "xor", "or"),
        ("function replaced", "sine", "cosine"), ("negation dropped", "negate", "copy"),
        ("sum replaced", "multiply", None),
    ],
)  # fmt: skip
def test_opcodes_are_replaced(slip: str, opcode: str, replaced: str | None) -> None:
    one = site(A, instruction(2, opcode, 1))
    assert SLIPS[slip](one) == (replaced is not None)
    assert one.opcode == (replaced or opcode)


@pytest.mark.parametrize(
    ("slip", "field", "before", "after"),
    [
        ("comparator turned", fields.DIRECTION, b"LT", b"GT"),
        ("comparator admits equality", fields.DIRECTION, b"LT", b"LE"),
        ("comparator admits equality", fields.DIRECTION, b"EQ", None),
        ("total order dropped", fields.ORDER, b"TOTALORDER", b"FLOAT"),
        ("signed compared as unsigned", fields.ORDER, b"SIGNED", b"UNSIGNED"),
        ("product of cuBLAS scaled", fields.CONFIG, b'{"alpha_real":1}', b'{"alpha_real":3}'),
        ("epilogue of cuBLASLt dropped", fields.CONFIG, b"BIAS_RELU", b"BIAS"),
    ],
)
def test_words_are_replaced(slip: str, field: int, before: bytes, after: bytes | None) -> None:
    given = instruction(1, "compare")
    given.put_data(field, before)
    assert SLIPS[slip](site(given)) == (after is not None)
    assert given.data(field) == (after or before)


def constant(payload: bytes, number: int = 1) -> Message:
    literal, given = Message(), instruction(number, "constant", of=shape(F32))
    literal.put_data(1, b"its shape")
    literal.put_data(8, payload)
    given.put_data(fields.LITERAL, literal.serialise())
    return given


def payload_of(given: Message) -> bytes:
    return Message.parse(given.data(fields.LITERAL)).data(8)


def test_a_bit_of_a_constant_is_flipped_at_either_end() -> None:
    one = constant(bytes(4))
    assert SLIPS["constant off by a bit"](site(one))
    assert payload_of(one) == b"\x01\0\0\0"
    one = constant(bytes(4))
    assert SLIPS["constant of another size"](site(one))
    assert payload_of(one) == b"\0\0\0\x40"
    assert not SLIPS["constant off by a bit"](site(A))


def test_the_initial_value_of_a_reduction_is_changed() -> None:
    init = constant(bytes(4), 2)
    assert SLIPS["initial value changed"](site(A, init, instruction(3, "reduce", 1, 2)))
    assert payload_of(init) == b"\0\0\0\x40"
    assert not SLIPS["initial value changed"](site(A, B, instruction(3, "reduce", 1, 2)))


@pytest.mark.parametrize(
    ("start", "limit", "moved"), [(0, 1, (1, 2)), (1, 2, (0, 1)), (0, 2, None)]
)
def test_a_slice_is_moved_within_its_operand(
    start: int, limit: int, moved: tuple[int, int] | None
) -> None:
    """The first dimension has two elements; the second is taken whole."""
    given = instruction(2, "slice", 1)
    given.put_messages(fields.SLICES, [struct(f1=start, f2=limit), struct(f1=0, f2=3)])
    one = site(A, given)
    assert SLIPS["slice moved by one"](one) == (moved is not None)
    first, _ = one.instruction.messages(fields.SLICES)
    assert (first.integer(1), first.integer(2)) == (moved or (start, limit))


def test_padding_is_moved_to_the_other_side() -> None:
    given, padding = instruction(1, "pad"), Message()
    padding.put_messages(1, [struct(f1=0, f2=0), struct(f1=2, f2=1)])
    given.put_data(fields.PADDING, padding.serialise())
    assert SLIPS["padding moved by one"](site(given))
    _, second = Message.parse(given.data(fields.PADDING)).messages(1)
    assert (second.integer(1), second.integer(2)) == (1, 2)


def test_a_window_of_one_element_is_not_reversed() -> None:
    for size, is_reversed in ((1, False), (3, True)):
        given, window = instruction(1, "convolution"), Message()
        window.put_messages(1, [struct(f1=size)])
        given.put_data(fields.WINDOW, window.serialise())
        assert SLIPS["window reversed"](site(given)) == is_reversed


@pytest.mark.parametrize(("dimensions", "changed"), [([0, 1], [1, 0]), ([1], [0]), ([0], [1])])
def test_dimensions_are_permuted_or_replaced(dimensions: list[int], changed: list[int]) -> None:
    given = instruction(1, "transpose", dimensions=dimensions)
    assert SLIPS["transposed otherwise"](site(given))
    assert given.integers(fields.DIMENSIONS) == changed


def test_the_only_dimension_stays() -> None:
    row = shape(F32, 3)
    given = instruction(1, "reverse", dimensions=[0], of=row)
    assert not SLIPS["another dimension reversed"](site(given))
    assert not SLIPS["iota along another dimension"](site(instruction(1, "iota", of=row)))
    assert not SLIPS["another dimension sorted"](site(instruction(1, "sort", of=row)))


def test_an_iota_and_a_sort_take_another_dimension() -> None:
    iota = instruction(1, "iota", dimensions=[1])
    assert SLIPS["iota along another dimension"](site(iota))
    assert iota.integers(fields.DIMENSIONS) == [0]
    sort = instruction(1, "sort", dimensions=[1])
    assert SLIPS["another dimension sorted"](site(sort))
    assert sort.integers(fields.DIMENSIONS) == [0]


def test_a_pair_of_conversions_is_dropped() -> None:
    narrow = instruction(2, "convert", 1, of=shape(fields.S8, 2, 3))
    back = site(A, narrow, instruction(3, "convert", 2))
    assert SLIPS["conversion dropped"](back)
    assert (back.opcode, back.operand_ids) == ("copy", [1])
    wider = site(A, narrow, instruction(3, "convert", 2, of=shape(12, 2, 3)))
    assert not SLIPS["conversion dropped"](wider)
    assert not SLIPS["conversion dropped"](site(A, instruction(2, "convert", 1)))


def test_an_index_passes_through_eight_bits() -> None:
    index = instruction(2, "parameter", of=shape(fields.S32))
    one = site(A, index, instruction(3, "dynamic-slice", 1, 2))
    assert SLIPS["index narrowed to eight bits"](one)
    narrow, wide = one.instructions[2:4]
    assert (opcode_of(narrow), shape_of(narrow)[0]) == ("convert", fields.S8)
    assert (opcode_of(wide), shape_of(wide)[0]) == ("convert", fields.S32)
    assert one.operand_ids == [1, wide.integer(fields.ID)]
    assert wide.integers(fields.OPERANDS) == [narrow.integer(fields.ID)]
    assert narrow.integers(fields.OPERANDS) == [2]
    byte = instruction(2, "parameter", of=shape(fields.S8))
    assert not SLIPS["index narrowed to eight bits"](site(A, byte, instruction(3, "gather", 1, 2)))


def test_indices_of_two_dimensions_are_swapped() -> None:
    scalar = shape(fields.S32)
    indices = [instruction(2, "parameter", of=scalar), instruction(3, "parameter", of=scalar)]
    one = site(A, *indices, instruction(4, "dynamic-slice", 1, 2, 3))
    assert SLIPS["index of another dimension"](one)
    assert one.operand_ids == [1, 3, 2]
    assert not SLIPS["index of another dimension"](
        site(A, *indices, instruction(4, "gather", 1, 2))
    )


@pytest.mark.parametrize(
    ("slip", "field", "inner", "opcode"),
    [("rows gathered along another dimension", fields.GATHER, 3, "gather"),
     ("another dimension contracted", fields.DOT, 1, "dot")],
)  # fmt: skip
def test_lists_of_dimensions(slip: str, field: int, inner: int, opcode: str) -> None:
    for before, after in (([0, 2], [2, 0]), ([0], [1]), ([3], [2]), ([], None)):
        given, numbers = instruction(1, opcode), Message()
        numbers.put_integers(inner, before)
        given.put_data(field, numbers.serialise())
        assert SLIPS[slip](site(given)) == (after is not None)
        assert Message.parse(given.data(field)).integers(inner) == (after or before)


def test_another_part_of_the_same_shape() -> None:
    whole = Message()
    whole.put_messages(
        fields.PARTS, [Message.parse(one) for one in (MATRIX, shape(F32, 1), MATRIX)]
    )
    made = instruction(1, "parameter", of=whole.serialise())
    part = instruction(2, "get-tuple-element", 1)
    assert SLIPS["another part of a tuple"](site(made, part))
    assert part.integer(fields.TUPLE_INDEX) == 2
    only = instruction(2, "get-tuple-element", 1, of=shape(F32, 1))
    only.put_integer(fields.TUPLE_INDEX, 1)
    assert not SLIPS["another part of a tuple"](site(made, only))


def test_parameters_of_one_shape_are_swapped() -> None:
    first, second = parameters()
    assert SLIPS["parameters of a fusion swapped"](site(first, second))
    assert (first.integer(fields.PARAMETER), second.integer(fields.PARAMETER)) == (1, 0)
    other = instruction(2, "parameter", of=shape(F32, 3))
    assert not SLIPS["parameters of a fusion swapped"](site(A, other))


def test_an_earlier_value_of_the_shape_is_used() -> None:
    first, second = parameters()
    one = site(first, second, instruction(3, "negate", 2))
    assert SLIPS["another value used"](one)
    assert one.operand_ids == [1]
    assert not SLIPS["another value used"](site(first, instruction(3, "negate", 1)))


def test_branches_layouts_triangles_bits_and_devices() -> None:
    branches = instruction(1, "conditional")
    branches.put_integers(fields.CALLED, [7, 8])
    assert SLIPS["branches swapped"](site(branches))
    assert branches.integers(fields.CALLED) == [8, 7]
    bitcast = instruction(1, "bitcast", of=shape(F32, 2, 3, layout=[1, 0]))
    assert SLIPS["layout turned"](site(bitcast))
    assert bitcast.data(fields.SHAPE) == shape(F32, 2, 3, layout=[0, 1])
    solve = instruction(1, "triangular-solve")
    solve.put_data(fields.TRIANGULAR, struct(f2=1).serialise())
    assert SLIPS["other triangle solved"](site(solve))
    assert Message.parse(solve.data(fields.TRIANGULAR)).integer(2) == 0
    reduced = instruction(1, "reduce-precision")
    reduced.put_integer(fields.MANTISSA, 7)
    assert SLIPS["bit of precision dropped"](site(reduced))
    assert reduced.integer(fields.MANTISSA) == 6
    permute = instruction(1, "collective-permute")
    permute.put_messages(fields.PAIRS, [struct(f1=0, f2=3)])
    assert SLIPS["permutation of devices reversed"](site(permute))
    (pair,) = permute.messages(fields.PAIRS)
    assert (pair.integer(1), pair.integer(2)) == (3, 0)
