"""Wrong rewritings of operations, as compilers have made them; each is right for most values.

They apply to main, one after the other, after calls are inlined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from conformance.transforms.extract import replace_main
from conformance.transforms.values import definition_index
from reference.ir.program import Dense, Operation, Program, TensorType, Value
from reference.ops.structure import is_constant


@dataclass(frozen=True, slots=True)
class _Definitions:
    """The operations of main by the values that they produce."""

    program: Program
    makers: dict[str, int]

    def maker(self, value: Value, *names: str) -> Operation | None:
        """Return the operation that produces a value, if it is one of these ops."""
        number = self.makers.get(value.name)
        if number is None:
            return None
        one = self.program.main.body.operations[number]
        return one if one.name in names else None

    def number(self, value: Value) -> Any:
        """Return the number that all elements of a constant equal, or None."""
        made = self.maker(value, "constant", "broadcast_in_dim")
        if made is not None and made.name == "broadcast_in_dim":
            made = self.maker(made.operands[0], "constant")
        if made is None or not is_constant(made):
            return None
        value_: Any = made.attribute("value")
        elements = np.unique(value_.array.astype(np.float64)) if _is_real(value) else ()
        return elements[0] if len(elements) == 1 else None


Rewrite = Callable[[_Definitions, Operation], Iterable[Operation] | None]
"""A function that returns the replacement of an operation, or None to keep it."""


@dataclass(frozen=True, slots=True)
class Rewriting:
    """A wrong rewriting: its description and its function."""

    told: str
    of: Rewrite


def rewrite_program(program: Program, rewriting: Rewriting) -> Program:
    """Return the program, of one function, with a rewriting applied throughout main."""
    seen = _Definitions(program, definition_index(program))
    *operations, last = program.main.body.operations
    made: list[Operation] = []
    for operation in operations:
        made += rewriting.of(seen, operation) or [operation]
    body = replace(program.main.body, operations=(*made, last))
    return replace_main(program, replace(program.main, body=body))


def _is_real(value: Value) -> bool:
    of = value.type
    return isinstance(of, TensorType) and (of.stored.is_float or of.stored.is_integer)


def _is_float(value: Value) -> bool:
    return isinstance(value.type, TensorType) and value.type.stored.is_float


def _is_integer(value: Value) -> bool:
    return isinstance(value.type, TensorType) and value.type.stored.is_integer


def _alias(one: Operation, value: Value) -> Iterable[Operation] | None:
    """Return a barrier that replaces `one` and returns a value; None if types differ."""
    if value.type != one.results[0].type:
        return None
    return [Operation("optimization_barrier", (value,), one.results)]


def _constant(one: Operation, number: float) -> Iterable[Operation]:
    """Return an operation whose result is a constant with equal elements."""
    (result,) = one.results
    of: Any = result.type
    array = np.full(of.static_shape, number).astype(of.storage)
    return [Operation("constant", (), (result,), (("value", Dense.of(array, of)),))]


def _new_value(one: Operation) -> Value:
    """Return a new intermediate value of an operation's result type."""
    return replace(one.results[0], name=f"{one.results[0].name}_inner")


def _cancel_inverse_pair(outer: str, inner: str) -> Rewrite:
    """Rewrite an inverse pair outer(inner(x)) to x."""

    def rewrite(seen: _Definitions, one: Operation) -> Iterable[Operation] | None:
        made = seen.maker(one.operands[0], inner) if one.name == outer else None
        return None if made is None else _alias(one, made.operands[0])

    return rewrite


def _rewrite_self_operation(name: str, number: float) -> Rewrite:
    """Rewrite x op x to a number."""

    def rewrite(_: _Definitions, one: Operation) -> Iterable[Operation] | None:
        same = one.name == name and one.operands[0] == one.operands[1]
        return _constant(one, number) if same and _is_float(one.operands[0]) else None

    return rewrite


def _rewrite_self_comparison(_: _Definitions, one: Operation) -> Iterable[Operation] | None:
    if one.name != "compare" or one.operands[0] != one.operands[1]:
        return None
    return _constant(one, one.attribute("comparison_direction") in ("EQ", "GE", "LE"))


def _times_zero(seen: _Definitions, one: Operation) -> Iterable[Operation] | None:
    if one.name != "multiply" or not _is_float(one.results[0]):
        return None
    return _constant(one, 0) if 0 in map(seen.number, one.operands) else None


def _negated_comparison(seen: _Definitions, one: Operation) -> Iterable[Operation] | None:
    other = {"LT": "GE", "GE": "LT", "GT": "LE", "LE": "GT"}
    made = seen.maker(one.operands[0], "compare") if one.name == "not" else None
    direction = made and other.get(str(made.attribute("comparison_direction")))
    if made is None or not direction:
        return None
    attributes = {**dict(made.attributes), "comparison_direction": direction}
    return [replace(made, results=one.results, attributes=tuple(sorted(attributes.items())))]


def _negated_difference(seen: _Definitions, one: Operation) -> Iterable[Operation] | None:
    made = seen.maker(one.operands[0], "subtract") if one.name == "negate" else None
    return made and [replace(made, operands=made.operands[::-1], results=one.results)]


def _regroup(name: str) -> Rewrite:
    """Rewrite (x op y) op z to x op (y op z)."""

    def rewrite(seen: _Definitions, one: Operation) -> Iterable[Operation] | None:
        made = seen.maker(one.operands[0], name) if one.name == name else None
        if made is None or not _is_float(one.results[0]):
            return None
        x, y = made.operands
        inner = _new_value(one)
        second = replace(one, operands=(y, one.operands[1]), results=(inner,))
        return [second, replace(one, operands=(x, inner))]

    return rewrite


def _difference_of_sum(seen: _Definitions, one: Operation) -> Iterable[Operation] | None:
    made = seen.maker(one.operands[0], "add") if one.name == "subtract" else None
    if made is None or not _is_float(one.results[0]) or made.operands[1] != one.operands[1]:
        return None
    return _alias(one, made.operands[0])


def _square_root_of_square(seen: _Definitions, one: Operation) -> Iterable[Operation] | None:
    made = seen.maker(one.operands[0], "multiply") if one.name == "sqrt" else None
    same = made is not None and made.operands[0] == made.operands[1]
    return _alias(one, made.operands[0]) if made is not None and same else None


def _double_transpose(seen: _Definitions, one: Operation) -> Iterable[Operation] | None:
    made = seen.maker(one.operands[0], "transpose") if one.name == "transpose" else None
    if made is None:
        return None
    inner: Any = made.attribute("permutation")
    outer: Any = one.attribute("permutation")
    joined = tuple(outer[i] for i in inner)  # the other way round is right
    of: Any = made.operands[0].type
    given: Any = one.results[0].type
    if tuple(of.shape[i] for i in joined) != given.shape:
        return None
    return [replace(one, operands=made.operands, attributes=(("permutation", joined),))]


def _double_reverse(seen: _Definitions, one: Operation) -> Iterable[Operation] | None:
    made = seen.maker(one.operands[0], "reverse") if one.name == "reverse" else None
    return None if made is None else _alias(one, made.operands[0])


def _slice_of_slice(seen: _Definitions, one: Operation) -> Iterable[Operation] | None:
    made = seen.maker(one.operands[0], "slice") if one.name == "slice" else None
    if made is None:
        return None
    before: Any = made.attribute("start_indices")
    starts: Any = one.attribute("start_indices")
    strides: Any = one.attribute("strides")
    given: Any = one.results[0].type
    start = tuple(a + b for a, b in zip(before, starts, strict=True))  # the first one's strides
    limit = tuple(
        s + (n - 1) * by + 1 if n else s
        for s, n, by in zip(start, given.shape, strides, strict=True)
    )
    of: Any = made.operands[0].type
    if any(end > size for end, size in zip(limit, of.shape, strict=True)):
        return None
    stated = {"start_indices": start, "limit_indices": limit, "strides": strides}
    return [replace(one, operands=made.operands, attributes=tuple(sorted(stated.items())))]


def _slice_of_pad(seen: _Definitions, one: Operation) -> Iterable[Operation] | None:
    """Slice the operand of a pad as if the slice were behind the low padding."""
    made = seen.maker(one.operands[0], "pad") if one.name == "slice" else None
    limits: Any = one.attribute("limit_indices")
    if made is None:
        return None
    of: Any = made.operands[0].type
    if any(end > size for end, size in zip(limits, of.shape, strict=True)):
        return None
    return [replace(one, operands=made.operands[:1])]


def _slice_of_concatenate(seen: _Definitions, one: Operation) -> Iterable[Operation] | None:
    """Slice the first operand of a concatenation wherever the slice would fit."""
    made = seen.maker(one.operands[0], "concatenate") if one.name == "slice" else None
    if made is None:
        return None
    limits: Any = one.attribute("limit_indices")
    last = made.operands[-1]
    of: Any = last.type
    if any(end > size for end, size in zip(limits, of.shape, strict=True)):
        return None
    return [replace(one, operands=(last,))]


def _pad_of_pad(seen: _Definitions, one: Operation) -> Iterable[Operation] | None:
    """Merge two pads with the padding value of the second."""
    made = seen.maker(one.operands[0], "pad") if one.name == "pad" else None
    if made is None:
        return None
    inner = replace(_new_value(one), type=one.operands[0].type)
    return [
        replace(made, operands=(made.operands[0], one.operands[1]), results=(inner,)),
        replace(one, operands=(inner, one.operands[1])),
    ]


def _clamped_the_other_way(seen: _Definitions, one: Operation) -> Iterable[Operation] | None:
    """Rewrite min(max(x, a), b) to max(min(x, b), a)."""
    made = seen.maker(one.operands[0], "maximum") if one.name == "minimum" else None
    if made is None:
        return None
    inner = _new_value(one)
    first = replace(one, operands=(made.operands[0], one.operands[1]), results=(inner,))
    return [first, replace(made, operands=(inner, made.operands[1]), results=one.results)]


def _selected_the_other_way(seen: _Definitions, one: Operation) -> Iterable[Operation] | None:
    """Rewrite select(not p, a, b) to select(p, a, b)."""
    made = seen.maker(one.operands[0], "not") if one.name == "select" else None
    return made and [replace(one, operands=(made.operands[0], *one.operands[1:]))]


def _quotient_by_power(seen: _Definitions, one: Operation) -> Iterable[Operation] | None:
    """Rewrite x / 2^n of integers to a shift to the right, which rounds down."""
    if one.name != "divide" or not _is_integer(one.results[0]):
        return None
    by = seen.number(one.operands[1])
    if by is None or by < 2 or by != 2 ** int(np.log2(by)):
        return None
    name = Value(f"{one.results[0].name}_by", one.operands[1].type)
    (amount,) = _constant(replace(one, results=(name,)), int(np.log2(by)))
    return [amount, Operation("shift_right_arithmetic", (one.operands[0], name), one.results)]


def _remainder_by_power(seen: _Definitions, one: Operation) -> Iterable[Operation] | None:
    """Rewrite x mod 2^n of integers to the low bits of x, which are not negative."""
    if one.name != "remainder" or not _is_integer(one.results[0]):
        return None
    by = seen.number(one.operands[1])
    if by is None or by < 2 or by != 2 ** int(np.log2(by)):
        return None
    name = Value(f"{one.results[0].name}_mask", one.operands[1].type)
    (mask,) = _constant(replace(one, results=(name,)), by - 1)
    return [mask, Operation("and", (one.operands[0], name), one.results)]


def _square_as_magnitude(seen: _Definitions, one: Operation) -> Iterable[Operation] | None:
    """Rewrite |x x| to |x|."""
    made = seen.maker(one.operands[0], "multiply") if one.name == "abs" else None
    if made is None or made.operands[0] != made.operands[1]:
        return None
    return [replace(one, operands=made.operands[:1])]


def _start_not_clamped(seen: _Definitions, one: Operation) -> Iterable[Operation] | None:
    """Rewrite a dynamic_slice at constant indices to a slice from the start if they are too
    large."""
    if one.name != "dynamic_slice":
        return None
    starts = [seen.number(value) for value in one.operands[1:]]
    of: Any = one.operands[0].type
    taken_type: Any = one.results[0].type
    sizes, whole = taken_type.shape, of.shape
    if None in starts or all(s + n <= w for s, n, w in zip(starts, sizes, whole, strict=True)):
        return None
    taken = [s if 0 <= s <= w - n else 0 for s, n, w in zip(starts, sizes, whole, strict=True)]
    given = {
        "start_indices": tuple(int(s) for s in taken),
        "limit_indices": tuple(int(s) + n for s, n in zip(taken, sizes, strict=True)),
        "strides": (1,) * len(sizes),
    }
    return [Operation("slice", one.operands[:1], one.results, tuple(sorted(given.items())))]


def _sum_of_broadcast(seen: _Definitions, one: Operation) -> Iterable[Operation] | None:
    """Reduce a broadcast value along one dimension only, so that elements are missing."""
    made = seen.maker(one.operands[0], "broadcast_in_dim") if one.name == "reduce" else None
    if made is None or len(one.results) != 1 or one.results[0].type != made.operands[0].type:
        return None
    return _alias(one, made.operands[0])


def _double_conversion(seen: _Definitions, one: Operation) -> Iterable[Operation] | None:
    """Rewrite convert(convert(x)) to x, or to one conversion."""
    made = seen.maker(one.operands[0], "convert") if one.name == "convert" else None
    if made is None:
        return None
    source = made.operands[0]
    return _alias(one, source) or [replace(one, operands=(source,))]


def _product_of_exponentials(seen: _Definitions, one: Operation) -> Iterable[Operation] | None:
    """Rewrite exp(x) exp(y) to exp(x y)."""
    if one.name != "multiply":
        return None
    made = [seen.maker(value, "exponential") for value in one.operands]
    if None in made:
        return None
    inner = _new_value(one)
    x, y = (m.operands[0] for m in made if m is not None)
    return [replace(one, operands=(x, y), results=(inner,)),
            Operation("exponential", (inner,), one.results)]  # fmt: skip


def _product_with_transposed(seen: _Definitions, one: Operation) -> Iterable[Operation] | None:
    """Rewrite a product with a transposed operand to omit the transpose, if sizes permit."""
    made = seen.maker(one.operands[0], "transpose") if one.name == "dot_general" else None
    if made is None or made.operands[0].type != one.operands[0].type:
        return None
    return [replace(one, operands=(made.operands[0], one.operands[1]))]


def _fused_product(seen: _Definitions, one: Operation) -> Iterable[Operation] | None:
    """Rewrite x y + z so that the product is added twice."""
    made = seen.maker(one.operands[0], "multiply") if one.name == "add" else None
    if made is None:
        return None
    inner = _new_value(one)
    return [replace(one, results=(inner,)), replace(one, operands=(inner, one.operands[0]))]


def _reshaped_transposed(seen: _Definitions, one: Operation) -> Iterable[Operation] | None:
    """Rewrite a reshape of a transposed value to a reshape of the value."""
    made = seen.maker(one.operands[0], "transpose") if one.name == "reshape" else None
    return made and [replace(one, operands=made.operands)]


REWRITINGS: dict[str, Rewriting] = {
    "convert_dropped": Rewriting("two conversions are one", _double_conversion),
    "log_of_exponential": Rewriting("log(exp(x)) is x", _cancel_inverse_pair("log", "exponential")),
    "exponential_of_log": Rewriting("exp(log(x)) is x", _cancel_inverse_pair("exponential", "log")),
    "root_of_square": Rewriting("sqrt(x x) is x", _square_root_of_square),
    "magnitude_of_square": Rewriting("|x x| is |x|", _square_as_magnitude),
    "magnitude_of_negated": Rewriting("|-x| is x", _cancel_inverse_pair("abs", "negate")),
    "difference_with_itself": Rewriting("x - x is 0", _rewrite_self_operation("subtract", 0)),
    "quotient_by_itself": Rewriting("x / x is 1", _rewrite_self_operation("divide", 1)),
    "comparison_with_itself": Rewriting("x == x holds", _rewrite_self_comparison),
    "times_zero": Rewriting("x 0 is 0", _times_zero),
    "negated_comparison": Rewriting("not(x < y) is x >= y", _negated_comparison),
    "negated_difference": Rewriting("-(x - y) is y - x", _negated_difference),
    "sum_regrouped": Rewriting("(x + y) + z is x + (y + z)", _regroup("add")),
    "product_regrouped": Rewriting("(x y) z is x (y z)", _regroup("multiply")),
    "difference_of_sum": Rewriting("(x + y) - y is x", _difference_of_sum),
    "product_of_exponentials": Rewriting("exp(x) exp(y) is exp(x y)", _product_of_exponentials),
    "product_added_twice": Rewriting("x y + z has the product twice", _fused_product),
    "transposed_twice": Rewriting("permutations are joined the wrong way", _double_transpose),
    "reversed_twice": Rewriting("what is reversed twice is as it was", _double_reverse),
    "reshape_of_transposed": Rewriting("a transpose before a reshape goes", _reshaped_transposed),
    "slice_of_slice": Rewriting("the first slice's strides are lost", _slice_of_slice),
    "slice_of_pad": Rewriting("a slice of a pad forgets the padding", _slice_of_pad),
    "slice_of_concatenate": Rewriting("a slice takes the last piece", _slice_of_concatenate),
    "pad_of_pad": Rewriting("two pads have one padding value", _pad_of_pad),
    "clamped_the_other_way": Rewriting("max and min change places", _clamped_the_other_way),
    "selected_the_other_way": Rewriting("select of not is not turned", _selected_the_other_way),
    "quotient_by_power": Rewriting("x / 2^n is a shift", _quotient_by_power),
    "remainder_by_power": Rewriting("x mod 2^n is a mask", _remainder_by_power),
    "start_not_clamped": Rewriting("constant starts are not clamped", _start_not_clamped),
    "sum_of_broadcast": Rewriting("a reduction of a broadcast goes", _sum_of_broadcast),
    "product_with_transposed": Rewriting("a transposed operand is not", _product_with_transposed),
}  # fmt: skip
"""The rewritings by name."""
