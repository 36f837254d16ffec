"""Expectation files that entries are added to, with the reasons that a user gives for classes."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from msgspec import structs

from conformance.errors import UsageError, describe_unknown
from conformance.gate.classes import CLASSES
from conformance.gate.expectations import FAILING, Expectation
from conformance.gate.files import ExpectationError
from conformance.gate.layout import assignment, entry_text, value_text
from conformance.gate.reading import read
from conformance.gate.remarks import TODO
from conformance.text import plural

_TODO_LINE = re.compile(rf'^reason = "{TODO}"$', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Reasons:
    """Reasons of entries, by patterns of verdicts and classes; the first that matches counts."""

    by_pattern: tuple[tuple[str, str], ...] = ()

    @classmethod
    def parse(cls, given: Sequence[str]) -> Reasons:
        """Return the reasons in texts such as `flushed=our device has no subnormal numbers`.

        Raises:
            UsageError: if a text has another form, or names no verdict and no class.
        """
        names = (*FAILING, *CLASSES)
        found: list[tuple[str, str]] = []
        for text in given:
            pattern, _, reason = (part.strip() for part in text.partition("="))
            if not reason:
                raise UsageError(f"--reason takes CLASS=TEXT, such as 'flushed=ours', not {text!r}")
            if not any(fnmatchcase(name, pattern) for name in names):
                unknown = describe_unknown("verdict or class", pattern, names)
                raise UsageError(f"--reason: {unknown}")
            found.append((pattern, reason))
        return cls(tuple(found))

    def of(self, entry: Expectation) -> str:
        """Return the reason of an entry: its own, unless that is still to be written."""
        names = (*entry.verdicts, *entry.kinds)
        given = (
            reason
            for pattern, reason in self.by_pattern
            if any(fnmatchcase(name, pattern) for name in names)
        )
        return next(given, TODO) if entry.reason == TODO else entry.reason

    def fill(self, path: Path) -> None:
        """Write the reasons of the entries in a file whose reason is still to be written.

        Raises:
            ExpectationError: if the file cannot be read.
            UsageError: if it cannot be written.
        """
        if not self.by_pattern or not path.exists():
            return
        text, left = path.read_text(encoding="utf-8"), [e for e in read(path) if e.reason == TODO]
        reasons = [self.of(entry) for entry in left]
        count = sum(reason != TODO for reason in reasons)
        if count and len(_TODO_LINE.findall(text)) == len(left):
            lines = iter(assignment("reason", reason) for reason in reasons)
            write_checked(path, _TODO_LINE.sub(lambda _: next(lines), text))
            sys.stdout.write(f"{path}: {plural(count, 'reason')} written\n")


@dataclass(frozen=True, slots=True)
class EntryWriter:
    """A file that entries are appended to, one by one, so that nothing is lost when the command is
    stopped.

    `include` is the `include` of the file, if it is new.
    """

    out: Path
    include: Sequence[str]
    reasons: Reasons

    def add(self, entry: Expectation, comments: Sequence[str]) -> None:
        """Append an entry in one step, keeping the content of the file.

        An entry that cannot be read back is reported and left out.
        """
        entry = structs.replace(entry, reason=self.reasons.of(entry))
        out, is_new = self.out, not self.out.exists()
        before = "" if is_new else out.read_text(encoding="utf-8")
        head = f"include = {value_text(list(self.include))}\n" if self.include and is_new else ""
        gap = "\n" if before and not before.endswith("\n") else ""
        text = entry_text(as_table(entry), comments)
        write_checked(out, "\n".join(filter(None, (f"{before}{gap}{head}", text))))


def write_checked(out: Path, text: str) -> None:
    """Write an expectation file in one step; report a text that cannot be read back instead.

    Raises:
        UsageError: when the file cannot be written.
    """
    partial = out.with_name(f"{out.name}.partial")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(text, encoding="utf-8")
        read(partial)
        partial.replace(out)
    except ExpectationError as error:
        partial.unlink()
        said = str(error).removeprefix(f"{partial}: ")
        sys.stdout.write(f"left out, because it could not be parsed again: {said}\n")
    except OSError as error:
        raise UsageError(f"cannot write {out}: {error.strerror or error}") from error


def as_table(entry: Expectation) -> dict[str, object]:
    """Return the keys of an entry as in a file, without empty values."""
    usual = Expectation("", (), "")
    table: dict[str, object] = {}
    for key, value in structs.asdict(entry).items():
        if value != getattr(usual, key):
            table[key] = list(value) if isinstance(value, tuple) else value
    if len(entry.op) == 1:
        table["op"] = entry.op[0]
    if entry.counterexample is not None:
        shown = entry.counterexample
        table["counterexample"] = {"program": shown.program, "inputs": list(shown.inputs)}
    return table
