"""Custom calls of LAPACK, judged by their equations, and what follows from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export

from conformance.checking.file import check_file
from conformance.checking.settings import Settings
from conformance.judging.lapack.residuals import violation
from conformance.judging.perturbation.evaluations import PermittedResults
from conformance.triage.conclusion import Concluder, Conclusion
from conformance.verdict import Verdict
from reference.custom_calls.targets import call_built_in
from reference.ir.program import Operation, Program, TensorType, Value, single_op
from reference.ir.types import Array, element_type_of

RANDOM = np.random.default_rng(7)
TYPES = {"s": np.float32, "d": np.float64, "c": np.complex64, "z": np.complex128}


def matrix(of: str, *shape: int) -> Array:
    """Return normally distributed numbers."""
    drawn = RANDOM.standard_normal(shape)
    if of in "cz":
        drawn = drawn + 1j * RANDOM.standard_normal(shape)
    return drawn.astype(TYPES[of])


def call(routine: str, *operands: Array, **options: Any) -> tuple[Operation, tuple[Array, ...]]:
    """Return the operation and its results; letters as their codes."""
    entries = tuple(
        (name, ord(value) if isinstance(value, str) else value, "ui8")
        for name, value in options.items()
    )
    target = f"lapack_{routine}_ffi"
    results = call_built_in(target, operands, {"mhlo.backend_config": entries})

    def values_of(arrays: tuple[Array, ...], name: str) -> tuple[Value, ...]:
        return tuple(
            Value(f"{name}{i}", TensorType(a.shape, element_type_of(a)))
            for i, a in enumerate(arrays)
        )

    given = (("call_target_name", target), ("mhlo.backend_config", entries))
    return Operation(
        "custom_call", values_of(operands, "a"), values_of(results, "r"), given
    ), results


def make_definite(a: Array) -> Array:
    return np.asarray(a @ np.conj(np.swapaxes(a, -1, -2)) + np.eye(a.shape[-1], dtype=a.dtype))


def calls(of: str) -> list[tuple[Operation, tuple[Array, ...], tuple[Array, ...]]]:
    """Return a call of every routine: operation, operands, results."""
    real = of in "sd"
    square, tall, right = matrix(of, 2, 4, 4), matrix(of, 5, 3), matrix(of, 4, 2)
    packed = call(f"{of}geqrf", tall)[1]
    diagonals = [matrix(of, 4) for _ in range(3)]
    given: list[tuple[str, tuple[Array, ...], dict[str, Any]]] = [
        ("potrf", (make_definite(square),), {"uplo": "L"}),
        ("potrf", (make_definite(square),), {"uplo": "U"}),
        ("getrf", (tall,), {}),
        ("geqrf", (square,), {}),
        ("geqp3", (tall, np.zeros(3, np.int32)), {}),
        ("orgqr" if real else "ungqr", packed, {}),
        ("ormqr" if real else "unmqr", (*packed, matrix(of, 5, 2)), {"left": True}),
        (
            "ormqr" if real else "unmqr",
            (*packed, matrix(of, 2, 5)),
            {"left": False, "transpose": True},
        ),
        ("gesdd", (tall,), {"mode": "A"}),
        ("gesdd", (square,), {"mode": "N"}),
        ("gesvd", (tall.T.copy(),), {"mode": "S"}),
        ("syevd" if real else "heevd", (square,), {"mode": "V", "uplo": "U"}),
        ("geev", (square,), {"compute_left": "V", "compute_right": "V"}),
        ("gees", (square,), {"mode": "V", "sort": "N"}),
        ("gehrd", (square,), {"low": 1, "high": 4}),
        ("sytrd" if real else "hetrd", (square,), {"uplo": "L"}),
        ("sytrd" if real else "hetrd", (square,), {"uplo": "U"}),
        ("trsm", (make_definite(square[0]), right), {"side": "L", "uplo": "U", "trans_x": "C"}),
        ("gtsv", (*diagonals, right), {}),
    ]
    found: list[tuple[Operation, tuple[Array, ...], tuple[Array, ...]]] = []
    for routine, operands, options in given:
        operation, results = call(of + routine, *operands, **options)
        found.append((operation, operands, results))
    return found


@pytest.mark.parametrize("of", TYPES)
def test_every_routine_solves_its_equations_and_a_wrong_result_does_not(of: str) -> None:
    for operation, operands, results in calls(of):
        name = str(operation.attribute("call_target_name"))
        assert violation(operation, operands, results) is None, name
        number = {"gesdd": 1, "gesvd": 1, "gtsv": 3}.get(name.split("_")[1][1:], 0)
        wrong = list(results)
        wrong[number] = (results[number] * 1.01).astype(results[number].dtype)
        assert violation(operation, operands, tuple(wrong)) is not None, name


@pytest.mark.parametrize("exponent", [-1000, 1000])
@pytest.mark.parametrize("of", ["d", "z"])
def test_very_large_and_very_small_matrices_are_judged(of: str, exponent: int) -> None:
    for operation, operands, _ in calls(of):
        target = str(operation.attribute("call_target_name"))
        routine = target.split("_")[1][1:]
        if routine in ("orgqr", "ungqr", "ormqr", "unmqr", "trsm", "gtsv"):  # of reflectors, or two
            continue
        large = (operands[0] * np.ldexp(1.0, exponent)).astype(operands[0].dtype)
        results = call_built_in(target, (large, *operands[1:]), dict(operation.attributes))
        assert violation(operation, (large, *operands[1:]), results) is None, target
        number = {"gesdd": 1, "gesvd": 1}.get(routine, 0)
        wrong = list(results)
        wrong[number] = (results[number] * 1.01).astype(results[number].dtype)
        assert violation(operation, (large, *operands[1:]), tuple(wrong)) is not None, target


@pytest.mark.parametrize("of", ["d", "z"])
def test_the_largest_matrix_is_judged(of: str) -> None:
    """Its norm, and all eigenvalues of its squares, are infinite in double precision."""
    full = np.full((4, 4), np.finfo(np.float64).max).astype(TYPES[of])
    for routine, options in (("syevd", {"mode": "N", "uplo": "L"}), ("gesdd", {"mode": "N"})):
        operation, results = call(
            of + routine.replace("sy", "sy" if of == "d" else "he"), full, **options
        )
        assert violation(operation, (full,), results) is not None, "infinite values"
    operation, results = call(f"{of}potrf", full, uplo="L")
    wrong = (results[0], np.array(2, np.int32))
    assert violation(operation, (full,), wrong) is None, "the second minor is zero"
    wrong = (results[0], np.array(1, np.int32))
    assert violation(operation, (full,), wrong) is not None, "the first minor is positive"


@pytest.mark.parametrize("routine", ["dgees", "zgees", "dgeev", "zgeev"])
def test_results_that_are_not_finite_are_wrong(routine: str) -> None:
    options = {"mode": "V"} if "gees" in routine else {"compute_left": "V", "compute_right": "V"}
    a = matrix(routine[0], 4, 4)
    operation, results = call(routine, a, **options)
    for value in (np.nan, np.inf, 1.7e308):
        broken = [
            result if result.dtype.kind == "i" else np.full_like(result, value)
            for result in results
        ]
        assert violation(operation, (a,), tuple(broken)) is not None


def eigenvectors(a: Array) -> tuple[Program, tuple[Array, ...]]:
    operation, results = call("ssyevd", a, mode="V", uplo="L")
    types = tuple(v.type for v in operation.results if isinstance(v.type, TensorType))
    program = single_op("custom_call", operation.operands, types, dict(operation.attributes))
    return program, results


def conclude_eigenvectors(change: Callable[..., Sequence[Array]]) -> Conclusion:
    """Return the conclusion on a backend that changes eigenvectors, eigenvalues and info."""
    operand = make_definite(matrix("s", 4, 4))
    program, results = eigenvectors(operand)
    actual = list(change(*results))

    def run(_: Program, __: Sequence[Sequence[Array]]) -> Iterator[list[Array]]:
        yield actual

    permitted = PermittedResults(program, [operand])
    return Concluder(run, "cpu").conclude(program, [operand], actual, permitted)


TURNED = np.array([1, -1, 1, -1], np.float32)


def test_signs_of_eigenvectors_are_free() -> None:
    found = conclude_eigenvectors(lambda vectors, *others: (vectors * TURNED, *others))
    assert (found.judgement.verdict, found.adopted) == (Verdict.PASS, 1)


@pytest.mark.parametrize(
    "change",
    [
        lambda vectors, values, info: (vectors, values * np.float32(1.001), info),
        lambda vectors, values, info: (vectors * 2 * TURNED, values, info),
        lambda vectors, values, info: (vectors[:, ::-1], values, info),
        lambda vectors, values, info: (vectors[:, ::-1], values[::-1], info),
    ],
    ids=["other values", "other length", "vectors in another order", "descending values"],
)
def test_wrong_eigenvectors_and_eigenvalues_fail(change: Any) -> None:
    assert conclude_eigenvectors(change).judgement.verdict.fails


def export_program(tmp_path: Path, function: Any, *shapes: tuple[int, ...]) -> str:
    given = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes]
    file = tmp_path / "program.mlir"
    file.write_text(export.export(jax.jit(function), platforms=["cpu"])(*given).mlir_module())
    return str(file)


def after_cholesky(a: jax.Array) -> jax.Array:
    return jnp.linalg.cholesky(a @ a.T + 5 * jnp.eye(4, dtype=a.dtype)) * 3


def through_eigenvectors(a: jax.Array) -> jax.Array:
    values, vectors = jnp.linalg.eigh(a + a.T)
    return (vectors * jnp.exp(values)) @ vectors.T


def only_eigenvectors(a: jax.Array) -> jax.Array:
    return jnp.linalg.eigh(a + a.T)[1]


def singular_vectors_times_their_values(a: jax.Array) -> jax.Array:
    left, values, _ = jnp.linalg.svd(a)
    return jnp.tanh(left * values)


@pytest.mark.slow
@pytest.mark.parametrize(
    "function",
    [after_cholesky, through_eigenvectors, only_eigenvectors, singular_vectors_times_their_values],
)
def test_whole_programs(tmp_path: Path, function: Any) -> None:
    file = export_program(tmp_path, function, (4, 4))
    for seed in range(2):
        assert check_file(file, Settings(seed=seed)).verdict is Verdict.PASS
    wrong = check_file(file, Settings(backend="reference:low_precision"))
    assert wrong.verdict.fails
    assert wrong.operation
