"""Mutants of the reference: changed code replaces the code of its functions.

Functions stay the same objects, which tables, partials and compiled programs hold; only their code
is replaced. Their caches are cleared before and after.
"""

from __future__ import annotations

import ast
import functools
import gc
import warnings
from collections import defaultdict
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import reference
from benchmarks.mutants.changes import Change, changes
from reference.interpreter import evaluate as evaluation

ROOT = Path(reference.__file__).parent

MUTATED = ("ops/**/*.py", "numerics/**/*.py", "interpreter/quantized.py")
"""The files of the reference that are mutated: records of ops, and numerics."""

Key = tuple[str, str, int]
"""File, qualified name and first line of a function."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file of the reference, its syntax tree, and the changes to the tree."""

    path: Path
    tree: ast.Module
    changes: tuple[Change, ...]

    @property
    def name(self) -> str:
        """The path of the file in the repository."""
        return name_of(self.path)


@dataclass(frozen=True, slots=True)
class Mutant:
    """A change of a file, with its number."""

    source: Source
    number: int

    @property
    def change(self) -> Change:
        """The change of the source that makes this mutant."""
        return self.source.changes[self.number]

    @property
    def id(self) -> str:
        """A name that is stable while the file is unchanged."""
        return f"{self.source.name}#{self.number}"

    @property
    def lines(self) -> Iterator[tuple[str, int]]:
        """The lines of the changed statement; a change has no effect if none is reached."""
        start, end = self.change.lines
        return ((self.source.name, line) for line in range(start, end + 1))

    def told(self) -> str:
        """Return the position, and the statement before and after on a line each."""
        before, after = self.change.shown()
        function = ".".join(_name(function) for function in self.change.functions)
        where = f"{self.source.name}:{self.change.line} in {function} ({self.change.kind})"
        return f"{where}\n  - {before}\n  + {after}"


def _name(function: Any) -> str:
    return getattr(function, "name", "<lambda>")


@functools.cache
def name_of(path: Path) -> str:
    """Return a file of the reference, relative to the repository."""
    return path.relative_to(ROOT.parent).as_posix()


def files() -> list[Path]:
    """Return the files of the reference that are changed."""
    return sorted({path for pattern in MUTATED for path in ROOT.glob(pattern)})


@functools.cache
def sources() -> list[Source]:
    """Return the mutated files of the reference, parsed."""
    read: list[Source] = []
    for path in files():
        tree = ast.parse(path.read_text(), str(path))
        read.append(Source(path, tree, tuple(changes(tree))))
    return read


class Impossible(Exception):
    """A change that cannot replace the running code."""


Codes = list[tuple[FunctionType, CodeType]]
"""Functions, each with the code that replaces its own."""


@functools.cache
def caches() -> list[Any]:
    """Return the caches of the reference."""
    return [
        thing
        for thing in gc.get_objects()
        if type(thing) is type(caches) and str(thing.__module__).startswith("reference.")
    ]


def forget() -> None:
    """Empty the caches of the reference."""
    for cache in caches():
        cache.cache_clear()
    vars(evaluation)["_cache"].clear()


@dataclass(frozen=True, slots=True)
class LoadedFunctions:
    """The functions of the reference that exist in this process."""

    functions: dict[Key, list[FunctionType]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def now(cls) -> LoadedFunctions:
        """Return the functions that exist now."""
        living = cls()
        for thing in gc.get_objects():
            if type(thing) is FunctionType and thing.__code__.co_filename.startswith(str(ROOT)):
                living.functions[_key(thing.__code__)].append(thing)
        return living

    def codes(self, mutant: Mutant) -> Codes:
        """Return the functions whose code the mutant changes, each with its new code.

        Raises:
            Impossible: if it changes nothing that runs, or its functions cannot be found.
        """
        before = _original_code(mutant.source.path)
        with mutant.change.made():
            after = _compile_functions(mutant.source)
        wrong: Codes = []
        for key, codes in before.items():
            if codes == after.get(key):
                continue
            if len(codes) != len(after.get(key, ())):
                raise Impossible("functions are lost")
            places = [list(code.co_positions()) for code in codes]  # several lambdas on a line
            for function in self.functions.get(key, ()):
                place = places.index(list(function.__code__.co_positions()))
                wrong.append((function, after[key][place]))
        if not wrong:
            raise Impossible("nothing that runs is another")
        return wrong


@contextmanager
def run_with_codes(codes: Codes) -> Generator[None]:
    """Run functions with other code, and with empty caches, within the block.

    Raises:
        Impossible: when a code does not fit its function.
    """
    right = [(function, function.__code__) for function, _ in codes]
    forget()
    try:
        put(codes)
        yield
    finally:
        put(right)
        forget()


def put(codes: Codes) -> None:
    for function, code in codes:
        try:
            function.__code__ = code
        except ValueError as error:  # it needs other values of the function around
            raise Impossible(str(error)) from error


def _key(code: CodeType) -> Key:
    return code.co_filename, code.co_qualname, code.co_firstlineno


@functools.cache
def _original_code(path: Path) -> dict[Key, list[CodeType]]:
    (source,) = (source for source in sources() if source.path == path)
    return _compile_functions(source)


def _compile_functions(source: Source) -> dict[Key, list[CodeType]]:
    """Return the code of all functions of a file, from its current tree."""
    tree = ast.fix_missing_locations(source.tree)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # mutants compare and call what nobody would
        pending = [compile(tree, str(source.path), "exec", dont_inherit=True)]
    codes: dict[Key, list[CodeType]] = defaultdict(list)
    while pending:
        code = pending.pop()
        inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
        pending += inner
        for one in inner:
            codes[_key(one)].append(one)
    return codes
