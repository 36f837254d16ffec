"""Programs of a campaign made of varied fragments, with steps before and after them."""

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
from generators.chains.strategy import PATTERNS, Ops, add_step, campaign_key, choose_results
from reference.ir.program import TensorType, Value

MOST_VARIATIONS = 4
"""Upper bound (exclusive) of the number of variations of a fragment."""


def program(
    pick: Pick, fragments: Sequence[Fragment], ops: Ops = frozenset(), guide: Guide | None = None
) -> Case:
    """Return a valid program that contains one or two fragments."""
    chain = Chain(pick, exact=bool(pick(2)), guide=guide or Guide())
    for _ in range(choose(pick, (1, 1, 1, 2))):
        _add_fragment(chain, vary(pick, choose(pick, fragments), pick(MOST_VARIATIONS)))
    for _ in range(choose(pick, (0, 0, 1, 2))):
        add_step(chain, ops)
    return chain.case(choose_results(chain))


def _add_fragment(chain: Chain, fragment: Fragment) -> None:
    """Add a fragment to a chain, with available or new values as its parameters."""
    own = rename_values(fragment, f"s{next(chain.names)}_")
    given = {
        argument.name: _value_for_parameter(chain, argument) for argument in own.main.arguments
    }
    for operation in replace_parameters(own, given):
        chain.operations.append(operation)
        chain.data += operation.results


def _value_for_parameter(chain: Chain, argument: Value) -> Value:
    """Return a value for a parameter of a fragment.

    Mostly a new parameter of main; otherwise an available value, a constant, or a pattern on a new
    parameter.
    """
    of = argument.type
    assert isinstance(of, TensorType)
    kind = chain.pick(8)
    if kind < 5:
        value = chain.parameter(of)
    elif kind < 7:
        value = chain.value_of(of)
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
    patterns: list[Pattern] = [pattern for pattern in PATTERNS if pattern.takes(of)]
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
    """Return program number `index` of a seed; it depends on nothing but the arguments."""
    return program(stream(campaign_key(seed, ops) ^ _SEEDS, index), fragments, ops, guide)


_SEEDS = 0x5EED
"""A constant that separates the streams of these programs from the streams of chains."""
