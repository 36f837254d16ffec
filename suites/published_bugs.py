"""Bugs that others have published, as programs that are judged; see published_bugs.toml."""

from __future__ import annotations

import tomllib
from pathlib import Path

import msgspec
from packaging.specifiers import SpecifierSet

from conformance.gate.expectations import FAILING, Counterexample, Expectation

FILE = Path(__file__).with_suffix(".toml")


class Bug(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A published bug, and the verdict on a version that has it.

    `inputs` are written as those of counterexamples are (conformance/gate/counterexamples.py).
    `kinds` are the classes that it may show, any where there are none; `versions` the versions of
    jaxlib that have it, all where that is "". `backends` are those that show it; `culprit` is the
    pass of a compiler that the thread names, or that stands for what it names.
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
        """Return whether a backend has it with that version of jaxlib."""
        has = SpecifierSet(self.versions).contains(jaxlib, prereleases=True)
        return has and backend in self.backends

    @property
    def expectation(self) -> Expectation:
        """An expectation that has the bug as its counterexample, whatever goes wrong there."""
        shown = Counterexample(self.program, self.inputs)
        # what may end its process is tried by itself
        verdicts = (self.verdict,) if self.verdict in FAILING else ()
        return Expectation(
            self.id, ("*",), self.reason, verdicts=verdicts, words=("*",), link=self.link,
            counterexample=shown,
        )  # fmt: skip


def bugs() -> tuple[Bug, ...]:
    """The bugs of the file, in its order."""
    given = tomllib.loads(FILE.read_text("utf-8"))["bug"]
    return tuple(msgspec.convert(one, Bug) for one in given)
