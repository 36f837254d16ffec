"""Near misses of a twin, under the ids of the page."""

from __future__ import annotations

from generators.invalid.gathering import NEAR_MISSES
from generators.invalid.xla.restated import restate_misses
from reference.ops.table import OPS


def test_constraints_of_the_twin_that_the_page_restates() -> None:
    restated = list(restate_misses(NEAR_MISSES["scatter"])("Scatter"))
    ours = {theirs: own for own, ids in OPS["Scatter"].restates for theirs in ids}
    twins = [ours[id_] for id_, _ in NEAR_MISSES["scatter"]("scatter") if id_ in ours]
    assert [id_ for id_, _ in restated] == twins
    assert all(program.subject.name == "Scatter" for _, program in restated)
