"""Constraints that producers break on purpose; backends accept that as an extension.

A program that breaks only these is evaluated and judged like a valid program; a note says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from reference.ir.program import Operation, QuantizedType, TensorType
from reference.ir.types import ElementType

Broken = Sequence[tuple[Operation, tuple[str, ...]]]
"""Operations, each with the ids of the constraints that it breaks."""


@dataclass(frozen=True, slots=True)
class Extension:
    """A constraint that may be broken: the ops, the condition, the reason, and the source."""

    ops: frozenset[str]
    id: str
    applies: Callable[[Operation], bool]
    reason: str
    source: str


def _has_one_operand_type(operation: Operation) -> bool:
    """Return whether the operands share an element type that the result does not have."""
    types = [value.type for value in (*operation.operands[:2], *operation.results)]
    elements = [one.element_type for one in types if isinstance(one, TensorType)]
    if len(elements) < len(types) or any(
        isinstance(element, QuantizedType) for element in elements
    ):
        return False
    lhs, rhs, result = elements
    return lhs == rhs != result


def _has_mixed_floats(operation: Operation) -> bool:
    """Return whether the operands have two floating-point types."""
    types = [value.type for value in operation.operands[:2]]
    elements = [one.element_type for one in types if isinstance(one, TensorType)]
    floats = [
        element for element in elements if isinstance(element, ElementType) and element.is_float
    ]
    return len(floats) == 2 and floats[0] != floats[1]


EXTENSIONS = (
    Extension(
        frozenset({"convolution", "dynamic_conv"}),
        "C27",
        _has_one_operand_type,
        "the result's element type is another than the operands' (JAX's preferred_element_type), "
        "which StableHLO's verifier and interpreter, JAX and XLA take as an extension",
        "openxla/stablehlo#600, #1896 (not verified on purpose), #2953 (sums in the result's type)",
    ),
    Extension(
        frozenset({"dot_general"}),
        "C13",
        _has_mixed_floats,
        "the operands are of two floating-point types (gradients in f8E5M2 times values in "
        "f8E4M3FN), which JAX exports, and StableHLO's verifier and XLA take as an extension",
        "jax.lax.dot_general; measured on jaxlib 0.10.2 and 0.12",
    ),
)
"""Every extension: constraints that producers break on purpose."""


def extension(operation: Operation, id_: str) -> Extension | None:
    """Return the extension under which an operation breaks a constraint, or None."""
    for one in EXTENSIONS:
        if operation.name in one.ops and id_ == one.id and one.applies(operation):
            return one
    return None


def unpermitted_violations(
    broken: Broken,
) -> tuple[list[tuple[Operation, tuple[str, ...]]], tuple[str, ...]]:
    """Return violations that no extension permits, and a note for each kind of violation that an
    extension permits.
    """
    left: list[tuple[Operation, tuple[str, ...]]] = []
    notes: dict[str, None] = {}
    for operation, ids in broken:
        taken = [extension(operation, id_) for id_ in ids]
        rest = tuple(id_ for id_, one in zip(ids, taken, strict=True) if one is None)
        if rest:
            left.append((operation, rest))
        notes |= {f"breaks {o.id} of {operation.name}: {o.reason}": None for o in taken if o}
    return left, tuple(notes)
