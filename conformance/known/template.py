"""Texts of `computes`: the body of a StableHLO function, generic in the types of an operation.

It is written over the operands of an op by the specification's names: `%lhs`, `%operand`. An
operand that may occur any number of times is `%inputs` if there is exactly one, else `%inputs.0`,
`%inputs.1` and so on. Before MLIR reads the body, these are replaced:

- `$lhs`: the type of that operand;
- `$lhs.E`, `$lhs.S`: its element type and its sizes: `tensor<$lhs.Sxf32>` has its shape;
- `$lhs.R`: the type of the parts of its complex elements, of other elements their own type;
- `$lhs.D`: its dimensions by number: `dimensions = [$lhs.D]`;
- `$inputs.0`, `$inputs.1.E`: the same for one operand of several;
- `$T`, `$E`, `$S`, `$R`, `$D`: the same for the (first) result;
- `$dimension`: the value of that attribute of the operation;
- `$op(%a, %b)`: the operation itself, with its attributes and regions, on other operands;
- `$op(...)`: the operation as it is;
- `$op(%a, %b: i64)`: the operation with another element type of an operand;
- `$room`: the largest start indices of windows that are inside of a scatter's input, as elements of
  its index vectors in the shape of `%scatter_indices`.

A line with `.*` is repeated for each operand of those that may occur any number of times, with the
operand's number in place of `*`: `%low.* = stablehlo.abs %inputs.* : $inputs.*`. In a line with
`$op(...)` or `return`, `%low.*` stands for the values of all numbers.

If the text returns one value more than the op, as in `return %y, %mask : $T, tensor<$Sxi1>`, that
value is a mask: nothing is predicted for elements for which it is false.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from conformance.errors import describe_unknown
from conformance.stablehlo.attributes import float_literal
from conformance.stablehlo.emit import spell, spell_operation
from conformance.text import matches_any
from reference.interpreter.evaluate import given_attributes
from reference.ir.op import Op
from reference.ir.program import Operation, TensorType, Value, ValueType, tensor_of
from reference.ir.types import ELEMENT_TYPES
from reference.ops.table import OPS

ANY = ("any",)
"""The `constants` of an entry about operations of which any operand is a constant."""

_RESULT = ("T", "E", "S", "R", "D")
_ITSELF = "op"
_ROOM, _SCATTERED = "room", "scatter_dims_to_operand_dims"
_OPERAND = r"%[\w.$-]+"
_PLACEHOLDER = re.compile(
    rf"\$(?:(?P<itself>{_ITSELF})\s*\((?P<given>[^()]*)\)|(?P<room>{_ROOM})\b"
    r"|(?P<result>[TESRD])(?P<of_result>x?)"
    r"|(?P<name>[a-z]\w*)(?P<number>\.\d+)?(?:\.(?P<part>[ESRD])(?P<of_part>x?))?)"
)
_EVERY = re.compile(r"([%$]\w+)\.\*")
_EVERY_STATED = re.compile(rf"{_EVERY.pattern}(: \w+)?")
"""The same with the element type that `$op` is given for each."""
_ASSIGNED = re.compile(rf"\s*({_OPERAND})(?::\d+)?\s*=[^=]")
_ITSELF_LAST = re.compile(rf"({_OPERAND})\s*=\s*(\${_ITSELF}\([^()]*\)\s*)\Z")
_RETURNS = re.compile(r"\s*(?:func\.)?return\b")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_COMMENT = re.compile(r"//.*")
_OWN_TEXT = re.compile(rf"{_COMMENT.pattern}|{_STRING.pattern}|{_OPERAND}")
"""Texts in which `$` is no placeholder: comments, strings, names of values."""


class TemplateError(ValueError):
    """Raised for a text of `computes` without a meaning for an op; the message is a line with the
    reason.
    """


def operand_names(operation: Operation) -> tuple[str, ...]:
    """Return the names of the operands in the text: the specification's names.

    The operands of a function call have no names.
    """
    record = OPS.get(operation.name)
    if record is None:
        return ()
    names: list[str] = []
    for name, given in zip(record.operands, record.group_operands(operation.operands), strict=True):
        if not name.startswith("*"):
            names.append(name)
        elif isinstance(given, tuple):
            plain = name.removeprefix("*")
            several = len(given) > 1
            names += [f"{plain}.{i}" if several else plain for i in range(len(given))]
    return tuple(names)


def has_constants(
    operation: Operation, patterns: Sequence[str], folded: Sequence[bool] | None
) -> bool:
    """Return whether all operands whose names match are constants to a compiler.

    There must be such operands, unless there are no patterns; the operands of a call have no names.
    If the patterns are `ANY`, some operand must be a constant. `folded` tells which operands are
    constants; True if that is unknown.
    """
    if not patterns or folded is None:
        return True
    if tuple(patterns) == ANY:
        return any(folded)
    names = operand_names(operation)
    if not names:
        return False
    asked = [
        is_constant
        for name, is_constant in zip(names, folded, strict=True)
        if matches_any(name.partition(".")[0], patterns)
    ]
    return bool(asked) and all(asked)


def check_names(text: str, record: Op) -> None:
    """Check that every placeholder means something for that op.

    Raises:
        TemplateError: if any placeholder means nothing.
    """
    operands = [name.removeprefix("*") for name in record.operands]
    known = (*_RESULT, _ITSELF, _ROOM, *operands, *record.attributes)
    text = _repeat_lines(text, record, 1)
    left = re.search(r"\$(\w*)", _PLACEHOLDER.sub("", _OWN_TEXT.sub("", text)))
    if left is not None:
        raise TemplateError(f"{describe_unknown('placeholder', left[1], known)} (of {record.name})")
    for found in _PLACEHOLDER.finditer(text):
        if found["room"] and _SCATTERED not in record.attributes:
            raise TemplateError(f"'$room' is of an op with {_SCATTERED}, not of {record.name}")
        name = found["name"]
        if name is None:
            continue
        if name == _ITSELF:
            raise TemplateError("'$op' must be followed by operands, such as $op(%lhs, %rhs)")
        is_attribute = name in record.attributes and not found["part"]
        is_numbered = f"*{name}" in record.operands or is_attribute
        if found["number"] and not is_numbered and name in operands:
            raise TemplateError(f"{record.name} takes one {name!r}: write ${name}")
        if name not in operands and not is_attribute:
            raise TemplateError(
                f"{describe_unknown('placeholder', name, known)} (of {record.name})"
            )


def module_text(text: str, operation: Operation) -> str:
    """Return the module whose `main` computes what the text says in place of an operation.

    Raises:
        TemplateError: if the text has no meaning for this operation.
    """
    names = operand_names(operation)
    types = [spell(value.type) for value in operation.operands]
    arguments = ", ".join(f"%{name}: {of}" for name, of in zip(names, types, strict=True))
    results = [spell(value.type) for value in operation.results]
    body = _COMMENT.sub("", text)
    if len(results) > 1:
        body = _ITSELF_LAST.sub(rf"\1:{len(results)} = \2", body)
    record = OPS.get(operation.name)
    if record is not None:
        grouped = record.group_operands(operation.operands)
        counts = [len(one) for one in grouped if isinstance(one, tuple)]
        body = _repeat_lines(body, record, counts[0] if counts else 0)
    body = _fill_placeholders(body, operation, names)
    returned = next((line for line in _outermost_lines(body) if _RETURNS.match(line)), None)
    if returned is not None and _count(returned) == len(results) + 1:
        results.append(f"tensor<{_type(operation.results[0], 'S', 'x')}i1>")
    if returned is None:
        body = f"{body.rstrip()}\nreturn {_last_results(body, operation)} : {', '.join(results)}"
    return f"func.func @main({arguments}) -> ({', '.join(results)}) {{\n{body}\n}}"


def _repeat_lines(text: str, record: Op, count: int) -> str:
    """Return the text with each line that contains `.*` written for `count` operands."""
    lines: list[str] = []
    for line in text.splitlines():
        if f"${_ITSELF}(" in line or _RETURNS.match(line):
            lines.append(
                _EVERY_STATED.sub(
                    lambda found: ", ".join(
                        f"{found[1]}.{n}{found[2] or ''}" for n in range(count)
                    ),
                    line,
                )
            )
        elif _EVERY.search(line):
            lines += [line.replace("*", str(n)) for n in range(count)]
        else:
            lines.append(line)
    text = "\n".join(lines)
    if count == 1:
        several = [name.removeprefix("*") for name in record.operands if name.startswith("*")]
        text = re.sub(rf"([%$](?:{'|'.join(several)}))\.0\b", r"\1", text)
    return text


def _count(returned: str) -> int:
    """Return the number of values of a `return`."""
    return len(returned.partition(":")[0].split(","))


def _outermost_lines(body: str) -> list[str]:
    """Return the lines that begin outside of all regions, attributes and types."""
    lines: list[str] = []
    depth = 0
    for line in body.splitlines():
        if depth == 0:
            lines.append(line)
        plain = _STRING.sub("", line).replace("->", "")
        depth += sum(plain.count(one) for one in "({[<") - sum(plain.count(one) for one in ")}]>")
    return lines


def _last_results(body: str, operation: Operation) -> str:
    """Return the names of the results of the body's last operation, which has as many as the op."""
    names = [found[1] for line in _outermost_lines(body) if (found := _ASSIGNED.match(line))]
    if not names:
        raise TemplateError(
            "no operation computes a value; write for example '%0 = stablehlo.abs %x : $T'"
        )
    if len(operation.results) == 1:
        return names[-1]
    if f"{names[-1]}:{len(operation.results)}" not in body:
        raise TemplateError(f"{operation.name} has several results: end with a 'return'")
    return ", ".join(f"{names[-1]}#{n}" for n in range(len(operation.results)))


def _fill_placeholders(text: str, operation: Operation, names: Sequence[str]) -> str:
    """Return the text with placeholders replaced by types, attributes and operations."""
    values = dict(zip(names, operation.operands, strict=True))
    record = OPS.get(operation.name)
    operands = () if record is None else [name.removeprefix("*") for name in record.operands]

    def replacement(found: re.Match[str]) -> str:
        if found["itself"]:
            return _own_operation(operation, found["given"], names)
        if found["room"]:
            return _largest_starts(operation)
        if found["result"]:
            value = operation.results[0] if operation.results else None
            return _type(value, found["result"], found["of_result"])
        name, number = found["name"], found["number"] or ""
        value = values.get(name + number) or values.get(name + (number or ".0"))
        if value is not None:
            return _type(value, found["part"] or "T", found["of_part"] or "")
        if name in operands:
            raise TemplateError(f"this {operation.name} has no operand {name + number!r}")
        return _attribute(operation, name) + number

    return _PLACEHOLDER.sub(replacement, text)


def _type(value: Value | None, part: str, following: str) -> str:
    """Return the type of a value, its element type, its dimensions, or its sizes with what follows
    them.
    """
    of = None if value is None else value.type
    if of is not None and part == "T":
        return spell(of) + following
    if not isinstance(of, TensorType):
        raise TemplateError("$E, $S, $R and $D are defined for tensors only")
    if part == "D":
        return ", ".join(map(str, range(len(of.shape)))) + following
    if part == "S":
        sizes = "x".join("?" if size is None else str(size) for size in of.shape)
        return f"{sizes}{following}" if sizes else ""
    element = of.element.part if part == "R" else of.element_type
    scalar = spell(replace(of, shape=(), bounds=(), element_type=element))
    return scalar.removeprefix("tensor<").removesuffix(">") + following


def _own_operation(operation: Operation, given: str, own: Sequence[str]) -> str:
    stated = [one.partition(":") for one in given.split(",")] if given.strip() else []
    names = [name.strip() for name, _, _ in stated]
    types = [of.strip() for _, _, of in stated]
    if names == ["..."]:
        names = [f"%{name}" for name in own]
        types = [""] * len(names)
    if len(names) != len(operation.operands):
        count = len(operation.operands)
        raise TemplateError(
            f"{operation.name} takes {count} operands, and $op is given {len(names)}"
        )
    if not all(re.fullmatch(_OPERAND, name) for name in names):
        raise TemplateError(f"$op({given}): operands are values, such as %lhs")
    operands = tuple(
        Value(name.removeprefix("%"), _stated_type(value, of))
        for value, name, of in zip(operation.operands, names, types, strict=True)
    )
    spelled = spell_operation(replace(operation, operands=operands))
    if not spelled:
        raise TemplateError(f"this {operation.name} cannot be written")
    return spelled.partition(" = ")[2]


def _stated_type(value: Value, spelling: str) -> ValueType:
    """Return a value's type, with another element type if one is stated."""
    if not spelling:
        return value.type
    element = next((one for one in ELEMENT_TYPES.values() if one.mlir == spelling), None)
    if element is None or not isinstance(value.type, TensorType):
        raise TemplateError(f"$op(%{value.name}: {spelling}): {spelling!r} is no element type")
    return replace(value.type, element_type=element)


def _largest_starts(operation: Operation) -> str:
    """Return the largest start indices of a scatter's windows inside the input, as MLIR spells
    elements in the shape of the indices.
    """
    given = given_attributes(operation)
    types = [tensor_of(value) for value in operation.operands]
    dims = given[_SCATTERED]
    if not dims or not all(one.is_static for one in types):
        raise TemplateError("'$room' is of static sizes and indices with components")
    shapes = [one.static_shape for one in types]
    sizes, indices, updates = shapes[0], shapes[len(shapes) // 2], shapes[-1]
    left_out = {*given["inserted_window_dims"], *given["input_batching_dims"]}
    kept = [d for d in range(len(sizes)) if d not in left_out]
    windows = dict(zip(kept, (updates[d] for d in given["update_window_dims"]), strict=True))
    rooms = np.array([sizes[d] - windows.get(d, 1) for d in dims])
    axis, rank = given["index_vector_dim"], len(indices)
    if axis < rank:
        rooms = rooms.reshape([-1 if d == axis else 1 for d in range(rank)])
    return str(np.broadcast_to(rooms, indices if indices else (1,)).reshape(indices).tolist())


def _attribute(operation: Operation, name: str) -> str:
    found: Mapping[str, Any] = dict(operation.attributes)
    if name not in found:
        raise TemplateError(f"this {operation.name} has no attribute {name!r}")
    text = _spell_value(found[name])
    if text is None:
        raise TemplateError(f"attribute {name!r} cannot be written; use $op(...)")
    return text


def _spell_value(value: Any) -> str | None:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return float_literal(value)
    if isinstance(value, (int, str)):
        return str(value)
    if type(value) is tuple:
        items = [_spell_value(one) for one in value]
        return None if None in items else f"[{', '.join(filter(None, items))}]"
    return None
