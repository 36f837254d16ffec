"""Near misses of the ops of reference/ops/control_flow.py and of `composite`.

Tokens and tuples are created within main, whose parameters and results are tensors: so a backend
refuses the operation, and not main's signature.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from generators.case.choices import Pick
from generators.invalid.misses import Miss, Misses
from generators.programs.writing import BlockWriter, Writer, scalar
from reference.ir.program import (
    Attribute,
    Function,
    Program,
    Region,
    TensorType,
    TokenType,
    TupleType,
    Value,
    ValueType,
)
from reference.ir.types import ELEMENT_TYPES

_TYPES = tuple(ELEMENT_TYPES[name] for name in ("f32", "si64", "i1", "bf16", "complex<f32>"))
TOKEN = TokenType()


def begin_block(tensor_type: TensorType) -> tuple[BlockWriter, Value]:
    """Return a block of main with one parameter of this type, and that parameter."""
    writer = Writer(Pick(lambda _: 0), tensor_type)
    value = writer.parameter(tensor_type)
    return writer.block(value), value


def end_block(block: BlockWriter, results: Sequence[Value], *others: Function) -> Program:
    """Return the program that returns these results."""
    return block.writer.case(block, results, *others).program


def similar_types(tensor_type: TensorType) -> tuple[TensorType, ...]:
    """Return types that are easily confused with this type: another element type, size, rank."""
    name = "f32" if tensor_type.element.name != "f32" else "f64"
    return (
        TensorType(tensor_type.shape, ELEMENT_TYPES[name]),
        TensorType((*tensor_type.shape[:-1], 4), tensor_type.element_type),
        TensorType((*tensor_type.shape, 1), tensor_type.element_type),
    )


def _types() -> Iterator[TensorType]:
    return (TensorType((2, 3), of) for of in _TYPES)


def _add_value(block: BlockWriter, value_type: ValueType) -> Value:
    """Return a value of a type, as a parameter if it is a tensor."""
    if isinstance(value_type, TensorType):
        return block.writer.parameter(value_type)
    return block.add("after_all", (), value_type)[0]


def _region(
    block: BlockWriter, results: Sequence[Value], arguments: tuple[Value, ...] = ()
) -> Region:
    return block.nested_block(*arguments).finish_region(results)


def _branches(op: str, ids: tuple[str, str, str], index: TensorType) -> Iterator[Miss]:
    """Yield near misses that `case` and `if` share: arguments, agreement of branches, result
    types."""
    taking, agreeing, giving = ids
    for of in _types():
        for number in range(2):
            block, value = begin_block(of)
            argument = (block.writer.new_value(of),)
            regions = [_region(block, (value,)) for _ in range(2)]
            regions[number] = _region(block, (value,), argument)
            chooser = block.writer.parameter(index)
            yield taking, end_block(block, block.add(op, (chooser,), of, regions=tuple(regions)))
        for other in similar_types(of):
            block, value = begin_block(of)
            wrong, chooser = _add_value(block, other), block.writer.parameter(index)
            regions = [_region(block, (value,)), _region(block, (wrong,))]
            yield agreeing, end_block(block, block.add(op, (chooser,), of, regions=tuple(regions)))
            block, value = begin_block(of)
            chooser = block.writer.parameter(index)
            regions = [_region(block, (value,)) for _ in range(2)]
            yield giving, end_block(block, block.add(op, (chooser,), other, regions=tuple(regions)))
        block, value = begin_block(of)
        chooser = block.writer.parameter(index)
        regions = [_region(block, (value,)), _region(block, (value, value))]
        yield agreeing, end_block(block, block.add(op, (chooser,), of, regions=tuple(regions)))
        block, value = begin_block(of)
        chooser = block.writer.parameter(index)
        regions = [_region(block, (value,)) for _ in range(2)]
        yield giving, end_block(block, block.add(op, (chooser,), of, of, regions=tuple(regions)))


def _invalid_selectors(op: str, *wrong: TensorType) -> Iterator[Miss]:
    """Yield near misses of I1: the index or predicate is no scalar of its type."""
    for index in wrong:
        block, value = begin_block(TensorType((2, 3), _TYPES[0]))
        regions = tuple(_region(block, (value,)) for _ in range(2))
        chooser = block.writer.parameter(index)
        yield "I1", end_block(block, block.add(op, (chooser,), value.type, regions=regions))


def _case(op: str) -> Iterator[Miss]:
    """Yield near misses of I1, C1 (no branch), C2, C3, C4."""
    one = TensorType((1,), ELEMENT_TYPES["si32"])
    yield from _invalid_selectors(
        op, scalar("si64"), scalar("ui32"), scalar("i1"), scalar("f32"), one
    )
    for of in _types():
        block, value = begin_block(of)
        index = block.writer.parameter(scalar("si32"))
        block.add(op, (index,))
        yield "C1", end_block(block, (value,))
        block, _ = begin_block(of)
        index = block.writer.parameter(scalar("si32"))
        yield "C1", end_block(block, block.add(op, (index,), of))
    yield from _branches(op, ("C2", "C3", "C4"), scalar("si32"))


def _if(op: str) -> Iterator[Miss]:
    """Yield near misses of I1, C1, C2, C3."""
    one = TensorType((1,), ELEMENT_TYPES["i1"])
    yield from _invalid_selectors(op, scalar("si8"), scalar("si32"), scalar("f32"), one)
    yield from _branches(op, ("C1", "C2", "C3"), scalar("i1"))


LoopParts = Callable[[BlockWriter, Value], tuple[Region, Region, tuple[ValueType, ...]]]
"""A function make_parts(block, value): condition, body and result types of a loop that carries
the value.
"""


def _region_with_block(
    block: BlockWriter, arguments: tuple[Value, ...], tensor_type: TensorType
) -> Region:
    inner = block.nested_block(*arguments)
    return inner.finish_region((inner.number(0, tensor_type),))


def _while(op: str) -> Iterator[Miss]:
    """Yield near misses of C1 (condition), C2 (body), C3 (results)."""
    for of in _types():
        for id_, make_parts in _loops(of):
            block, value = begin_block(of)
            condition, body, results = make_parts(block, value)
            given = block.add(op, (value,), *results, regions=(condition, body))
            yield id_, end_block(block, given)


def _loops(tensor_type: TensorType) -> Iterator[tuple[str, LoopParts]]:
    def loop(
        condition: tuple[ValueType, ...] = (tensor_type,),
        holds: TensorType = scalar("i1"),  # noqa: B008 - a constant
        body: tuple[ValueType, ...] = (tensor_type,),
        carried: tuple[ValueType, ...] = (tensor_type,),
        results: tuple[ValueType, ...] = (tensor_type,),
    ) -> LoopParts:
        def make_parts(
            block: BlockWriter, _: Value
        ) -> tuple[Region, Region, tuple[ValueType, ...]]:
            fresh = block.writer.new_value
            first = _region_with_block(block, tuple(map(fresh, condition)), holds)
            arguments = tuple(map(fresh, body))
            again = [next((a for a in arguments if a.type == t), None) for t in carried]
            given = [a or _add_value(block, t) for a, t in zip(again, carried, strict=True)]
            return first, _region(block, given, arguments), results

        return make_parts

    for wrong in (scalar("si32"), TensorType((1,), ELEMENT_TYPES["i1"])):
        yield "C1", loop(holds=wrong)
    yield "C1", loop(condition=())
    yield "C1", loop(condition=(tensor_type, tensor_type))
    yield "C2", loop(carried=(tensor_type, tensor_type))
    yield "C2", loop(carried=())
    yield "C2", loop(body=(tensor_type, tensor_type))
    yield "C3", loop(results=(tensor_type, tensor_type))
    for other in similar_types(tensor_type):
        yield "C1", loop(condition=(other,))
        yield "C2", loop(body=(other,))
        yield "C2", loop(carried=(other,))
        yield "C3", loop(results=(other,))


def _barrier(op: str) -> Iterator[Miss]:
    """Yield near misses of C1: results of other types, too few, too many."""
    for of in _types():
        for results in (*((other,) for other in similar_types(of)), (of, of)):
            block, value = begin_block(of)
            yield "C1", end_block(block, block.add(op, (value,), *results))
        block, value = begin_block(of)
        yield "C1", end_block(block, block.add(op, (value, value), of))


def _tuple(op: str) -> Iterator[Miss]:
    """Yield near misses of C1: a tuple of other types, of fewer and of more."""
    for of in _types():
        for types in (
            *((of, other) for other in similar_types(of)),
            (of,),
            (of, of, of),
            (of, TOKEN),
        ):
            block, value = begin_block(of)
            block.add(op, (value, value), TupleType(types))
            yield "C1", end_block(block, (value,))


def _element(op: str) -> Iterator[Miss]:
    """Yield near misses of I1 (no tuple), C1 (no such element), C2 (another type)."""
    for of in _types():
        block, value = begin_block(of)
        yield "I1", end_block(block, block.add(op, (value,), of, given={"index": 0}))
        for index in (-1, 2, 2147483647):
            block, value = begin_block(of)
            (whole,) = block.add("tuple", (value, value), TupleType((of, of)))
            yield "C1", end_block(block, block.add(op, (whole,), of, given={"index": index}))
        for other in similar_types(of):
            block, value = begin_block(of)
            (whole,) = block.add("tuple", (value, value), TupleType((of, of)))
            yield "C2", end_block(block, block.add(op, (whole,), other, given={"index": 1}))


def _tokens(op: str) -> Iterator[Miss]:
    """Yield near misses of I1: an input that is no token."""
    for of in _types():
        for tensors, count in ((1, 0), (1, 1), (2, 0)):
            block, value = begin_block(of)
            tokens = [_add_value(block, TOKEN) for _ in range(count)]
            block.add(op, [*tokens, *[value] * tensors], TOKEN)
            yield "I1", end_block(block, (value,))


def _composite(op: str) -> Iterator[Miss]:
    """Yield near misses of C1 (the name), C2 (no such function), C3 and C4 (its types)."""
    for of in _types():

        def program(
            types: tuple[ValueType, ...] = (),
            results: tuple[ValueType, ...] = (),
            name: str = "my.op",
            function: str = "f",
            tensor_type: TensorType = of,
        ) -> Program:
            block, value = begin_block(tensor_type)
            inputs = [
                value if one == tensor_type else _add_value(block, one)
                for one in types or (tensor_type,)
            ]
            given: dict[str, Attribute] = {"name": name, "decomposition": function}
            taken = block.add(op, inputs, *(results or (tensor_type,)), given=given)
            argument = block.writer.new_value(tensor_type)
            body = Region((argument,), block.writer.block().finish_region((argument,)).operations)
            return end_block(block, taken, Function("f", body, (tensor_type,)))

        for name in ("op", "", "my.", ".op", "1.op", "my op.a", "my-a.op", "my..op", "my.op "):
            yield "C1", program(name=name)
        for function in ("g", "F", "f.f", "main.f"):
            yield "C2", program(function=function)
        yield "C3", program((of, of))
        yield "C4", program(results=(of, of))
        for other in similar_types(of):
            yield "C3", program((other,))
            yield "C4", program(results=(other,))


NEAR_MISSES: dict[str, Misses] = {
    "after_all": _tokens,
    "case": _case,
    "composite": _composite,
    "get_tuple_element": _element,
    "if": _if,
    "optimization_barrier": _barrier,
    "tuple": _tuple,
    "while": _while,
}
"""The generator of each op's near misses."""

INSEPARABLE: dict[str, tuple[str, ...]] = {}
"""Ids of constraints that are violated only with others, by op: none."""
