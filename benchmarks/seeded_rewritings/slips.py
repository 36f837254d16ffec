"""Slips of a compiler's pass: small changes of one instruction, each of a kind that has a name."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.seeded_rewritings import fields
from benchmarks.seeded_rewritings.messages import Message
from benchmarks.seeded_rewritings.sites import Site, opcode_of, shape_of

Slip = Callable[[Site], bool]
"""A function slip(site): changes an instruction in place, and returns whether it could."""


def _is(*opcodes: str) -> Callable[[Slip], Slip]:
    """Restrict a slip to instructions with certain opcodes."""

    def restrict(slip: Slip) -> Slip:
        return lambda site: site.opcode in opcodes and slip(site)

    return restrict


def _swap(values: list[int], one: int, other: int) -> list[int]:
    values = list(values)
    values[one], values[other] = values[other], values[one]
    return values


def _swap_operands(one: int, other: int) -> Slip:
    """Return a slip that swaps two operands of the same shape."""

    def slip(site: Site) -> bool:
        if len(site.operand_ids) <= max(one, other):
            return False
        if shape_of(site.operands[one]) != shape_of(site.operands[other]):
            return False
        swapped = _swap(site.operand_ids, one, other)
        changed = swapped != site.operand_ids
        site.put_operands(swapped)
        return changed

    return slip


def _opcode(turned: dict[str, str]) -> Slip:
    """Replace the opcode by another opcode with the same types."""

    def slip(site: Site) -> bool:
        if site.opcode not in turned:
            return False
        site.instruction.put_data(fields.OPCODE, turned[site.opcode].encode())
        return True

    return slip


def _word(number: int, turned: dict[bytes, bytes]) -> Slip:
    """Return a slip that replaces the text in a field, such as a comparison direction."""

    def slip(site: Site) -> bool:
        word = site.instruction.data(number)
        if word not in turned:
            return False
        site.instruction.put_data(number, turned[word])
        return True

    return slip


def _config(before: bytes, after: bytes) -> Slip:
    """Replace a word of a custom call's configuration."""

    def slip(site: Site) -> bool:
        config = site.instruction.data(fields.CONFIG)
        if before not in config:
            return False
        site.instruction.put_data(fields.CONFIG, config.replace(before, after))
        return True

    return slip


def _change_each_dimension(number: int, change: Callable[[Message], bool]) -> Slip:
    """Change the first dimension of a window, a padding or a slice that can be changed."""

    def slip(site: Site) -> bool:
        container = Message.parse(site.instruction.data(number))
        dimensions = container.messages(1)
        changed = any(map(change, dimensions))
        container.put_messages(1, dimensions)
        site.instruction.put_data(number, container.serialise())
        return changed

    return slip


def _move_padding(low: int, high: int, most: int) -> Callable[[Message], bool]:
    def change(dimension: Message) -> bool:
        if abs(dimension.integer(low)) + abs(dimension.integer(high)) + most == 0:
            return False
        dimension.put_integer(low, dimension.integer(low) - 1)
        dimension.put_integer(high, dimension.integer(high) + 1)
        return True

    return change


def _reverse_window(dimension: Message) -> bool:
    if dimension.integer(1) < 2:
        return False
    dimension.put_integer(7, 1 - dimension.integer(7))
    return True


@_is("slice")
def _move_slice(site: Site) -> bool:
    _, sizes = shape_of(site.operands[0])
    dimensions = site.instruction.messages(fields.SLICES)
    for dimension, size in zip(dimensions, sizes, strict=True):
        start, limit = dimension.integer(1), dimension.integer(2)
        step = 1 if limit < size else -1
        if start + step >= 0 and limit + step <= size:
            dimension.put_integer(1, start + step)
            dimension.put_integer(2, limit + step)
            site.instruction.put_messages(fields.SLICES, dimensions)
            return True
    return False


def _literal(change: Callable[[bytearray], bool]) -> Slip:
    """Change the elements of a constant, in whichever field they are."""

    def slip(site: Site) -> bool:
        if site.opcode != "constant":
            return False
        literal = Message.parse(site.instruction.data(fields.LITERAL))
        for number, _, payload in list(literal.fields):
            if number > 1 and isinstance(payload, bytes) and payload:
                changed = bytearray(payload)
                if not change(changed):
                    return False
                literal.put_data(number, bytes(changed))
                site.instruction.put_data(fields.LITERAL, literal.serialise())
                return True
        return False

    return slip


def _flip_bit(place: int) -> Callable[[bytearray], bool]:
    def change(payload: bytearray) -> bool:
        payload[place] ^= 0x40 if place else 0x01
        return True

    return change


def _change_dimensions(*opcodes: str) -> Slip:
    """Permute the dimensions of an instruction, or replace its dimension."""

    def slip(site: Site) -> bool:
        if site.opcode not in opcodes:
            return False
        dimensions = site.instruction.integers(fields.DIMENSIONS)
        _, sizes = shape_of(site.instruction)
        if len(dimensions) >= 2:
            site.instruction.put_integers(fields.DIMENSIONS, _swap(dimensions, 0, 1))
            return True
        if len(dimensions) == 1 and len(sizes) >= 2:
            site.instruction.put_integers(fields.DIMENSIONS, [(dimensions[0] + 1) % len(sizes)])
            return True
        return False

    return slip


def _change_list_in_message(number: int, inner: int) -> Slip:
    """Swap the first two numbers of a list in a message, or change its only number."""

    def slip(site: Site) -> bool:
        found = Message.parse(site.instruction.data(number))
        values = found.integers(inner)
        if not values:
            return False
        found.put_integers(
            inner, _swap(values, 0, 1) if len(values) > 1 else [values[0] - 1 if values[0] else 1]
        )
        site.instruction.put_data(number, found.serialise())
        return True

    return slip


@_is("reduce", "reduce-window", "select-and-scatter")
def _change_init(site: Site) -> bool:
    init = site.operands[-1]
    if opcode_of(init) != "constant":
        return False
    place = next(n for n, instruction in enumerate(site.instructions) if instruction is init)
    return _literal(_flip_bit(-1))(Site(site.instructions, place))


@_is("convert")
def _drop_convert(site: Site) -> bool:
    inner = site.operands[0]
    if opcode_of(inner) != "convert":
        return False
    before = next(
        instruction
        for instruction in site.instructions
        if instruction.integer(fields.ID) == inner.integers(fields.OPERANDS)[0]
    )
    if shape_of(before) != shape_of(site.instruction):
        return False
    site.instruction.put_data(fields.OPCODE, b"copy")
    site.put_operands([before.integer(fields.ID)])
    return True


_INDICES = {
    "gather": 1, "scatter": 1, "dynamic-slice": 1, "dynamic-update-slice": 2,
}  # fmt: skip
"""The first operand with indices, by opcode."""


def _narrow_index(site: Site) -> bool:
    """Pass an index through a conversion to eight bits."""
    number = _INDICES.get(site.opcode)
    if number is None or number >= len(site.operand_ids):
        return False
    index = site.operands[number]
    element, _ = shape_of(index)
    if element not in (fields.S32, fields.S64):
        return False
    given = site.operand_ids
    narrow = site.insert(_convert_instruction(index, fields.S8, given[number]))
    given[number] = site.insert(_convert_instruction(index, element, narrow))
    site.put_operands(given)
    return True


def _convert_instruction(like: Message, element: int, operand: int) -> Message:
    shape = Message.parse(like.data(fields.SHAPE))
    shape.put_integer(fields.ELEMENT_TYPE, element)
    made = Message()
    made.put_data(1, b"narrowed")
    made.put_data(fields.OPCODE, b"convert")
    made.put_data(fields.SHAPE, shape.serialise())
    made.put_integers(fields.OPERANDS, [operand])
    return made


def _move_index(site: Site) -> bool:
    """Use another dimension's index for the index along a dimension."""
    number = _INDICES.get(site.opcode) if site.opcode.startswith("dynamic") else None
    return number is not None and _swap_operands(number, number + 1)(site)


@_is("get-tuple-element")
def _other_part(site: Site) -> bool:
    made, wanted = site.operands[0], site.instruction.data(fields.SHAPE)
    parts = [
        message.serialise()
        for message in Message.parse(made.data(fields.SHAPE)).messages(fields.PARTS)
    ]
    own = site.instruction.integer(fields.TUPLE_INDEX)
    others = [n for n, one in enumerate(parts) if one == wanted and n != own]
    if not others:
        return False
    site.instruction.put_integer(fields.TUPLE_INDEX, others[0])
    return True


@_is("parameter")
def _swap_parameters(site: Site) -> bool:
    own = site.instruction
    for other in site.instructions:
        is_parameter = opcode_of(other) == "parameter" and other is not own
        if is_parameter and other.data(fields.SHAPE) == own.data(fields.SHAPE):
            numbers = own.integer(fields.PARAMETER), other.integer(fields.PARAMETER)
            own.put_integer(fields.PARAMETER, numbers[1])
            other.put_integer(fields.PARAMETER, numbers[0])
            return True
    return False


def _other_value(site: Site) -> bool:
    """Use another value of the same shape as the first operand."""
    given = site.operand_ids
    if not given or site.opcode in ("get-tuple-element", "tuple", "while"):
        return False
    wanted = site.operands[0].data(fields.SHAPE)
    for other in site.instructions[: site.position]:
        if other.data(fields.SHAPE) == wanted and other.integer(fields.ID) not in given:
            site.put_operands([other.integer(fields.ID), *given[1:]])
            return True
    return False


@_is("conditional")
def _swap_branches(site: Site) -> bool:
    called = site.instruction.integers(fields.CALLED)
    site.instruction.put_integers(fields.CALLED, _swap(called, 0, 1))
    return len(called) > 1


@_is("bitcast", "copy", "reshape")
def _turn_layout(site: Site) -> bool:
    """Reverse the layout of the result of a bitcast."""
    shape = Message.parse(site.instruction.data(fields.SHAPE))
    layout = Message.parse(shape.data(fields.LAYOUT))
    order = layout.integers(1)
    if len(order) < 2 or site.opcode != "bitcast":
        return False
    layout.put_integers(1, order[::-1])
    shape.put_data(fields.LAYOUT, layout.serialise())
    site.instruction.put_data(fields.SHAPE, shape.serialise())
    return True


@_is("iota")
def _narrow_iota(site: Site) -> bool:
    """Let an iota count along another dimension of the same size."""
    _, sizes = shape_of(site.instruction)
    own = (site.instruction.integers(fields.DIMENSIONS) or [0])[0]
    others = [n for n, _ in enumerate(sizes) if n != own]
    if not others:
        return False
    site.instruction.put_integers(fields.DIMENSIONS, [others[0]])
    return True


@_is("reduce-precision")
def _drop_bit(site: Site) -> bool:
    site.instruction.put_integer(fields.MANTISSA, site.instruction.integer(fields.MANTISSA) - 1)
    return True


@_is("triangular-solve")
def _turn_triangle(site: Site) -> bool:
    options = Message.parse(site.instruction.data(fields.TRIANGULAR))
    options.put_integer(2, 1 - options.integer(2))
    site.instruction.put_data(fields.TRIANGULAR, options.serialise())
    return True


@_is("collective-permute", "collective-permute-start")
def _turn_pairs(site: Site) -> bool:
    pairs = site.instruction.messages(fields.PAIRS)
    for pair in pairs:
        source, target = pair.integer(1), pair.integer(2)
        pair.put_integer(1, target)
        pair.put_integer(2, source)
    site.instruction.put_messages(fields.PAIRS, pairs)
    return bool(pairs)


@_is("sort")
def _sort_other_dimension(site: Site) -> bool:
    shape = Message.parse(site.instruction.data(fields.SHAPE))
    parts = shape.messages(fields.PARTS) or [shape]
    if len(parts[0].integers(fields.SIZES)) < 2:
        return False
    own = (site.instruction.integers(fields.DIMENSIONS) or [0])[0]
    site.instruction.put_integers(fields.DIMENSIONS, [1 - own])
    return True


_BINARY = (
    "subtract", "divide", "power", "remainder", "atan2", "complex", "shift-left", "compare",
    "shift-right-logical", "shift-right-arithmetic", "dot",
)  # fmt: skip

SLIPS: dict[str, Slip] = {
    "operands swapped": _is(*_BINARY)(_swap_operands(0, 1)),
    "parts concatenated in another order": _is("concatenate")(_swap_operands(0, 1)),
    "select turned": _is("select")(_swap_operands(1, 2)),
    "bounds of clamp swapped": _is("clamp")(_swap_operands(0, 2)),
    "another value used": _other_value,
    "comparator turned": _word(
        fields.DIRECTION,
        {b"LT": b"GT", b"GT": b"LT", b"LE": b"GE", b"GE": b"LE", b"EQ": b"NE", b"NE": b"EQ"},
    ),
    "comparator admits equality": _word(
        fields.DIRECTION, {b"LT": b"LE", b"LE": b"LT", b"GT": b"GE", b"GE": b"GT"}
    ),
    "total order dropped": _word(fields.ORDER, {b"TOTALORDER": b"FLOAT"}),
    "signed compared as unsigned": _word(
        fields.ORDER, {b"SIGNED": b"UNSIGNED", b"UNSIGNED": b"SIGNED"}
    ),
    "constant off by a bit": _literal(_flip_bit(0)),
    "constant of another size": _literal(_flip_bit(-1)),
    "initial value changed": _change_init,
    "sum replaced": _opcode({"add": "subtract", "subtract": "add"}),
    "product replaced": _opcode({"multiply": "add", "divide": "multiply"}),
    "maximum replaced": _opcode({"maximum": "minimum", "minimum": "maximum"}),
    "logic replaced": _opcode({"and": "or", "or": "and", "xor": "or"}),
    "shift replaced": _opcode(
        {
            "shift-right-logical": "shift-right-arithmetic",
            "shift-right-arithmetic": "shift-right-logical",
            "shift-left": "shift-right-logical",
        }
    ),
    "function replaced": _opcode(
        {
            "tanh": "logistic",
            "logistic": "tanh",
            "exponential": "exponential-minus-one",
            "log": "log-plus-one",
            "sine": "cosine",
            "cosine": "sine",
            "sqrt": "cbrt",
            "rsqrt": "sqrt",
            "floor": "ceil",
            "ceil": "floor",
            "erf": "tanh",
            "round-nearest-even": "round-nearest-afz",
        }
    ),
    "negation dropped": _opcode({"negate": "copy", "not": "copy", "abs": "copy"}),
    "slice moved by one": _move_slice,
    "window moved by one": _change_each_dimension(fields.WINDOW, _move_padding(3, 4, 0)),
    "window reversed": _is("convolution", "custom-call")(
        _change_each_dimension(fields.WINDOW, _reverse_window)
    ),
    "padding moved by one": _change_each_dimension(fields.PADDING, _move_padding(1, 2, 0)),
    "broadcast along another dimension": _change_dimensions("broadcast"),
    "transposed otherwise": _change_dimensions("transpose"),
    "another dimension reversed": _change_dimensions("reverse"),
    "iota along another dimension": _narrow_iota,
    "another dimension sorted": _sort_other_dimension,
    "layout turned": _turn_layout,
    "conversion dropped": _drop_convert,
    "index narrowed to eight bits": _narrow_index,
    "index of another dimension": _move_index,
    "rows gathered along another dimension": _change_list_in_message(fields.GATHER, 3),
    "updates scattered along another dimension": _change_list_in_message(fields.SCATTER, 3),
    "another dimension contracted": _is("dot")(_change_list_in_message(fields.DOT, 1)),
    "spatial dimensions of a kernel swapped": _change_list_in_message(fields.CONVOLUTION, 6),
    "another part of a tuple": _other_part,
    "parameters of a fusion swapped": _swap_parameters,
    "branches swapped": _swap_branches,
    "bit of precision dropped": _drop_bit,
    "other triangle solved": _turn_triangle,
    "other triangle solved by cuBLAS": _config(b'"lower":true', b'"lower":false'),
    "product of cuBLAS scaled": _config(b'"alpha_real":1', b'"alpha_real":3'),
    "epilogue of cuBLASLt dropped": _config(b"BIAS_RELU", b"BIAS"),
    "permutation of devices reversed": _turn_pairs,
}
"""The slips by their names."""
