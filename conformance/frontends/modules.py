"""Files of programs: MLIR text, bytecode and portable artifacts, and the programs they hold.

A file of StableHLO's own tests holds many: parts between lines of `// -----`, and in each part
every function without arguments and callers is a test.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from conformance.frontends.assertions import Assertion, extract_assertions, rewrite
from conformance.frontends.dialects import expand_chlo, module_text
from conformance.frontends.older import ADVICE, NOTE, convert_mhlo, is_obsolete, update_spellings
from conformance.frontends.symbolic_shapes import specialise_main
from conformance.stablehlo.emit import emit
from conformance.stablehlo.lexical import blank_strings, comments, extract_strings, restore_strings
from conformance.stablehlo.literals import unpack_booleans
from conformance.stablehlo.parse import ParseError, Unreadable, parse_module
from conformance.transforms.dead_code import remove_unused
from conformance.transforms.extract import replace_results, select_main
from conformance.transforms.inline import InlinedProgram, NotInlined, inline
from conformance.transforms.tuples import remove_tuples
from reference.interpreter.calls import RUN_PARALLEL
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Function, Program, TensorType, ValueType
from reference.ir.types import Array
from reference.ops.structure import named_functions

_SEPARATOR = re.compile(r"^[ \t]*// -----[ \t]*$", re.MULTILINE)
_MUST_FAIL = re.compile(r"// *expected-error")


NOTHING_RETURNED = "it returns no tensor: only compilation and termination are judged"
"""Message for a program without results."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A program of a file, to be checked.

    `name` is its function's. `text` is its module, with lines numbered as in the file; "" if a
    backend cannot take that text unchanged. `flat` is the program with calls inlined and assertions
    removed. It returns the values that the assertions compare; without assertions, its results that
    are tensors. `infeeds` are the values that its infeeds read, in order, if the file
    states them. `part` is the text in the file, before any rewriting.
    """

    name: str
    program: Program
    flat: InlinedProgram
    text: str
    source: str
    assertions: tuple[Assertion, ...]
    infeeds: tuple[tuple[Array, ...], ...] | None = None
    original: str = ""
    types: tuple[ValueType, ...] = ()
    note: str = ""
    part: str = ""

    @property
    def programs(self) -> tuple[Program, ...]:
        """The program without its calls, and the program with calls that a backend runs, if any."""
        return (self.flat.program, self.program) if self.text else (self.flat.program,)


def unit_of(program: Program) -> Unit:
    """Return a program that was not read from a file, with its text.

    Raises:
        EmitError: if the program cannot be written as text.
        NotInlined: if its calls cannot be inlined.
    """
    text = emit(program)
    return Unit("main", program, inline(program), text, text, (), original=text)


@dataclass(frozen=True, slots=True)
class NotChecked:
    """A part of a file that is not checked, with the reason; `invalid` if MLIR refuses the text."""

    reason: str
    invalid: bool = False


def read_units(path: Path) -> Iterator[Unit | NotChecked]:
    """Return the programs of a file in order, and the parts that are no programs.

    Raises:
        OSError: when the file cannot be read.
    """
    try:
        text = module_text(path.read_bytes())
    except Unreadable as error:
        yield NotChecked(str(error))
        return
    except ParseError as error:
        yield NotChecked(str(error), invalid=True)
        return
    parts = _parts(text)
    for part in parts:
        if len(parts) > 1 and not blank_strings(part).strip():
            continue
        if any(map(_MUST_FAIL.search, comments(part))):
            yield NotChecked("a test of an invalid program")
            continue
        yield from units_of(part)


def specialise_unit(unit: Unit, inputs: Sequence[Array]) -> Unit:
    """Return the program specialised to the sizes of these inputs, static throughout.

    Raises:
        Unreadable: when that cannot be done.
    """
    parameters = (parameter.type for parameter in unit.program.main.arguments)
    types = tuple(
        TensorType(array.shape, of.element_type)
        for array, of in zip(inputs, parameters, strict=True)
        if isinstance(of, TensorType)
    )
    (found,) = _read(unit.original, types)
    if isinstance(found, NotChecked):
        raise Unreadable(found.reason)
    return found


def lower_text(text: str, types: tuple[ValueType, ...] = ()) -> str:
    """Return the StableHLO text that a text is lowered to, its main taking `types` if given.

    Raises:
        ParseError: when it is no valid module.
        Unreadable: when it has an op that cannot be expanded, or other parameter types.
    """
    text = expand_chlo(convert_mhlo(text))
    return expand_chlo(specialise_main(text, types)) if types else text  # it may write CHLO ops


def _parts(text: str) -> list[str]:
    """Yield the parts of a text, each with the preceding lines emptied to keep line numbers."""
    parts: list[str] = []
    begin = 0
    for found in (*_SEPARATOR.finditer(text), None):
        end = len(text) if found is None else found.start()
        parts.append("\n" * text.count("\n", 0, begin) + text[begin:end])
        begin = end if found is None else found.end()
    return parts


def units_of(text: str) -> Iterator[Unit | NotChecked]:
    """Return the programs of a single-module text, and the parts that are no programs."""
    code, strings = extract_strings(unpack_booleans(text))
    code, queues = _runs_as_calls(rewrite(code))
    for found in _read(restore_strings(code, strings), queues=queues):
        yield replace(found, part=text) if isinstance(found, Unit) else found


def _read(
    text: str, types: tuple[ValueType, ...] = (), queues: tuple[str, ...] = (), note: str = ""
) -> Iterator[Unit | NotChecked]:
    try:
        source = lower_text(text, types)
        program = parse_module(source)
    except Unreadable as error:
        yield NotChecked(str(error))
        return
    except ParseError as error:
        now = update_spellings(text)
        if now != text:
            yield from _read(now, types, queues, NOTE)
        else:
            older = bool(note) or is_obsolete(text)
            yield NotChecked(f"{error}; {ADVICE}" if older else str(error), invalid=not older)
        return
    for entry in _entries(program):
        found = _unit(program, entry, source, queues)
        if isinstance(found, Unit):
            notes = "; ".join(filter(None, (found.note, note)))
            found = replace(found, original=text, types=types, note=notes)
        yield found


def _entries(program: Program) -> list[Function]:
    """Return main, or else the functions that nothing calls: only tests if some take no
    arguments.
    """
    for function in program.functions:
        if function.name == "main":
            return [function]
    referred: set[str] = set()
    for operation in program.walk():
        referred.update(named_functions(operation))
    free = [f for f in program.functions if f.name not in referred] or [program.functions[0]]
    return [f for f in free if not f.arguments] or free


def _runs_as_calls(text: str) -> tuple[str, tuple[str, ...]]:
    """Rewrite the interpreter's process runs as calls; also return the functions that feed infeeds.

    The run of one process becomes a call of its function. The run of several processes becomes a
    custom call whose target states the process grid; it lists the processes' functions in order.
    """
    queues: list[str] = []

    def call(match: re.Match[str]) -> str:
        programs = re.search(r"programs\s*=\s*\[(\s*\[[^\[\]]*\]\s*,?)+\s*\]", match[2])
        if programs is None:
            return match[0]
        infeed = re.search(r"infeed\s*=\s*\[([^\]]*)\]", match[2])
        queues.extend(re.findall(r"@([\w$.-]+)", infeed[1]) if infeed else ())
        replicas = [re.findall(r"@[\w$.-]+", row) for row in re.findall(_ROW, programs[0])]
        names, lines = [name for row in replicas for name in row], _LINE.sub("", match[2])
        if len(names) == 1:
            return f"func.call {names[0]}({match[1]}){lines} : "
        target = f"{RUN_PARALLEL} {len(replicas)} x {len(replicas[0])}"
        return (
            f'"stablehlo.custom_call"({match[1]}) {{call_target_name = "{target}", '
            f"has_side_effect = true, called_computations = [{', '.join(names)}]}}{lines} : "
        )

    return _RUN_PARALLEL.sub(call, text), tuple(queues)


_ROW = re.compile(r"\[([^\[\]]+)\]")
_RUN_PARALLEL = re.compile(r'"interpreter\.run_parallel"\(([^()]*)\)\s*\{([^{}]*)\}\s*:\s*')
_LINE = re.compile(r"[^\n]+")


def _unit(
    program: Program, entry: Function, source: str, queues: tuple[str, ...]
) -> Unit | NotChecked:
    named_main = entry.name == "main"
    whole = program if named_main else select_main(program, entry.name)
    try:
        flat = remove_tuples(inline(whole))
        bare, assertions = extract_assertions(flat.program)
        infeeds = tuple(_values(program, name) for name in queues)
    except (NotInlined, ValueError, KeyError) as error:
        return NotChecked(f"@{entry.name}: {error}")
    shown = bare.main.body.operations[-1].operands
    tensors = tuple(value for value in shown if isinstance(value.type, TensorType))
    note = "" if tensors else NOTHING_RETURNED
    if len(tensors) < len(shown):
        bare = replace_results(bare, tensors)
    if assertions:
        bare = remove_unused(bare)
    types = (*(value.type for value in entry.arguments), *entry.result_types)
    as_is = named_main and not assertions and all(isinstance(of, TensorType) for of in types)
    text = source if as_is else ""
    flat = InlinedProgram(bare, flat.origins)
    fed = infeeds if queues else None
    return Unit(entry.name, whole, flat, text, source, assertions, fed, note=note)


def _values(program: Program, name: str) -> tuple[Array, ...]:
    """Return the results of a function without parameters."""
    return evaluate(select_main(program, name), ())
