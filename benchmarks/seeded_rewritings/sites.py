"""Instructions of a serialised module that a slip may change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.seeded_rewritings import fields
from benchmarks.seeded_rewritings.messages import Message


@dataclass(slots=True)
class Site:
    """An instruction, with its computation, whose other instructions may be changed, too."""

    instructions: list[Message]
    position: int

    @property
    def instruction(self) -> Message:
        """The instruction that a slip is about."""
        return self.instructions[self.position]

    @property
    def opcode(self) -> str:
        """The opcode of the instruction."""
        return opcode_of(self.instruction)

    @property
    def operands(self) -> list[Message]:
        """The instructions that make the operands."""
        by_id = {instruction.integer(fields.ID): instruction for instruction in self.instructions}
        return [by_id[number] for number in self.instruction.integers(fields.OPERANDS)]

    @property
    def operand_ids(self) -> list[int]:
        """The ids of the operands."""
        return self.instruction.integers(fields.OPERANDS)

    def put_operands(self, ids: list[int]) -> None:
        """Replace the operands of the instruction."""
        self.instruction.put_integers(fields.OPERANDS, ids)

    def insert(self, made: Message) -> int:
        """Add an instruction before this instruction, and return its id."""
        number = 1 + max(instruction.integer(fields.ID) for instruction in self.instructions)
        made.put_integer(fields.ID, number)
        self.instructions.insert(self.position, made)
        self.position += 1
        return number


def opcode_of(instruction: Message) -> str:
    """Return the opcode of an instruction."""
    return instruction.data(fields.OPCODE).decode()


def shape_of(instruction: Message) -> tuple[int, tuple[int, ...]]:
    """Return the element type and the sizes of an instruction that makes an array."""
    shape = Message.parse(instruction.data(fields.SHAPE))
    return shape.integer(fields.ELEMENT_TYPE), tuple(shape.integers(fields.SIZES))


def sites_in(module: bytes) -> Iterator[tuple[int, int]]:
    """Yield the computation and the position in it of each instruction of a module."""
    for index, computation in enumerate(Message.parse(module).messages(fields.COMPUTATIONS)):
        for position in range(len(computation.messages(fields.INSTRUCTIONS))):
            yield index, position


def open_site(module: bytes, number: int, position: int) -> tuple[Site, Message]:
    """Return a site to change, and the module that `close_site` puts it back into."""
    parsed = Message.parse(module)
    computation = parsed.messages(fields.COMPUTATIONS)[number]
    return Site(computation.messages(fields.INSTRUCTIONS), position), parsed


def close_site(site: Site, module: Message, number: int) -> bytes:
    """Return the module with the changed instructions of one of its computations."""
    computations = module.messages(fields.COMPUTATIONS)
    computations[number].put_messages(fields.INSTRUCTIONS, site.instructions)
    module.put_messages(fields.COMPUTATIONS, computations)
    return module.serialise()
