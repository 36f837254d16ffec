"""Ops that are written as composites or custom calls, and read back as ops."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from conformance.checking.settings import Settings
from conformance.stablehlo.custom_calls import from_custom_call, to_custom_call
from conformance.stablehlo.emit import EmitError, emit, spell_operation
from conformance.stablehlo.parse import parse_module
from conformance.verdict import Verdict
from generators.invalid.table import near_misses
from reference.interpreter.evaluate import check
from reference.ir.constants import matrix
from reference.ir.program import Attribute, Operation, Value, attributes
from reference.ops.table import OPS
from suites.meta.support.checking import check_text
from suites.meta.support.small_programs import tensor_of

F8, E8 = jnp.float8_e4m3fn, jnp.float8_e8m0fnu


def export_program(lhs: Any, rhs: Any, scales: tuple[Any, ...], **given: Any) -> str:
    """Return the text that jax writes, for operands and scales as (shape, type)."""

    def function(*operands: Any) -> Any:
        left, right, *rest = operands
        named = dict(zip(("lhs_scale", "rhs_scale"), rest, strict=False))
        return jax.lax.scaled_dot(left, right, **named, **given)

    types = (jax.ShapeDtypeStruct(*one) for one in (lhs, rhs, *scales))
    return jax.jit(function).lower(*types).as_text()


EXPORTED = {
    "batches": ((((2, 4, 64), F8), ((2, 64, 8), jnp.float8_e5m2),
                 (((2, 4, 2), E8), ((2, 4, 8), E8))), {}),
    "no scales": ((((4, 64), F8), ((64, 8), F8), ()), {"preferred_element_type": jnp.float32}),
    "bf16": ((((4, 64), jnp.bfloat16), ((64, 8), F8),
              (((4, 32), jnp.bfloat16), ((4, 8), E8))), {}),
    "two contracted": ((((4, 6, 8), F8), ((6, 8, 3), F8), (((4, 3, 2), E8), ((2, 4, 3), E8))),
                       {"dimension_numbers": (((2, 1), (1, 0)), ((), ()))}),
}  # fmt: skip


@pytest.mark.parametrize("name", EXPORTED)
def test_composite_written_by_jax_is_the_op(name: str) -> None:
    """The decomposition that we write equals jax's, operation for operation."""
    operands, given = EXPORTED[name]
    program = parse_module(export_program(*operands, **given))
    names = [operation.name for operation in program.walk()]
    assert names[-2:] == ["ScaledDot", "return"]
    assert len(program.functions) == 1
    assert check(program) == []
    assert parse_module(emit(program)) == program


def test_composite_with_other_decomposition_stays_composite() -> None:
    operands, given = EXPORTED["batches"]
    text = export_program(*operands, **given)
    for this, that in (
        ("stablehlo.multiply", "stablehlo.add"), ("[DEFAULT, DEFAULT]", "[HIGHEST, HIGHEST]"),
        ("preferred_element_type = bf16", "preferred_element_type = f32"),
        ("preferred_element_type = bf16", "preferred_element_type = 3 : i64"),
        ("[[2], [1]]", "[[1], [1]]"), ("[[0], [0]]", "[0, 0]"), ("[[0], [0]]]", "[[0], [0]], []]"),
        ("xla.scaled_dot\"", "xla.other\""), ("-> tensor<2x4x8xbf16>\n    return",
         "{version = 1 : i32} -> tensor<2x4x8xbf16>\n    return"),
    ):  # fmt: skip
        changed = text.replace(this, that) if "version" not in that else text.replace(
            "decomposition = @xla.scaled_dot", "decomposition = @xla.scaled_dot, version = 1 : i32"
        )  # fmt: skip
        assert changed != text
        names = {operation.name for operation in parse_module(changed).walk()}
        assert "composite" in names, (this, that)
        assert "ScaledDot" not in names


def test_scales_that_the_op_does_not_take_are_left_to_the_decomposition() -> None:
    text = export_program(((4, 64), F8), ((64, 8), F8), (((4, 2), jnp.float32), ((2, 8), E8)))
    assert "composite" in {operation.name for operation in parse_module(text).walk()}


@pytest.mark.parametrize("op", ["RngBernoulli", "ScaledDot"])
def test_unsuitable_attributes_are_not_written_as_composite(op: str) -> None:
    """Other attributes are written, and MLIR refuses them."""
    written = 0
    for _, program in near_misses(op):
        try:
            text = emit(program)
        except EmitError:
            continue
        written += 1
        with pytest.raises(ValueError, match="line"):
            parse_module(text)
    assert (written > 0) == (op == "ScaledDot")


def test_operations_of_xla_builder_are_spelled_as_they_are_written() -> None:
    """Without that, no expectation for crashes could describe them."""
    operands, given = EXPORTED["batches"]
    program = parse_module(export_program(*operands, **given))
    spelled = spell_operation(program.subject)
    assert spelled in emit(program).replace("\n    ", "\n")
    assert 'name = "xla.scaled_dot"' in spelled


GROUPS = matrix([[0, 1]])
X = Value("x", tensor_of(2))
EXCHANGE = Operation(
    "mhlo.ragged_all_to_all", (X,), (Value("r", tensor_of(2)),),
    attributes(replica_groups=GROUPS, channel_id=5),
)  # fmt: skip


def read(text: str) -> Attribute | None:
    return GROUPS if text.startswith("dense<[[0, 1]]>") else None


def test_instruction_is_written_as_a_call_and_read_back() -> None:
    call = to_custom_call(EXCHANGE)
    assert call.name == "custom_call"
    assert call.attribute("call_target_name") == "ragged_all_to_all"
    assert call.attribute("backend_config")[0] == ("channel_id", 5, "i64")  # type: ignore[index]
    assert from_custom_call(call, read) == EXCHANGE


@pytest.mark.parametrize("reader", [lambda _: None, lambda _: "text"])
def test_call_without_groups_stays_a_call(reader) -> None:
    call = to_custom_call(EXCHANGE)
    assert from_custom_call(call, reader) is call


FUNCTIONS = (
    "acos", "acosh", "asin", "asinh", "atanh", "cosh", "erf", "sinh", "tan",
)  # fmt: skip
KNOWN = [name for name in FUNCTIONS if {name, f"chlo.{name}", f"mhlo.{name}"} & OPS.keys()]
CALL = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{
  %0 = stablehlo.custom_call @mhlo.{}(%x) {{mhlo.attributes = {{}}, mhlo.version = 1 : i64}}
    : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}}"""
TOP_K = """
func.func @main(%x: tensor<3x8xf32>) -> (tensor<3x2xf32>, tensor<3x2xi32>) {
  %0:2 = stablehlo.custom_call @mhlo.topk(%x)
    {mhlo.attributes = {k = 2 : i64, largest = true}, mhlo.version = 1 : i64}
    : (tensor<3x8xf32>) -> (tensor<3x2xf32>, tensor<3x2xi32>)
  return %0#0, %0#1 : tensor<3x2xf32>, tensor<3x2xi32>
}"""


def test_a_call_of_mhlo_is_the_op_that_it_names() -> None:
    assert {"cosh", "erf", "tan"} <= {*KNOWN}
    assert {parse_module(CALL.format(name)).subject.name.rpartition(".")[2] for name in KNOWN} == {
        *KNOWN
    }
    top = parse_module(TOP_K).subject
    assert (top.name, top.attributes) == ("mhlo.topk", (("k", 2), ("largest", True)))


@pytest.mark.parametrize("text", [*map(CALL.format, KNOWN), TOP_K])
def test_a_call_of_mhlo_is_judged(text: str, tmp_path: Path) -> None:
    assert check_text(tmp_path, text, Settings("cpu")).verdict is Verdict.PASS
    wrong = check_text(tmp_path, text, Settings("reference:off_by_100_ulp"))
    assert wrong.verdict in (Verdict.INACCURATE, Verdict.DIVERGENT)
