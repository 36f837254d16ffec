"""Programs of a campaign made of fragments: varied, with steps before and after."""

from __future__ import annotations

from collections.abc import Sequence

from generators.case.case import Case
from generators.case.choices import Pick, choose
from generators.case.stream import stream
from generators.chains.chain import Chain, element
from generators.chains.guide import Guide
from generators.chains.patterns.pattern import Pattern
from generators.chains.seeds.fragment import Fragment, rename_values, replace_parameters
from generators.chains.seeds.variations import vary
from generators.chains.strategy import PATTERNS, Ops, key, results, step
from reference.ir.program import TensorType, Value

MOST_VARIATIONS = 4
"""Upper bound (exclusive) of the number of variations of a fragment."""


def program(
    pick: Pick, fragments: Sequence[Fragment], ops: Ops = frozenset(), guide: Guide | None = None
) -> Case:
    """Return a valid program that contains one or two fragments."""
    chain = Chain(pick, exact=bool(pick(2)), guide=guide or Guide())
    for _ in range(choose(pick, (1, 1, 1, 2))):
        _write(chain, vary(pick, choose(pick, fragments), pick(MOST_VARIATIONS)))
    for _ in range(choose(pick, (0, 0, 1, 2))):
        step(chain, ops)
    return chain.case(results(chain))


def _write(chain: Chain, fragment: Fragment) -> None:
    """Add a fragment to a chain; its parameters are available values, or built from new values."""
    own = rename_values(fragment, f"s{next(chain.names)}_")
    given = {one.name: _argument(chain, one) for one in own.main.arguments}
    for operation in replace_parameters(own, given):
        chain.operations.append(operation)
        chain.data += operation.results


def _argument(chain: Chain, argument: Value) -> Value:
    """Return a value for a parameter.

    This is mostly a new parameter, else an available value, a constant, or a pattern on a
    parameter.
    """
    of = argument.type
    assert isinstance(of, TensorType)
    kind = chain.pick(8)
    if kind < 5:
        value = chain.parameter(of)
    elif kind < 7:
        value = chain.like(of)
    else:
        before = chain.parameter(of)
        chain.data.append(before)
        value = _apply_pattern(chain, before)
    chain.data.append(value)
    return value


def _apply_pattern(chain: Chain, value: Value) -> Value:
    """Return the result of a pattern on a value, or the value if the type differs."""
    of = value.type
    assert isinstance(of, TensorType)
    patterns: list[Pattern] = [one for one in PATTERNS if one.takes(of)]
    made = choose(chain.pick, patterns).write(chain, value) if patterns else value
    chain.data.append(made)
    return made if made.type == of and element(made) == element(value) else value


def program_at(
    seed: int,
    index: int,
    fragments: Sequence[Fragment],
    ops: Ops = frozenset(),
    guide: Guide | None = None,
) -> Case:
    """Return the program number `index` of a seed, a function of fragments and guidance."""
    return program(stream(key(seed, ops) ^ _SEEDS, index), fragments, ops, guide)


_SEEDS = 0x5EED
"""A constant that separates the streams of these programs from the streams of chains."""
