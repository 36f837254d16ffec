"""`conformance.check` and `conformance.assert_conforms`, and the fixture of pytest."""

from __future__ import annotations

import shlex
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import conformance
from conformance.errors import NotAvailable, UsageError

X = np.linspace(0.0, 1.0, 7)
WRONG = "reference:off_by_100_ulp@sine"
TEXT = """func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.sine %x : tensor<2xf32>
  return %0 : tensor<2xf32>
}"""


def wave(x: jax.Array) -> jax.Array:
    return jnp.sin(x) + 1


PROGRAMS = {
    "function": (wave, X),
    "jitted": (jax.jit(wave), X),
    "exported": (jax.export.export(jax.jit(wave))(np.float32(X)), X),
    "exported, drawn": (jax.export.export(jax.jit(wave))(np.float32(X)),),
    "text": (TEXT, np.float32([0.5, 1.0])),
    "text, drawn": (TEXT,),
    "tree": (lambda tree, _: {"r": wave(tree["x"])}, {"x": X, "n": 3}, None),
    "unused": (lambda _, x: wave(x), np.ones(3), X),
    "bf16": (wave, jnp.ones(3, jnp.bfloat16)),
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_functions_exports_and_texts_are_checked(program) -> None:
    found = conformance.check(*program, backend="reference")
    assert (found.verdict, found.conforms, str(found)) == ("pass", True, "pass")
    wrong = conformance.check(*program, backend=WRONG)
    assert (wrong.verdict, wrong.conforms) == ("inaccurate", False)
    assert wrong.operation.startswith("sine")


def test_a_failure_is_explained_and_saved(tmp_path: Path) -> None:
    found = conformance.check(wave, X, backend=WRONG)
    assert "the program may give" in found.explain()
    command = shlex.split(found.save(tmp_path / "failing"))
    assert command[:2] == ["hlo-conformance", "check"]
    run = [sys.executable, "-m", "conformance", *command[1:]]
    ended = subprocess.run(run, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "first wrong: sine" in ended.stdout


def test_a_known_divergence_conforms(tmp_path: Path) -> None:
    entries = tmp_path / "mine.toml"
    entries.write_text(
        """[[known]]
id = "coarse-sine"
op = "sine"
verdicts = ["inaccurate"]
kinds = ["accuracy"]
max_ulp = 200
reason = "a short table"
"""
    )
    found = conformance.check(wave, X, backend=WRONG, expectations=[str(entries)])
    assert (found.conforms, found.known) == (True, ("coarse-sine",))
    assert str(found).startswith("known inaccurate")


def test_an_assertion_names_the_operation_and_a_command() -> None:
    conformance.assert_conforms(wave, X, backend="reference")
    with pytest.raises(AssertionError, match=r"(?s)first wrong: sine .*\nto see it again: hlo-con"):
        conformance.assert_conforms(wave, X, backend=WRONG)


@pytest.mark.parametrize(
    ("arguments", "backend", "error", "reason"),
    [
        ((3,), "cpu", UsageError, "a function, an exported program or a text"),
        ((wave,), "cpu", UsageError, "cannot lower the function: TypeError"),
        ((PROGRAMS["exported"][0], X, X), "cpu", UsageError, "takes 1 arrays, not 2"),
        ((PROGRAMS["exported"][0], X[:3]), "cpu", UsageError, r"shape \[3\], not \[7\]"),
        ((TEXT,), "abacus", UsageError, "unknown backend 'abacus'"),
        ((TEXT,), "command:x=/no/such/driver", NotAvailable, "cannot be started"),
    ],
)
def test_a_mistake_of_the_caller_is_one_line(arguments, backend, error, reason) -> None:
    with pytest.raises(error, match=reason) as caught:
        conformance.check(*arguments, backend=backend)
    assert "\n" not in str(caught.value)


def test_a_crash_is_a_verdict() -> None:
    driver = Path(__file__).parents[2] / "support" / "hostile_driver.py"
    command = f"command:bad={sys.executable} {driver} execute abort"
    found = conformance.check(TEXT, backend=command)
    assert (found.verdict, found.conforms) == ("crashed", False)
    assert "SIGABRT" in found.message
    assert conformance.check(TEXT, backend="reference").conforms


def test_the_fixture_takes_its_backend_from_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(
        """import jax.numpy as jnp, numpy as np
def test_wave(assert_conforms):
    assert_conforms(jnp.sin, np.float32([0.5, 1.0]))
"""
    )
    installed = {point.name for point in entry_points(group="pytest11")}
    loads = [] if "hlo-conformance" in installed else ["-p", "hlo_conformance_pytest"]
    run = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *loads]
    run += ["--rootdir", str(tmp_path), str(tmp_path)]
    for backend, word in (("reference", "1 passed"), (WRONG, "inaccurate (accuracy)")):
        ended = subprocess.run(
            [*run, "--conformance-backend", backend], capture_output=True, text=True, check=False
        )
        assert word in ended.stdout
