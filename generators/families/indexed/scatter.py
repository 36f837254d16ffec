"""Cases of scatter: every addressing of a tensor, and bodies of every kind.

The order of several updates of one element is implementation-defined. Most bodies here give the
same result in every order on their data. Others (returning the update, affine maps) are drawn too,
with and without elements that are updated twice.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from generators.case.case import Case
from generators.case.choices import Pick, choose, name_of, seldom
from generators.families.data_movement import contents, permutation
from generators.families.indexed.roles import (
    Access,
    access,
    explicit,
    index_profiles,
    index_type,
    limit_slices,
)
from generators.programs.building import case, prepend_operations
from generators.regions import forms
from generators.regions.bodies import (
    BodyBuilder,
    Monoid,
    fold_of,
    monoid_ops,
    multi_op_bodies,
    scalar,
    wider_than,
)
from generators.values.profiles import ProfileRow
from reference.ir.program import Attribute, Function, Operation, Region, TensorType
from reference.ir.types import ELEMENT_TYPES, ElementType

MOST_VECTORS = 64
"""Maximum number of index vectors listed explicitly."""


@dataclass(frozen=True, slots=True)
class Update:
    """An update computation: its region, the types of inputs and results, profiles of both, the
    operations around it whose results it names, the functions that it calls; and whether it is for
    few elements."""

    region: Region
    inputs: tuple[ElementType, ...]
    results: tuple[ElementType, ...]
    rows: tuple[ProfileRow, ...]
    outside: tuple[Operation, ...] = ()
    functions: tuple[Function, ...] = ()
    few: bool = False


def _body_update(body: Monoid) -> Update:
    return Update(
        body.region, body.inputs, body.results, body.rows, body.outside, body.functions, body.few
    )


def _data_rows(element_type: ElementType) -> tuple[ProfileRow, ...]:
    return tuple((name,) for name in contents(element_type))


def _overwrite(element_type: ElementType, _: Pick) -> Update:
    block = BodyBuilder.of(element_type, element_type)
    return Update(
        block.finish_region(block.arguments[1]),
        (element_type,),
        (element_type,),
        _data_rows(element_type),
    )


def _keep(element_type: ElementType, _: Pick) -> Update:
    block = BodyBuilder.of(element_type, element_type)
    return Update(
        block.finish_region(block.arguments[0]),
        (element_type,),
        (element_type,),
        _data_rows(element_type),
    )


def _fold(element_type: ElementType, pick: Pick) -> Update:
    wider = (None,) * 10 + wider_than(element_type)[-1:]
    op = choose(pick, monoid_ops(element_type), "op of the body")
    to = choose(pick, wider, "promoted", lambda to: "yes" if to else "no", paired=False)
    return _body_update(fold_of(op, element_type, to, swapped=seldom(pick, 4, "operands swapped")))


def _fold_in_functions(element_type: ElementType, pick: Pick) -> Update:
    op = choose(pick, monoid_ops(element_type), "op of the body")
    return _body_update(forms.call_body(fold_of(op, element_type)))


def _non_elementwise_fold(element_type: ElementType, pick: Pick) -> Update:
    op = choose(pick, forms.non_elementwise_ops(element_type), "op of the body")
    return _body_update(forms.write_non_elementwise(fold_of(op, element_type), pick))


def _multi_op_fold(element_type: ElementType, pick: Pick) -> Update:
    return _body_update(
        choose(pick, multi_op_bodies(element_type), "body of several ops", paired=False)
    )


def _subtract(element_type: ElementType, _: Pick) -> Update:
    """Subtract: not commutative, but on small integers every order gives the same result."""
    block = BodyBuilder.of(element_type, element_type)
    rows: tuple[ProfileRow, ...] = (("within:0:1",), ("small_integers",))
    return Update(
        block.finish_region(block.op("subtract", *block.arguments)),
        (element_type,),
        (element_type,),
        rows,
    )


def _overwrite_both(element_type: ElementType, _: Pick) -> Update:
    """Overwrite both inputs or none: halves of two updates must not be mixed."""
    other = ELEMENT_TYPES["si32"]
    block = BodyBuilder.of(element_type, other, element_type, other)
    region = block.finish_region(*block.arguments[2:])
    rows: tuple[ProfileRow, ...] = tuple((name, "permutation") for name in contents(element_type))
    return Update(region, (element_type, other), (element_type, other), rows)


def choose_update(element_type: ElementType, pick: Pick) -> Update:
    """Return an update computation on an element type."""
    makers: list[Callable[[ElementType, Pick], Update]] = [
        _overwrite,
        _fold,
        _fold,
        _fold,
        _multi_op_fold,
    ]
    makers += [_overwrite, _fold, _multi_op_fold, _overwrite_both, _keep]
    makers += [_fold_in_functions, _non_elementwise_fold]
    if not element_type.is_boolean and (
        element_type.is_integer or element_type.float_format.has_zero
    ):
        makers.append(_subtract)
    return choose(pick, makers, "body", name_of)(element_type, pick)


def _distinct_index_vectors(
    pick: Pick, chosen: Access, *, implicit: bool, twice: bool
) -> str | None:
    """Return index vectors that all write different elements, or None.

    `twice`: the first two vectors are equal.
    """
    count = math.prod(chosen.batch)
    room = [chosen.shape[d] // max(chosen.sizes[d], 1) for d in chosen.mapped]
    cells = math.prod(room)
    if not (0 < count <= min(cells, MOST_VECTORS)) or not chosen.mapped:
        return None
    start = pick(cells)
    step = next(
        step for step in range(pick(cells) + 1, 2 * cells + 2) if math.gcd(step, cells) == 1
    )
    vectors: list[list[int]] = []
    for number in range(count):
        rest, vector = (start + number * step) % cells, list[int]()
        for d, steps in zip(chosen.mapped, room, strict=True):
            vector.append(rest % steps * max(chosen.sizes[d], 1))
            rest //= steps
        vectors.append(vector)
    if twice and count > 1:
        vectors[1] = vectors[0]
    if pick(4) == 3 and not _is_small(chosen):
        vectors[pick(count)] = [-1000] * len(room)  # out of bounds for any window size
    return explicit(vectors, chosen, implicit=implicit)


def _is_small(chosen: Access) -> bool:
    """Return whether a negative index of a narrow type could wrap around to a valid index."""
    return max(chosen.shape, default=0) > 100


def _update_index_profiles(pick: Pick, chosen: Access, index: ElementType) -> tuple[str, ...]:
    """Return profiles of indices: in range, many equal, far out.

    In one of eight cases windows are partially out of bounds, because known backends drop these
    entirely.
    """
    inside = index_profiles(chosen, far=False)
    fits = inside[1]  # for any component
    limit = max(chosen.shape, default=0)
    outside = seldom(pick, 8, "windows out of bounds in part", paired=False)
    if outside or all(chosen.sizes[d] <= 1 for d in chosen.mapped):
        return (fits, *inside, f"within:-2:{limit}", "special")
    last = -1 if index.name == "ui64" else index.max_integer  # profiles take numbers of si64
    beyond = (f"values:{last}",) if index.max_integer > limit else ()
    return (fits, fits, fits, "values:0", *beyond)


def scatter_case(op: str, element_type: ElementType, pick: Pick) -> Case:
    """Return a case of scatter."""
    chosen, update = access(pick, element_type), choose_update(element_type, pick)
    if update.few:
        chosen = limit_slices(chosen)
    implicit = chosen.implicit and not seldom(pick, 2, "index vectors of 1")
    rank = len(chosen.batch) + len(chosen.kept)
    window_dims = tuple(sorted(permutation(pick, rank)[: len(chosen.kept)]))
    window, batch = iter(chosen.kept), iter(chosen.batch)
    size = tuple(
        chosen.sizes[next(window)] if d in window_dims else next(batch) for d in range(rank)
    )
    index = TensorType(chosen.indices_shape(implicit=implicit), index_type(pick, chosen))
    profiles, unique = _update_index_profiles(pick, chosen, index.element), False
    way = choose(pick, ("any", "any", "any", "distinct", "some twice", "unique"), "places")
    if way != "any":
        distinct = _distinct_index_vectors(
            pick, chosen, implicit=implicit, twice=way == "some twice"
        )
        if distinct is not None and index.element.bits >= 8:
            profiles, unique = (distinct,), way == "unique"
    given: dict[str, Attribute] = {
        "update_window_dims": window_dims,
        "inserted_window_dims": chosen.dropped,
        "input_batching_dims": chosen.batching,
        "scatter_indices_batching_dims": chosen.paired_dims(implicit=implicit),
        "scatter_dims_to_operand_dims": chosen.mapped,
        "index_vector_dim": len(chosen.batch) if implicit else chosen.vector_dim,
        "indices_are_sorted": False,
        "unique_indices": unique,
    }
    if seldom(pick, 8, "indices_are_sorted"):
        given["indices_are_sorted"], profiles = True, ("values:0", "values:1", "values:-1")
    types = {f"input{n}": TensorType(chosen.shape, one) for n, one in enumerate(update.inputs)}
    types["scatter_indices"] = index
    types |= {f"update{n}": TensorType(size, one) for n, one in enumerate(update.inputs)}
    results = tuple(TensorType(chosen.shape, result) for result in update.results)
    rows = tuple((*row, target, *row) for target in profiles for row in update.rows)
    made = case(pick, op, types, results, rows, given, regions=(update.region,))
    pick.has_empty_results = 0 in size  # nothing is updated
    return replace(made, program=prepend_operations(made.program, update.outside, update.functions))


__all__ = ["Update", "choose_update", "scalar", "scatter_case"]
