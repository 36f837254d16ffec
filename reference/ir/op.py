"""The record of an op: its type function, its evaluation, and every fact about the op."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeVar

import numpy as np

from reference.ir.constraints import ConstraintViolation, name_checked_op
from reference.ir.monoid import MONOIDS, Monoid
from reference.ir.program import Program, Region, TensorType, ValueType
from reference.ir.types import Array, ElementType

Infer = Callable[..., Any]
"""A function type_function(*operands, **attributes, **regions): the result type, or a tuple of
several.
"""

Evaluate = Callable[..., Any]
"""A function evaluate(*operands, **attributes, **bodies): the result, or a tuple of several."""

IsExact = Callable[[tuple[Array, ...], Array], Array]
"""A function is_exact(operands, result): a mask of the elements that are exact, without
rounding.
"""

Lower = Callable[..., Any]
"""A function lower(building, *operands, **attributes, **regions): adds operations and returns their
final values.

`building` is of reference/ops/xla/lowering.py.
"""

CompositeAttributes = tuple[tuple[str, Any], ...]
"""The attributes of a composite, (name, value) in order: integers, strings, types, nested
tuples."""

T = TypeVar("T")


def plain_name(op: str) -> str:
    """Return the name of an op without its dialect, which most names do not state."""
    return op.rpartition(".")[2]


class Dialect(Enum):
    """The source that defines an op."""

    STABLEHLO = "stablehlo"
    """The StableHLO specification."""
    XLA = "xla"
    """XLA's operation semantics: the ops of XlaBuilder."""
    CHLO = "chlo"
    """StableHLO's dialect for clients."""
    MHLO = "mhlo"
    """Instructions of XLA that StableHLO lacks, as MLIR writes them."""


class QuantizedUse(Enum):
    """The use that an op makes of quantized tensors."""

    COMPUTES = "numbers"
    """The op is defined on the numbers, as `dequantize_op_quantize` and similar ops are."""
    CONVERTS = "conversion"
    """The op is defined on numbers, by arithmetic that the specification spells out."""
    MOVES = "codes"
    """The op moves codes, or passes them to a body whose operations have a use of their own."""
    PASSES = "values"
    """The op forwards values of any type."""
    REFUSES = "none"
    """The op does not accept quantized tensors."""

    @property
    def on_numbers(self) -> bool:
        """Whether an op is defined on the numbers that codes represent, not on the codes."""
        return self in (QuantizedUse.COMPUTES, QuantizedUse.CONVERTS)


class Rounding(Enum):
    """The rounding that the arithmetic of an op performs on floating-point operands."""

    MOVES = "none: results are elements of operands, or made of their bits"
    EXACT = "none: results are computed exactly"
    CORRECT = "one correct rounding of the exact result"
    APPROXIMATES = "a function's value, with an error"
    ACCUMULATES = "sums and products of many elements, or results of a body"


class Structure(Enum):
    """The role of an op in a program."""

    COMPUTES = "results computed from operands, attributes, and regions applied as functions"
    CONSTANT = "a result that the program states"
    BRANCHES = "regions that are parts of the program, of which one is run"
    LOOPS = "regions that are parts of the program, run repeatedly"
    STARTS = "a region that is a part of the program, run asynchronously"
    SHARDS = "a region that is a part of the program, run by every device of a mesh on its shards"
    CALLS = "a function of the program"
    CALLS_TARGET = "something outside of the program, by the name of a target"
    COMMUNICATES = "values that the processes of a group exchange, or the process's id"
    TRANSFERS = "values that go to or come from the host or another process, by queues"
    FORWARDS = "unchanged values of operands, packed into a tuple or unpacked"
    AWAITS = "the results of an asynchronous start"

    @property
    def forwards_values(self) -> bool:
        """Whether the results of an op of this structure are its operands, or values that a future
        promised.
        """
        return self in (Structure.FORWARDS, Structure.AWAITS)

    @property
    def holds_program(self) -> bool:
        """Whether the regions of an op of this structure are parts of the enclosing program."""
        return self in (
            Structure.BRANCHES, Structure.LOOPS, Structure.STARTS, Structure.SHARDS,
        )  # fmt: skip


EACH = None
"""Every operand contributes to the result of the same index."""


@dataclass(frozen=True, slots=True)
class ValuePosition:
    """An operand or result of an operation, by index; negative indices count from the end."""

    of_results: bool
    number: int


FIRST_OPERAND = ValuePosition(of_results=False, number=0)
FIRST_RESULT = ValuePosition(of_results=True, number=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Composite:
    """The form in which an op without a StableHLO equivalent is written: a `composite` with its
    decomposition.

    Attributes:
        name: the name of the composite and of its decomposition function.
        order: the operands of the composite, as indices into the op's operands.
        decompose: adds the operations of the decomposition, as `Op.lower` does; checks the
            conditions that none of these operations checks.
        states: states(result type, **attributes): the attributes of the composite.
        reads: reads(operand types of the op, result type, attributes of the composite): the
            attributes of the op.
    """

    name: str
    order: tuple[int, ...]
    decompose: Lower
    states: Callable[..., CompositeAttributes]
    reads: Callable[[tuple[TensorType, ...], TensorType, dict[str, Any]], dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Op:
    """One op with every fact about it, from which all layers derive what they need.

    Attributes:
        name: its mnemonic.
        dialect: the source that defines it.
        specified: whether the current specification has it, and therefore constraints for it.
        type_function: computes its result types and checks every constraint; takes regions as
            `Region`.
        evaluate: computes its results; takes regions as `reference.ir.regions.Body`.
        operands, attributes, regions: the names of its inputs, in order. A name with a star
            ("*inputs") stands for any number of inputs: the functions take a tuple at that
            position, and several starred names share the inputs equally.
        optional: the attributes that may be omitted.
        constraints: the ids that the specification lists for it.
        inputs: the ids of the inputs that its table "Inputs" restricts.
        element_types: the element types of its cells: the types of the principal operand or result.
        principal: the operand or result whose element type identifies a cell.
        quantized: its use of quantized tensors.
        rounding: the rounding that its arithmetic performs.
        structure: its role in a program.
        lifts: whether evaluation works element by element, so that it may be applied to whole
            arrays instead of scalars.
        in_lanes: `evaluate` for many operands at once, which have a leading dimension of lanes: of
            their number, or 1 for an operand that all lanes share. So have the results. None if
            `lifts` says enough, or if lanes are evaluated one after the other.
        write_lanes: write_lanes(operand, *operands in lanes, **attributes): writes to the first
            operand, without lanes, what the lanes write to it one after the other.
        needs_result: whether the operands do not determine the result type; both functions then
            require it. An op with one result takes and returns it as `result=`, an op with
            `several` results (of any number) as the tuple `results=`.
        values: whether operands and results may be tokens and tuples as well as tensors.
        scoped: whether the type function also takes `scope`, the enclosing program, if known.
        check_values: checks the constraints on values of operands. It takes arrays and attributes
            as `evaluate` does, with None for each unknown array, and is called only if no other
            constraint is violated.
        metadata: attributes of MLIR that the specification lacks; neither the type nor the
            constraints depend on them.
        callee: the attribute that names the function it calls.
        unrounded: the exact result before rounding, as a numpy function that works in wider
            arithmetic (float64, longdouble).
        is_bitcast: whether results are the operand's bits, read as another type.
        wraps: whether `unrounded`, applied to Python integers, is the result before the reduction
            modulo a power of two.
        is_exact: maps (operands, result) to a mask of the result's shape, true where the result is
            exact.
        body_types: for an op whose body may work in another quantized type than an operand has: for
            each group of operands, whether it is converted to the results' types. The other groups,
            of one operand each, hold indices or are only compared.
        unquantized: the attributes that its definition on quantized tensors omits.
        rescales: whether each quantized operand may first be converted to the result's scale.
        carries: the indices of the operands whose values enter its results, at most rounded; `EACH`
            for the operand with the index of the result, or all operands if there is one result.
        size_operands: the operands whose values determine the sizes of results.
        returns_sizes: whether its results are sizes of its operands: constants of the program if
            all sizes are static.
        cancels: whether an integer and itself give zero.
        monotonic: whether real results only grow, or only shrink, with each operand if the others
            stay; if the sign of a zero counts, where no such operand is zero or changes its sign.
        zero_signs: the indices of the operands whose sign of zero decides a result.
        is_random: whether its results are random, so that many are valid.
        lower: lowers the op to others, the last of which has its semantics; its own `evaluate` is
            then never called.
        twin: the name of that last op.
        renames: pairs of names of attributes and regions that differ from the twin's: (own,
            twin's).
        restates: constraints of the op that restate constraints of the twin, with the twin's ids;
            violations of the twin are reported under the op's ids.
        waives: constraints of the twin that forbid what the op permits.
        readings: ambiguous passages of the text, each with the reading that the record uses and the
            alternative.
        composite: the form it is written in if StableHLO has neither an equivalent op nor
            operations that it could be lowered to.
        expensive: whether its programs take five times as long to compile as most (0.1 s and more,
            measured in XLA on a CPU).
    """

    name: str
    dialect: Dialect
    specified: bool
    type_function: Infer
    evaluate: Evaluate
    operands: tuple[str, ...]
    attributes: tuple[str, ...]
    constraints: tuple[str, ...]
    element_types: tuple[ElementType, ...]
    principal: ValuePosition
    quantized: QuantizedUse
    rounding: Rounding
    structure: Structure
    lifts: bool
    needs_result: bool
    inputs: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()
    several: bool = False
    values: bool = False
    in_lanes: Evaluate | None = None
    write_lanes: Callable[..., None] | None = None
    scoped: bool = False
    check_values: Callable[..., None] | None = None
    metadata: frozenset[str] = frozenset()
    callee: str | None = None
    unrounded: Callable[..., Any] | None = None
    wraps: bool = False
    is_bitcast: bool = False
    is_exact: IsExact | None = None
    body_types: tuple[bool, ...] = ()
    unquantized: tuple[str, ...] = ()
    rescales: bool = False
    carries: tuple[int, ...] | None = ()
    size_operands: tuple[str, ...] = ()
    returns_sizes: bool = False
    cancels: bool = False
    monotonic: bool = False
    zero_signs: tuple[int, ...] = ()
    is_random: bool = False
    expensive: bool = False
    lower: Lower | None = None
    twin: str = ""
    renames: tuple[tuple[str, str], ...] = ()
    restates: tuple[tuple[str, tuple[str, ...]], ...] = ()
    waives: tuple[str, ...] = ()
    readings: tuple[str, ...] = ()
    composite: Composite | None = None

    @property
    def elementwise(self) -> bool:
        """Whether result elements depend only on elements at the same position; a bitcast splits
        them."""
        return self.lifts or self.is_bitcast

    @property
    def is_sign_only(self) -> bool:
        """Whether results equal operands except for their signs, so that nothing is rounded."""
        return self.unrounded in (np.abs, np.negative)

    @property
    def multiplies(self) -> bool:
        """Whether parts of complex results may be sums of products, in the op or in its regions."""
        if self.structure is not Structure.COMPUTES:
            return True
        rounds = self.rounding not in (Rounding.MOVES, Rounding.EXACT) or self.is_exact is not None
        return rounds and self.unrounded not in (np.add, np.subtract)

    @property
    def only_rounds(self) -> bool:
        """Whether the op only rounds its operand, as the program requests explicitly."""
        return self.rounding is Rounding.CORRECT and self.carries == (0,)

    @property
    def moves_elements(self) -> bool:
        """Whether the op's results hold unchanged elements of its operands at other positions."""
        moves = self.rounding is Rounding.MOVES and self.structure is Structure.COMPUTES
        return moves and not self.elementwise

    @property
    def rearranges(self) -> bool:
        """Whether the op's results are the elements of its only operand, in another shape or
        order.
        """
        return self.moves_elements and self.carries == (0,) and len(self.operands) == 1

    @property
    def monoid(self) -> Monoid | None:
        """The monoid of the op as a fold of two operands; None if it is no monoid."""
        return MONOIDS.get(self.name)

    def group_operands(self, operands: Sequence[T]) -> tuple[T | tuple[T, ...], ...]:
        """Group operands as the functions take them: the operands of a starred name as one tuple.

        Raises:
            ConstraintViolation: "operands" if there are too few or too many.
        """
        return _group_values(self, self.operands, operands, "operands")

    def name_regions(self, regions: Sequence[T]) -> dict[str, T | tuple[T, ...]]:
        """Map names to regions, a starred name to a tuple of regions.

        Raises:
            ConstraintViolation: "regions" if there are too few or too many.
        """
        if not self.regions and not regions:
            return {}
        names = [name.removeprefix("*") for name in self.regions]
        return dict(zip(names, _group_values(self, self.regions, regions, "regions"), strict=True))

    def infer(
        self,
        *operands: ValueType,
        result: ValueType | None = None,
        results: tuple[ValueType, ...] | None = None,
        regions: tuple[Region, ...] = (),
        scope: Program | None = None,
        **given: Any,
    ) -> Any:
        """Return the result type, or a tuple of types if the op has several results.

        Every constraint is checked; constraints on results only if these are given.

        Raises:
            ConstraintViolation: with the op and the id. The id is "operands", "attributes",
                "regions" or "result" if their number, names or (tensor) types do not fit the op, or
                if a required result type is missing.
        """
        stated = results if self.several else None if result is None else (result,)
        self._check_form(operands, given, stated)
        keywords: dict[str, Any] = dict(given)
        keywords.update(self.name_regions(regions))
        if stated is not None:
            keywords |= {"results": stated} if self.several else {"result": stated[0]}
        if self.scoped:
            keywords["scope"] = scope
        with name_checked_op(self.name):
            return self.type_function(*self.group_operands(operands), **keywords)

    def _check_form(
        self,
        operands: tuple[ValueType, ...],
        given: dict[str, Any],
        results: tuple[ValueType, ...] | None,
    ) -> None:
        self.group_operands(operands)
        if not self.values and not all(isinstance(operand, TensorType) for operand in operands):
            raise ConstraintViolation(self.name, "operands", "not a tensor")
        missing = [n for n in self.attributes if n not in given and n not in self.optional]
        unknown = [n for n in given if n not in self.attributes]
        if missing or unknown:
            message = f"missing: {', '.join(missing)}; unknown: {', '.join(unknown)}"
            raise ConstraintViolation(self.name, "attributes", message)
        if results is None and self.needs_result:
            raise ConstraintViolation(self.name, "result", "the result type must be stated")
        if results and not self.values and not all(isinstance(r, TensorType) for r in results):
            raise ConstraintViolation(self.name, "result", "not a tensor")


def _group_values(
    op: Op, names: tuple[str, ...], given: Sequence[T], what: str
) -> tuple[T | tuple[T, ...], ...]:
    starred = sum(name.startswith("*") for name in names)
    if not starred:
        if len(given) != len(names):
            taken = f"{len(given)} given, the op takes {len(names)}"
            raise ConstraintViolation(op.name, what, taken)
        return tuple(given)
    spare = len(given) - (len(names) - starred)
    if spare < 0 or spare % starred:
        raise ConstraintViolation(op.name, what, f"{len(given)} given for {', '.join(names)}")
    groups: list[T | tuple[T, ...]] = []
    at = 0
    for name in names:
        count = spare // starred if name.startswith("*") else 1
        groups.append(tuple(given[at : at + count]) if name.startswith("*") else given[at])
        at += count
    return tuple(groups)
