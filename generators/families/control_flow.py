"""Cases of the ops of control flow: programs of several operations, judged exactly.

XLA accepts neither tokens nor tuples as parameters or results of main, so a case creates and
unpacks them.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from generators.case.case import Case
from generators.case.choices import Pick, choose, seldom
from generators.case.shapes import sizes_label
from generators.programs.building import Builder
from generators.programs.writing import SHAPES, BlockWriter, Writer, scalar
from reference.ir.aliases import OutputOperandAlias
from reference.ir.program import (
    Attribute,
    Function,
    Region,
    TensorType,
    TokenType,
    TupleType,
    Value,
    ValueType,
)
from reference.ir.types import ElementType

_DEPTH = 2
"""Maximum nesting depth of constructs."""

_COUNTERS = ("si32", "si64", "ui32", "si8", "ui8", "si16")
_INDICES = ("within:-1:4", "values:0", "values:1", "values:-2147483648", "values:2147483647")


class _Counts(NamedTuple):
    """The counter of a loop: its start, op and step, and its comparison with the limit."""

    start: int
    op: str
    step: int
    direction: str


_COUNTS = (
    _Counts(0, "add", 1, "LT"), _Counts(0, "add", 1, "NE"), _Counts(0, "add", 1, "LE"),
    _Counts(0, "add", 2, "LT"), _Counts(1, "add", 3, "LT"), _Counts(0, "add", 3, "LE"),
    _Counts(5, "add", 2, "LE"), _Counts(7, "add", 1, "LT"), _Counts(5, "subtract", 1, "GT"),
    _Counts(6, "subtract", 2, "GT"),
)  # fmt: skip
"""Loop counters that terminate in any counter type: limits are numbers from 0 to 7."""


def _counter_label(counts: _Counts) -> str:
    by = "up" if counts.op == "add" else "down"
    steps = "" if counts.step == 1 else f" by {counts.step}"
    return f"{by}{steps} from {counts.start} while {counts.direction}"


IDENTITIES = (
    "Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "annotate_device_placement",
    "LayoutConstraint", "MoveToHost", "MoveToDevice",
)  # fmt: skip
"""Targets of `custom_call` that XLA knows and that change no value."""

_COMPOSITES = ("my.op", "chlo.top", "A_1.b.c$d")


def writer_of(element_type: ElementType, pick: Pick) -> tuple[Writer, BlockWriter]:
    """Return a writer whose main has one to three parameters of the data's type."""
    size = choose(pick, SHAPES, "data", sizes_label)
    pick.has_empty_results = 0 in size
    writer = Writer(pick, TensorType(size, element_type))
    data = [writer.parameter(writer.of) for _ in range(choose(pick, (1, 2, 3), "parameters"))]
    return writer, writer.block(*data)


def _step_values(block: BlockWriter, count: int) -> list[Value]:
    return [block.write_step() for _ in range(count)]


def _dimension(name: str, within: bool) -> str:
    """Return the name of a choice; nested constructs have unnamed choices."""
    return "" if within else name


def _branch(block: BlockWriter, count: int, depth: int, *, within: bool) -> Region:
    inner = block.nested_block()
    inner.write_steps()
    if depth and seldom(inner.writer.pick, 3, _dimension("a construct in a branch", within)):
        _construct(inner, depth - 1)
    return inner.finish_region(_step_values(inner, count))


def _construct(block: BlockWriter, depth: int) -> None:
    """Write a nested construct; its results may be used after it."""
    kind = choose(block.writer.pick, ("if", "case", "while"))
    build = _WRITE[kind]
    block.data += build(block, 1 + block.writer.pick(2), depth, within=True)


def _write_if(
    block: BlockWriter, count: int, depth: int, *, within: bool = False
) -> tuple[Value, ...]:
    predicate = block.writer.parameter(scalar("i1"), "bits")
    regions = tuple(_branch(block, count, depth, within=within) for _ in range(2))
    return block.add("if", (predicate,), *[block.writer.of] * count, regions=regions)


def _write_case(
    block: BlockWriter, count: int, depth: int, *, within: bool = False
) -> tuple[Value, ...]:
    pick = block.writer.pick
    if seldom(pick, 4, _dimension("index is constant", within)):
        index = block.number(
            choose(pick, (0, 1, 2, 3, 4, -1, -2), _dimension("constant index", within)),
            scalar("si32"),
        )
    else:
        index = block.writer.parameter(scalar("si32"), *_INDICES)
    regions = tuple(
        _branch(block, count, depth, within=within)
        for _ in range(choose(pick, (1, 2, 3, 4), _dimension("branches", within)))
    )
    return block.add("case", (index,), *[block.writer.of] * count, regions=regions)


def _write_while(
    block: BlockWriter, count: int, depth: int, *, within: bool = False
) -> tuple[Value, ...]:
    """Write a loop with a counter; 0 and 1 iterations are likely, and carried values rotate."""
    writer, pick = block.writer, block.writer.pick
    counter = scalar(choose(pick, _COUNTERS, _dimension("counter", within)))
    counts = choose(pick, _COUNTS, _dimension("counts", within), _counter_label)
    if seldom(pick, 3, _dimension("limit is constant", within)):
        limit = block.number(
            choose(pick, (0, 1, 2, 3, 4, 5), _dimension("constant limit", within)), counter
        )
    else:
        limit = writer.parameter(counter, "within:0:4", "values:0", "values:1", "values:7")
    state: list[ValueType] = [counter, *[writer.of] * count]
    start = [block.number(counts.start, counter), *(block.pick_value() for _ in range(count))]
    regions = (
        _condition(block, state, limit, counts.direction),
        _loop_body(block, state, depth, counts, within=within),
    )
    return block.add("while", start, *state, regions=regions)[1:]


def _condition(block: BlockWriter, state: list[ValueType], limit: Value, direction: str) -> Region:
    arguments = tuple(block.writer.new_value(of) for of in state)
    inner = block.nested_block(*arguments)
    given = {"comparison_direction": direction}
    holds = inner.add("compare", (arguments[0], limit), scalar("i1"), given=given)
    return inner.finish_region(holds)


def _loop_body(
    block: BlockWriter, state: list[ValueType], depth: int, counts: _Counts, *, within: bool
) -> Region:
    arguments = tuple(block.writer.new_value(of) for of in state)
    inner = block.nested_block(*arguments)
    assert isinstance(state[0], TensorType)
    step = inner.number(counts.step, state[0])
    (turn,) = inner.add(counts.op, (arguments[0], step), state[0])
    inner.write_steps(2)
    if depth and seldom(block.writer.pick, 4, _dimension("a construct in a loop", within)):
        _construct(inner, depth - 1)
    carried = arguments[2:] + arguments[1:2]  # each carried value moves by one position
    changed = [inner.write_step() if block.writer.pick(3) == 2 else one for one in carried]
    return inner.finish_region([turn, *changed])


_WRITE = {"case": _write_case, "if": _write_if, "while": _write_while}


def _conditional(op: str, element_type: ElementType, pick: Pick) -> Case:
    writer, block = writer_of(element_type, pick)
    block.write_steps(2)
    count = choose(pick, (1, 2, 3), "results")
    results = _WRITE[op](block, count, choose(pick, range(_DEPTH + 1), "depth"))
    return writer.case(block, results)


def _token(block: BlockWriter, depth: int = 0) -> Value:
    if block.writer.pick(3) == 2:
        return block.add("create_token", (), TokenType())[0]
    count = block.writer.pick(3) if depth < _DEPTH else 0
    tokens = [_token(block, depth + 1) for _ in range(count)]
    return block.add("after_all", tokens, TokenType())[0]


def _barrier(op: str, element_type: ElementType, pick: Pick) -> Case:
    """Write data through a barrier, with tokens; `after_all` and `create_token` need tokens."""
    writer, block = writer_of(element_type, pick)
    block.write_steps(2)
    operands = [block.pick_value() for _ in range(choose(pick, (1, 2, 3), "values"))]
    if op == "after_all":
        tokens = [_token(block) for _ in range(choose(pick, (0, 1, 2), "tokens"))]
        operands.insert(pick(len(operands) + 1), block.add(op, tokens, TokenType())[0])
    elif op == "create_token":
        operands.insert(pick(len(operands) + 1), block.add(op, (), TokenType())[0])
    elif seldom(pick, 4, "a token too"):
        operands.append(_token(block))
    if op != "optimization_barrier" and seldom(
        pick, 4, "a token for nothing"
    ):  # a token without users
        return writer.case(block, [block.pick_value()])
    types = [value.type for value in operands]
    results = block.add("optimization_barrier", operands, *types)
    return writer.case(block, [value for value in results if isinstance(value.type, TensorType)])


def parts(block: BlockWriter, depth: int, *, token: bool = True) -> Value:
    """Return a tuple of data, scalars, tokens (if permitted) and tuples."""
    pick, values = block.writer.pick, list[Value]()
    kinds = ("data",) * 3 + ("number",) + ("token",) * token + ("tuple",) * (depth > 0)
    for _ in range(choose(pick, (1, 2, 3), "parts")):
        kind = choose(pick, kinds, "part")
        if kind == "number":
            values.append(block.number(pick(100), scalar("si32")))
        elif kind == "token":
            values.append(_token(block))
        elif kind == "tuple":
            values.append(parts(block, depth - 1, token=token))
        else:
            values.append(block.pick_value())
    of = TupleType(tuple(value.type for value in values))
    return block.add("tuple", values, of)[0]


def similar_tuple(block: BlockWriter, whole: Value) -> Value:
    """Return another tuple of the same types, with other data and numbers."""
    assert isinstance(whole.type, TupleType)
    values: list[Value] = []
    for index, of in enumerate(whole.type.types):
        if isinstance(of, TupleType):
            (part,) = block.add("get_tuple_element", (whole,), of, given={"index": index})
            values.append(similar_tuple(block, part))
        elif of == block.writer.of:
            values.append(block.pick_value())
        else:
            assert isinstance(of, TensorType)
            values.append(block.number(block.writer.pick(100), of))
    return block.add("tuple", values, whole.type)[0]


def leaves(block: BlockWriter, whole: Value) -> list[Value]:
    """Return the tensors in a tuple, extracted one by one."""
    assert isinstance(whole.type, TupleType)
    found: list[Value] = []
    for index, of in enumerate(whole.type.types):
        if isinstance(of, TokenType):
            continue
        (part,) = block.add("get_tuple_element", (whole,), of, given={"index": index})
        found += leaves(block, part) if isinstance(of, TupleType) else [part]
    return found


def _tuples(op: str, element_type: ElementType, pick: Pick) -> Case:
    del op  # `tuple` and `get_tuple_element` share their cases
    writer, block = writer_of(element_type, pick)
    block.write_steps(2)
    whole = block.add("tuple", [block.pick_value()], TupleType((writer.of,)))[0]
    if not seldom(pick, 8, "tuple of one"):
        whole = parts(block, _DEPTH)
    return writer.case(block, leaves(block, whole) or [block.pick_value()])


def _composite(op: str, element_type: ElementType, pick: Pick) -> Case:
    """Write a composite and its decomposition, a separate function."""
    writer, block = writer_of(element_type, pick)
    block.write_steps(2)
    inputs = [block.pick_value() for _ in range(choose(pick, (1, 0, 2), "operands"))]
    arguments = tuple(writer.new_value(value.type) for value in inputs)
    inner = writer.block(arguments=arguments)
    inner.write_steps()
    returned = _step_values(inner, choose(pick, (1, 2), "results"))
    types = tuple(value.type for value in returned)
    function = Function("decomposition", inner.finish_region(returned), types)
    name = choose(pick, _COMPOSITES, "name")
    given: dict[str, Attribute] = {"name": name, "decomposition": function.name}
    if seldom(pick, 2, "version given"):
        given["version"] = pick(3)
    if seldom(pick, 3, "composite_attributes given"):
        given["composite_attributes"] = (("axis", pick(9)), ("exact", True), ("mode", "near"))
    results = block.add(op, inputs, *types, given=given)
    return writer.case(block, results, function)


def _custom_call(op: str, element_type: ElementType, pick: Pick) -> Case:
    writer, block = writer_of(element_type, pick)
    block.write_steps(2)
    target = choose(pick, IDENTITIES, "call_target_name")
    given: dict[str, Attribute] = {"call_target_name": target}
    said = choose(pick, (None, None, False, True), "has_side_effect")
    if said is not None:
        given["has_side_effect"] = said
    given |= _draw_configuration(pick)
    names = choose(pick, _CALLED, "called_computations", paired=False)  # XLA accepts at most one
    called = [_identity(writer, name) for name in names]
    if called:
        given["called_computations"] = tuple(function.name for function in called)
    if seldom(pick, 4, "output_operand_aliases given"):
        given["output_operand_aliases"] = (OutputOperandAlias((), 0, ()),)
    result = block.add(op, (block.pick_value(),), writer.of, given=given)
    return writer.case(block, result, *called)


_VERSIONS = (None, None, 1, 2, 3, 4)
_TYPED_FFI = 4
"""The version whose configuration is a dictionary of options; in all others it is a string."""

_OPTIONS = (("axis", 3, "i64"), ("exact", True, "i1"), ("mode", "near", "string"))


def _draw_configuration(pick: Pick) -> dict[str, Attribute]:
    """Return the interface version of a custom call, and a configuration in that version's form."""
    version = choose(pick, _VERSIONS, "api_version")
    given: dict[str, Attribute] = {} if version is None else {"api_version": version}
    kind = choose(pick, ("left out", "empty", "given"), "backend_config")
    if kind != "left out":
        empty, full = ((), _OPTIONS) if version == _TYPED_FFI else ("", "mode=near axis=3")
        given["backend_config"] = empty if kind == "empty" else full
    return given


_CALLED = (*((),) * 7, *(("computation",),) * 3, ("computation", "other"))


def _identity(writer: Writer, name: str) -> Function:
    """Return a function that returns its argument: its computation does not affect a call."""
    argument = writer.new_value(writer.of)
    inner = writer.block(arguments=(argument,))
    return Function(name, inner.finish_region([argument]), (writer.of,))


_BUILD = {
    "after_all": _barrier,
    "case": _conditional,
    "composite": _composite,
    "create_token": _barrier,
    "custom_call": _custom_call,
    "get_tuple_element": _tuples,
    "if": _conditional,
    "optimization_barrier": _barrier,
    "tuple": _tuples,
    "while": _conditional,
}

BUILDERS: dict[str, Builder] = {op: partial(build, op) for op, build in _BUILD.items()}
"""The builder of each op's cases."""

NOT_QUANTIZED = {
    "after_all": "takes tokens only",
    "composite": "its cases compute in functions of several operations",
    "create_token": "takes nothing",
    "custom_call": "the meaning of codes depends on the target",
    "get_tuple_element": "its cases are not rewritten through tuples yet",
    "tuple": "its cases are not rewritten through tuples yet",
    "while": "its cases compute with numbers that decide when it ends",
}
"""Ops that forward quantized values but have no quantized cells, and the reason."""
