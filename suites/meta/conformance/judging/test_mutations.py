"""The cases and the rule of every op detect a wrong version of the op, in each cell.

`suites/meta/support/faults/mutations.py` makes wrong versions from the op's record, so a new op
needs no line here. Two tables list undetectable versions with their reasons; an entry that is no
longer true fails.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from conformance.backends.base import BackendError
from conformance.catalog import CATALOG, Cell
from conformance.judging.compare import judge
from conformance.verdict import Verdict
from generators.case.case import Case
from generators.case.columns import INVALID, Column
from generators.cells.plan import case as planned
from generators.cells.plan import cases
from generators.values.contents import materialise
from reference.interpreter.evaluate import evaluate
from reference.ops.table import OPS
from suites.meta.support.faults.mutations import (
    MutatedReference,
    Mutation,
    Pool,
    inputs_of,
    mutations,
    pool_of,
)

SEED = 0

TYPES, CASES, FEW = 4, 96, 6
"""Element types of an op and cases of each that are tried at most, until a mutation is caught.
Few are tried where none is to be caught."""

NOTHING_TO_SEE: dict[str, str] = {
    "after_all": "its result is a token: it has no value",
    "create_token": "its result is a token: it has no value",
    "custom_call": "implementation-defined: every element of a result is left open",
}
"""Ops whose wrong versions cannot be distinguished from the right version."""

HINT = "a hint to the compiler, or a promise of the program"
NAMED = "says what the operation is called, not what it computes"
ANY_ALGORITHM = "the numbers are left open, and any algorithm gives random ones"
TYPE_ONLY = "only its type counts, not its elements"
STABLE = "a stable order is right where any order of equal elements is"
HOSTS = "says something to the host, and the reference plays a host that does not listen"
ALONE = "groups of one process; of larger ones the types say which it is"
SAID_TWICE = "where another is valid the groups are the same: types and ids say it, too"

WITHOUT_EFFECT: dict[tuple[str, str], str] = {
    ("all_gather", "attribute all_gather_dim"): ALONE,
    ("all_gather", "attribute channel_id"): SAID_TWICE,
    ("all_gather", "attribute use_global_device_ids"): SAID_TWICE,
    ("all_reduce", "attribute use_global_device_ids"): SAID_TWICE,
    ("all_to_all", "attribute split_dimension"): ALONE,
    ("all_to_all", "attribute concat_dimension"): ALONE,
    ("reduce_scatter", "attribute scatter_dimension"): ALONE,
    ("reduce_scatter", "attribute channel_id"): SAID_TWICE,
    ("reduce_scatter", "attribute use_global_device_ids"): SAID_TWICE,
    **{
        (op, "attribute precision_config"): "the reference has one precision, the best"
        for op in (
            "ScaledDot",
            "chlo.ragged_dot",
            "convolution",
            "dot",
            "dot_general",
            "dynamic_conv",
        )
    },
    **{
        (op, "attribute indices_are_sorted"): HINT for op in ("gather", "dynamic_gather", "scatter")
    },
    ("scatter", "attribute unique_indices"): HINT,
    ("dynamic_broadcast_in_dim", "attribute known_expanding_dimensions"): HINT,
    ("dynamic_broadcast_in_dim", "attribute known_nonexpanding_dimensions"): HINT,
    ("composite", "attribute name"): NAMED,
    ("composite", "attribute composite_attributes"): NAMED,
    ("composite", "attribute version"): NAMED,
    ("infeed", "attribute infeed_config"): HOSTS,
    ("outfeed", "attribute outfeed_config"): HOSTS,
    ("chlo.constant_like", "operand operand"): TYPE_ONLY,
    ("get_dimension_size", "operand operand"): TYPE_ONLY,
    ("rng_bit_generator", "attribute rng_algorithm"): ANY_ALGORITHM,
    ("chlo.top_k", "attribute is_stable"): STABLE,
    ("sort", "attribute is_stable"): STABLE,
    ("concatenate", "attribute dimension"): "with one input; with more, the types say which it is",
    ("convolution", "attribute feature_group_count"): "the types of operands and result say it too",
    ("convolution", "attribute batch_group_count"): "the types of operands and result say it too",
    ("dynamic_conv", "attribute feature_group_count"): "the types say it too",
    ("dynamic_conv", "attribute batch_group_count"): "the types say it too",
}
"""Attributes and operands of an op that may change without effect while the program is valid."""

BY_CHANCE: dict[tuple[str, str], str] = {
    ("rng_bit_generator", "operand initial_state"): "if the wrong state moves to the right one",
}
"""Operands of an op whose changes are seen in few cases, and maybe in none."""

NO_ZERO = "its type has neither zero nor negative numbers, which parts of the result are"

OPEN: dict[tuple[str, str], str] = {
    ("batch_norm_grad", "f8E8M0FNU"): NO_ZERO,
    ("batch_norm_training", "f8E8M0FNU"): NO_ZERO,
    ("convolution", "f8E8M0FNU"): NO_ZERO,
    ("dynamic_conv", "f8E8M0FNU"): NO_ZERO,
    ("imag", "f8E8M0FNU"): NO_ZERO,
    ("remainder", "complex<f32>"): "there is no remainder of complex numbers",
    ("remainder", "complex<f64>"): "there is no remainder of complex numbers",
}
"""Cells in which the specification leaves every result unspecified for all tested cases."""


def types_of(op: str) -> list[Column]:
    """Return some element types of an op, different types first."""
    types = CATALOG[op].element_types
    return list(dict.fromkeys([types[len(types) // 2], types[-1], types[0], *types]))[:TYPES]


def verdict_of(op: str, column: Column, case: Case, mutation: Mutation | None) -> Verdict:
    """Return the verdict on a case's results by a backend with this mutation."""
    inputs = materialise(case.program, case.inputs[0])
    expected = evaluate(case.program, inputs)
    try:
        (actual,) = MutatedReference(mutation).compile("", case.program).execute([inputs])
    except BackendError:
        return Verdict.CRASHED
    return judge(case.program, inputs, expected, actual, Cell(op, column, "reference").rule).verdict


def cases_with_elements(op: str, count: int) -> Iterator[tuple[Column, Case]]:
    """Yield cases of some element types round-robin, without cases whose results have no
    elements.
    """
    for index in range(count):
        for of in types_of(op):
            case = planned(op, of, SEED, index)
            results = evaluate(case.program, materialise(case.program, case.inputs[0]))
            if any(result.size for result in results):
                yield of, case


OWN = [op for op in CATALOG if OPS[op].lower is None]
"""Ops that are evaluated after lowering: wrong versions of the lowered ops cover them."""


def pool_of_cases(op: str, count: int) -> Pool:
    """Return the values of attributes in so many cases of some element types."""
    return pool_of(op, [case.program for of in types_of(op) for case in cases(op, of, SEED, count)])


@pytest.mark.slow
@pytest.mark.parametrize("op", OWN)
def test_mutations_of_each_input_are_caught(op: str) -> None:
    exempt = {*WITHOUT_EFFECT, *BY_CHANCE}
    pending = [about for about in inputs_of(OPS[op]) if (op, about) not in exempt]
    said: dict[str, set[Verdict]] = {about: set() for about in pending}
    pool = pool_of_cases(op, CASES if op in NOTHING_TO_SEE else FEW)
    # most are caught in the first cases, with what these have of attributes
    for count in (FEW,) if op in NOTHING_TO_SEE else (FEW, CASES):
        if not pending:
            break
        # an attribute that had no other valid value has none in later cases: types determine it
        if count == CASES and any(said[about] for about in pending):
            more = pool_of_cases(op, CASES)
            pool |= {name: more[name] for name in pool if said.get(f"attribute {name}")}
        for of, case in cases_with_elements(op, count):
            assert verdict_of(op, of, case, None) is Verdict.PASS, case.program
            for about in list(pending):
                for mutation in mutations(case.program, op, about, pool):
                    said[about].add(verdict_of(op, of, case, mutation))
                    if any(map(is_wrong, said[about])):
                        pending.remove(about)
                        break
            if not pending:
                break
    caught = any(is_wrong(verdict) for verdicts in said.values() for verdict in verdicts)
    if op in NOTHING_TO_SEE:
        assert not caught, f"{op} is caught after all: take it out of NOTHING_TO_SEE"
        return
    assert caught, f"""no wrong version of {op} is detected: {said}. Make its rule stricter, extend
        its cases, write a mutation in suites/meta/support/faults/mutations.py, or enter the op in
        NOTHING_TO_SEE with the reason"""
    unseen = [
        about for about in pending
        if said[about] and not any(verdict.fails for verdict in said[about])
    ]  # fmt: skip
    assert not unseen, f"""{op} may have {unseen} wrong, and no case shows it. Make its cases reach
        further, or enter it in WITHOUT_EFFECT with the reason why it has none"""


@pytest.mark.slow
@pytest.mark.parametrize("op", [op for op in OWN if op not in NOTHING_TO_SEE])
def test_every_cell_of_an_op_catches_something_wrong(op: str) -> None:
    for column in CATALOG[op].columns:
        if column == INVALID:
            continue
        count = FEW if (op, column.name) in OPEN else CASES
        verdicts = verdicts_in(op, column, count)
        caught = any(map(is_wrong, verdicts))
        if (op, column.name) in OPEN:
            assert not caught
            assert Verdict.UNSPECIFIED in verdicts
        else:
            assert caught, f"{op} of {column}: {verdicts or 'nothing can be wrong'}"


def is_wrong(verdict: Verdict) -> bool:
    """Return whether results were seen to be wrong, which is more than that there were none."""
    return verdict.fails and verdict is not Verdict.CRASHED


def verdicts_in(op: str, column: Column, count: int) -> set[Verdict]:
    """Return the verdicts on mutations in a cell, up to the first that fails."""
    verdicts: set[Verdict] = set()
    for index in range(count):
        case = planned(op, column, SEED, index)  # type: ignore[arg-type]
        for about in reversed(inputs_of(OPS[op])):
            for mutation in mutations(case.program, op, about, {}):
                verdicts.add(verdict_of(op, column, case, mutation))
                if any(map(is_wrong, verdicts)):
                    return verdicts
    return verdicts


@pytest.mark.slow
@pytest.mark.parametrize(("op", "about"), WITHOUT_EFFECT)
def test_ineffective_mutant_never_fails(op: str, about: str) -> None:
    """There are also cases where it could have an effect."""
    pool = pool_of_cases(op, CASES)
    verdicts = {
        verdict_of(op, of, case, mutation)
        for of, case in cases_with_elements(op, FEW)
        for mutation in mutations(case.program, op, about, pool)
    }
    verdicts.discard(Verdict.CRASHED)  # not valid on these operands, where they tell the sizes
    assert verdicts
    assert verdicts <= {Verdict.PASS, Verdict.UNSPECIFIED}


@pytest.mark.parametrize("op", NOTHING_TO_SEE)
def test_ops_without_values_or_with_unspecified_results_have_no_visible_mutation(op: str) -> None:
    verdicts = {
        verdict_of(op, of, case, mutation)
        for of, case in cases_with_elements(op, FEW)
        for mutation in mutations(case.program, op, "results", {})
    }
    assert not any(verdict.fails for verdict in verdicts)
    assert (Verdict.UNSPECIFIED in verdicts) == (op == "custom_call")
