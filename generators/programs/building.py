"""Builders of cases: operands as parameters or constants, and recipes for their contents.

A builder is a function of (element type, pick). With a Hypothesis strategy as `pick`, the case is
drawn and shrunk; with plan.py's words, batches are built without Hypothesis's overhead. Programs
are valid by construction. Choice 0 is always the simplest: rank 0, sizes of 1, parameters rather
than constants, small integers, one input set.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from generators.case.case import Case, InputRecipe
from generators.case.choices import ARRAY, PARAMETER, SPLAT, Pick, choose, seldom
from generators.values.contents import fill
from generators.values.profiles import ProfileRow
from generators.values.shaped_values import is_shaped
from reference.ir.program import (
    Attribute,
    Dense,
    Function,
    Operation,
    Program,
    Region,
    TensorType,
    Value,
    single_op,
)
from reference.ir.types import ElementType

Builder = Callable[[ElementType, Pick], Case]
"""A function builder(element_type, pick): the case that these choices make."""

LARGEST_CONSTANT = 2048
"""Largest number of elements of a constant; larger constants are splats, to keep program texts
short.
"""

_INPUT_SETS = (1, 3, 4, 5, 5, 5, 5, 6)
_FEW = 16
"""Number of elements below which an array cannot hold every special value."""

_CORRELATIONS = ("independent",) * 5 + ("equal", "negated", "one_ulp")


def constant(tensor_type: TensorType, profile: str, seed: int, *, splat: bool = False) -> Dense:
    """Return a constant with elements of a profile; large or `splat` constants repeat one element.

    A profile that describes the whole array (shaped_values.py) is never repeated.
    """
    if not is_shaped(profile) and (splat or math.prod(tensor_type.static_shape) > LARGEST_CONSTANT):
        one = fill(TensorType((), tensor_type.element_type), profile, seed)
        return Dense.of(np.broadcast_to(one, tensor_type.static_shape), tensor_type)
    return Dense.of(fill(tensor_type, profile, seed), tensor_type)


_PLACES = (PARAMETER,) * 12 + (ARRAY,) * 3 + (SPLAT,)


def hide_choices(builder: Builder, *dimensions: str) -> Builder:
    """Return the builder with the choices of these names drawn, not recorded as dimensions.

    For builders whose program is rewritten: these choices are not visible in the final program.
    """
    return partial(_build_hiding, builder, frozenset(dimensions))


def _build_hiding(
    builder: Builder, dimensions: frozenset[str], element_type: ElementType, pick: Pick
) -> Case:
    before = pick.hidden
    pick.hidden = before | dimensions
    try:
        return builder(element_type, pick)
    finally:
        pick.hidden = before


def operand(
    pick: Pick, name: str, tensor_type: TensorType, names: ProfileRow, *, planned: bool = True
) -> Value | Dense:
    """Return a parameter, or one in four times a constant filled by one of the profiles `names`.

    The source of an operand is a dimension of variation if `planned`; variadic operands share it.
    """
    alike = not tensor_type.rank or all(map(is_shaped, names))
    places = _PLACES[:-1] if alike else _PLACES
    place = choose(pick, places, f"{name.rstrip('0123456789')} is" if planned else "")
    if place == PARAMETER:
        return Value(name, tensor_type)
    seed = pick(1 << 16) << 16 | pick(1 << 16)  # two choices: shrinking prefers few
    return constant(tensor_type, choose(pick, names), seed, splat=place == SPLAT)


def inputs(
    pick: Pick,
    operands: tuple[Value | Dense, ...],
    rows: tuple[ProfileRow, ...],
    *,
    related: bool = False,
    first: Sequence[ProfileRow] = (),
) -> tuple[InputRecipe, ...]:
    """Return recipes for the operands that are parameters; a single recipe if there are none.

    `rows` are the permitted combinations of profiles: a name for each operand, including constants.
    The input sets of a cell iterate over them round-robin, after those in `first`, which each case
    has. `related`: whether operands of one type may be correlated.
    """
    numbers = {operand: n for n, operand in reversed([*enumerate(operands)])}
    parameters = [numbers[o] for o in dict.fromkeys(operands) if isinstance(o, Value)]
    if not parameters:
        return (InputRecipe((), 0),)
    seed = pick(1 << 32)
    recipes: list[InputRecipe] = []
    before = first if pick.is_planned else ()
    for number in range(choose(pick, _INPUT_SETS)):
        turn = number - len(before)
        row = before[number] if turn < 0 else rows[pick.round_robin(len(rows), turn)]
        correlation = choose(pick, _CORRELATIONS) if related else "independent"
        recipes.append(InputRecipe(tuple(row[n] for n in parameters), seed + number, correlation))
    return tuple(recipes)


def prepend_operations(
    program: Program, before: tuple[Operation, ...], functions: tuple[Function, ...]
) -> Program:
    """Return the program with operations prepended to its only function, and more functions."""
    if not before and not functions:
        return program
    main = program.main
    body = replace(main.body, operations=(*before, *main.body.operations))
    return replace(program, functions=(replace(main, body=body), *functions))


def _rows_per_special_value(rows: tuple[ProfileRow, ...]) -> list[ProfileRow]:
    """Return the first row with special values, with each special value; [] without such a row."""
    found = [row for row in rows if "special" in row][:1]
    return [tuple("each_special" if name == "special" else name for name in row) for row in found]


def case(
    pick: Pick,
    op: str,
    operands: Mapping[str, TensorType],
    results: tuple[TensorType, ...],
    rows: tuple[ProfileRow, ...],
    given: dict[str, Attribute] | None = None,
    *,
    regions: tuple[Region, ...] = (),
    related: bool = False,
    specials: bool = False,
    always: tuple[ProfileRow, ...] = (),
    parameters: Collection[str] = (),
    constants: Collection[str] = (),
    unplanned: Collection[str] = (),
) -> Case:
    """Return the case of one op on operands of these types, placed and filled by `pick`.

    `rows` are the permitted combinations of value profiles, a name for each operand. `related`:
    whether operands of one type may be correlated, or be the same value. `specials`: whether each
    case has special values, and not only round-robin, and so the rows `always`. The operands in
    `parameters` and `constants` always have that source; the source of those in `unplanned` is
    drawn.
    """
    placed: list[Value | Dense] = []
    for index, (name, of) in enumerate(operands.items()):
        names = tuple(row[index] for row in rows)
        if name in parameters:
            placed.append(Value(name, of))
        elif name in constants:
            placed.append(constant(of, choose(pick, names), pick(1 << 32)))
        else:
            placed.append(operand(pick, name, of, names, planned=name not in unplanned))
    if related and seldom(pick, 12, "operands are one"):
        placed = [placed[0] if one.type == placed[0].type else one for one in placed]
    pick.has_empty_results = all(0 in result.shape for result in results)
    program = single_op(op, tuple(placed), results, given, regions)
    few = all(math.prod(of.static_shape) <= _FEW for of in operands.values())
    first = _rows_per_special_value(rows) * (2 if few else 1) if specials else []
    sets = inputs(pick, tuple(placed), rows, related=related, first=(*first, *always))
    return Case(program, sets)
