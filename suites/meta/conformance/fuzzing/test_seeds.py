"""Programs that a campaign varies: fragments of seed files and of earlier programs."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from conformance.errors import UsageError
from conformance.fuzzing.command import Options, fuzz
from conformance.fuzzing.seeds.cutting import LENGTHS, SMALL
from conformance.fuzzing.seeds.files import cut_files
from conformance.fuzzing.seeds.material import (
    FILE_NAME,
    VARIED,
    Material,
    case_of,
    write_material,
)
from conformance.fuzzing.seeds.sources import PATTERNS
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
from reference.ir.program import Program, TensorType
from reference.ops.structure import is_constant

MODEL = """
module @jit_model {
  func.func public @main(%x: tensor<128x768xf32>, %w: tensor<768x768xf32>)
      -> tensor<128x12x64xf32> {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<128x768xf32>, tensor<768x768xf32>) -> tensor<128x768xf32>
    %1 = stablehlo.reshape %0 : (tensor<128x768xf32>) -> tensor<128x12x64xf32>
    %2 = call @above(%1) : (tensor<128x12x64xf32>) -> tensor<128x12x64xf32>
    return %2 : tensor<128x12x64xf32>
  }
  func.func private @above(%x: tensor<128x12x64xf32>) -> tensor<128x12x64xf32> {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<128x12x64xf32>
    %1 = stablehlo.maximum %x, %0 : tensor<128x12x64xf32>
    return %1 : tensor<128x12x64xf32>
  }
}
"""


def names(program: Program) -> list[str]:
    return [
        operation.name
        for operation in program.main.body.operations[:-1]
        if not is_constant(operation)
    ]


def test_a_model_is_cut_into_small_pieces_with_what_it_calls(tmp_path: Path) -> None:
    (tmp_path / "model.mlir").write_text(MODEL)
    found = cut_files([tmp_path / "model.mlir"])
    assert found.notes == ()
    assert ["dot_general", "reshape", "broadcast_in_dim", "maximum"] in map(names, found.fragments)
    for piece in found.fragments:
        types = [value.type for operation in piece.walk() for value in operation.results]
        sizes = [math.prod(of.static_shape) for of in types if isinstance(of, TensorType)]
        assert max(sizes) <= 2 * SMALL
        assert any(
            of.static_shape[-1] > 2 for of in types if isinstance(of, TensorType) and of.rank
        )


@pytest.mark.parametrize("file", sorted(PATTERNS.iterdir()), ids=lambda file: file.stem)
def test_every_pattern_of_ours_gives_pieces(file: Path) -> None:
    found = cut_files([file])
    assert found.notes == ()
    assert found.fragments
    for piece in found.fragments:
        assert is_usable(piece)
        assert LENGTHS[0] <= len(names(piece)) <= LENGTHS[-1]


def test_unusable_seed_file_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "bad.mlir").write_text("no program")
    (tmp_path / "tokens.mlir").write_text(
        "func.func @main(%t: !stablehlo.token) -> !stablehlo.token {\n"
        "  %0 = stablehlo.after_all %t : !stablehlo.token\n  return %0 : !stablehlo.token\n}"
    )
    found = cut_files([tmp_path / "bad.mlir", tmp_path / "tokens.mlir", tmp_path / "none.mlir"])
    assert found.fragments == ()
    assert len(found.notes) == 3
    assert all(note.startswith(str(tmp_path)) and "\n" not in note for note in found.notes)


def test_a_campaign_takes_programs_of_the_users_own(tmp_path: Path, capsys) -> None:
    seeds, out = tmp_path / "seeds", tmp_path / "out"
    (seeds / "deeper").mkdir(parents=True)
    (seeds / "deeper" / "model.mlir").write_text(MODEL)
    (seeds / "bad.mlir").write_text("no program")
    options = Options(out, "reference", "60s", programs=32, jobs=1, seeds=seeds)
    assert fuzz(options) == 0
    assert str(seeds / "bad.mlir") in capsys.readouterr().err
    assert list(out.glob(f"*{FILE_NAME}"))
    other = Options(out, "reference", "60s", programs=32, jobs=1)
    with pytest.raises(UsageError, match=r"seeds .* pieces"):
        fuzz(other)


@pytest.mark.parametrize("name", ["nowhere", "empty", "bad.mlir"])
def test_seeds_that_are_none_are_a_line(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "bad.mlir").write_text("no program")
    options = Options(tmp_path / "out", "reference", "60s", 16, jobs=1, seeds=tmp_path / name)
    with pytest.raises(UsageError, match="--seeds"):
        fuzz(options)


def test_extracted_piece_keeps_its_meaning() -> None:
    file = PATTERNS / "softmax.mlir"
    program = parse_module(file.read_text())
    whole = next(
        fragment for fragment in cut_files([file]).fragments if names(fragment) == names(program)
    )
    given = [np.arange(128, dtype=np.float32).reshape(8, 16) / 7]
    (wanted,), (found,) = evaluate(program, given), evaluate(whole, given)
    assert np.array_equal(found, wanted)


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


def test_only_pieces_with_requested_ops_are_used(tmp_path: Path) -> None:
    found = cut_files([PATTERNS / "softmax.mlir", PATTERNS / "split_heads.mlir"])
    file = write_material(Material(found.fragments, 1), tmp_path)
    for op, there in (("exponential", True), ("fft", False)):
        ops = frozenset({op})
        trial = Trial("reference", 0, 0, 12, ops, seeds=file)
        cases = [case_of(trial, number).program for number in range(12)]
        assert any(case != program_at(0, n, ops).program for n, case in enumerate(cases)) is there
