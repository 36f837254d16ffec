"""Read an optimised HLO module as a program that the reference evaluates.

The reader decodes the serialised proto. The text of a module omits large constants, and XLA's own
translation to StableHLO aborts on some modules and drops layouts. Fusions and calls are inlined,
tuples become several values, schedules and memory spaces are ignored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from conformance.hlo.building import Building
from conformance.hlo.opcodes import HANDLERS
from conformance.hlo.padding import is_padded, pad_to_tiles
from conformance.hlo.protos import Computation, DeviceAssignment, Instruction, Module
from conformance.hlo.shapes import Tree, leaf_types, leaves, tree_of
from conformance.hlo.site import Site
from conformance.hlo.unreadable import Unreadable
from conformance.hlo.wire import WireError, decode
from reference.ir.program import Function, Program, Region

__all__ = ["Unreadable", "read_module"]

LIMIT = 200_000
"""Largest number of operations of a program. Inlining can double it at each level of calls."""


_MISREAD = (
    AttributeError, AssertionError, LookupError, MemoryError, OverflowError, RecursionError,
    StopIteration, TypeError, ValueError,
)  # fmt: skip
"""Exceptions of Python and numpy that mean that an instruction lacks what its opcode requires."""


def read_module(proto: bytes) -> Program:
    """Return the program of a serialised HloModuleProto.

    `main` has the parameters and results of the entry computation, tuples as their parts. The
    process grid comes from the module's device assignment; without it there is a single process.

    Raises:
        Unreadable: when the module holds something that has no meaning to the reference.
    """
    try:
        module = decode(Module, proto)
    except (WireError, TypeError, AttributeError) as error:
        raise Unreadable("module", f"it is not a serialised HloModuleProto: {error}") from error
    try:
        return _read(module)
    except _MISREAD as error:
        raise Unreadable("module", f"it could not be read: {error!r}") from error


def _read(module: Module) -> Program:
    """Return the program of a decoded module."""
    devices = module.device_assignment or DeviceAssignment(1, 1)
    grid = (max(1, devices.replica_count), max(1, devices.computation_count))
    reader = _Reader({computation.id: computation for computation in module.computations}, grid)
    building = Building()
    body = reader.body(module.entry_computation_id, building)
    returned = tuple(value.type for value in body.operations[-1].operands)
    return Program((Function("main", body, returned),), None if grid == (1, 1) else grid)


@dataclass(slots=True)
class _Reader:
    """The computations of a module by id, and the ids that are being inlined."""

    found: dict[int, Computation]
    grid: tuple[int, int]
    entered: list[int] = field(default_factory=list[int])
    count: int = 0

    def body(self, number: int, building: Building) -> Region:
        """Return the computation of that id as a region that takes its parameters."""
        inner = building.inner()
        computation = self._computation(number)
        parameters = sorted(
            (
                instruction
                for instruction in computation.instructions
                if instruction.opcode == "parameter"
            ),
            key=lambda instruction: instruction.parameter_number,
        )
        values = [list(map(inner.value, leaf_types(parameter.shape))) for parameter in parameters]
        trees = [
            tree_of(parameter.shape, iter(given))
            for parameter, given in zip(parameters, values, strict=True)
        ]
        result = self.inline(number, trees, inner)
        root = next(
            instruction
            for instruction in computation.instructions
            if instruction.id == computation.root_id
        )
        if is_padded(result, root.shape):
            raise Unreadable("opcode bitcast", "a result has elements in the padding of tiles")
        return inner.region([one for given in values for one in given], list(leaves(result)))

    def inline(self, number: int, operands: Sequence[Tree], building: Building) -> Tree:
        """Add the operations of the computation with that id, and return its result."""
        computation = self._computation(number)
        if number in self.entered:
            raise Unreadable("computation", f"{computation.name} calls itself")
        self.entered.append(number)
        trees: dict[int, Tree] = {}
        known = {instruction.id: instruction for instruction in computation.instructions}
        for instruction in computation.instructions:
            if instruction.opcode == "parameter":
                trees[instruction.id] = operands[instruction.parameter_number]
            else:
                trees[instruction.id] = self._value(instruction, known, trees, building)
        self.entered.pop()
        return trees[computation.root_id]

    def _value(
        self,
        one: Instruction,
        known: dict[int, Instruction],
        trees: dict[int, Tree],
        building: Building,
    ) -> Tree:
        """Add the operations of an instruction, and return its value."""
        self.count += 1
        if self.count > LIMIT:
            raise Unreadable("size", f"there are more than {LIMIT} operations")
        handler = HANDLERS.get(one.opcode)
        if handler is None:
            raise Unreadable(f"opcode {one.opcode}", "it has no counterpart in the reference")
        taken = tuple(trees[number] for number in one.operand_ids)
        shapes = tuple(known[number].shape for number in one.operand_ids)
        site = Site(one, taken, shapes, building, self)
        try:
            return handler(pad_to_tiles(site))
        except _MISREAD as error:
            raise site.unreadable(f"it could not be read: {error!r}") from error

    def _computation(self, number: int) -> Computation:
        if number not in self.found:
            raise Unreadable("computation", f"the module has none with the id {number}")
        return self.found[number]
