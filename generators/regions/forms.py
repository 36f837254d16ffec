"""Equivalent forms of a computation: with function calls, with ops that are not elementwise.

Most bodies are a list of operations on scalars, for which compilers have a special path. A body may
contain any other op too. Each form returns the results of the plain region on all arguments, except
for the sign of sums and products that are zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from generators.case.choices import Pick, choose
from generators.regions.bodies import BodyBuilder, Monoid, identity_of, monoid_ops, scalar
from reference.ir.program import Attribute, Dense, Function, Region, TensorType, Value, ValueType
from reference.ir.types import ELEMENT_TYPES, ElementType

_SI32 = ELEMENT_TYPES["si32"]


def outline_to_functions(region: Region, name: str = "body") -> tuple[Region, tuple[Function, ...]]:
    """Return a region that computes by two nested function calls, and these functions."""
    types, inner = _result_types(region), f"{name}_inner"
    outer = Function(name, _call_region(region, inner), types)
    return _call_region(region, name), (outer, Function(inner, region, types))


def _result_types(region: Region) -> tuple[ValueType, ...]:
    return tuple(value.type for value in region.operations[-1].operands)


def _call_region(region: Region, name: str) -> Region:
    block = BodyBuilder(region.arguments, prefix="called")
    called = block.ops("func.call", region.arguments, _result_types(region), {"callee": name})
    return block.finish_region(*called)


def write_on_tensors(region: Region) -> Region:
    """Return the computation on 1 x 1 tensors that are broadcast, transposed and reversed."""
    block = BodyBuilder(region.arguments, prefix="w")
    wide: list[Value] = []
    for index, argument in enumerate(region.arguments):
        if index % 2:
            (made,) = block.ops(
                "broadcast_in_dim",
                (argument,),
                (_two_dimensional_type(argument.type),),
                {"broadcast_dimensions": ()},
            )
        else:
            (made,) = block.ops("reshape", (argument,), (_two_dimensional_type(argument.type),))
        wide.append(block.op("transpose", made, permutation=(1, 0)))
    results = _copy_operations(region, block, wide, _two_dimensional_type)
    turned = [block.op("reverse", value, dimensions=(0, 1)) for value in results]
    ends = zip(turned, _result_types(region), strict=True)
    return block.finish_region(*(block.ops("reshape", (value,), (of,))[0] for value, of in ends))


def _two_dimensional_type(of: ValueType) -> TensorType:
    """Return the type of a single element in two dimensions."""
    assert isinstance(of, TensorType)
    return replace(of, shape=(1, 1))


def _copy_operations(
    region: Region,
    block: BodyBuilder,
    arguments: Sequence[Value],
    typed: Callable[[ValueType], ValueType] = lambda of: of,
) -> list[Value]:
    """Copy a region's operations to a block, and return its results on these arguments.

    `typed` maps a value's type in the region to its type in the block.
    """
    names = (argument.name for argument in region.arguments)
    known = dict(zip(names, arguments, strict=True))
    for operation in region.operations[:-1]:
        operands = tuple(known[value.name] for value in operation.operands)
        types = tuple(typed(value.type) for value in operation.results)
        given: dict[str, Attribute] = dict(operation.attributes)
        if operation.name == "constant":
            given = {"value": _retype_constant(given["value"], types[0])}
        made = block.ops(operation.name, operands, types, given)
        known |= {value.name: new for value, new in zip(operation.results, made, strict=True)}
    return [known[value.name] for value in region.operations[-1].operands]


def _retype_constant(given: Attribute, of: ValueType) -> Dense:
    assert isinstance(given, Dense)
    assert isinstance(of, TensorType)
    return Dense(of, given.data)


def wrap_in_branch(region: Region) -> Region:
    """Return the computation in both branches of an `if` whose predicate compares arguments."""
    block = BodyBuilder(region.arguments, prefix="w")
    lhs, *others = region.arguments
    rhs = next((value for value in others if value.type == lhs.type), lhs)
    equal = block.compare(lhs, rhs, "EQ")
    branches = [BodyBuilder((), prefix=prefix) for prefix in ("t", "f")]
    regions = tuple(
        branch.finish_region(*_copy_operations(region, branch, region.arguments))
        for branch in branches
    )
    return block.finish_region(*block.ops("if", (equal,), _result_types(region), regions=regions))


def wrap_in_loop(region: Region) -> Region:
    """Return the computation in a `while` with a single iteration."""
    block, types = BodyBuilder(region.arguments, prefix="w"), _result_types(region)
    start = [block.constant(0, _SI32), *(block.constant(1, _element(of)) for of in types)]
    state = tuple(value.type for value in start)
    condition = BodyBuilder(_arguments("now", state), prefix="d")
    goes_on = condition.compare(condition.arguments[0], condition.constant(1, _SI32), "LT")
    turn = BodyBuilder(_arguments("turn", state), prefix="u")
    counted = turn.op("add", turn.arguments[0], turn.constant(1, _SI32))
    carried = _copy_operations(region, turn, region.arguments)
    regions = condition.finish_region(goes_on), turn.finish_region(counted, *carried)
    return block.finish_region(*block.ops("while", tuple(start), state, regions=regions)[1:])


def _element(of: ValueType) -> ElementType:
    assert isinstance(of, TensorType)
    return of.element


def _arguments(prefix: str, types: Sequence[ValueType]) -> tuple[Value, ...]:
    return tuple(Value(f"{prefix}{index}", of) for index, of in enumerate(types))


def write_as_reduce(op: str, element: ElementType) -> Region:
    """Return a body of one op as a `reduce` of its two arguments."""
    block = BodyBuilder(BodyBuilder.of(element, element).arguments, prefix="w")
    inner = BodyBuilder.of(element, element, prefix="b")
    body = inner.finish_region(inner.op(op, *inner.arguments))
    both = _concatenate_scalars(block, block.arguments, element)
    identity = block.constant(identity_of(op, element), element)
    folded = block.ops(
        "reduce", (both, identity), (scalar(element),), {"dimensions": (0,)}, (body,)
    )
    return block.finish_region(*folded)


def write_as_dot_general(op: str, element: ElementType) -> Region:
    """Return a sum (by a vector of ones) or a product of two arguments as a `dot_general`."""
    block = BodyBuilder.of(element, element)
    if op == "add":
        lhs = _concatenate_scalars(block, block.arguments, element)
        ones = TensorType((2,), element)
        one = block.constant(1, element)
        rhs = block.op("broadcast_in_dim", one, to=ones, broadcast_dimensions=())
    else:
        lhs, rhs = (
            block.op("reshape", value, to=TensorType((1,), element)) for value in block.arguments
        )
    dot = block.op(
        "dot_general", lhs, rhs, to=element, lhs_contracting_dimensions=(0,),
        rhs_contracting_dimensions=(0,),
    )  # fmt: skip
    return block.finish_region(dot)


def _concatenate_scalars(
    block: BodyBuilder, values: Sequence[Value], element: ElementType
) -> Value:
    """Return scalars concatenated to a one-dimensional tensor."""
    parts = [block.op("reshape", value, to=TensorType((1,), element)) for value in values]
    return block.op("concatenate", *parts, to=TensorType((len(parts),), element), dimension=0)


FORMS: dict[str, Callable[[Region], Region]] = {
    "on tensors": write_on_tensors,
    "in a branch": wrap_in_branch,
    "in a loop": wrap_in_loop,
}
"""Forms that express any region of scalars with ops that are not elementwise."""

AS_REDUCE, AS_DOT_GENERAL = "a reduce", "a dot_general"
"""Forms of a body of one op."""

IN_FUNCTIONS, NOT_ELEMENTWISE = "in functions", "not elementwise"
"""Kinds of bodies, as values of the dimension `body`."""

_LARGEST_SUM = 256
"""Upper bound of the sum of `few` small integers."""

_EXACT = {"add": ("small_integers", "within:-1:1"), "multiply": ("within:-1:1", "within:1:2")}
"""Profiles of numbers that have exact sums and products for `few` elements, in every order."""


def region_of_form(region: Region, pick: Pick, dimension: str = "") -> Region:
    """Return an equivalent region with ops that are not elementwise; its form is a named choice."""
    return FORMS[choose(pick, tuple(FORMS), dimension, paired=False)](region)


def call_body(body: Monoid, name: str = "body") -> Monoid:
    """Return the body as a function call."""
    region, functions = outline_to_functions(body.region, name)
    return replace(body, region=region, functions=functions)


def write_non_elementwise(body: Monoid, pick: Pick) -> Monoid:
    """Return a body of one op (its name), rewritten with ops that are not elementwise.

    The reference does not recognise the monoid and folds by a tree, so numbers are chosen that the
    op does not round.
    """
    op, (element,) = body.name, body.inputs
    dots = op in ("add", "multiply") and not element.is_boolean
    names = (*FORMS, AS_REDUCE, *((AS_DOT_GENERAL,) if dots else ()))
    form = choose(pick, names, "form of the body", paired=False)
    if form in FORMS:
        region = FORMS[form](body.region)
    else:
        region = (write_as_reduce if form == AS_REDUCE else write_as_dot_general)(op, element)
    rows = body.rows
    if op in _EXACT and not (element.is_integer or element.is_boolean):
        rows = tuple(row for row in rows if row[0] in _EXACT[op])
    return replace(body, region=region, rows=rows, few=True)


def non_elementwise_ops(element: ElementType) -> tuple[str, ...]:
    """Return the ops that `write_non_elementwise` accepts: no sums if they may overflow."""
    ops = monoid_ops(element)
    narrow = element.is_float and element.float_format.max_finite < _LARGEST_SUM
    return tuple(op for op in ops if op != "add") if narrow else ops
