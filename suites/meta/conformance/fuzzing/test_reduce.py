"""The command `reduce`: a failing program of the user's is minimised, a passing program is not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from conformance.errors import UsageError
from conformance.fuzzing.reduce import Options, reduce
from conformance.limits import LIMITS

PROGRAM = """
func.func @main(%x: tensor<40xf32>, %y: tensor<40xf32>) -> tensor<40xf32> {
  %0 = stablehlo.tanh %x : tensor<40xf32>
  %1 = stablehlo.subtract %0, %y : tensor<40xf32>
  %2 = stablehlo.negate %1 : tensor<40xf32>
  return %2 : tensor<40xf32>
}"""


@pytest.fixture
def user_options(tmp_path: Path) -> Options:
    (tmp_path / "program.mlir").write_text(PROGRAM)
    return Options(
        tmp_path / "program.mlir", "reference", expectations="none", out=tmp_path / "out",
        budget="5s",
    )  # fmt: skip


def change_options(user_options: Options, **options: object) -> Options:
    fields = {name: getattr(user_options, name) for name in Options.__slots__}
    return Options(**{**fields, **options})


@pytest.mark.parametrize(
    ("file", "words"),
    [("nothing.mlir", "no such file"), ("..", r"a folder without a program.mlir")],
)
def test_only_a_file_is_minimised(
    file: str, words: str, tmp_path: Path, user_options: Options
) -> None:
    with pytest.raises(UsageError, match=rf"{words}$"):
        reduce(change_options(user_options, file=tmp_path / file))


def test_a_program_that_does_not_fail_stays(
    user_options: Options, capsys: pytest.CaptureFixture[str]
) -> None:
    assert reduce(user_options) == 0
    assert capsys.readouterr().out == f"{user_options.file}: it does not fail on reference\n"
    assert not user_options.out.exists()


def test_a_program_that_fails_is_minimised_and_written(
    user_options: Options, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    np.savez(tmp_path / "in.npz", x=np.full(40, 0.5, "f4"), y=np.full(40, 3, "f4"))
    wrong = change_options(
        user_options,
        backend="reference:transposed_operands",
        inputs=tmp_path / "in.npz",
        limits=LIMITS,
    )
    assert reduce(wrong) == 1
    lines = capsys.readouterr().out.splitlines()
    text = "\n".join(lines)
    assert "stablehlo.subtract" in text
    assert not any(f"stablehlo.{op}" in text for op in ("tanh", "negate"))
    assert "tensor<40xf32>" not in text
    (told,) = (line for line in lines if line.startswith("1 operation: "))
    folder = Path(told.removeprefix("1 operation: "))
    assert folder.parent == user_options.out or folder == user_options.out
    assert {"program.mlir", "inputs.npz"} <= {path.name for path in folder.iterdir()}
    assert reduce(change_options(wrong, file=folder, inputs=None, out=tmp_path / "again")) == 1
    assert f"1 operation: {tmp_path / 'again'}" in capsys.readouterr().out


def test_several_programs_are_refused(user_options: Options) -> None:
    one = "func.func @{}(%x: tensor<f32>) -> tensor<f32> {{\n  return %x : tensor<f32>\n}}\n"
    user_options.file.write_text(f"{one.format('main')}// -----\n{one.format('main')}")
    with pytest.raises(UsageError, match="2 programs, but one is expected"):
        reduce(user_options)
