"""The search for a cause tries each variant once, and disables no more passes than needed."""

from __future__ import annotations

from conformance.backends.passes import Passes
from conformance.fuzzing.attribution.cause import NO_ANSWER, RIGHT, WRONG, Cause
from conformance.fuzzing.attribution.search import search_cause
from conformance.fuzzing.attribution.variants import UNOPTIMIZED, CompileVariant, Plan

PASSES = Passes(("algsimp", "fusion", "layout", "dce"), ("simplification",))


def cause(needed: set[str], passes: Passes = PASSES, seconds: float = 60.0) -> Cause:
    """Return the cause of a divergence that occurs while any of the `needed` passes runs."""
    asked: list[CompileVariant] = []

    def ask(way: CompileVariant) -> str:
        assert way not in asked
        asked.append(way)
        if "layout" in way.settings.without:
            return NO_ANSWER
        return RIGHT if needed and needed <= set(way.settings.without) else WRONG

    return search_cause(ask, Plan((UNOPTIMIZED,), passes), seconds)


def test_the_pass_is_named() -> None:
    found = cause({"algsimp"})
    assert found.passing_variants == ["without pass algsimp"]
    assert found.ways["without pass layout"] == NO_ANSWER
    assert found.line == "gone without pass algsimp"
    assert not any("simplification" in name for name in found.ways)


def test_a_pipeline_is_left_out_where_none_of_its_passes_is_to_blame() -> None:
    assert cause({"simplification"}).passing_variants == ["without pass simplification"]


def test_of_several_passes_as_few_as_are_needed_are_named() -> None:
    found = cause({"algsimp", "dce"})
    assert found.passing_variants == ["without passes algsimp, dce"]
    assert [
        name for name in found.ways if name.startswith("without passes")
    ] == found.passing_variants


def test_failure_in_all_variants_is_reported() -> None:
    found = cause({"none of them"})
    assert found.passing_variants == []
    assert found.line == "wrong in every variant tried"


def test_untried_variants_are_counted() -> None:
    found = cause({"algsimp"}, seconds=-1.0)
    assert found.ways == {}
    assert "no time was left for 6 more variants" in found.note


def test_sentences_list_all_variants_and_the_note() -> None:
    told = " ".join(Cause({"with x": RIGHT, "without y": WRONG}, "z is not known").sentences)
    assert told == "The result is right with x. The result is wrong without y. Z is not known."
