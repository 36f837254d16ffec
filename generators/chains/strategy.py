"""Programs of several operations: steps, each a pattern or a case of an op, and results."""

from __future__ import annotations

from generators.case.case import Case
from generators.case.choices import Pick, choose
from generators.case.shapes import shape
from generators.case.stream import key_of, stream
from generators.chains.chain import LARGEST, Chain, element, size_of
from generators.chains.fitting import fit_shape
from generators.chains.guide import Guide
from generators.chains.links import link, linked_ops
from generators.chains.patterns import algebra, control, folds, gradients, movement, windows
from generators.chains.patterns.pattern import Pattern, is_number
from generators.chains.quantized import quantized_link
from reference.ir.program import TensorType, Value, tensor_of
from reference.ir.types import ALL, ELEMENT_TYPES, ElementType

PATTERNS: tuple[Pattern, ...] = (
    *algebra.PATTERNS,
    *gradients.PATTERNS,
    *movement.PATTERNS,
    *folds.PATTERNS,
    *windows.PATTERNS,
    *control.PATTERNS,
)
"""The patterns of all kinds of rewriting."""

STEPS = {
    of: {
        *linked_ops(of),
        *(pattern.name for pattern in PATTERNS if pattern.takes(TensorType((3,), of))),
    }
    for of in ALL
}
"""The steps available for a small value of each element type, by name."""

MOST = 12
"""Largest number of operations of a program before its last step, not counting constants."""

_COMMON = tuple(
    ELEMENT_TYPES[name]
    for name in (
        *("f32",) * 8, *("si32",) * 6, *("bf16",) * 3, *("f16",) * 3, *("f64",) * 3,
        *("si8",) * 3, *("ui8",) * 3, *("i1",) * 2, *("si64",) * 2, *("ui32",) * 2, "ui64",
        "si16", "ui16", "complex<f32>", "complex<f64>", "si4", "ui4", "f8E4M3FN", "f8E5M2",
    )
)  # fmt: skip

Ops = frozenset[str]
"""The ops of a campaign; an empty set for all."""


def program(pick: Pick, ops: Ops = frozenset(), guide: Guide | None = None) -> Case:
    """Return a valid program of 1 to about 12 operations, with several sets of inputs."""
    steps = 1 + min(pick(MOST), pick(MOST))
    chain = Chain(pick, exact=bool(pick(2)), guide=guide or Guide())
    of = _element_type(pick, ops, chain.guide)
    for _ in range(choose(pick, (1, 2, 1, 2, 3))):
        _add_initial_value(chain, of)
    while chain.length < steps:
        add_step(chain, ops)
    return chain.case(choose_results(chain))


def _element_type(pick: Pick, ops: Ops, guide: Guide) -> ElementType:
    """Return an element type, mostly a common type, that some of the ops have cases for."""
    of = choose(pick, _COMMON) if pick(12) < 10 else guide.choose_element_type(pick)
    if ops and not linked_ops(of, ops):
        fitting = [one for one in ALL if linked_ops(one, ops)] or list(ALL)
        common = [one for one in _COMMON if one in fitting]
        return choose(pick, common or fitting)
    return of


def _add_initial_value(chain: Chain, element_type: ElementType) -> None:
    """Add an initial value: mostly a parameter, otherwise a constant or an iota."""
    shapes = [tensor_of(value).static_shape for value in chain.data]
    same = shapes and chain.pick(2) == 0
    size = shapes[0] if same else shape(chain.pick)
    kind = TensorType(size, element_type)
    if chain.pick(6) < 5:
        chain.data.append(chain.parameter(kind))
    elif kind.rank and element_type.is_integer and chain.pick(2):
        along = chain.pick(kind.rank)  # it may go beyond its type: then it wraps around
        chain.data.append(chain.op("iota", to=kind, iota_dimension=along))
    else:
        chain.data.append(chain.draw_constant(kind))


def add_step(chain: Chain, ops: Ops) -> None:
    """Add a pattern or a case of an op; most steps are cases of `ops` if that is not empty."""
    value = chain.pick_value()
    if chain.guide.met is not None and not chain.producer_of(value):
        value = chain.pick_value()  # try again: a parameter covers no new pair
    value = _limit_size(chain, value)
    if chain.guide.quantized and chain.pick(4) == 3 and quantized_link(chain, value, ops):
        return
    if ops and chain.pick(3) < 2:
        if not link(chain, value, ops):
            _add_typed_value(chain, value, ops)
        return
    if chain.pick(10) < chain.guide.links_per_ten_steps and link(chain, value):
        return
    of, guide = tensor_of(value), chain.guide
    patterns = [pattern for pattern in PATTERNS if pattern.takes(of) for _ in range(pattern.weight)]
    chosen = patterns[
        guide.choose_pattern(chain.pick, [pattern.name for pattern in patterns], of.element)
    ]
    chain.data.append(chosen.write(chain, value))
    guide.steps.append((chosen.name, of.element))


def _add_typed_value(chain: Chain, value: Value, ops: Ops) -> None:
    """Add a value of a type that the ops take: a conversion of `value`, or a new parameter."""
    fitting = [one for one in _COMMON if linked_ops(one, ops)]
    if not fitting:
        fitting = [one for one in ALL if linked_ops(one, ops)]
    of = choose(chain.pick, fitting or ALL)
    taken = element(value).is_boolean or of.is_float
    if taken and is_number(TensorType((), of)) and not element(value).is_complex:
        chain.data.append(chain.convert(value, of))
    else:
        shaped = chain.reshape(value, tensor_of(value).static_shape)  # a step, so that steps end
        chain.data += [shaped, chain.parameter(TensorType(tensor_of(value).static_shape, of))]


def _limit_size(chain: Chain, value: Value) -> Value:
    of = tensor_of(value)
    if size_of(of) <= LARGEST:
        return value
    return fit_shape(chain, value, TensorType((17,), of.element))


def choose_results(chain: Chain) -> list[Value]:
    """Return the last value and most of the unused values; unused values left out are dead code."""
    made = [value for value in chain.data if value not in chain.parameters] or chain.data
    used = chain.used_names()
    last = made[-1]
    ends = [value for value in made[:-1] if value.name not in used]
    shown = [value for value in dict.fromkeys(ends) if chain.pick(8) < 7]
    return [*dict.fromkeys([*shown, last])]


def campaign_key(seed: int, ops: Ops = frozenset()) -> int:
    """Return the key of the streams of a campaign."""
    return key_of(f"chains {seed} {' '.join(sorted(ops))}")


def program_at(seed: int, index: int, ops: Ops = frozenset(), guide: Guide | None = None) -> Case:
    """Return program number `index` of a seed; it depends on nothing but the arguments."""
    return program(stream(campaign_key(seed, ops), index), ops, guide)
