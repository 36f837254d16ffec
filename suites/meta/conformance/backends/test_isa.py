"""The instruction sets that XLA's CPU compiler targets: selection, description, conditions of
entries.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.backends import isa
from conformance.backends.registry import parse
from conformance.backends.session import cached_backend
from conformance.errors import NotAvailable, UsageError
from conformance.executors.backend_workers import describe, executor_of
from conformance.gate.reading import ExpectationError, load

SERVER = frozenset(isa.INSTRUCTION_SETS) - {"AMX_FP16"}
LAPTOP = frozenset({"SSE4_2", "AVX", "F16C", "AVX2", "FMA"})
ENTRY = """
[[known]]
id = "narrow"
op = "convert"
isa = "{}"
reason = "two instructions convert, and round twice"
"""


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> None:
    """Return a machine with AVX512_FP16, without a request in the environment."""
    monkeypatch.setattr(isa, "host_sets", lambda: SERVER)
    monkeypatch.delenv(isa.ENVIRONMENT, raising=False)


@pytest.mark.parametrize(
    ("condition", "server", "laptop"),
    [
        ("", True, True),
        ("<AVX512_FP16", False, True),
        (">=AVX2", True, True),
        (">=AVX2, <AVX512", False, True),
        (">=AMX_FP16", False, False),
    ],
)
def test_conditions_ask_for_each_instruction_set_by_itself(
    condition: str, server: bool, laptop: bool
) -> None:
    isa.check_condition(condition)
    assert isa.satisfies(SERVER, condition) is server
    assert isa.satisfies(LAPTOP, condition) is laptop
    assert isa.satisfies(frozenset(), condition) is not bool(condition)  # no x86


@pytest.mark.parametrize("condition", ["AVX2", "<=AVX2", "<AVX3", "<AVX2,"])
def test_a_condition_without_meaning_is_an_error_of_the_file(
    condition: str, tmp_path: Path
) -> None:
    (file := tmp_path / "mine.toml").write_text(ENTRY.format(condition))
    if condition.endswith(","):
        assert load(str(file), ["cpu"], {}) is not None
        return
    with pytest.raises(ExpectationError, match="is not a condition on instruction sets; write for"):
        load(str(file), ["cpu"], {})


@pytest.mark.x86
@pytest.mark.parametrize("maximum", isa.MAXIMA)
def test_computed_instruction_sets_equal_those_that_xla_reports(maximum: str) -> None:
    if maximum not in isa.host_sets():
        pytest.skip(f"this machine's CPU has no {maximum}")
    choice = parse(f"cpu:{maximum.lower()}")
    with executor_of(choice, jobs=1) as executor:
        versions = dict(describe(executor, choice).versions)
    assert versions["instruction sets"] == isa.instruction_sets_text(isa.target_sets(maximum))


@pytest.mark.x86
def test_a_process_has_one_target() -> None:
    cached_backend("cpu")
    with pytest.raises(NotAvailable, match=r"cpu:SSE4_2: XLA targets AVX, .* in this process"):
        cached_backend("cpu:SSE4_2")
    assert isa.requested_maximum() != "SSE4_2"


def test_an_instruction_set_that_is_not_here_is_not_available(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(isa, "host_sets", lambda: LAPTOP)
    with pytest.raises(NotAvailable, match=r"has no AVX512 \(it has: F16C, AVX2, FMA\); choose"):
        cached_backend("cpu:AVX512")
    with pytest.raises(UsageError, match="unknown instruction set 'AVX3'; did you mean"):
        parse("cpu:AVX3")


@pytest.mark.usefixtures("host")
def test_entries_hold_where_the_target_satisfies_their_condition(tmp_path: Path) -> None:
    (tmp_path / "cpu.toml").write_text(ENTRY.format("<AVX512_FP16"))
    (entry,) = load(str(tmp_path), ["cpu", "cpu:AVX2"], {})
    assert not entry.matches_backend("cpu")
    assert entry.matches_backend("cpu:AVX2")
    assert load(str(tmp_path), ["cpu", "cpu:AVX512"], {}) == ()
    (asked,) = load(str(tmp_path / "cpu.toml"), ["cpu:AVX", "gpu"], {})
    assert asked.backends == ("cpu:AVX",)
