"""Cases of XLA's instructions that StableHLO lacks."""

from __future__ import annotations

from functools import partial
from typing import Any

from generators.case.case import Case
from generators.case.choices import Pick, choose
from generators.case.shapes import axis, shape
from generators.programs.building import Builder, case
from generators.values import profiles
from generators.values.profiles import Values
from reference.ir.program import Operation, Region, TensorType, Value
from reference.ir.types import ElementType
from reference.ir.types import element_type as type_of

_SI32 = type_of("si32")

_VALUES = {
    "mhlo.cosh": Values(("exp_domain", "moderate", "tiny")),
    "mhlo.erf": Values(("moderate", "tiny", "unit")),
}


def _unary_case(op: str, element_type: ElementType, pick: Pick) -> Case:
    of = TensorType(shape(pick), element_type)
    return case(pick, op, {"operand": of}, (of,), profiles.rows(element_type, _VALUES[op]))


_WIDTHS = (1, 2, 3, 5, 8, 9, 17, 40, 129, 1000)


def _width(size: int) -> str:
    """Return the kind of a row's size:

    1, few (under 16), or many, enough for all special values.
    """
    return "1" if size == 1 else "few" if size < 16 else "many"


def top_k(op: str, flag: str, element_type: ElementType, pick: Pick) -> Case:
    """Return a case of the largest elements, by an op that has an attribute `flag`."""
    rows = shape(pick)[:2]
    width = choose(pick, _WIDTHS, "size", _width)
    kinds = ("all", "one", "some", "some", "empty")
    kind = choose(pick, kinds, "k")
    k = {"all": width, "one": 1, "empty": 0}.get(kind, 1 + pick(width))
    given: dict[str, Any] = {"k": k, flag: choose(pick, (True, False), flag)}
    sizes = tuple(min(size, 4) for size in rows)
    operand = TensorType((*sizes, width), element_type)
    value = TensorType((*sizes, k), element_type)
    index = TensorType((*sizes, k), _SI32)
    more = () if element_type.is_boolean else (("permutation",), ("small_integers",)) * 2
    shown = profiles.rows(element_type) + more
    of = {"operand": operand}
    return case(pick, op, of, (value, index), shown, given, specials=True)


_OPS = ("add", "maximum", "minimum", "multiply", "subtract")
_LEFT_OUT, _NO, _YES = "left out", "no", "yes"
_RUNNING, _BEFORE, _KEPT = "the carry after it", "the carry before it", "the element"


def _associative(element_type: ElementType) -> tuple[str, ...]:
    """Return ops whose results do not depend on the order of application."""
    return ("maximum", "minimum") if element_type.is_float else _OPS[:-1]


def _scan(element_type: ElementType, pick: Pick) -> Case:
    """Return a running fold that outputs its carries, before or after a step, or its inputs.

    A fold that is stated to be associative is: each element has a carry of its own.
    """
    said = choose(pick, (_LEFT_OUT, _LEFT_OUT, _YES, _NO), "is_associative")
    sizes = shape(pick, min_rank=1)
    dimension = axis(pick, len(sizes), "dimension")
    whole = TensorType(sizes, element_type)
    part = TensorType((*sizes[:dimension], *sizes[dimension + 1 :]), element_type)
    carries = choose(pick, (1, 2), "carries")
    inputs = carries if said == _YES else choose(pick, (1, 2), "inputs")
    outputs = (_RUNNING,) if said == _YES else (_RUNNING, _BEFORE, _KEPT)
    kinds = [choose(pick, outputs, "output") for _ in range(1 + pick(2))]
    ops = _associative(element_type) if said == _YES else _OPS
    name = choose(pick, ops, "op of the body")
    slices = tuple(Value(f"slice{n}", part) for n in range(inputs))
    before = tuple(Value(f"carried{n}", part) for n in range(carries))
    after = tuple(Value(f"next{n}", part) for n in range(carries))
    operations = tuple(
        Operation(name, (was, slices[n % inputs]), (then,))
        for n, (was, then) in enumerate(zip(before, after, strict=True))
    )
    given_out = {_RUNNING: after[0], _BEFORE: before[-1], _KEPT: slices[-1]}
    returned = (*(given_out[kind] for kind in kinds), *after)
    region = Region((*slices, *before), (*operations, Operation("return", returned)))
    given: dict[str, Any] = {
        "dimension": dimension, "is_reverse": choose(pick, (False, True), "is_reverse"),
        "operandSegmentSizes": (inputs, carries), "resultSegmentSizes": (len(kinds), carries),
    }  # fmt: skip
    given |= {} if said == _LEFT_OUT else {"is_associative": said == _YES}
    types = {f"input{n}": whole for n in range(inputs)}
    types |= {f"init{n}": part for n in range(carries)}
    results = (*(whole for _ in kinds), *(part for _ in after))
    rows = tuple((row[0],) * len(types) for row in profiles.rows(element_type))
    return case(pick, "mhlo.scan", types, results, rows, given, regions=(region,))


BUILDERS: dict[str, Builder] = {
    "mhlo.cosh": partial(_unary_case, "mhlo.cosh"),
    "mhlo.erf": partial(_unary_case, "mhlo.erf"),
    "mhlo.scan": _scan,
    "mhlo.topk": partial(top_k, "mhlo.topk", "largest"),
}
"""The builder of each op's cases."""
