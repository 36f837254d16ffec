"""The record of an op: its type function, its evaluation, and every fact about it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeVar

import numpy as np

from reference.ir.constraints import ConstraintViolation, checking
from reference.ir.monoid import MONOIDS, Monoid
from reference.ir.program import Program, Region, TensorType, ValueType
from reference.ir.types import Array, ElementType

Infer = Callable[..., Any]
"""type_function(*operands, **attributes, **regions): the result type, or a tuple of several."""

Evaluate = Callable[..., Any]
"""evaluate(*operands, **attributes, **bodies): the result, or a tuple of several."""

IsExact = Callable[[tuple[Array, ...], Array], Array]
"""is_exact(operands, result): which elements are the exact results, with nothing rounded."""

Lower = Callable[..., Any]
"""lower(building, *operands, **attributes, **regions): the value, or a tuple of several, that the
operations which it adds to `building` (reference/ops/xla/lowering.py) end with."""

Said = tuple[tuple[str, Any], ...]
"""The attributes of a composite, by name and in order: integers, texts, types, tuples of those."""

T = TypeVar("T")


class Dialect(Enum):
    """Where an op comes from."""

    STABLEHLO = "stablehlo"
    """The StableHLO specification."""
    MHLO = "mhlo"
    """Instructions of XLA that StableHLO lacks, as MLIR writes them."""
    XLA = "xla"
    """XLA's operation semantics: what XlaBuilder offers."""


class QuantizedUse(Enum):
    """What an op does with quantized tensors."""

    COMPUTES = "numbers"
    """It is defined on the numbers: `dequantize_op_quantize` and its kin."""
    CONVERTS = "conversion"
    """So it is, and the specification defines its arithmetic step by step."""
    MOVES = "codes"
    """It moves codes, or gives them to a body whose operations take them in their turn."""
    PASSES = "values"
    """It hands values on, whatever their types."""
    REFUSES = "none"
    """It takes none."""

    @property
    def on_numbers(self) -> bool:
        """Whether an op is defined on the numbers that codes stand for, not on codes."""
        return self in (QuantizedUse.COMPUTES, QuantizedUse.CONVERTS)


class Rounding(Enum):
    """What the arithmetic of an op, on floating-point numbers that it is given, has to round."""

    MOVES = "none: elements of results are elements of operands, or made of their bits"
    EXACT = "none: results are other values, and exact"
    CORRECT = "the exact result, once"
    APPROXIMATES = "a function's value, with errors"
    ACCUMULATES = "sums and products of many elements, or what a body makes of them"


class Structure(Enum):
    """How an op takes part in a program."""

    COMPUTES = "results of operands, attributes, and regions that it applies as functions"
    CONSTANT = "a result that the program states"
    BRANCHES = "regions that are parts of the program, of which one is run"
    LOOPS = "regions that are parts of the program, run again and again"
    STARTS = "a region that is a part of the program, run whenever"
    CALLS = "a function of the program"
    CALLS_TARGET = "something outside of the program, by the name of a target"
    COMMUNICATES = "values that the processes of a group give one another, or a process's own id"
    TRANSFERS = "values that go to or come from the host or another process, by queues"
    FORWARDS = "values handed on, taken together or apart"
    AWAITS = "values of what was started, handed on"

    @property
    def is_inside(self) -> bool:
        """Whether what happens in the regions of such an op happens in the program around it."""
        return self in (Structure.BRANCHES, Structure.LOOPS)

    @property
    def hands_on(self) -> bool:
        """Whether results of such an op are values that it was given, or that were promised."""
        return self in (Structure.FORWARDS, Structure.AWAITS)

    @property
    def holds_program(self) -> bool:
        """Whether the regions of such an op are parts of the program around it."""
        return self in (Structure.BRANCHES, Structure.LOOPS, Structure.STARTS)


EACH = None
"""Every operand goes into the result of its own number."""


@dataclass(frozen=True, slots=True)
class Place:
    """One of an operation's operands or results, by number; negative ones count from the end."""

    of_results: bool
    number: int


FIRST_OPERAND = Place(of_results=False, number=0)
FIRST_RESULT = Place(of_results=True, number=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Composite:
    """How an op is written that StableHLO has none for: as a `composite` with its decomposition.

    Attributes:
        name: the name of the composite, and of the function that it is made of.
        order: its operands, as numbers of the op's.
        decompose: adds the operations that the op is made of, as `Op.lower` does; it checks the
            conditions that none of these operations has.
        states: states(result type, **attributes): the attributes of the composite.
        reads: reads(operand types of the op, result type, attributes of the composite): the op's.
    """

    name: str
    order: tuple[int, ...]
    decompose: Lower
    states: Callable[..., Said]
    reads: Callable[[tuple[TensorType, ...], TensorType, dict[str, Any]], dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Op:
    """One op: everything that is a fact about it, for all layers to derive what they need.

    Attributes:
        name: its mnemonic.
        dialect: where it comes from.
        specified: whether the specification still has it, and so constraints for it.
        type_function: its result types, which checks every constraint; takes regions as `Region`.
        evaluate: its results; takes regions as `reference.ir.regions.Body`.
        operands, attributes, regions: the names of its inputs, in order. A name with a star
            ("*inputs") stands for any number: the functions then take a tuple at its place;
            several such names share what there is equally.
        optional: the attributes that may be left out.
        constraints: the ids that the specification lists for it.
        inputs: the ids of those inputs that its table "Inputs" restricts.
        element_types: the types of its cells, those of the principal operand or result.
        principal: the operand or result whose element type names a cell.
        quantized: what it does with quantized tensors.
        rounding: what its arithmetic rounds.
        structure: how it takes part in a program.
        lifts: whether evaluation works element by element, so that it may be applied to whole
            arrays in place of scalars.
        needs_result: whether the result type is not implied by the operands; both functions must
            then be given it. An op of one result takes and returns it as `result=`, one of
            `several` results (however many there are) as the tuple `results=`.
        values: whether operands and results may be tokens and tuples as well as tensors.
        scoped: whether the type function also takes `scope`, the program around, where known.
        check_values: checks the constraints on values of operands: takes arrays and attributes as
            `evaluate` does, None for each array that is not known, and is called only where no
            other constraint is broken.
        metadata: attributes that MLIR has besides those of the specification; what they say is
            nothing that the type or the constraints depend on.
        callee: the attribute that names the function it calls.
        unrounded: the exact result before it is rounded, as a numpy function that works in wider
            arithmetic (float64, longdouble).
        of_bits: whether results are the operand's bits, read as another type.
        wraps: whether `unrounded`, of Python integers, is the result before it is taken modulo a
            power of two.
        is_exact: where a result is the exact one: (operands, result) to booleans of its shape.
        body_types: of an op whose body may work in another quantized type than an operand has, for
            each group of operands whether it is converted to the results' types; the others, of one
            operand, hold indices or are only compared.
        unquantized: the attributes that its definition on quantized tensors leaves out.
        rescales: whether quantized operands may each be brought to the result's scale first.
        carries: the operands, by number, whose values go into its results, rounded at most; `EACH`
            for the operand of the same number as the result, or all where there is one result.
        sized_by: the operands whose values the sizes of results depend on.
        draws: whether its results are random, and so any of many.
        lower: what makes the op of others, which end with the one whose semantics it has; its
            own `evaluate` is then never called.
        twin: the name of that last one.
        renames: the names of attributes and regions that are others than the twin's, and those.
        restates: constraints of the op that say what constraints of the twin say, with the ids of
            these; the twin's are reported under the op's ids.
        waives: constraints of the twin that forbid what the op permits.
        readings: passages of the text that can be read in more than one way, each with the reading
            that the row takes and the other one.
        composite: what it is written as where StableHLO has no op of its meaning, nor others that
            would end with one.
        expensive: whether programs of it take five times as long to compile as most (0.1 s and
            more, measured in XLA on a CPU).
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
    principal: Place
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
    scoped: bool = False
    check_values: Callable[..., None] | None = None
    metadata: frozenset[str] = frozenset()
    callee: str | None = None
    unrounded: Callable[..., Any] | None = None
    wraps: bool = False
    of_bits: bool = False
    is_exact: IsExact | None = None
    body_types: tuple[bool, ...] = ()
    unquantized: tuple[str, ...] = ()
    rescales: bool = False
    carries: tuple[int, ...] | None = ()
    sized_by: tuple[str, ...] = ()
    draws: bool = False
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
        """Whether elements of results are made of those at their place; a bitcast splits them."""
        return self.lifts or self.of_bits

    @property
    def is_sign_only(self) -> bool:
        """Whether results are operands but for their signs, and so nothing is rounded."""
        return self.unrounded in (np.abs, np.negative)

    @property
    def multiplies(self) -> bool:
        """Whether parts of complex results may be sums of products, in the op or in its regions."""
        if self.structure is not Structure.COMPUTES:
            return True
        rounds = self.rounding not in (Rounding.MOVES, Rounding.EXACT)
        return rounds and self.unrounded not in (np.add, np.subtract)

    @property
    def only_rounds(self) -> bool:
        """Whether all that it does is to round its operand, as a program asks for by it."""
        return self.rounding is Rounding.CORRECT and self.carries == (0,)

    @property
    def moves_elements(self) -> bool:
        """Whether its results hold elements of its operands, as they are, at other positions."""
        moves = self.rounding is Rounding.MOVES and self.structure is Structure.COMPUTES
        return moves and not self.elementwise

    @property
    def rearranges(self) -> bool:
        """Whether its results are the elements of its one operand, in another shape or order."""
        return self.moves_elements and self.carries == (0,) and len(self.operands) == 1

    @property
    def monoid(self) -> Monoid | None:
        """What it is as a fold of two operands; None where it is no monoid."""
        return MONOIDS.get(self.name)

    def grouped(self, operands: Sequence[T]) -> tuple[T | tuple[T, ...], ...]:
        """The operands as the functions take them: those of a starred name as one tuple.

        Raises:
            ConstraintViolation: "operands" when there are too few or too many.
        """
        return _grouped(self, self.operands, operands, "operands")

    def named(self, regions: Sequence[T]) -> dict[str, T | tuple[T, ...]]:
        """The regions by name, those of a starred name as a tuple.

        Raises:
            ConstraintViolation: "regions" when there are too few or too many.
        """
        if not self.regions and not regions:
            return {}
        names = [name.removeprefix("*") for name in self.regions]
        return dict(zip(names, _grouped(self, self.regions, regions, "regions"), strict=True))

    def infer(
        self,
        *operands: ValueType,
        result: ValueType | None = None,
        results: tuple[ValueType, ...] | None = None,
        regions: tuple[Region, ...] = (),
        scope: Program | None = None,
        **given: Any,
    ) -> Any:
        """The result type, or a tuple of types where the op has several results.

        Every constraint is checked, those on results where they are given.

        Raises:
            ConstraintViolation: naming the op and the id; "operands", "attributes", "regions" or
                "result" stands for the id when they are not even of the number, names or (tensor)
                types that the op takes, or when a result type is needed and not stated.
        """
        stated = results if self.several else None if result is None else (result,)
        self._check_form(operands, given, stated)
        keywords: dict[str, Any] = dict(given)
        keywords.update(self.named(regions))
        if stated is not None:
            keywords |= {"results": stated} if self.several else {"result": stated[0]}
        if self.scoped:
            keywords["scope"] = scope
        with checking(self.name):
            return self.type_function(*self.grouped(operands), **keywords)

    def _check_form(
        self,
        operands: tuple[ValueType, ...],
        given: dict[str, Any],
        results: tuple[ValueType, ...] | None,
    ) -> None:
        self.grouped(operands)
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


def _grouped(
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
