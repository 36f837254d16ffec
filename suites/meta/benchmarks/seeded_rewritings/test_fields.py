"""Numbers of fields, as a module that a compiler made has them."""

from __future__ import annotations

from benchmarks.seeded_rewritings import fields
from benchmarks.seeded_rewritings.messages import Message
from benchmarks.seeded_rewritings.sites import opcode_of, shape_of
from suites.meta.conformance.hlo.modules import stored_proto

MODULE = Message.parse(stored_proto("cublaslt_bias_relu"))
INSTRUCTIONS = [
    one
    for computation in MODULE.messages(fields.COMPUTATIONS)
    for one in computation.messages(fields.INSTRUCTIONS)
]


def test_opcodes_shapes_and_ids_of_instructions() -> None:
    assert {"parameter", "custom-call"} <= {opcode_of(one) for one in INSTRUCTIONS}
    assert len({one.integer(fields.ID) for one in INSTRUCTIONS}) == len(INSTRUCTIONS)
    arrays = [one for one in INSTRUCTIONS if opcode_of(one) == "parameter"]
    assert all(size > 0 for one in arrays for size in shape_of(one)[1])


def test_operands_are_ids_of_the_computation() -> None:
    for computation in MODULE.messages(fields.COMPUTATIONS):
        inside = computation.messages(fields.INSTRUCTIONS)
        ids = {one.integer(fields.ID) for one in inside}
        assert all(set(one.integers(fields.OPERANDS)) <= ids for one in inside)


def test_numbers_of_a_message_are_different() -> None:
    instruction = [
        fields.OPCODE, fields.SHAPE, fields.LITERAL, fields.PARAMETER, fields.TUPLE_INDEX,
        fields.DIMENSIONS, fields.WINDOW, fields.CONVOLUTION, fields.SLICES, fields.MANTISSA,
        fields.PADDING, fields.DOT, fields.GATHER, fields.ID, fields.OPERANDS, fields.CALLED,
        fields.CONFIG, fields.SCATTER, fields.PAIRS, fields.TRIANGULAR, fields.DIRECTION,
        fields.ORDER,
    ]  # fmt: skip
    assert len(set(instruction)) == len(instruction)


def test_the_configuration_of_a_call_is_text() -> None:
    (config, *_) = [
        one.data(fields.CONFIG) for one in INSTRUCTIONS if opcode_of(one) == "custom-call"
    ]
    assert b"epilogue" in config
