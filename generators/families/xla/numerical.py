"""Cases of XlaBuilder's linear algebra, transforms and random numbers."""

from __future__ import annotations

from functools import partial
from typing import Any

from generators.case.case import Case
from generators.case.choices import Pick
from generators.families import fft, linear_algebra, random
from generators.families.xla.twins import twins
from generators.programs.building import Builder, case
from reference.ir.program import Operation, TensorType
from reference.ir.types import ElementType
from reference.ops.xla.numerical import OPS as RECORDS
from reference.ops.xla.shapes import shape_of

_RANDOM = ("RngNormal", "RngUniform")


def _rng(op: str, element_type: ElementType, pick: Pick) -> Case:
    kind = "NORMAL" if op == "RngNormal" else "UNIFORM"
    sizes, scalar = random.sample_sizes(pick), TensorType((), element_type)
    result = TensorType(sizes, element_type)
    names = ("mu", "sigma") if kind == "NORMAL" else ("a", "b")
    types: dict[str, TensorType] = dict.fromkeys(names, scalar)
    rows = random.parameter_rows(element_type, kind)
    return case(pick, op, types, (result,), rows, {"shape": shape_of(result)})


def _bits(operation: Operation) -> dict[str, Any]:
    _, output = operation.results
    assert isinstance(output.type, TensorType)
    return {
        "algorithm": dict(operation.attributes)["rng_algorithm"],
        "shape": shape_of(output.type),
    }


BUILDERS: dict[str, Builder] = twins(
    linear_algebra.BUILDERS | fft.BUILDERS | random.BUILDERS,
    (record for record in RECORDS if record.name not in _RANDOM),
    {"RngBitGenerator": _bits},
) | {name: partial(_rng, name) for name in _RANDOM}
"""What builds the cases of each op."""
