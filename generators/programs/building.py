"""Building a case: operands placed as parameters or constants, and recipes for their contents.

A case is built by a function of (element type, pick): with a Hypothesis strategy behind `pick` it
is drawn and shrunk, with plan.py's words behind it a batch is made without Hypothesis's overhead.
Programs are valid by construction. Choice 0 is the simplest everywhere: rank 0, sizes of 1,
parameters rather than constants, small integers, one input set.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping

import numpy as np

from generators.case.case import Case, InputRecipe
from generators.case.shapes import Pick, choose
from generators.values.contents import fill
from generators.values.profiles import ProfileRow
from generators.values.shaped_values import is_shaped
from reference.ir.program import Attribute, Dense, Region, TensorType, Value, single_op
from reference.ir.types import ElementType

Builder = Callable[[ElementType, Pick], Case]
"""builder(element_type, pick): the case that these choices make."""

LARGEST_CONSTANT = 2048
"""Elements; a constant beyond is a splat, for the sake of the size of the program's text."""

_INPUT_SETS = (1, 3, 4, 5, 5, 5, 5, 6)
_CORRELATIONS = ("independent",) * 5 + ("equal", "negated", "one_ulp")


def constant(tensor_type: TensorType, profile: str, seed: int, *, splat: bool = False) -> Dense:
    """A constant with elements of a profile; a large one, or `splat`, repeats a single element.

    A profile that speaks of the whole array (shaped_values.py) is never repeated.
    """
    if not is_shaped(profile) and (splat or math.prod(tensor_type.static_shape) > LARGEST_CONSTANT):
        one = fill(TensorType((), tensor_type.element_type), profile, seed)
        return Dense.of(np.broadcast_to(one, tensor_type.static_shape), tensor_type)
    return Dense.of(fill(tensor_type, profile, seed), tensor_type)


def operand(pick: Pick, name: str, tensor_type: TensorType, names: ProfileRow) -> Value | Dense:
    """A parameter, or one in four times a constant filled by one of the profiles `names`.

    A constant takes more choices than a parameter with one input set does: shrinking prefers few.
    """
    if pick(4) < 3:
        return Value(name, tensor_type)
    splat = pick(4) == 3
    return constant(tensor_type, choose(pick, names), pick(1 << 32), splat=splat)


def inputs(
    pick: Pick,
    operands: tuple[Value | Dense, ...],
    rows: tuple[ProfileRow, ...],
    *,
    related: bool = False,
) -> tuple[InputRecipe, ...]:
    """Recipes for the operands that are parameters; a single one where there is none.

    `rows` are the combinations of profiles that may meet: a name for each operand, constants
    included. `related`: whether operands of one type may be correlated.
    """
    numbers = {operand: n for n, operand in reversed([*enumerate(operands)])}
    parameters = [numbers[o] for o in dict.fromkeys(operands) if isinstance(o, Value)]
    if not parameters:
        return (InputRecipe((), 0),)
    seed = pick(1 << 32)
    recipes: list[InputRecipe] = []
    for number in range(choose(pick, _INPUT_SETS)):
        row = choose(pick, rows)
        correlation = choose(pick, _CORRELATIONS) if related else "independent"
        recipes.append(InputRecipe(tuple(row[n] for n in parameters), seed + number, correlation))
    return tuple(recipes)


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
    parameters: Collection[str] = (),
    constants: Collection[str] = (),
) -> Case:
    """The case of one op on operands of these types, placed and filled as `pick` says.

    `rows` has the value profiles that may meet, one name for each operand. `related`: whether
    operands of one type may be correlated, or be one and the same value. The operands named by
    `parameters` and `constants` are always that.
    """
    placed: list[Value | Dense] = []
    for number, (name, of) in enumerate(operands.items()):
        names = tuple(row[number] for row in rows)
        if name in parameters:
            placed.append(Value(name, of))
        elif name in constants:
            placed.append(constant(of, choose(pick, names), pick(1 << 32)))
        else:
            placed.append(operand(pick, name, of, names))
    if related and pick(12) == 11:
        placed = [placed[0] if one.type == placed[0].type else one for one in placed]
    program = single_op(op, tuple(placed), results, given, regions)
    return Case(program, inputs(pick, tuple(placed), rows, related=related))
