"""The name of an op stands in few files, so that few files change with it."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path
from statistics import median

from conformance.catalog import CATALOG
from reference.ir.op import Dialect

ROOT = Path(__file__).parents[3]
PACKAGES = ("conformance", "generators", "reference", "reports")
APART = {
    "generators/chains/patterns/": "programs of several operations",
    "generators/regions/": "bodies, which have operations of their own",
    "generators/programs/": "constructs around an operation",
    "generators/families/chlo/": "CHLO's ops, which are built of StableHLO's",
    "reference/ops/chlo/": "CHLO's ops, which are built of StableHLO's",
    "generators/families/xla/": "XlaBuilder's ops, which are built of StableHLO's",
    "reference/ops/xla/": "XlaBuilder's ops, which are built of StableHLO's",
    "reference/ops/sorts/comparators.py": "bodies",
    "reference/ir/monoid.py": "bodies",
    "reference/unspecified/bodies.py": "bodies",
    "conformance/transforms/flushed_comparison.py": "bodies",
    "conformance/hlo/": "opcodes of HLO",
    "conformance/known/": "what one backend computes",
    "conformance/backends/interpreter/": "what one backend computes",
    "conformance/backends/fake/": "seeded faults",
}
"""Files that name ops for a reason of their own."""

MOST = 5


def test_an_op_is_named_in_few_files() -> None:
    names = {name for name, row in CATALOG.items() if row.dialect == Dialect.STABLEHLO.value}
    files: Counter[str] = Counter()
    for package in PACKAGES:
        for file in (ROOT / package).rglob("*.py"):
            if not str(file.relative_to(ROOT)).startswith(tuple(APART)):
                files.update(names & _strings(file))
    assert median(files[name] for name in names) <= MOST


def _strings(file: Path) -> set[str]:
    nodes = ast.walk(ast.parse(file.read_text()))
    return {
        one.value for one in nodes if isinstance(one, ast.Constant) if isinstance(one.value, str)
    }
