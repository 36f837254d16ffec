"""Programs that a campaign varies: they covered a new pair, or failed at a new place."""

from __future__ import annotations

from conformance.fuzzing.seeds.material import VARIED, case_of
from conformance.fuzzing.singles import is_single
from conformance.fuzzing.steering.coverage_counts import CampaignCoverage, pairs_of
from conformance.fuzzing.steering.pool import LENGTH, MOST_NEW, PER_TRIAL, Pool, new_pair_fragments
from conformance.fuzzing.steering.steering import LAG, Steering
from conformance.fuzzing.trial import Trial, TrialResult
from conformance.stablehlo.parse import parse_module
from generators.chains.guide import CoverageCounts
from generators.chains.seeds.fragment import is_usable
from generators.chains.strategy import program_at
from generators.values.contents import materialise
from reference.interpreter.evaluate import evaluate
from reference.interpreter.verify import check
from reference.ops.structure import is_constant


def test_pieces_have_uncovered_pairs() -> None:
    seen, found = set(), []
    for number in range(40):
        program = program_at(8, number).program
        before = set(seen)
        some = list(new_pair_fragments(program, CoverageCounts(), seen))
        assert all(pairs_of(one) - before for one in some)
        found += some
    assert len(found) > 40
    assert all(is_usable(one) for one in found)
    working = [[o for o in one.main.body.operations[:-1] if not is_constant(o)] for one in found]
    assert max(map(len, working)) == LENGTH
    assert list(new_pair_fragments(program, CoverageCounts(), seen)) == []
    assert list(new_pair_fragments(program, None, set())) == []


CALLING = """
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.negate %x : tensor<3xf32>
  %1 = "stablehlo.map"(%0) <{dimensions = array<i64: 0>}> ({
    ^bb0(%a: tensor<f32>):
      %b = func.call @called(%a) : (tensor<f32>) -> tensor<f32>
      stablehlo.return %b : tensor<f32>
  }) : (tensor<3xf32>) -> tensor<3xf32>
  %2 = stablehlo.abs %0 : tensor<3xf32>
  return %1 : tensor<3xf32>
}
func.func private @called(%a: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.cosine %a : tensor<f32>
  return %0 : tensor<f32>
}
"""


def test_operations_with_calls_give_no_piece() -> None:
    found = list(new_pair_fragments(parse_module(CALLING), CoverageCounts(), set()))
    assert [pairs_of(one) for one in found] == [{("negate", "abs")}]


def test_the_pool_is_bounded_and_draws_alike() -> None:
    pool, program = Pool(), program_at(8, 0).program
    assert pool.draw(1) == ()
    pool.add_new([program] * (2 * MOST_NEW))
    assert len(pool.draw(1)) == PER_TRIAL // 2
    for number in range(8):
        pool.add_failing("one place", program_at(8, number).program)
    assert len(pool.draw(1)) in (PER_TRIAL // 2, PER_TRIAL // 2 + 1)
    assert pool.draw(5) == pool.draw(5)


def test_share_of_programs_varies_pool_and_is_valid() -> None:
    steering = Steering(CampaignCoverage(), 1, 16)
    new = tuple(new_pair_fragments(program_at(8, 3).program, CoverageCounts(), set()))
    steering.add(0, TrialResult({}, (), CampaignCoverage(), 0, 0.0, new), {})
    early = steering.steer(Trial("reference", 0, 16 * (LAG - 1), 16 * LAG))
    assert early.varied == ()
    trial = steering.steer(Trial("reference", 0, 16 * LAG, 16 * (LAG + 1)))
    assert trial.varied
    assert set(trial.varied) <= set(new)
    differing = 0
    for number in range(16 * LAG, 16 * LAG + 160):
        case = case_of(trial, number)
        assert check(case.program) == []
        evaluate(case.program, materialise(case.program, case.inputs[0]))
        plain = case_of(Trial("reference", 0, 0, 1), number)
        differing += case != plain
        assert case == plain or (number % VARIED == VARIED // 2 and not is_single(number))
    assert differing >= 9
