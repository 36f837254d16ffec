"""State of modules: caches and variables that outlive a call, each with its bound."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import conformance

ROOT = Path(conformance.__file__).parent.parent
PACKAGES = ("conformance", "generators", "reference", "reports")
MUTATING = {"append", "add", "clear", "extend", "insert", "pop", "remove", "setdefault", "update"}


def state_of(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield each cache and each variable of a module that its functions change, with its kind."""
    values = dict(_assignments(tree))
    for name, value in values.items():
        called = ast.unparse(value)
        if called.startswith("lru_cache("):
            yield name, "sized cache"
        if called.startswith("ContextVar("):
            yield name, "context"
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            for one in map(ast.unparse, node.decorator_list):
                if one.startswith("lru_cache("):
                    yield node.name, "sized cache"
                elif one in ("cache", "functools.cache", "lru_cache"):
                    yield node.name, "cache"
            changed = set(_changed_names(node)) & set(values) - set(_local(node))
            yield from ((name, "variable") for name in changed)


def _assignments(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            yield node.targets[0].id, node.value
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            yield node.target.id, node.value


def _changed_names(function: ast.FunctionDef) -> Iterator[str]:
    """Yield names that a function rebinds globally, assigns items of, or calls to change."""
    for node in ast.walk(function):
        if isinstance(node, ast.Global):
            yield from node.names
        elif (isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load)) or (
            isinstance(node, ast.Attribute) and node.attr in MUTATING
        ):
            yield ast.unparse(node.value)


def _local(function: ast.FunctionDef) -> Iterator[str]:
    yield from (one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg))
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


@pytest.fixture(scope="module")
def state_kinds() -> dict[str, str]:
    """Return the kind of all state by its qualified name."""
    kinds: dict[str, str] = {}
    for package in PACKAGES:
        for file in sorted((ROOT / package).rglob("*.py")):
            module = ".".join(file.relative_to(ROOT).with_suffix("").parts)
            for name, kind in state_of(ast.parse(file.read_text())):
                kinds[f"{module}.{name}"] = kind
    return kinds


STATE = {
    "one value for a process": (
        "conformance.backends.fake.faults._has_luck",
        "conformance.backends.isa.host_sets",
        "conformance.backends.pjrt.clients.jax_module",
        "conformance.backends.pjrt.clients._load_lapack",
        "conformance.backends.pjrt.clients._load_sparse",
        "conformance.campaign.cache.digests.own_digest",
        "conformance.campaign.cache.digests.whole_digest",
        "conformance.executors.interrupt._seen",
        "conformance.frontends.dialects.register",
        "conformance.gate.files.shipped_tables",
        "conformance.results.versions.build",
        "conformance.sweep.function.sweepable_ops",
    ),
    "one value for each backend that the process opens": (
        "conformance.backends.pjrt.clients._loaded_plugins",
        "conformance.backends.session._opened",
        "conformance.sweep.block._session",
    ),
    "one value for each device and number of processes": (
        "conformance.backends.compiled.compilers._gpu_devices",
        "conformance.backends.compiled.compilers._tpu_devices",
        "conformance.backends.pjrt.clients.cpu_devices",
    ),
    "one value for each cluster that is in use": ("conformance.executors.on_ray._shared",),
    "one value for each element type": (
        "conformance.sweep.evaluation._values_by_code",
        "conformance.sweep.rounding.preimages",
        "generators.regions.bodies.multi_op_bodies",
        "generators.values.codes._midpoints",
        "generators.values.contents.profiles_of",
        "generators.values.float_profiles._small_integers",
        "generators.values.float_profiles.core_codes",
        "generators.values.float_profiles.special_codes",
        "reference.numerics.elementary.functions._table",
        "reference.numerics.rounding._byte_table",
        "reference.numerics.rounding._byte_values",
    ),
    "one value for each op, rule, pattern, message or template": (
        "conformance.hlo.wire._fields",
        "conformance.tolerance.bounds.quantization.quantized_rule",
        "generators.cells.columns.ordered_misses",
        "generators.chains.seeds.variations._plain_ops",
        "generators.chains.strategies._integers",
        "reports.html.template",
    ),
    "one value for each op of a run or campaign, with its seed and ops": (
        "conformance.fuzzing.seeds.material._read_material",
        "conformance.fuzzing.singles._cells",
        "generators.cells.plan.coverage",
        "generators.cells.plan.needed_cases",
        "generators.chains.links.linked_ops",
        "generators.chains.quantized.quantized_ops",
    ),
    "one value for each function of a sweep": (
        "conformance.sweep.function._program",
        "conformance.sweep.properties._read_off",
    ),
    "32 programs": ("reference.interpreter.evaluate._cache",),
    "programs that a worker compiles of a faulty backend": (
        "conformance.backends.fake.faults._compilations",
    ),
    "a size in the code": (
        "conformance.backends.outputs._read",
        "conformance.campaign.cache.digests._content_digest",
        "conformance.checking.in_python._description",
        "conformance.checking.in_python._executor",
        "conformance.fuzzing.singles._order",
        "conformance.gate.remarks._columns",
        "conformance.gate.remarks._ops",
        "conformance.hlo.wire._decode_small",
        "conformance.known.entry_prediction._program",
        "conformance.stablehlo.context._cached_context",
        "conformance.sweep.arguments._sample",
        "conformance.sweep.strata.thresholds",
        "conformance.text._compile_pattern",
        "conformance.tolerance.bounds.reduction._rounding_operations",
        "conformance.transforms.flushed_comparison.flush_comparisons",
        "generators.case.choices._cached_labels",
        "reference.interpreter.quantized.plain_operation",
        "reference.numerics.conversion._few_indices",
        "reference.ops.convolution._static_geometry",
        "reference.ir.regions.components",
        "reference.ops.quantization._steps",
        "reference.ops.sorts.comparators.order_of",
    ),
    "a block of a call, in which a context is set": (
        "conformance.known.in_force._IN_FORCE",
        "conformance.phases._NOTES",
        "reference.interpreter.processes._current",
        "reference.interpreter.processes._last_process",
        "reference.ir.constraints._collected",
        "reference.ir.constraints._op",
        "reference.ir.constraints._restated",
    ),
}
"""All state of modules, by the bound of its size."""


@pytest.mark.slow
def test_state_of_modules_is_listed_with_its_bound(state_kinds: dict[str, str]) -> None:
    listed = {name: bound for bound, names in STATE.items() for name in names}
    assert len(listed) == sum(map(len, STATE.values()))
    assert state_kinds.keys() == listed.keys()


@pytest.mark.slow
def test_a_cache_is_listed_as_sized_if_it_has_a_size(state_kinds: dict[str, str]) -> None:
    sized = {name for name, kind in state_kinds.items() if kind == "sized cache"}
    assert sized == set(STATE["a size in the code"])
    contexts = {name for name, kind in state_kinds.items() if kind == "context"}
    assert contexts == set(STATE["a block of a call, in which a context is set"])


def test_all_kinds_of_state_are_seen() -> None:
    source = """
from functools import cache, lru_cache
SEEN = {}
TABLE = {}
IN_FORCE = ContextVar("in force")
small = lru_cache(maxsize=2)(len)
total = 0

@cache
def one(): ...

@lru_cache(maxsize=8)
def two(): ...

def three(SEEN):
    SEEN[1] = TABLE[2]

def four():
    global total
    SEEN.setdefault(1, 2)
"""
    assert dict(state_of(ast.parse(source))) == {
        "SEEN": "variable",
        "IN_FORCE": "context",
        "small": "sized cache",
        "total": "variable",
        "one": "cache",
        "two": "sized cache",
    }
