"""The search for a cause: each variant of a plan is tried, then each pass, then sets of passes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from time import monotonic

from conformance.fuzzing.attribution.cause import NO_ANSWER, RIGHT, Cause
from conformance.fuzzing.attribution.variants import CompileVariant, Plan, without_passes

TryVariant = Callable[[CompileVariant], str]
"""A function ask(variant): the outcome of the program in a variant; see `cause.RIGHT` and the other
outcomes.
"""


class _VariantOutcomes:
    """Cached answers to questions, asked until the time is over."""

    def __init__(self, ask: TryVariant, until: float) -> None:
        self._ask, self._until = ask, until
        self.ways: dict[str, str] = {}
        self.left = 0

    def __call__(self, way: CompileVariant) -> bool:
        """Return whether the program is right in this variant; False if there is no time to try
        it.
        """
        if way.name not in self.ways:
            if monotonic() >= self._until:
                self.left += 1
                return False
            self.ways[way.name] = self._ask(way)
        return self.ways[way.name] == RIGHT

    def all(self, ways: Iterable[CompileVariant]) -> bool:
        """Try all of these variants; return whether the program is right in any."""
        return sum(map(self, ways)) > 0


def search_cause(ask: TryVariant, plan: Plan, seconds: float) -> Cause:
    """Return the cause of a divergence: the variants without it, searched for at most `seconds`.

    If no single pass is the cause, whole pipelines of passes are disabled, and then all passes. The
    smallest such set is searched for.
    """
    asked = _VariantOutcomes(ask, monotonic() + seconds)
    asked.all(plan.ways)
    single, pipelines = plan.passes.single, plan.passes.pipelines
    if single or pipelines:
        alone = asked.all(map(without_passes, single)) or asked.all(map(without_passes, pipelines))
        if not alone and not asked.left:
            _disable_all(asked, single)
    note = plan.note
    if asked.left:
        note = "; ".join(filter(None, (note, f"no time was left for {asked.left} more variants")))
    return Cause(asked.ways, note, asked.left > 0)


def _disable_all(asked: _VariantOutcomes, passes: tuple[str, ...]) -> None:
    """Disable all passes that can be disabled, then search for a smallest such set."""
    names = [one for one in passes if asked.ways.get(without_passes(one).name) != NO_ANSWER]
    if len(names) < 2 or not asked(without_passes(*names)):
        return
    for name in list(names):
        fewer = [one for one in names if one != name]
        if len(fewer) > 1 and asked(without_passes(*fewer)):
            del asked.ways[without_passes(*names).name]
            names = fewer
    tried = [name for name in asked.ways if name.startswith("without passes")]
    for name in tried:  # what was asked on the way to the fewest tells nothing more
        if name != without_passes(*names).name:
            del asked.ways[name]
