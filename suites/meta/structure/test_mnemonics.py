"""Facts about ops stand on their records: no comparison with a mnemonic, no table of mnemonics.

Allowed are the files of families, which are about their own ops, and registries, which have an
entry for each op that they know; every other exception carries its reason here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from reference.ops.table import OPS

ROOT = Path(__file__).parents[3]
PACKAGES = ("reference", "generators", "conformance", "reports")

FAMILY_FILES = (
    "reference/ops/",
    "reference/custom_calls/",
    "reference/unspecified/",
    "generators/families/",
    "generators/invalid/",
    "generators/regions/",
    "conformance/tolerance/bounds/",
)
"""Folders with a file for each family of ops."""

REGISTRIES = {
    "conformance/backends/interpreter/limits.py": "what of an op the interpreter cannot run",
    "conformance/sweep/variants.py": "the forms in which an op is swept",
    "conformance/stablehlo/reading/fatal.py": "operations of an op that end MLIR's verifier",
    "conformance/stablehlo/custom_calls.py": "the target of an op that MLIR has as a custom call",
    "conformance/stablehlo/structs.py": "how MLIR writes the attributes of an op in one struct",
    "generators/quantized/columns.py": "ops on quantized tensors by their nature; products",
    "generators/quantized/axes.py": "types of each op that admits per-axis quantization",
    "generators/values/undecided.py": "numbers that were searched for each function",
}
"""Files whose tables have one entry for an op, and the meaning of the entry."""

PATTERNS = {
    "conformance/backends/interpreter/rewriting.py": "divisions, which are made safe",
    "conformance/backends/fake/wrong_operations.py": "faults, each of particular ops",
    "conformance/backends/fake/wrong_programs.py": "faults, each of a pattern of operations",
    "conformance/frontends/extensions.py": "constraints of particular ops, broken on purpose",
    "conformance/needs/": "what operations say of their numbers",
    "conformance/frontends/inputs/": "what operations around a value say of it",
    "conformance/judging/sets/": "which ops are monotonic, and enclosures of particular ops",
    "conformance/hlo/": "opcodes of HLO, each read as operations of StableHLO",
    "conformance/known/subnormal_order.py": "selections among numbers that comparisons flush",
    "conformance/transforms/flushed_comparison.py": "what compares, written anew",
    "conformance/transforms/tuples.py": "takes `tuple` and `get_tuple_element` away",
    "generators/chains/patterns/": "small programs that compilers rewrite",
    "reference/numerics/elementary/": "elementary functions, by the name of their op",
}
"""Files and folders that are about particular ops, or patterns of several, and their content."""

EXCEPTIONS: dict[tuple[str, str], str] = {
    ("reference/interpreter/evaluate.py", "CustomCall"): "the name of a type, in __all__",
    ("conformance/gate/classes.py", "sign"): "a class label, no mnemonic",
    ("conformance/backends/compiled/costly.py", "divide"): "the cost in a compiler, no meaning",
    ("conformance/backends/compiled/costly.py", "remainder"): "the cost in a compiler, no meaning",
    ("reports/markdown.py", "case"): "the heading of a column, no mnemonic",
    ("reference/ir/regions.py", "convert"): "below the records: a body is read by its operations",
    ("reference/ir/regions.py", "reshape"): "below the records: a body is read by its operations",
    ("conformance/localize/change.py", "convert"): "what compilers put around wider arithmetic",
}
"""(file, mnemonic) and why it is named there."""


def offenders(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file that compare with a mnemonic or put several into a table."""
    tree = ast.parse(path.read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            found = [n for side in (node.left, *node.comparators) for n in _mnemonics(side)]
        elif isinstance(node, ast.Dict):
            found = [n for key in node.keys if key is not None for n in _mnemonics(key)]
        elif isinstance(node, ast.Set):
            found = _mnemonics(node)
        elif (
            isinstance(node, ast.Assign | ast.AnnAssign)
            and isinstance(node.value, ast.Tuple | ast.List)
        ) or isinstance(node, ast.MatchValue):
            found = _mnemonics(node.value)
        else:
            continue
        yield from ((node.lineno, name) for name in found)


def _mnemonics(node: ast.expr) -> list[str]:
    """Return the mnemonics that an expression is, or that a literal container holds."""
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) and node.value in OPS else []
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return [name for element in node.elts for name in _mnemonics(element)]
    return []


def _files() -> list[str]:
    paths = (path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py")))
    names = (path.relative_to(ROOT).as_posix() for path in paths)
    allowed = (*FAMILY_FILES, *PATTERNS, *REGISTRIES)
    return [name for name in names if not name.startswith(allowed)]


@pytest.mark.slow
def test_facts_about_ops_stand_on_their_records() -> None:
    found = [
        f"{name}:{line} {mnemonic}"
        for name in _files()
        for line, mnemonic in offenders(ROOT / name)
        if (name, mnemonic) not in EXCEPTIONS
    ]
    assert not found, (
        "ask the op's record (reference/ir/op.py) instead, or say in EXCEPTIONS why not:\n"
        + "\n".join(found)
    )


def test_exceptions_are_needed() -> None:
    for name, mnemonic in EXCEPTIONS:
        assert mnemonic in {found for _, found in offenders(ROOT / name)}, (name, mnemonic)
    for name in REGISTRIES:
        assert list(offenders(ROOT / name)), f"{name} has no table of mnemonics any more"


def test_offenders_are_found() -> None:
    """The test itself: each way to write such a fact is seen."""
    source = ROOT / "suites" / "meta" / "structure" / "offending.txt"
    assert [line for line, _ in offenders(source)] == [1, 2, 2, 3, 4, 6]
