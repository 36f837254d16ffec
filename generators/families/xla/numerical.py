"""Cases of XlaBuilder's linear algebra, transforms and random numbers."""

from __future__ import annotations

from functools import partial
from typing import Any

from generators.case.case import Case
from generators.case.choices import Pick, choose
from generators.families import fft, linear_algebra, random
from generators.families.xla.twins import twins
from generators.programs.building import Builder, case
from generators.values.profiles import ProfileRow
from reference.ir.program import Attribute, Operation, TensorType
from reference.ir.types import ELEMENT_TYPES as TYPES
from reference.ir.types import ElementType
from reference.ops.xla.numerical import OPS as RECORDS
from reference.ops.xla.shapes import shape_of

_RANDOM = ("RngNormal", "RngUniform")
_MEANS: dict[str, tuple[ProfileRow, ...]] = {
    "between": (("shares",),),
    "0": (("values:0",), ("negative_zeros",)),
    "1": (("values:1",),),
    "near an end": (("tiny",), ("near_one",)),
    "any": (("special",), ("unit",), ("moderate",)),
}
"""Profiles of means; half of the means in the last two profiles are out of range, so results are
unspecified.
"""


def _rng(op: str, element_type: ElementType, pick: Pick) -> Case:
    kind = "NORMAL" if op == "RngNormal" else "UNIFORM"
    sizes, scalar = random.sample_sizes(pick), TensorType((), element_type)
    result = TensorType(sizes, element_type)
    names = ("mu", "sigma") if kind == "NORMAL" else ("a", "b")
    types: dict[str, TensorType] = dict.fromkeys(names, scalar)
    rows = random.parameter_rows(element_type, kind)
    return case(pick, op, types, (result,), rows, {"shape": shape_of(result)})


def _bernoulli(element_type: ElementType, pick: Pick) -> Case:
    kind = choose(pick, ("between",) * 4 + tuple(_MEANS), "mean")
    sizes, mean = random.sample_sizes(pick), TensorType((), TYPES["f32"])
    result = TensorType(sizes, element_type)
    given: dict[str, Attribute] = {"shape": shape_of(result)}
    return case(pick, "RngBernoulli", {"mean": mean}, (result,), _MEANS[kind], given)


def _bits(operation: Operation) -> dict[str, Any]:
    _, output = operation.results
    assert isinstance(output.type, TensorType)
    return {
        "algorithm": dict(operation.attributes)["rng_algorithm"],
        "shape": shape_of(output.type),
    }


BUILDERS: dict[str, Builder] = (
    twins(
        linear_algebra.BUILDERS | fft.BUILDERS | random.BUILDERS,
        (record for record in RECORDS if record.twin and record.name not in _RANDOM),
        {"RngBitGenerator": _bits},
    )
    | {name: partial(_rng, name) for name in _RANDOM}
    | {"RngBernoulli": _bernoulli}
)
"""The builder of each op's cases."""
