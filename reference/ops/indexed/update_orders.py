"""Decomposed scatters: colliding updates, and the results of all their orders.

The order of the updates ("schedule" in the specification) is implementation-defined. It does not
affect elements with one update, nor integer sums, extrema and the like. For other elements all
orders are evaluated if there are few.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from reference.ir.program import Operation, TensorType
from reference.ir.regions import Body, output_types
from reference.ir.types import Array, element_type_of
from reference.numerics.alike import equal_elements
from reference.numerics.conversion import convert_to
from reference.ops.indexed.scatter import (
    Groups,
    apply,
    group_updates,
    is_associative,
    overwriting_updates,
    positions,
)

MAX_ORDERED_UPDATES = 4
"""Maximum number of updates of an element for which all orders (then 24) are evaluated."""

_DIMS = (
    "update_window_dims", "inserted_window_dims", "scatter_dims_to_operand_dims",
    "index_vector_dim", "input_batching_dims", "scatter_indices_batching_dims",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Scattering:
    """A scatter: flat inputs and in-bounds updates, of the results' types."""

    body: Body
    shape: tuple[int, ...]
    inputs: tuple[Array, ...]
    updates: tuple[Array, ...]
    groups: Groups

    @property
    def counts(self) -> Array:
        """The number of updates of each element, flat."""
        return np.bincount(self.groups.targets, minlength=len(self.inputs[0]))

    @property
    def is_order_independent(self) -> bool:
        """Whether the order never changes the result, for any updates.

        Extrema of complex numbers do depend on the order if parts are NaN or zero.
        """
        element_type = element_type_of(self.inputs[0])
        return is_associative(self.body.monoid, element_type) and not element_type.is_complex

    @property
    def is_sum_or_product(self) -> bool:
        """Whether the scatter accumulates floating-point or complex numbers."""
        element_type = element_type_of(self.inputs[0])
        monoid = self.body.monoid
        return (
            monoid is not None
            and monoid.rounds
            and (element_type.is_float or element_type.is_complex)
        )

    def results(self) -> tuple[Array, ...]:
        """Return the results, flat, with the updates in the reference's order."""
        flat = tuple(array.copy() for array in self.inputs)
        order = np.argsort(self.groups.order)
        if order.size:
            apply(flat, self.groups.targets[order], self.updates, self.body)
        return flat

    def colliding_updates(self, count: int) -> tuple[Array, Array]:
        """Return the elements with `count` updates, and the indices of their updates.

        The indices have shape [count, elements].
        """
        rank, order = self.groups.rank, self.groups.order
        last = np.r_[rank[1:] == 0, True][: len(rank)]
        ends = np.flatnonzero(last & (rank == count - 1))
        return self.groups.targets[ends], order[ends - np.arange(count)[::-1, None]]

    def apply_in_order(
        self, targets: Array, numbers: Sequence[Array]
    ) -> Iterator[tuple[tuple[Array, ...], tuple[Array, ...]]]:
        """Yield each step of applying updates by index: the computation's arguments and results."""
        now = tuple(array[targets] for array in self.inputs)
        for number in numbers:
            arguments = (*now, *(array[number] for array in self.updates))
            now = self.body.lanes(*arguments)
            yield arguments, now

    def outcomes(self, count: int) -> Iterator[tuple[Array, tuple[Array, ...]]]:
        """Yield for each order the elements with `count` updates, and their results."""
        targets, numbers = self.colliding_updates(count)
        if targets.size:
            for order in itertools.permutations(range(count)):
                *_, (_, results) = self.apply_in_order(targets, [numbers[n] for n in order])
                yield targets, results


def decompose_scatter(
    operation: Operation, operands: Sequence[Array], body: Body, places: Array | None = None
) -> Scattering:
    """Return the parts of a `scatter` operation; `body` is its computation.

    `places` overrides the positions that the updates write: see `positions`.
    """
    count = len(operands) // 2
    inputs, indices, updates = operands[:count], operands[count], operands[count + 1 :]
    if places is None:
        places = update_positions(operation, inputs[0], indices, updates[0])
    places = places.reshape(-1)
    kept = np.flatnonzero(places >= 0)
    types = [of.stored for of in output_types(body.region) if isinstance(of, TensorType)]
    return Scattering(
        body,
        inputs[0].shape,
        tuple(convert_to(x, of).reshape(-1) for x, of in zip(inputs, types, strict=True)),
        tuple(convert_to(x, of).reshape(-1)[kept] for x, of in zip(updates, types, strict=True)),
        group_updates(places[kept]),
    )


def update_positions(operation: Operation, operand: Array, indices: Array, update: Array) -> Array:
    """Return the position that each element of an update writes, by `scatter.positions`."""
    given: dict[str, Any] = {k: v for k, v in operation.attributes if k in _DIMS}
    return positions(operand.shape, indices, update.shape, **given)


def order_dependent_elements(parts: Scattering, number: int) -> Array:
    """Return a flat mask of the elements of result `number` that depend on the update order.

    Includes elements with too many updates to decide.
    """
    size = len(parts.inputs[0])
    found = np.zeros(size, np.bool_)
    if parts.is_order_independent or parts.groups.max_updates < 2:
        return found
    chosen = overwriting_updates(parts.body.region)
    if chosen is not None:
        values = parts.updates[chosen[number]][parts.groups.order]
        first = np.flatnonzero(parts.groups.rank == 0)
        firsts = np.repeat(first, np.diff(np.append(first, len(values))))
        found[parts.groups.targets[~equal_elements(values, values[firsts])]] = True
        return found
    found[parts.counts > MAX_ORDERED_UPDATES] = True
    for count in range(2, MAX_ORDERED_UPDATES + 1):
        outcomes = parts.outcomes(count)
        for targets, first_results in itertools.islice(outcomes, 1):
            for _, results in outcomes:
                found[targets] |= ~equal_elements(results[number], first_results[number])
    return found


def unexplained_elements(parts: Scattering, actual: Sequence[Array]) -> Array:
    """Return a flat mask of the elements whose results no order of several updates explains.

    All results of an element must agree on an order. Elements with too many updates to decide are
    not included.
    """
    flat = [array.reshape(-1) for array in actual]
    found, counts = np.zeros(len(flat[0]), np.bool_), parts.counts
    chosen = overwriting_updates(parts.body.region)
    if chosen is not None:
        explained = np.ones(len(parts.groups.order), np.bool_)
        for array, update in zip(flat, chosen, strict=True):
            values = parts.updates[update][parts.groups.order]
            explained &= equal_elements(array[parts.groups.targets], values)
        hit = np.zeros_like(found)
        hit[parts.groups.targets[explained]] = True
        return (counts > 1) & ~hit
    for count in range(2, MAX_ORDERED_UPDATES + 1):
        for index, (targets, results) in enumerate(parts.outcomes(count)):
            pairs = zip(flat, results, strict=True)
            same = np.logical_and.reduce([equal_elements(a[targets], r) for a, r in pairs])
            found[targets] = ~same if index == 0 else found[targets] & ~same
    return found
