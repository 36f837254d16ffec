"""The semantics of one op: its type function, its evaluation, and the names of what it takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from reference.ir.constraints import ConstraintViolation, checking
from reference.ir.program import Program, Region, TensorType, ValueType

Infer = Callable[..., Any]
"""type_function(*operands, **attributes, **regions): the result type, or a tuple of several."""

Evaluate = Callable[..., Any]
"""evaluate(*operands, **attributes, **bodies): the result, or a tuple of several."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class OpSemantics:
    """One op of the specification.

    `operands`, `attributes` and `regions` are the names of its inputs, in order, `optional` the
    attributes that may be left out. A name with a star ("*inputs") stands for any number: the
    functions then take a tuple at its place; several such names share what there is equally.
    `constraints` are the ids that the specification lists for it, `inputs` the ids of those
    inputs that its table "Inputs" restricts.

    Where `needs_result`, the result type is not implied by the operands: both functions must be
    given it. An op of one result (`several` false) takes and returns it as `result=`, one of
    `several` results (however many there are) as the tuple `results=`.

    `type_function` takes a region as `Region`, `evaluate` as `reference.ir.regions.Body`; where
    `lifts`, evaluation works element by element, so that it may be applied to whole arrays in
    place of scalars. `values`: operands and results may be tokens and tuples as well as tensors.
    `scoped`: the type function also takes `scope`, the program around, where that is known.
    `check_values` checks the constraints on values of operands: it takes arrays and attributes as
    `evaluate` does, None for each array that is not known, and is called only where no other
    constraint is broken.
    """

    name: str
    type_function: Infer
    evaluate: Evaluate
    operands: tuple[str, ...]
    attributes: tuple[str, ...]
    needs_result: bool
    constraints: tuple[str, ...]
    inputs: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()
    several: bool = False
    lifts: bool = False
    values: bool = False
    scoped: bool = False
    check_values: Callable[..., None] | None = None

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
    op: OpSemantics, names: tuple[str, ...], given: Sequence[T], what: str
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
