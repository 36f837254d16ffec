"""Quantized links: cases of ops on quantized tensors, with quantized available values as operands.

Their results become available as numbers. Later links use the codes directly if scales agree, or
requantize them.
"""

from __future__ import annotations

from functools import cache

from generators.case.case import Case
from generators.case.choices import choose
from generators.chains.chain import Chain, element, shape_of
from generators.chains.fitting import fit_shape
from generators.chains.links import is_link, is_plain, write_case
from generators.quantized.columns import quantized_case, quantized_columns
from reference.ir.program import QuantizedType, TensorType, Value
from reference.ir.types import ELEMENT_TYPES
from reference.ops.table import OPS

_F32 = ELEMENT_TYPES["f32"]


@cache
def quantized_ops(ops: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """Return the ops that have cases of quantized tensors, among `ops` if that is not empty."""
    names = [record.name for record in OPS.values() if is_link(record)]
    return tuple(name for name in names if quantized_columns(name) and (not ops or name in ops))


def quantized_link(chain: Chain, value: Value, ops: frozenset[str] = frozenset()) -> bool:
    """Add a case of some op on quantized tensors that uses an available value.

    Return whether a case was added.
    """
    names = quantized_ops(ops)
    if not names or element(value) is not _F32:
        return False
    pick = chain.pick
    op = chain.guide.choose_op(pick, names, chain.producer_of(value), _F32)
    pick.shape = shape_of(value)
    case = quantized_case(op, choose(pick, quantized_columns(op)), pick)
    pick.shape = None
    if not is_plain(case.program, quantized=True):
        return False
    for result in write_case(chain, case, _replacements(chain, value, case)):
        chain.data.append(_add_dequantized(chain, result))
    chain.guide.steps.append((op, _F32))
    chain.guide.asked += [(op, one) for one in pick.asked]
    return True


def _replacements(chain: Chain, value: Value, case: Case) -> dict[str, Value]:
    """Return replacements of a case's parameters: quantized available values, or new parameters."""
    taken: dict[str, Value] = {}
    left: list[Value] = [value]
    for index, parameter in enumerate(case.program.main.arguments):
        of = parameter.type
        assert isinstance(of, TensorType)
        profiles = dict.fromkeys(recipe.profiles[index] for recipe in case.inputs)
        if isinstance(of.element_type, QuantizedType):
            plain = TensorType(of.shape, _F32)
            taken[parameter.name] = _quantized_value(
                chain, left.pop() if left else chain.value_of(plain), of
            )
        else:
            taken[parameter.name] = chain.parameter(of, *profiles)
    return taken


def _quantized_value(chain: Chain, value: Value, wanted: TensorType) -> Value:
    """Return a value of a quantized type: available codes of that shape, or `value` quantized."""
    available = [code for code in chain.codes if shape_of(code) == wanted.shape]
    if available and chain.pick(3):
        value = available[chain.pick(len(available))]
        if value.type == wanted:
            return value
    else:
        value = fit_shape(chain, value, TensorType(wanted.shape, _F32))
    return chain.op("uniform_quantize", value, to=wanted)


def _add_dequantized(chain: Chain, result: Value) -> Value:
    """Return the numbers that a quantized result represents, and make its codes available."""
    of = result.type
    assert isinstance(of, TensorType)
    if not isinstance(of.element_type, QuantizedType):
        return result
    chain.codes.append(result)
    to = TensorType(of.shape, of.element_type.expressed_type)
    return chain.op("uniform_dequantize", result, to=to)
