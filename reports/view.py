"""What the reports say, worked out from a run once: cells, ops, totals and findings.

The renderers (HTML, JUnit, Markdown) only lay this out; every number they print comes from here.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from conformance.catalog import CATALOG
from conformance.results.inputs import unpack_inputs
from conformance.results.store import FILE_NAME, CellKey
from conformance.results.summary import RunData
from conformance.verdict import Errors, Record, Verdict
from reference.ir.types import ELEMENT_TYPES, element_type_of, to_bits
from reports import text

UNTESTED, FILTERED = "untested", "filtered"
"""The states of a cell that has no records: planned but not reached; left out by the filters.
A cell that the backend refuses throughout is in the state "unsupported"; one that the op does not
have is no cell at all."""

GLYPHS: dict[str, str] = {
    Verdict.PASS: "✓", Verdict.UNSPECIFIED: "?", Verdict.UNSUPPORTED: "–", Verdict.FLUSHED: "↓",
    Verdict.INACCURATE: "≈", Verdict.DIVERGENT: "≠", Verdict.REJECTED: "R", Verdict.ACCEPTED: "A",
    Verdict.TIMED_OUT: "T", Verdict.CRASHED: "†", UNTESTED: "○", FILTERED: "",
}  # fmt: skip
"""One sign per state, so that colour never stands alone."""

SQUARE = 4
"""Characters that fit into a square of the matrix, beside its sign."""

NO_FAMILY = "not in the catalog"
MEANINGS: dict[str, str] = {
    Verdict.PASS: "every element permitted",
    Verdict.UNSPECIFIED: "differs only where the specification leaves the result open",
    Verdict.UNSUPPORTED: "the backend says that it does not implement this",
    Verdict.FLUSHED: "differs only in taking subnormals for zero",
    Verdict.INACCURATE: "the right value, with an error over the budget",
    Verdict.DIVERGENT: "an element that no reading of the specification permits",
    Verdict.REJECTED: "a valid program refused as invalid",
    Verdict.ACCEPTED: "an invalid program compiled",
    Verdict.TIMED_OUT: "the backend did not answer in time",
    Verdict.CRASHED: "the backend's process died",
    UNTESTED: "planned, but no case was run",
    FILTERED: "left out by this run's filters",
}


@dataclass(frozen=True, slots=True)
class Cell:
    """One square of the matrix: op x element type x backend, with what its records add up to.

    `state` is the worst verdict, or UNTESTED or FILTERED. `worst` and `budget` are in the unit of
    its op, those of the record nearest to its budget or furthest beyond.
    """

    op: str
    element_type: str
    backend: str
    state: str
    records: tuple[Record, ...] = ()
    worst: float | None = None
    budget: float | None = None

    @property
    def key(self) -> CellKey:
        """Op, element type, backend."""
        return (self.op, self.element_type, self.backend)

    @property
    def address(self) -> str:
        """The key as one string without control characters, for the page's address and script."""
        return text.visible("/".join(self.key))

    @property
    def verdicts(self) -> Counter[Verdict]:
        """How many cases ended in which verdict."""
        return Counter(record.verdict for record in self.records)

    @property
    def failing(self) -> int:
        """Cases that fail, known or new."""
        return sum(record.verdict.fails for record in self.records)

    @property
    def new(self) -> int:
        """Cases that fail and that no expectation knows."""
        return sum(record.is_new_failure for record in self.records)

    @property
    def is_known(self) -> bool:
        """Whether the cell fails only in known ways."""
        return self.failing > 0 and self.new == 0

    @property
    def glyph(self) -> str:
        """The sign of the state."""
        return GLYPHS[self.state]

    @property
    def values(self) -> int:
        """Elements judged."""
        return sum(record.values for record in self.records)

    @property
    def accuracy(self) -> str:
        """Worst error against budget, such as 2.1/3; "" where the rule has no budget."""
        if self.budget is None:
            return "" if self.worst is None else text.short_ulp(self.worst)
        return f"{text.short_ulp(self.worst or 0.0)}/{text.short_ulp(self.budget)}"

    @property
    def brief(self) -> str:
        """`accuracy` where a square of the matrix holds it, else the worst error alone."""
        whole = self.accuracy
        return whole if len(whole) <= SQUARE else whole.partition("/")[0]

    @property
    def share(self) -> float | None:
        """Worst error as a share of the budget, for the bar: 0 to 1, 1 also beyond.

        None where there is nothing to share: no budget, or a budget of 0 that is kept.
        """
        if self.budget is None or self.worst is None or not (self.budget or self.worst):
            return None
        if self.budget == 0:
            return 1.0
        ratio = self.worst / self.budget
        return 1.0 if ratio != ratio else max(0.0, min(1.0, ratio))

    @property
    def unit(self) -> str:
        """What the cell's errors are measured in."""
        return unit_of(self.op)

    @property
    def label(self) -> str:
        """The cell in words."""
        parts = [f"{self.op} {self.element_type} on {self.backend}: {words(self.state)}"]
        if self.is_known:
            parts.append("known")
        if self.records:
            parts.append(text.plural(len(self.records), "case"))
        if self.budget is not None:
            budget = f"budget {text.ulp(self.budget)}"
            parts.append(f"worst error {text.ulp(self.worst or 0.0)} {self.unit}, {budget}")
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class Finding:
    """A case that did not pass, under an anchor of its own on the page.

    `db` is the folder that `replay` is to be told, "" for the one that it looks into by itself.
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
        """The inputs of a case without compared elements, as (name, decimal, hex)."""
        detail = self.record.detail
        return first_inputs(detail.inputs) if detail and not detail.elements else ()

    @property
    def command(self) -> str:
        """The command that replays the case."""
        return replay_command(self.record, self.db)


NEW, KNOWN, OPEN = "new", "known", "open"
"""What a finding is: a failure, a failure that an expectation knows, or no failure at all."""


@dataclass(frozen=True, slots=True)
class Group:
    """Findings of one class, for which one explanation is looked for.

    Of new failures: same op, backend, verdict and kind. Of known ones: same expectation, backend
    and verdict. Of what the specification leaves open: same backend, verdict and kind.
    """

    status: str
    backend: str
    verdict: Verdict
    kind: str
    known: str
    reason: str
    link: str
    findings: tuple[Finding, ...]

    @property
    def ops(self) -> tuple[str, ...]:
        """The ops concerned."""
        return tuple(sorted({finding.record.op for finding in self.findings}))

    @property
    def element_types(self) -> tuple[str, ...]:
        """The element types concerned, in the specification's order."""
        return tuple(sorted({f.record.element_type for f in self.findings}, key=type_order))


@dataclass(frozen=True, slots=True)
class Op:
    """One op's section: what the catalog says of it, and its cells."""

    name: str
    family: str
    rule: str
    rule_text: str
    source: str
    constraints: tuple[str, ...]
    element_types: tuple[str, ...]
    cells: tuple[Cell, ...]

    @property
    def is_planned(self) -> bool:
        """Whether the run was to test any of it."""
        return any(cell.state != FILTERED for cell in self.cells)


@dataclass(frozen=True, slots=True)
class Totals:
    """Every count with its denominator. cells = planned + filtered;
    planned = tested + unsupported + untested."""

    ops: int
    ops_tested: int
    cells: int
    planned: int
    tested: int
    unsupported: int
    untested: int
    filtered: int
    cases: int
    pairs: int
    values: int
    new: int
    known: int
    cells_failing: int
    cells_new: int
    by_verdict: tuple[tuple[Verdict, int], ...]


@dataclass(frozen=True, slots=True)
class View:
    """All that a report says of a run."""

    run: RunData
    ops: tuple[Op, ...]
    cells: dict[CellKey, Cell]
    backends: tuple[str, ...]
    element_types: tuple[str, ...]
    groups: tuple[Group, ...]
    totals: Totals
    db: str = ""

    @property
    def status(self) -> str:
        """Does it conform? "empty", "fails", "partial", "known" or "conforms"."""
        if self.totals.tested == 0:
            return "empty"
        if self.totals.new:
            return "fails"
        if self.totals.untested:
            return "partial"
        return "known" if self.totals.known else "conforms"

    @property
    def headline(self) -> str:
        """The answer in one sentence."""
        totals, several = self.totals, len(self.backends) > 1
        who = f"The {' and '.join(self.backends)} backend{'s' if several else ''}"
        verb, denial = ("conform", "do not") if several else ("conforms", "does not")
        known = text.plural(totals.known, "known divergence")
        if self.status == "empty":
            return "Nothing was tested, so this says nothing about conformance."
        if self.status == "fails":
            where = f"{text.count(totals.cells_new)} of {text.plural(totals.tested, 'cell')} tested"
            new = text.plural(totals.new, "new divergence")
            return f"{who} {denial} conform: {new} in {where}."
        if self.status == "partial":
            tail = f" beyond {known}" if totals.known else ""
            left = text.plural(totals.untested, "planned cell was", "planned cells were")
            return f"{who} showed no new divergence{tail}, but {left} not tested."
        if self.status == "known":
            return f"{who} {verb}, save for {known}."
        return f"{who} {verb} in every cell tested."


def unit_of(op: str) -> str:
    """What the errors of an op are measured in: ulp, or its error bound."""
    return CATALOG[op].tolerance.unit if op in CATALOG else "ulp"


def words(state: str) -> str:
    """A state or verdict as prose: timed out, not timed_out."""
    return state.replace("_", " ")


def type_order(name: str) -> tuple[int, str]:
    """A sort key that puts element types into the specification's order, unknown ones last."""
    known = list(ELEMENT_TYPES)
    return (known.index(name) if name in ELEMENT_TYPES else len(known), name)


DEFAULT_OUT = Path("hlo-conformance-results")
"""Where the command line keeps a run unless told otherwise (conformance.cli says so too)."""


def db_of(out: Path) -> str:
    """What `replay --db` must be given for a run whose reports are written to `out`."""
    return str(out) if out != DEFAULT_OUT and (out / FILE_NAME).exists() else ""


def replay_command(record: Record, db: str) -> str:
    """The command that replays a record, to be copied into a shell."""
    told = f" --db {text.exposed(db)}" if db else ""
    return f"hlo-conformance replay {text.exposed(record.id)}{told}"


def build(run: RunData, db: str = "") -> View:
    """Work out everything that the reports show of a run; `db` is where `replay` finds it."""
    cells = _cells(run)
    ops = _ops(cells.values())
    described = [backend.name for backend in run.backends]
    backends = tuple(dict.fromkeys([*described, *(name for _, _, name in cells)]))
    types = tuple(sorted({cell.element_type for cell in cells.values()}, key=type_order))
    return View(run, ops, cells, backends, types, _groups(run, db), _totals(run, ops, cells), db)


def _cells(run: RunData) -> dict[CellKey, Cell]:
    """Every cell: those planned, those filtered out, and any with records."""
    found: dict[CellKey, list[Record]] = {key: [] for key in (*run.planned, *run.filtered)}
    for record in run.records:
        found.setdefault((record.op, record.element_type, record.backend), []).append(record)
    planned = set(run.planned)
    return {key: _cell(key, records, key in planned) for key, records in found.items()}


def _cell(key: CellKey, records: Sequence[Record], planned: bool) -> Cell:
    if not records:
        return Cell(*key, state=UNTESTED if planned else FILTERED)
    # A refusal of some cases must not hide how the others went.
    judged = [r for r in records if r.verdict is not Verdict.UNSUPPORTED] or records
    state = max((r.verdict for r in judged), key=lambda verdict: verdict.severity)
    nearest = max(records, key=_use_of_budget)
    ordered = tuple(sorted(records, key=lambda record: record.index))
    return Cell(*key, state.value, ordered, nearest.worst_ulp, nearest.budget_ulp)


def _use_of_budget(record: Record) -> tuple[float, float]:
    """A key that is largest for the record nearest to its budget, or furthest over it."""
    worst = record.worst_ulp
    if worst is None:
        return (-1.0, -1.0 if record.budget_ulp is None else 0.0)
    if worst != worst:
        return (float("inf"), float("inf"))
    budget = record.budget_ulp or 0.0
    return (worst / budget if budget else (0.0 if worst == 0 else float("inf")), worst)


def _ops(cells: Iterable[Cell]) -> tuple[Op, ...]:
    by_op: dict[str, list[Cell]] = defaultdict(list)
    for cell in cells:
        by_op[cell.op].append(cell)
    order = {name: number for number, name in enumerate(CATALOG)}
    names = sorted(by_op, key=lambda name: (order.get(name, len(order)), name))
    return tuple(_op(name, tuple(by_op[name])) for name in names)


def _op(name: str, cells: tuple[Cell, ...]) -> Op:
    row = CATALOG.get(name)
    if row is None:
        types = tuple(dict.fromkeys(cell.element_type for cell in cells))
        return Op(name, NO_FAMILY, "none", "", "", (), types, cells)
    rule = row.tolerance
    types = tuple(of.name for of in row.element_types)
    return Op(
        name, row.family, rule.name, rule.text, rule.source, tuple(row.constraints), types, cells
    )


def _groups(run: RunData, db: str) -> tuple[Group, ...]:
    """The findings by class: new ones first, worst first, then in the catalog's order."""
    shown = [record for record in run.records if record.verdict.fails or record.detail is not None]
    anchors = text.unique("d-" + text.slug(record.id) for record in shown)
    classes: dict[tuple[str, str, Verdict, str, str, str], list[Finding]] = defaultdict(list)
    for anchor, record in zip(anchors, shown, strict=True):
        status = OPEN if not record.verdict.fails else KNOWN if record.known else NEW
        op = record.op if status == NEW else ""
        kind = "" if status == KNOWN else record.kind
        key = (status, record.backend, record.verdict, kind, record.known, op)
        classes[key].append(Finding(anchor, record, db))
    order = {name: number for number, name in enumerate(CATALOG)}
    ranked = sorted(
        classes.items(),
        key=lambda item: (
            (NEW, KNOWN, OPEN).index(item[0][0]), -item[0][2].severity,
            order.get(item[0][5], len(order)), item[0],
        ),
    )  # fmt: skip
    return tuple(
        Group(*key[:5], *explanation(run, key[4]), tuple(_one_of_each_first(found)))
        for key, found in ranked
    )


def _one_of_each_first(findings: Sequence[Finding]) -> list[Finding]:
    """Turn by turn one of every op and element type, so that a cut leaves some of each."""
    turns: Counter[tuple[str, str]] = Counter()
    ranked: list[tuple[int, str, tuple[int, str], Finding]] = []
    for finding in sorted(findings, key=lambda f: f.record.index):
        op, of = finding.record.op, finding.record.element_type
        ranked.append((turns[op, of], op, type_order(of), finding))
        turns[op, of] += 1
    return [item[3] for item in sorted(ranked, key=lambda item: item[:3])]


def explanation(run: RunData, known: str) -> tuple[str, str]:
    """The reason and the link of the expectation with that id, "" where it gives none."""
    found = run.expectations.get(known)
    return ("", "") if found is None else (found.reason, found.link)


def _totals(run: RunData, ops: Sequence[Op], cells: dict[CellKey, Cell]) -> Totals:
    states = Counter(cell.state for cell in cells.values())
    empty = states[UNTESTED] + states[FILTERED] + states[Verdict.UNSUPPORTED]
    tested = {c.op for c in cells.values() if c.records and c.state != Verdict.UNSUPPORTED}
    verdicts = Counter(record.verdict for record in run.records)
    return Totals(
        ops=len(ops),
        ops_tested=len(tested),
        cells=len(cells),
        planned=len(cells) - states[FILTERED],
        tested=len(cells) - empty,
        unsupported=states[Verdict.UNSUPPORTED],
        untested=states[UNTESTED],
        filtered=states[FILTERED],
        cases=len(run.records),
        pairs=sum(record.pairs for record in run.records),
        values=sum(record.values for record in run.records),
        new=sum(record.is_new_failure for record in run.records),
        known=sum(record.verdict.fails and bool(record.known) for record in run.records),
        cells_failing=sum(cell.failing > 0 for cell in cells.values()),
        cells_new=sum(cell.new > 0 for cell in cells.values()),
        by_verdict=tuple((verdict, verdicts[verdict]) for verdict in Verdict),
    )


def errors_of(run: RunData, cell: Cell) -> Errors | None:
    """The errors kept of a cell, None where there are none."""
    found = run.errors.get(cell.key)
    return found if found is not None and any(found.histogram) else None


def filters(run: RunData) -> list[tuple[str, str]]:
    """The options that chose this run's cells, those in use, as (option, value)."""
    items: list[tuple[str, str]] = []
    for name, value in run.filters.items():
        if value not in (None, "", [], ()):
            listed = cast("list[object]", value) if isinstance(value, list | tuple) else [value]
            items.append((name.replace("_", " "), ", ".join(map(str, listed))))
    return items


SHOWN_INPUTS = 6


def first_inputs(data: bytes) -> tuple[tuple[str, str, str], ...]:
    """The first elements of the inputs of a case as (name, decimal, hex).

    For cases that came to no comparison, such as crashes; nothing where the archive is unreadable.
    """
    try:
        arrays = unpack_inputs(data)
    except ValueError:
        return ()
    shown: list[tuple[str, str, str]] = []
    for number, array in enumerate(arrays):
        values = array.reshape(-1)[:SHOWN_INPUTS]
        bits = to_bits(values)
        digits = bits.dtype.itemsize * 2
        codes = " ".join(f"0x{int(code):0{digits}x}" for code in bits.reshape(-1))
        more = " …" if array.size > SHOWN_INPUTS else ""
        name = f"argument {number}, {element_type_of(array)}{list(array.shape)}"
        shown.append((name, " ".join(map(str, values)) + more, codes + more))
    return tuple(shown)
