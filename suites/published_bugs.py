"""Reader of published_bugs.toml: published bugs of XLA, each with a program that shows it."""

from __future__ import annotations

import tomllib
from pathlib import Path

import msgspec
from packaging.specifiers import SpecifierSet

from conformance.gate.expectations import FAILING, Counterexample, Expectation

FILE = Path(__file__).with_suffix(".toml")


class Bug(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A published bug, and the verdict on a version that has it.

    `inputs` have the form of a counterexample's (conformance/gate/counterexamples.py). `kinds` are
    the classes that the bug may have; any class if empty. `versions` are the versions of jaxlib
    with the bug; all versions if "". `backends` are the backends with the bug. `culprit` is the
    compiler pass at fault, as the issue names it or as attribution does.
    """

    id: str
    reason: str
    link: str
    program: str
    inputs: tuple[str, ...]
    verdict: str = "divergent"
    kinds: tuple[str, ...] = ()
    versions: str = ""
    backends: tuple[str, ...] = ("cpu",)
    culprit: str = ""

    def is_in(self, jaxlib: str, backend: str = "cpu") -> bool:
        """Return whether a backend has the bug with a version of jaxlib."""
        has = SpecifierSet(self.versions).contains(jaxlib, prereleases=True)
        return has and backend in self.backends

    @property
    def expectation(self) -> Expectation:
        """An expectation with the bug's program as its counterexample; any failure matches."""
        shown = Counterexample(self.program, self.inputs)
        # programs that may crash the process are run in isolation
        verdicts = (self.verdict,) if self.verdict in FAILING else ()
        return Expectation(
            self.id, ("*",), self.reason, verdicts=verdicts, words=("*",), link=self.link,
            counterexample=shown,
        )  # fmt: skip


def bugs() -> tuple[Bug, ...]:
    """Return the bugs of the file, in order."""
    given = tomllib.loads(FILE.read_text("utf-8"))["bug"]
    return tuple(msgspec.convert(one, Bug) for one in given)
