"""Quantized links of chains: ops that have quantized cases, and codes that are used again."""

from __future__ import annotations

from generators.chains.chain import Chain
from generators.chains.quantized import quantized_link, quantized_ops
from generators.quantized.columns import quantized_columns
from reference.ir.program import QuantizedType, TensorType
from reference.ir.types import element_type
from suites.meta.support.built_cases import assert_valid, pick_of, steps_of


def chain_of(seed: int, of: str = "f32") -> Chain:
    chain = Chain(pick_of(seed))
    chain.data.append(chain.parameter(TensorType((2, 3), element_type(of))))
    return chain


def test_only_ops_with_quantized_cases() -> None:
    names = quantized_ops()
    assert {"add", "dot_general", "reshape"} <= set(names)
    assert "fft" not in names
    assert all(quantized_columns(name) for name in names)
    assert quantized_ops(frozenset({"add", "fft"})) == ("add",)
    assert quantized_ops(frozenset({"fft"})) == ()


def test_only_values_of_f32_are_quantized() -> None:
    assert not quantized_link(chain_of(0, "f16"), chain_of(0, "f16").data[0])
    chain = chain_of(0)
    assert not quantized_link(chain, chain.data[0], frozenset({"fft"}))
    assert chain.operations == []


def test_a_link_adds_numbers_to_the_values_and_codes_to_the_codes() -> None:
    added = 0
    for seed in range(20):
        chain = chain_of(seed)
        if not quantized_link(chain, chain.data[0], frozenset({"add"})):
            continue
        added += 1
        assert len(chain.data) == 2
        assert steps_of(chain)[-1] == "uniform_dequantize"
        assert all(isinstance(value.type.element_type, QuantizedType) for value in chain.codes)  # type: ignore[union-attr]
        assert chain.guide.steps == [("add", element_type("f32"))]
        assert_valid([chain.case(chain.data[-1:])])
    assert added > 10


def test_codes_are_used_again() -> None:
    again = 0
    for seed in range(30):
        chain = chain_of(seed)
        for _ in range(3):
            quantized_link(chain, chain.data[0], frozenset({"add"}))
        assert_valid([chain.case(chain.data[-1:])])
        used = {value for one in chain.operations for value in one.operands}
        dequantized = {
            one.operands[0] for one in chain.operations if one.name == "uniform_dequantize"
        }
        again += any(
            value in used and any(value in one.operands for one in chain.operations
                                  if one.name != "uniform_dequantize")
            for value in dequantized
        )  # fmt: skip
    assert again > 3
