"""Verdicts on cases, and the records of them that a run stores."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class Verdict(StrEnum):
    """The outcome of a case. The order is severity, from harmless to worst."""

    PASS = "pass"  # noqa: S105 - a verdict, no password
    """Every element is permitted."""
    UNSPECIFIED = "unspecified"
    """Differs only where the specification does not define the result; never a failure."""
    UNSUPPORTED = "unsupported"
    """The backend says that it does not implement this."""
    NOT_JUDGED = "not_judged"
    """hlo-conformance cannot judge this, for example because its reference has no result."""
    FLUSHED = "flushed"
    """Differs only in that subnormal inputs or results are treated as zero."""
    INACCURATE = "inaccurate"
    """The right value, with an error over the op's accuracy budget."""
    DIVERGENT = "divergent"
    """An element that no reading of the specification permits."""
    REJECTED = "rejected"
    """A valid program was refused as invalid."""
    ACCEPTED = "accepted"
    """An invalid program was compiled."""
    TIMED_OUT = "timed_out"
    """The backend did not answer in time."""
    CRASHED = "crashed"
    """The backend's process died."""

    @property
    def fails(self) -> bool:
        """Whether this verdict fails a run, unless an expectation matches it."""
        return self not in _HARMLESS

    @property
    def is_tested(self) -> bool:
        """Whether the backend was tested: its answer was judged."""
        return self not in (Verdict.UNSUPPORTED, Verdict.NOT_JUDGED)

    @property
    def has_results(self) -> bool:
        """Whether the backend compiled the program, and its results, if it executed the program,
        were judged.
        """
        return self.is_tested and self not in (
            Verdict.REJECTED, Verdict.TIMED_OUT, Verdict.CRASHED
        )  # fmt: skip

    @property
    def severity(self) -> int:
        """The rank in the order above; the worst of a cell's verdicts colours it."""
        return _SEVERITIES[self]


# reports ask millions of times
_HARMLESS = frozenset((Verdict.PASS, Verdict.UNSPECIFIED, Verdict.UNSUPPORTED, Verdict.NOT_JUDGED))
_SEVERITIES = {verdict: rank for rank, verdict in enumerate(Verdict)}

_GRAVITY = {"signed zero": -1, "NaN": 1, "infinity": 1}


def gravity(kind: str) -> int:
    """Return the rank of a class among the classes of the same verdict; the gravest is reported."""
    return _GRAVITY.get(kind, 0)


@dataclass(frozen=True, slots=True)
class Element:
    """An element of a result that differs: its index, the expected and the actual value.

    `expected` and `actual` are decimal; the `_hex` forms are the bits. `inputs` are the operands'
    elements at the same position, as (name, decimal, hex), if shapes determine them. `ulp` is the
    distance in units in the last place of the result's type, None where not finite.
    """

    result: int
    index: tuple[int, ...]
    expected: str
    expected_hex: str
    actual: str
    actual_hex: str
    ulp: float | None = None
    inputs: tuple[tuple[str, str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Failing:
    """The elements of a case that fail with one verdict and one class: a part of a `Judgement` or
    of a `Record`, whose verdict is the worst of its parts.

    `wrong` counts them, `elements` are the worst few. `worst_ulp` is the largest error among them,
    in the unit of the op's rule; None if none can be measured. `inputs` is the archive of the input
    set that shows them, b"" if it is the archive of the case's `Detail`. `known` is the id of the
    expectation that matches them, "" if none does. `predicted` counts the elements that are within
    2 ulp of the predictions of the class; 0 if it predicts no values. `causes` are the rewritings
    that explain all of them, each as "pass: change" (conformance/localize/rewriting.py).
    `unpredicted` counts the elements whose values that expectation neither predicts nor bounds.
    """

    verdict: Verdict
    kind: str
    message: str
    wrong: int
    elements: tuple[Element, ...] = ()
    worst_ulp: float | None = None
    inputs: bytes = b""
    known: str = ""
    predicted: int = 0
    causes: tuple[str, ...] = ()
    unpredicted: int = 0


@dataclass(frozen=True, slots=True)
class Detail:
    """Everything needed to show and replay a case that did not pass.

    `program` is StableHLO text, `inputs` the arguments as an .npz archive of bits (see store.py),
    `elements` the worst few of the `wrong` elements out of `total`.
    """

    program: str
    inputs: bytes
    wrong: int
    total: int
    elements: tuple[Element, ...] = ()


@dataclass(frozen=True, slots=True)
class Repeats:
    """The number of failures of a case that was run several times and did not fail every time.

    `classes` are the classes of its failures.
    """

    failed: int
    runs: int
    classes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Record:
    """The verdict on a case of `run`, as the store has it: a program on all of its input sets.

    `element_type` is the cell's; `kind` the class label of the divergence ("" when passed); `pairs`
    the input sets judged, `values` the elements; `worst_ulp` and `budget_ulp` the largest error of
    a permitted or inaccurate element and its budget (None where the rule has none). A record holds
    no times: the same seed and versions give the same records. Verdict, class, message and detail
    describe the failure that is shown first: a failure that no expectation matches, if there is
    one.
    """

    op: str
    element_type: str
    backend: str
    index: int
    digest: str
    verdict: Verdict
    kind: str = ""
    message: str = ""
    pairs: int = 0
    values: int = 0
    worst_ulp: float | None = None
    budget_ulp: float | None = None
    known: str = ""
    """The id of the expectation that matches this divergence; "" if none does."""
    detail: Detail | None = None
    failing: tuple[Failing, ...] = ()
    """All failing elements of its results by class; the record shows the gravest class."""
    repeats: Repeats | None = None
    """The number of runs in which the case failed, if it did not fail in every run."""
    wrong_digest: str = ""
    """Digests of the inputs and of the wrong elements, `INPUT_DIGITS` and `WRONG_DIGITS` digits; ""
    if no element is wrong, or if results vary from run to run."""

    @property
    def id(self) -> str:
        """The name for `replay`: op, element type, backend and index, such as add-f32-cpu-17."""
        plain = self.element_type.replace("<", "_").replace(">", "")
        return f"{self.op}-{plain}-{self.backend}-{self.index}"

    @property
    def expectation_ids(self) -> tuple[str, ...]:
        """The ids of all expectations that match any of its failing elements."""
        ids = (self.known, *(one.known for one in self.failing))
        return tuple(dict.fromkeys(id_ for id_ in ids if id_))

    @property
    def causes(self) -> tuple[str, ...]:
        """The rewritings that explain the failing elements that are shown."""
        shown = (self.verdict, self.kind)
        return next((f.causes for f in self.failing if (f.verdict, f.kind) == shown), ())

    @property
    def unpredicted(self) -> int:
        """The number of elements whose values the expectations that match them do not state."""
        return sum(one.unpredicted for one in self.failing)

    @property
    def further_failures(self) -> tuple[Failing, ...]:
        """The failing elements of other classes than the class that is shown."""
        return tuple(
            one for one in self.failing if (one.verdict, one.kind) != (self.verdict, self.kind)
        )

    @property
    def is_new_failure(self) -> bool:
        """Whether this record by itself makes the run fail."""
        return self.verdict.fails and not self.known


@dataclass(frozen=True, slots=True)
class LostBatch:
    """Cases that failed as a batch, though none of them failed in isolation.

    `cases` are op, element type and index of each. Verdict, class and message say how the batch
    failed, in `failed` of `runs` runs. `known` is the id of the expectation that matches it.
    """

    backend: str
    cases: tuple[tuple[str, str, int], ...]
    verdict: Verdict
    kind: str
    message: str
    failed: int = 1
    runs: int = 1
    known: str = ""

    @property
    def name(self) -> str:
        """The cells of its cases: ops with their element types."""
        types: dict[str, dict[str, None]] = {}
        for op, element_type, _ in self.cases:
            types.setdefault(op, {})[element_type] = None
        return ", ".join(f"{op} {_list_types([*of])}" for op, of in types.items())

    @property
    def line(self) -> str:
        """The lost batch in one line, with the backend's message."""
        cases = "1 case" if len(self.cases) == 1 else f"{len(self.cases)} cases"
        often = f"{self.failed} of {self.runs} runs" if self.runs > 1 else "its only run"
        return (
            f"lost batch on {self.backend}: {self.name}, {cases}: "
            f"{self.verdict.value.replace('_', ' ')} in {often}, though none of the "
            f"cases fails in isolation: {self.message or self.kind}"
        )


_SOME = 3


def _list_types(names: list[str]) -> str:
    more = len(names) - _SOME
    shown = ", ".join(names[:_SOME])
    return f"{shown} and {more} more types" if more > 0 else shown


INPUT_DIGITS, WRONG_DIGITS = 4, 12
"""Numbers of hex digits of the inputs and of the wrong elements in `Record.wrong_digest`."""

HISTOGRAM_EDGES: tuple[int, ...] = (0, 1, 2, 3, 4, 5, 6, 8, 16, 32, 64, 128, 1024)
"""ULP histogram: bin 0 counts exact results, bin i errors in (edges[i-1], edges[i]], the last bin
everything above. An error is the distance to the correctly rounded result: in real types a whole
number.
"""


@dataclass(slots=True)
class Errors:
    """The errors of one cell, for the pictures of the report. Errors are in ulp.

    `histogram` has len(HISTOGRAM_EDGES) + 1 bins. `points` are (input, signed error) pairs of
    real unary functions, a bounded sample that always keeps the worst.
    """

    histogram: list[int] = field(default_factory=lambda: [0] * (len(HISTOGRAM_EDGES) + 1))
    points: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds spent in each part of a task; kept apart from the records, which must not vary."""

    generation: float = 0.0
    reference: float = 0.0
    emission: float = 0.0
    compilation: float = 0.0
    execution: float = 0.0
    comparison: float = 0.0
    storage: float = 0.0
