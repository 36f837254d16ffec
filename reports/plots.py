"""The pictures of the report, drawn by matplotlib as small inline SVG without fonts or colours.

Colours are named by CSS variables of the page, so that one picture serves light, dark and print.
Pictures are deterministic: the same errors give the same bytes.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from conformance.verdict import HISTOGRAM_EDGES

if TYPE_CHECKING:  # matplotlib takes half a second to import, and only a report needs it
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

POINTS_PER_PICTURE = 300
"""More than this a picture this small cannot show; the worst are always kept."""

# Stand-ins for the page's colours: matplotlib wants numbers, the page wants variables.
_INK, _MUTED, _LINE, _PLOT, _BAD, _BUDGET = (f"#10000{digit}" for digit in range(1, 7))
_VARIABLES = {
    _INK: "ink", _MUTED: "muted", _LINE: "line", _PLOT: "plot", _BAD: "bad", _BUDGET: "budget",
}  # fmt: skip
_DOTS_PER_INCH = 72.0  # one SVG unit is one point: sizes below are in those
_BIN_LABELS = (*(f"{edge:g}".replace("1024", "1k") for edge in HISTOGRAM_EDGES), ">")


@dataclass(frozen=True, slots=True)
class Series:
    """The errors of one cell: its label, ULP histogram, (input, signed ulp) points, and budget.

    `histogram` has the bins of `conformance.verdict.HISTOGRAM_EDGES`; `budget` is in ulp, None
    where the rule has none.
    """

    label: str
    histogram: tuple[int, ...]
    points: tuple[tuple[float, float], ...]
    budget: float | None


def histogram_svg(rows: Sequence[Series], key: str, unit: str = "ulp") -> str:
    """Histograms of errors in `unit`, one row per series over a shared axis; bars are logarithmic.

    `key` keeps the ids of this picture apart from those of the others on the page.
    """
    left, width, row_height, foot = 86.0, 340.0, 25.0, 27.0
    height = row_height * len(rows) + foot
    with _style():
        figure, axes = _canvas(width, height)
        step = (width - left - 4.0) / len(_BIN_LABELS)
        for number, row in enumerate(rows):
            base = height - row_height * (number + 1)
            _histogram_row(axes, row, left, base, step, row_height - 7.0, width)
        for number, label in enumerate(_BIN_LABELS):
            x = left + step * (number + 0.5)
            axes.text(x, foot - 4.0, label, ha="center", va="top", size=7.5, color=_MUTED)
        scales = f"error ({unit}), up to · bar: log of the count"
        axes.text(width - 4.0, 1.0, scales, ha="right", va="bottom", size=8, color=_MUTED)
        return _svg(figure, key, f"Histogram of errors ({unit}): " + "; ".join(map(describe, rows)))


def _histogram_row(
    axes: Axes, row: Series, left: float, base: float, step: float, height: float, width: float
) -> None:
    top = math.log1p(max(row.histogram, default=0)) or 1.0
    within: list[tuple[float, float, float, float]] = []
    over: list[tuple[float, float, float, float]] = []
    for number, count in enumerate(row.histogram):
        if count:
            bar = (left + step * number + 0.75, base, step - 1.5,
                   max(1.5, height * math.log1p(count) / top))  # fmt: skip
            (over if _is_over(number, row.budget) else within).append(bar)
    _rectangles(axes, [(left, base - 0.6, width - left - 4.0, 0.6)], _LINE)
    _rectangles(axes, within, _PLOT)
    _rectangles(axes, over, _BAD)
    if row.budget is not None:
        x = left + step * _position(row.budget)
        axes.plot([x, x], [base - 2.0, base + height], color=_BUDGET, lw=1.0, dashes=(2.0, 1.5))
    axes.text(left - 6.0, base + 2.0, row.label, ha="right", va="bottom", size=9, color=_INK)


def describe(row: Series) -> str:
    """One phrase on a series, for readers who do not see the picture."""
    total = sum(row.histogram)
    if not total:
        return f"{row.label} no values"
    over = sum(n for bin_, n in enumerate(row.histogram) if _is_over(bin_, row.budget))
    exact = 100.0 * row.histogram[0] / total
    share = "all" if row.histogram[0] == total else f"{min(exact, 99.99):.2f} %"
    return f"{row.label} {share} of {total:,} exact" + (f", {over:,} over budget" if over else "")


def _is_over(bin_: int, budget: float | None) -> bool:
    """Whether every error of this bin exceeds the budget."""
    return budget is not None and bin_ > 0 and HISTOGRAM_EDGES[bin_ - 1] >= budget


def _position(error: float) -> float:
    """Where on the axis of bins, in bins, an error stands: linear within its bin."""
    for number in range(1, len(HISTOGRAM_EDGES)):
        low, high = HISTOGRAM_EDGES[number - 1], HISTOGRAM_EDGES[number]
        if error <= high:
            return number + max(0.0, error - low) / (high - low)
    return len(HISTOGRAM_EDGES) + 0.5


def scatter_svg(series: Series, key: str) -> str:
    """Signed error in ulp against the input, for one cell of a unary function.

    The axis of inputs is a symmetric logarithm, that of errors too where a few huge errors would
    flatten all others; lines mark the budget.
    """
    points = _thinned(series.points)
    worst = max((abs(error) for _, error in points), default=0.0)
    inputs, errors = _input_scale([x for x, _ in points]), _error_scale(worst, series.budget)
    over = {p for p in points if series.budget is not None and abs(p[1]) > series.budget}
    with _style():
        figure = _figure(340.0, 168.0)
        axes = figure.add_axes((0.11, 0.15, 0.84, 0.74))
        _apply(axes, inputs, errors)
        limits = {series.budget, -series.budget} if series.budget else set[float]()
        for limit in sorted(limits):
            axes.axhline(errors(limit), color=_BUDGET, lw=1.0, dashes=(3.0, 2.0))
        axes.axhline(0.0, color=_LINE, lw=0.8)
        axes.axvline(0.0, color=_LINE, lw=0.8)
        placed = [(inputs(x), errors(y)) for x, y in points if (x, y) not in over]
        _dots(axes, placed, _PLOT, 2.6)
        _dots(axes, [(inputs(x), errors(y)) for x, y in sorted(over)], _BAD, 3.6)
        budget = "no budget" if series.budget is None else f"budget ±{series.budget:g} ulp"
        title = axes.text(0.0, 1.03, series.label, size=9, color=_INK)
        note = axes.text(1.0, 1.03, budget, ha="right", size=8, color=_MUTED)
        for line in (title, note):
            line.set(transform=axes.transAxes, verticalalignment="bottom")
        said = f"Error against input, {series.label}: {len(points)} inputs, "
        return _svg(figure, key, f"{said}worst {worst:.4g} ulp, {budget}")


def _thinned(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Finite points, at most POINTS_PER_PICTURE: the worst half, and every n-th of the rest."""
    finite = [(x, y) for x, y in points if math.isfinite(x) and math.isfinite(y)]
    if len(finite) <= POINTS_PER_PICTURE:
        return sorted(finite)
    ranked = sorted(finite, key=lambda point: (-abs(point[1]), point))
    half = POINTS_PER_PICTURE // 2
    rest = sorted(ranked[half:])
    return sorted(ranked[:half] + rest[:: math.ceil(len(rest) / half)])


@dataclass(frozen=True, slots=True)
class _Scale:
    """A symmetric logarithm: linear up to ±unit, which stand ±width away from 0 in decades.

    Without `width`, linear throughout. `low` and `high` end the axis, `ticks` are labelled.
    """

    unit: float
    width: float | None
    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]

    def __call__(self, value: float) -> float:
        if self.width is None:
            return value
        if abs(value) <= self.unit:
            return value / self.unit * self.width
        decades = math.log10(abs(value)) - math.log10(self.unit)  # their quotient may overflow
        return math.copysign(self.width + decades, value)


def _input_scale(inputs: list[float]) -> _Scale:
    magnitudes = [math.log10(abs(x)) for x in inputs if x]
    low = math.floor(min(magnitudes, default=0.0))
    high = max(math.ceil(max(magnitudes, default=0.0)), low + 1)
    unit, top = max(10.0**low, 5e-324), min(10.0 ** min(high, 308), 1.7e308)
    ticks: list[tuple[float, str]] = [(0.0, "0")]
    for exponent in _exponents(low, high):
        if exponent <= 308:
            size, name = 10.0**exponent, _power(exponent)
            ticks += [(size, name), (-size, "−" + name)]
    left = -top if min(inputs, default=0.0) < 0 else -unit / 2
    right = top if max(inputs, default=0.0) > 0 else unit / 2
    shown = tuple(tick for tick in ticks if left <= tick[0] <= right)
    return _Scale(unit, max(0.5, (high - low) / 12), left, right, shown)


def _error_scale(worst: float, budget: float | None) -> _Scale:
    unit, top = budget or 1.0, max(worst, budget or 0.0, 0.5)
    names = {unit: f"{unit:.3g}".replace("e+0", "e")}
    width = None
    if top > 8 * unit:
        decades = math.log10(top) - math.log10(unit)
        width = max(1.0, decades / 2.5)
        exponent = math.floor(math.log10(top))
        names[10.0**exponent] = _power(exponent) if exponent > 3 else f"{10**exponent}"
    ticks = [(0.0, "0"), *names.items(), *((-at, "−" + name) for at, name in names.items())]
    top = min(top * (1.15 if width is None else 2.0), 1.7e308)
    return _Scale(unit, width, -top, top, tuple(ticks))


def _apply(axes: Axes, inputs: _Scale, errors: _Scale) -> None:
    axes.set_xticks([inputs(at) for at, _ in inputs.ticks], [name for _, name in inputs.ticks])
    axes.set_yticks([errors(at) for at, _ in errors.ticks], [name for _, name in errors.ticks])
    axes.set_xlim(inputs(inputs.low), inputs(inputs.high))
    axes.set_ylim(errors(errors.low), errors(errors.high))


def _exponents(low: int, high: int) -> list[int]:
    """The powers of ten to label between low and high: high, and 1 or else one halfway."""
    middle = 0 if low < 0 < high else (low + high) // 2
    return [middle, high] if high - middle >= (high - low) / 4 and middle > low else [high]


def _power(exponent: int) -> str:
    return "1" if exponent == 0 else f"1e{exponent}".replace("-", "−")


def _rectangles(axes: Axes, boxes: list[tuple[float, float, float, float]], color: str) -> None:
    """Filled boxes (x, y, width, height) as one path."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    if boxes:
        corners = [[(x, y), (x + w, y), (x + w, y + h), (x, y + h), (x, y)] for x, y, w, h in boxes]
        codes = [Path.MOVETO, *[Path.LINETO] * 3, Path.CLOSEPOLY] * len(boxes)
        outline = Path([p for box in corners for p in box], codes)
        axes.add_patch(PathPatch(outline, facecolor=color, edgecolor="none"))


def _dots(axes: Axes, points: list[tuple[float, float]], color: str, size: float) -> None:
    """Points as strokes of no length with round ends: one path, a tenth of the bytes of markers."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    if points:
        doubled = [p for point in points for p in (point, point)]
        outline = Path(doubled, [Path.MOVETO, Path.LINETO] * len(points))
        axes.add_patch(PathPatch(outline, facecolor="none", edgecolor=color, lw=size,
                                 capstyle="round", clip_on=False, zorder=3))  # fmt: skip


@contextmanager
def _style() -> Generator[None]:
    import matplotlib as mpl

    with mpl.rc_context({
        "svg.fonttype": "none", "svg.hashsalt": "hlo-conformance", "path.simplify": False,
        "axes.spines.top": False, "axes.spines.right": False, "axes.spines.left": False,
        "axes.edgecolor": _LINE, "axes.linewidth": 0.8, "xtick.color": _LINE, "ytick.color": _LINE,
        "xtick.labelcolor": _MUTED, "ytick.labelcolor": _MUTED, "font.size": 8.0,
        "xtick.major.size": 2.5, "ytick.major.size": 0.0, "axes.facecolor": "none",
        "axes.unicode_minus": True, "text.parse_math": False,
    }):  # fmt: skip
        yield


def _figure(width: float, height: float) -> Figure:
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    size = (width / _DOTS_PER_INCH, height / _DOTS_PER_INCH)
    figure = Figure(figsize=size, dpi=_DOTS_PER_INCH, facecolor="none")
    FigureCanvasSVG(figure)  # an explicit canvas: no pyplot, no display, no global state
    return figure


def _canvas(width: float, height: float) -> tuple[Figure, Axes]:
    """A figure with one invisible axes whose data coordinates are SVG units."""
    figure = _figure(width, height)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(0, width)
    axes.set_ylim(0, height)
    return figure, axes


_NUMBER = re.compile(r"-?\d+\.\d{2,}")


@cache
def _replacements() -> tuple[tuple[re.Pattern[str], str], ...]:
    plain = [
        (r"<metadata>.*?</metadata>", ""),
        (r"<!--.*?-->", ""),
        (r"<defs>\s*<style[^>]*>.*?</style>\s*</defs>", ""),
        (r"font: [^;\"]*?([\d.]+)px [^;\"]*", r"font-size:\1px"),
        (r"font-family: [^;\"]*;? ?", ""),
        (r" transform=\"rotate\(-0 [^\"]*\)\"", ""),
        (r"stroke-miterlimit: \d+; ?", ""),
        (r"; ?stroke-linejoin: miter", ""),
        (r">\s+<", "><"),
        (r"\s*\n\s*", " "),
        (r"(?<=[a-z]): (?=[^<]*>)", ":"),
        (r"(?<=\S); (?=[a-z-]+:[^<]*>)", ";"),
    ]
    named = [(color, f"var(--{name})") for color, name in _VARIABLES.items()]
    return tuple((re.compile(p, re.S), r) for p, r in plain + named)


def _svg(figure: Figure, key: str, label: str) -> str:
    """The figure as an <svg> element to be put into HTML: small, themed, labelled."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None}, transparent=True)
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    for pattern, replacement in _replacements():
        text = pattern.sub(replacement, text)
    text = re.sub("<[^>]*>", _rounded, text)
    return _opened(_renamed(text, key), label).strip()


def _rounded(tag: re.Match[str]) -> str:
    """A tag with its coordinates in tenths; what stands between tags is for people, and kept."""
    return _NUMBER.sub(lambda found: f"{float(found[0]):.1f}".removesuffix(".0"), tag[0])


def _renamed(text: str, key: str) -> str:
    """Only ids that something refers to are kept, prefixed so that no two pictures share one."""
    used = set(re.findall(r"(?:url\(#|href=\"#)([^)\"]+)", text))

    def rename(match: re.Match[str]) -> str:
        return f' id="{key}-{match[1]}"' if match[1] in used else ""

    text = re.sub(r" id=\"([^\"]+)\"", rename, text)
    text = re.sub(r"(url\(#|href=\"#)", lambda found: f"{found[1]}{key}-", text)
    return text.replace("xlink:href", "href")


def _opened(text: str, label: str) -> str:
    """The <svg> tag anew: it scales, and says in words what it shows."""
    box = re.search(r'viewBox="([^"]+)"', text)
    assert box is not None
    clean = label.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
    head = f'<svg viewBox="{box[1]}" role="img" aria-label="{clean}">'
    return head + text[text.index(">") + 1 :]


def sparse(histogram: Sequence[int]) -> dict[str, int]:
    """A histogram as {"up to" label: count} without its empty bins, for tables and JSON."""
    pairs: Any = zip(_BIN_LABELS, histogram, strict=False)
    return {label: count for label, count in pairs if count}
