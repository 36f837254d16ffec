"""Programs of unknown sizes: specialised to given sizes, and the calls that jax writes for them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax import export, lax

from conformance.checking.file import check_file
from conformance.checking.settings import Settings
from conformance.frontends.dialects import expand_chlo
from conformance.frontends.symbolic_shapes import specialise_main
from conformance.stablehlo.parse import Unreadable, parse_module
from conformance.verdict import Verdict
from reference.custom_calls.dynamic import dynamic_top_k
from reference.interpreter.evaluate import evaluate
from reference.ir.program import TensorType
from reference.ir.types import ELEMENT_TYPES

F32 = ELEMENT_TYPES["f32"]


def export_program(function: Callable[..., Any], shape: str, dtype: Any = np.float32) -> str:
    argument = jax.ShapeDtypeStruct(export.symbolic_shape(shape), dtype)
    return str(export.export(jax.jit(function), platforms=("cpu",))(argument).mlir_module())


def softmax_of_gram_matrix(x: Any) -> Any:
    return jax.nn.softmax(x @ x.T)[::2]


POLYMORPHIC = {
    "softmax": (softmax_of_gram_matrix, "b, 4"),
    "cumsum": (lambda x: jnp.cumsum(x, 0), "b, 4"),
    "top_k": (lambda x: lax.top_k(x, 2), "b, 4"),
    "sizes": (lambda x: x + jnp.arange(x.shape[0])[:, None] * x.shape[1], "b, t"),
}


@pytest.mark.parametrize("name", POLYMORPHIC)
def test_a_program_made_over_means_the_same(name: str) -> None:
    text = expand_chlo(export_program(*POLYMORPHIC[name]))
    x = np.random.default_rng(0).integers(-4, 5, (3, 4)).astype(np.float32)
    static = expand_chlo(specialise_main(text, (TensorType((3, 4), F32),)))
    program = parse_module(static)
    results = (result for result in program.main.result_types)
    assert all(isinstance(of, TensorType) and of.is_static for of in results)
    for one, other in zip(evaluate(parse_module(text), [x]), evaluate(program, [x]), strict=True):
        np.testing.assert_array_equal(one, other)


def test_undetermined_sizes_are_refused() -> None:
    text = """
    func.func @main(%n: tensor<1xi64>) -> tensor<?xf32> {
      %0 = stablehlo.dynamic_iota %n, dim = 0 : (tensor<1xi64>) -> tensor<?xf32>
      return %0 : tensor<?xf32>
    }"""
    with pytest.raises(Unreadable, match="do not follow from the shapes"):
        specialise_main(text, (TensorType((1,), ELEMENT_TYPES["si64"]),))


def sorted_places(row: np.ndarray, k: int) -> list[int]:
    """Return the k largest by value, with -0 below +0, NaN on top, the first of equals first."""
    wide = row.astype(np.float64)
    key = [(np.isnan(x), 0.0 if np.isnan(x) else x, not np.signbit(x)) for x in wide]
    return sorted(range(len(row)), key=lambda i: (*(_reverse_key(key[i])), i))[:k]


def _reverse_key(key: tuple[bool, float, bool]) -> tuple[bool, float, bool]:
    return not key[0], -key[1], not key[2]


@pytest.mark.parametrize(
    "dtype", [np.float32, np.float64, ml_dtypes.bfloat16, ml_dtypes.float8_e5m2]
)
def test_topk_returns_largest_elements_and_positions(dtype: Any) -> None:
    row = np.array([1, -0.0, 0, 3, np.nan, -np.inf, 3, np.inf, -2, 0], np.float32).astype(dtype)
    values, places = dynamic_top_k((np.stack([row, row[::-1]]), np.array(7, np.int32)), {})
    for one, given, taken in zip(places, (row, row[::-1]), values, strict=True):
        assert one.tolist() == sorted_places(given, 7)
        assert taken.tobytes() == given[one].tobytes()


@pytest.mark.parametrize("dtype", [np.int64, np.uint64, np.int8, np.uint8])
def test_the_largest_integers(dtype: Any) -> None:
    limits = np.iinfo(dtype)
    row = np.array([3, limits.max, limits.min, 3, limits.max - 1], dtype)
    values, places = dynamic_top_k((row, np.array(5)), {})
    assert places.tolist() == [1, 4, 0, 3, 2]
    assert values.tolist() == [limits.max, limits.max - 1, 3, 3, limits.min]


RANDOM = """
func.func @main(%state: tensor<2xui64>, %shape: tensor<2xi64>) -> tensor<?x?xui32> {
  %0:2 = "stablehlo.custom_call"(%state, %shape) {
    call_target_name = "stablehlo.dynamic_rng_bit_generator",
    rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>
  } : (tensor<2xui64>, tensor<2xi64>) -> (tensor<2xui64>, tensor<?x?xui32>)
  return %0#1 : tensor<?x?xui32>
}"""
STATIC = """
func.func @main(%state: tensor<2xui64>) -> tensor<3x2xui32> {
  %0:2 = "stablehlo.rng_bit_generator"(%state) {
    rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>
  } : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x2xui32>)
  return %0#1 : tensor<3x2xui32>
}"""


def test_random_bits_of_a_shape_that_is_an_operand() -> None:
    state = np.array([7, 9], np.uint64)
    (dynamic,) = evaluate(parse_module(RANDOM), [state, np.array([3, 2])])
    (static,) = evaluate(parse_module(STATIC), [state])
    np.testing.assert_array_equal(dynamic, static)


@pytest.mark.parametrize("backend", ["reference", "cpu"])
@pytest.mark.parametrize("name", POLYMORPHIC)
def test_check_takes_programs_of_unknown_sizes(name: str, backend: str, tmp_path: Path) -> None:
    path = tmp_path / "program.mlir"
    path.write_text(export_program(*POLYMORPHIC[name]))
    found = check_file(str(path), Settings(backend))
    assert (found.verdict, found.message) == (Verdict.PASS, "")
