"""Cases that did not pass, each with its anchor and command, grouped by class."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.catalog import CATALOG
from conformance.results.inputs import unpack_inputs
from conformance.results.store import FILE_NAME
from conformance.results.summary import RunData
from conformance.verdict import Record, Verdict
from reference.ir.types import element_type_of, to_bits
from reports import text
from reports.squares import type_order

NO_FAMILY = "not in the catalog"


@dataclass(frozen=True, slots=True)
class ShownCase:
    """A case that did not pass, with an anchor of its own on the page.

    `db` is the folder for `replay`, "" for its default.
    """

    anchor: str
    record: Record
    db: str = ""

    @property
    def family(self) -> str:
        """The family of its op."""
        row = CATALOG.get(self.record.op)
        return row.family if row else NO_FAMILY

    @property
    def inputs(self) -> tuple[tuple[str, str, str], ...]:
        """The inputs that are shown beside its wrong elements, as (name, decimal, hex)."""
        return inputs_beside_elements(self.record)

    @property
    def command(self) -> str:
        """The command that replays the case."""
        return replay_command(self.record, self.db)


NEW, KNOWN, OPEN = "new", "known", "open"
"""Kinds of findings: a new failure, a known failure, an unspecified result."""


@dataclass(frozen=True, slots=True)
class CaseGroup:
    """Records with the same verdict and class, which probably have the same cause.

    New failures have op, backend, verdict and kind in common. Known failures have expectation,
    backend and verdict in common. Unspecified results have backend, verdict and kind in common.
    """

    status: str
    backend: str
    verdict: Verdict
    kind: str
    known: str
    reason: str
    link: str
    findings: tuple[ShownCase, ...]

    @property
    def ops(self) -> tuple[str, ...]:
        """The ops of the group."""
        return tuple(sorted({finding.record.op for finding in self.findings}))

    @property
    def element_types(self) -> tuple[str, ...]:
        """The element types of the group, in the specification's order."""
        return tuple(sorted({f.record.element_type for f in self.findings}, key=type_order))


DEFAULT_OUT = Path("hlo-conformance-results")
"""The command line's default folder of a run, equal to that in `conformance.commands.reporting`,
which loads no report."""


def db_of(out: Path) -> str:
    """Return the argument of `replay --db` for a run whose reports are written to `out`."""
    return str(out) if out != DEFAULT_OUT and (out / FILE_NAME).exists() else ""


def replay_command(record: Record, db: str) -> str:
    """Return the command that replays a record, ready for a shell."""
    told = f" --db {text.shell_word(db)}" if db else ""
    return f"hlo-conformance replay {text.shell_word(record.id)}{told}"


def groups(run: RunData, db: str) -> tuple[CaseGroup, ...]:
    """Return the findings by class: new first, then worst first, then in the catalog's order."""
    shown = [record for record in run.records if record.verdict.fails or record.detail is not None]
    anchors = text.distinct_names("d-" + text.slug(record.id) for record in shown)
    classes: dict[tuple[str, str, Verdict, str, str, str], list[ShownCase]] = defaultdict(list)
    for anchor, record in zip(anchors, shown, strict=True):
        status = OPEN if not record.verdict.fails else KNOWN if record.known else NEW
        op = record.op if status == NEW else ""
        kind = "" if status == KNOWN else record.kind
        key = (status, record.backend, record.verdict, kind, record.known, op)
        classes[key].append(ShownCase(anchor, record, db))
    order = {name: index for index, name in enumerate(CATALOG)}
    ranked = sorted(
        classes.items(),
        key=lambda item: (
            (NEW, KNOWN, OPEN).index(item[0][0]), -item[0][2].severity,
            order.get(item[0][5], len(order)), item[0],
        ),
    )  # fmt: skip
    return tuple(
        CaseGroup(*key[:5], *explanation(run, key[4]), tuple(_one_of_each_first(found)))
        for key, found in ranked
    )


def _one_of_each_first(findings: Sequence[ShownCase]) -> list[ShownCase]:
    """Return the findings, the first finding of each op and element type first, so that a truncated
    list covers all ops and types.
    """
    turns: Counter[tuple[str, str]] = Counter()
    ranked: list[tuple[int, str, tuple[int, str], ShownCase]] = []
    for finding in sorted(findings, key=lambda f: f.record.index):
        op, element_type = finding.record.op, finding.record.element_type
        ranked.append((turns[op, element_type], op, type_order(element_type), finding))
        turns[op, element_type] += 1
    return [item[3] for item in sorted(ranked, key=lambda item: item[:3])]


def explanation(run: RunData, known: str) -> tuple[str, str]:
    """Return reason and link of the expectation with that id, "" if it has none."""
    found = run.expectations.get(known)
    return ("", "") if found is None else (found.reason, found.link)


SHOWN_INPUTS = 6


def inputs_beside_elements(record: Record) -> tuple[tuple[str, str, str], ...]:
    """Return the inputs of a case as (name, decimal, hex), if no wrong element states its own."""
    detail = record.detail
    if detail is None or any(element.inputs for element in detail.elements):
        return ()
    return first_inputs(detail.inputs)


def first_inputs(data: bytes) -> tuple[tuple[str, str, str], ...]:
    """Return the first elements of a case's inputs as (name, decimal, hex).

    It serves cases without a comparison, such as crashes. Empty if the archive cannot be read.
    """
    try:
        arrays = unpack_inputs(data)
    except ValueError:
        return ()
    shown: list[tuple[str, str, str]] = []
    for index, array in enumerate(arrays):
        values = array.reshape(-1)[:SHOWN_INPUTS]
        bits = to_bits(values)
        digits = bits.dtype.itemsize * 2
        codes = " ".join(f"0x{int(code):0{digits}x}" for code in bits.reshape(-1))
        more = " …" if array.size > SHOWN_INPUTS else ""
        name = f"argument {index}, {element_type_of(array)}{list(array.shape)}"
        shown.append((name, " ".join(map(str, values)) + more, codes + more))
    return tuple(shown)
