"""The results of a sweep as its JSON output, and as lines for people."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import cast

from conformance.backends import isa
from conformance.errors import NOTHING_TESTED
from conformance.gate.expectations import Failure, matching_entry
from conformance.outputs.fields import State
from conformance.outputs.run import Backend
from conformance.outputs.schema import SWEEP
from conformance.outputs.sweep import Number, Point, ResultClass, Sweep, SweptFunction
from conformance.results.versions import build, versions
from conformance.sweep.arguments import Domain
from conformance.sweep.outcome import ClassCount, SweepOutcome
from conformance.sweep.properties import properties_of
from conformance.sweep.runner import SweepResult
from conformance.text import plural
from conformance.verdict import HISTOGRAM_EDGES, Element, Verdict

WHOLE = "1/1"
"""The shard of an undivided sweep."""

UNTRIED = ("unsupported", "not_judged", "untested")
"""The states of functions without any judged value."""


def summary_of(swept: SweepResult) -> Sweep:
    """Return the JSON output of a sweep."""
    functions = tuple(
        _function(swept, domain, outcome)
        for domain, outcome in zip(swept.plan.domains, swept.outcomes, strict=True)
    )
    part, parts = swept.options.shard
    return Sweep(
        schema="sweep",
        schema_version=SWEEP.version,
        backend=Backend(
            name=swept.name,
            platform=swept.backend.platform,
            device=swept.backend.device,
            versions=dict(swept.backend.versions),
        ),
        functions=functions,
        histogram_edges=HISTOGRAM_EDGES,
        sample=swept.options.sample,
        exhaustive=swept.options.exhaustive,
        seed=swept.options.seed,
        shard=f"{part}/{parts}",
        build=build(),
        versions=versions(),
        instruction_sets=tuple(one for one in isa.INSTRUCTION_SETS if one in isa.host_sets()),
        started=swept.started,
        command=swept.command,
        seconds=round(swept.seconds, 3),
        exit_code=_exit_code(functions),
    )


def _exit_code(functions: tuple[SweptFunction, ...]) -> int:
    tested = [function for function in functions if function.state not in UNTRIED]
    if not tested:
        return NOTHING_TESTED
    return int(any(is_new(found) for function in functions for found in function.classes))


def is_new(found: ResultClass) -> bool:
    """Return whether results fail and no expectation matches them."""
    return found.verdict.fails and not found.known


def _function(swept: SweepResult, domain: Domain, outcome: SweepOutcome) -> SweptFunction:
    function = domain.function
    properties = properties_of(function)
    is_ordered = domain.is_mirrored and bool(properties.positive or properties.negative)
    return SweptFunction(
        name=function.name,
        op=function.op,
        element_type=function.operand,
        result_type=function.result,
        form=function.label,
        state=_state(outcome),
        arguments="all" if domain.is_exhaustive else "sample",
        planned=sum(
            (block.stop - block.start) * (1 + domain.is_mirrored)
            for block in swept.plan.blocks
            if domain in block.domains
        ),
        values=outcome.values,
        correctly_rounded=outcome.right,
        worst_ulp=None if outcome.worst is None else outcome.worst.ulp,
        worst=_point(outcome.worst),
        budget_ulp=outcome.budget,
        rule=function.rule.name,
        histogram=outcome.histogram,
        classes=tuple(_class(swept, domain, one) for one in outcome.classes),
        inversions=outcome.inversions if is_ordered else None,
        asymmetries=outcome.asymmetries if domain.is_mirrored and properties.parity else None,
    )


def _state(outcome: SweepOutcome) -> State:
    worst = max((one.verdict for one in outcome.classes), key=lambda v: v.severity, default=None)
    return "untested" if worst is None else cast("State", worst.value)


def _class(swept: SweepResult, domain: Domain, one: ClassCount) -> ResultClass:
    function = domain.function
    failure = Failure(
        function.op, function.column, swept.name, one.verdict, one.kind, one.message,
        one.worst_ulp, function.operation(1),
    )  # fmt: skip
    return ResultClass(
        verdict=one.verdict,
        class_=one.kind,
        count=one.count,
        known=matching_entry(swept.expectations, failure),
        message=one.message,
        worst_ulp=one.worst_ulp,
        example=_point(one.shown),
    )


def _point(element: Element | None) -> Point | None:
    if element is None:
        return None
    return Point(
        arguments=tuple(Number(decimal=d, hexadecimal=h) for _, d, h in element.inputs),
        expected=Number(decimal=element.expected, hexadecimal=element.expected_hex),
        actual=Number(decimal=element.actual, hexadecimal=element.actual_hex),
        ulp=element.ulp,
    )


def lines_of(sweep: Sweep) -> Iterator[str]:
    """Yield lines with the results of a sweep: a paragraph for each function, then the totals."""
    for function in sweep.functions:
        yield from _lines(function, sweep.shard)
    values = sum(one.values for one in sweep.functions)
    new = sum(is_new(found) for one in sweep.functions for found in one.classes)
    known = sum(bool(found.known) for one in sweep.functions for found in one.classes)
    yield (
        f"{plural(len(sweep.functions), 'function')}, {plural(values, 'value')}: "
        f"{new} new and {known} known classes of failures"
    )


def _lines(function: SweptFunction, shard: str) -> Iterator[str]:
    if function.state in UNTRIED or _is_lost(function):
        said = next((one.message for one in function.classes if one.message), "")
        mark = "; new" if any(map(is_new, function.classes)) else ""
        beginning = f"{function.name}: {function.state}"
        yield f"{beginning}{': ' if said else ''}{_first_sentence(said)}{mark}"
        return
    kind = "all" if function.arguments == "all" else "a sample of"
    of = "" if function.values == function.planned else f" of {function.planned:,}"
    part = "" if shard == WHOLE else f" of part {shard}"
    share = _describe_rounding(function)
    yield f"{function.name}: {kind} {function.values:,}{of} values{part}, {share}"
    if function.worst is not None and function.worst_ulp is not None:
        at = ", ".join(
            f"{argument.decimal} ({argument.hexadecimal})" for argument in function.worst.arguments
        )
        yield f"  worst error {function.worst_ulp:.6g} ulp at {at}"
        yield f"  errors in whole ulp: {_histogram(function.histogram)}"
    for found in function.classes:
        if found.verdict is not Verdict.PASS:
            yield f"  {_class_line(found)}"
    yield from _order(function)


def _is_lost(function: SweptFunction) -> bool:
    """Return whether a function gave no results at all."""
    return not any(found.verdict.has_results for found in function.classes)


def _describe_rounding(function: SweptFunction) -> str:
    share = function.correctly_rounded / max(function.values, 1)
    shown = f"{share:.4%}" if function.correctly_rounded < function.values else "100%"
    return f"{'<100%' if shown == '100.0000%' else shown} correctly rounded"


def _histogram(counts: tuple[int, ...]) -> str:
    labels = [*_LABELS, f">{HISTOGRAM_EDGES[-1]}"]
    pairs = zip(labels, counts, strict=True)
    return ", ".join(f"{label}: {count:,}" for label, count in pairs if count)


_LABELS = [
    str(edge) if edge - before <= 1 else f"{before + 1}-{edge}"
    for before, edge in zip((-1, *HISTOGRAM_EDGES), HISTOGRAM_EDGES, strict=False)
]


def _class_line(found: ResultClass) -> str:
    kind = f" ({found.class_})" if found.class_ else ""
    mark = f"; known: {found.known}" if found.known else "; new"
    mark = mark if found.verdict.fails else ""
    example = ""
    if found.example is not None:
        given = ", ".join(
            f"{argument.decimal} ({argument.hexadecimal})" for argument in found.example.arguments
        )
        example = f", at {given} {found.example.expected.decimal} is expected and "
        example += f"{found.example.actual.decimal} computed"
    elif found.message:
        example = f": {_first_sentence(found.message)}"
    return f"{found.verdict.value}{kind}: {found.count:,}{example}{mark}"


def _first_sentence(message: str) -> str:
    return re.split(r"\n|(?<=[.:]) (?=[A-Z])", message)[0][:200]


def _order(function: SweptFunction) -> Iterator[str]:
    if function.inversions:
        yield f"  not monotonic: {function.inversions:,} neighbours in the wrong order"
    if function.asymmetries:
        yield f"  not symmetric: {function.asymmetries:,} arguments"
