"""Registry of backends by name, `family` or `family:argument`; only this module splits a name."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.backends.compiled.targets import GPU_TARGETS, TPU_TOPOLOGIES
from conformance.backends.isa import MAXIMA
from conformance.errors import UsageError, describe_unknown

if TYPE_CHECKING:  # loads numpy, which looking for a name need not wait for
    from conformance.backends.base import Backend
    from reference.ir.program import Program

_TEXTS = "conformance.stablehlo.parse"
"""The module that reads MLIR: any worker needs it for the texts of expectations."""

_XLA = ("jax", "conformance.backends.pjrt.backend", _TEXTS)
"""Modules that XLA's backends need: they start no threads, which would not survive a fork."""

_COMPILED = (*_XLA, "conformance.backends.compiled.backend")

IREE_TARGETS = ("llvm-cpu", "vmvx")
"""The targets of IREE's compiler that need no device of their own; the first is the default."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A backend as the user named it.

    `argument` is the part after the colon, "" if there is none. `name` is the name in records, the
    same on every machine.
    """

    family: str
    argument: str
    name: str

    @property
    def spelling(self) -> str:
        """The name that opens this backend from any folder of this machine."""
        return f"{self.family}:{self.argument}" if self.argument else self.family


@dataclass(frozen=True, slots=True)
class Family:
    """Backends whose names begin alike.

    `meaning` describes them. `arguments` describes in words what may follow the colon, "" for
    nothing; it is required if `needs_argument`. `preload` are modules that a worker loads before it
    forks. `workers` is the number of processes that may use the device at a time, None for one
    process per core. `device` is the device as cluster schedulers name it, "" for none. `quantized`
    says that programs with quantized types are known to work. `configures` says that the argument
    only configures the family's backend, so that what is known of `cpu` is known of `cpu:AVX2`.
    `release_of` is the backend of which these are other releases: what is known of it applies, by
    the version in the argument.
    `only_compiles` says that programs are compiled and not executed, and that the reference
    evaluates the optimised modules. `separates` selects programs that are never in one module with
    any other. `choices` returns what may follow the colon, by name, with descriptions.
    """

    meaning: str
    choose: Callable[[str, str], Choice]
    open: Callable[[Choice], Backend]
    preload: tuple[str, ...]
    arguments: str = ""
    needs_argument: bool = False
    workers: int | None = None
    device: str = ""
    quantized: bool = False
    configures: bool = False
    release_of: str = ""
    command: Callable[[Choice], str] | None = None
    only_compiles: bool = False
    separates: Callable[[Program], bool] | None = None
    choices: Callable[[], Mapping[str, str]] | None = None


def is_separated(name: str, program: Program) -> bool:
    """Return whether a backend compiles a program in a module of its own."""
    family = BACKENDS.get(name.partition(":")[0])
    return family is not None and family.separates is not None and family.separates(program)


def only_compiles(name: str) -> bool:
    """Return whether a backend only compiles programs, so that repeated runs give equal results."""
    family = BACKENDS.get(name.partition(":")[0])
    return family is not None and family.only_compiles


def parse(name: str) -> Choice:
    """Return the backend with this name. Only opening it shows whether it is available.

    Raises:
        UsageError: when there is no such backend, with similar names.
    """
    family, colon, argument = name.partition(":")
    if family not in BACKENDS:
        raise UsageError(describe_unknown("backend", family, BACKENDS))
    if colon and not BACKENDS[family].arguments:
        raise UsageError(describe_unknown("backend", name, BACKENDS))
    return BACKENDS[family].choose(family, argument)


def names_of(name: str) -> tuple[str, ...]:
    """Return the names by which expectations may match a backend.

    These are its own, its family's if it only configures the family's backend, and the name of the
    backend of which it is another release.
    """
    family = name.partition(":")[0]
    if family not in BACKENDS:
        return (name,)
    of = family if BACKENDS[family].configures else BACKENDS[family].release_of
    return (name, of) if of and of != name else (name,)


def release_of(name: str) -> str:
    """Return the version of jaxlib that a backend has by its name, "" if it is the installed
    one."""
    family, _, argument = name.partition(":")
    return argument if family in BACKENDS and BACKENDS[family].release_of else ""


def parse_all(names: Iterable[str]) -> tuple[Choice, ...]:
    """Return the backends of these names, each once.

    Raises:
        UsageError: when a name is unknown, or two backends have the same name in records.
    """
    chosen = {choice.spelling: choice for choice in map(parse, names)}
    called: dict[str, Choice] = {}
    for choice in chosen.values():
        other = called.setdefault(choice.name, choice)
        if other != choice:
            both = f"{other.spelling} and {choice.spelling}"
            raise UsageError(f"{both} are both called {choice.name}: give each a name of its own")
    return tuple(chosen.values())


def open_backend(choice: Choice) -> Backend:
    """Return the chosen backend, ready to compile.

    Raises:
        NotAvailable: when it is not available on this machine; the message says how to mend it.
    """
    return BACKENDS[choice.family].open(choice)


# --- The families --------------------------------------------------------------------------------


def _choice_of(family: str, argument: str) -> Choice:
    """Return the choice of a family's backend without an argument."""
    return Choice(family, argument, f"{family}:{argument}" if argument else family)


def _open_pjrt(choice: Choice) -> Backend:
    from conformance.backends.pjrt.backend import PjrtBackend

    return PjrtBackend(choice.name, choice.family)


def _choose_cpu(family: str, argument: str) -> Choice:
    maximum = argument.upper()
    if argument and maximum not in MAXIMA:
        raise UsageError(describe_unknown("instruction set", argument, MAXIMA))
    return _choice_of(family, maximum)


def _argument_chooser(what: str, known: Sequence[str]) -> Callable[[str, str], Choice]:
    """Return a function that chooses a backend whose optional argument is in `known`."""

    def choose(family: str, argument: str) -> Choice:
        found = next((name for name in known if name.lower() == argument.lower()), "")
        if argument and not found:
            raise UsageError(describe_unknown(what, argument, known))
        return _choice_of(family, found)

    return choose


def _open_cpu_compile(choice: Choice) -> Backend:
    from conformance.backends.compiled.backend import CompiledBackend
    from conformance.backends.compiled.compilers import cpu_compiler

    return CompiledBackend(choice.name, cpu_compiler())


def _open_gpu_compile(choice: Choice) -> Backend:
    from conformance.backends.compiled.backend import CompiledBackend
    from conformance.backends.compiled.compilers import gpu_compiler

    return CompiledBackend(choice.name, gpu_compiler(choice.argument or GPU_TARGETS[0]))


def _open_tpu_compile(choice: Choice) -> Backend:
    from conformance.backends.compiled.backend import CompiledBackend
    from conformance.backends.compiled.compilers import tpu_compiler

    return CompiledBackend(choice.name, tpu_compiler(choice.argument or TPU_TOPOLOGIES[0]))


def _is_costly(program: Program) -> bool:
    from conformance.backends.compiled.costly import is_costly

    return is_costly(program)


def _is_quantized(program: Program) -> bool:
    from conformance.backends.interpreter.limits import is_quantized

    return is_quantized(program)


def _choose_fault(family: str, argument: str) -> Choice:
    from conformance.backends.fake.faults import FAULTS, fault_of

    name = argument.partition("@")[0]
    if argument and name not in FAULTS:
        raise UsageError(describe_unknown("fault", name, FAULTS))
    try:
        fault_of(argument or "right")
    except KeyError as error:
        raise UsageError(str(error.args[0])) from None
    return _choice_of(family, argument)


def _describe_faults() -> dict[str, str]:
    from conformance.backends.fake.faults import FAULTS

    return {name: fault.description for name, fault in FAULTS.items()}


def _open_reference(choice: Choice) -> Backend:
    from conformance.backends.fake.reference import ReferenceBackend

    return ReferenceBackend(choice.name)


_NAME = re.compile(r"[A-Za-z0-9][\w.-]*", re.ASCII)


def _no_name(family: str, argument: str, what: str, form: str) -> UsageError:
    """Return the error on an argument that is not NAME= and what `form` says."""
    given = f"{family}:{argument}" if argument else family
    placeholder, _, meaning = form.partition(": ")
    return UsageError(
        f"{given!r} is not a {what}: write {family}:NAME={placeholder}, a name that you choose "
        f"(letters, digits, '.', '_', '-') and {meaning}"
    )


def _choose_plugin(family: str, argument: str) -> Choice:
    name, _, path = argument.partition("=")
    if not (_NAME.fullmatch(name) and path):
        form = "PATH: the plugin's library, such as plugin:mine=./libpjrt.so"
        raise _no_name(family, argument, "plugin", form)
    return Choice(family, f"{name}={_library(path)}", f"{family}:{name}")


def _choose_command(family: str, argument: str) -> Choice:
    name, _, command = argument.partition("=")
    try:
        words = shlex.split(command)
    except ValueError:
        words = []
    if not (_NAME.fullmatch(name) and words):
        form = f"COMMAND: the command as a shell takes it, such as '{family}:mine=./driver --fast'"
        raise _no_name(family, argument, "command", form)
    if os.sep in words[0]:
        words[0] = str(Path(words[0]).expanduser().absolute())
    return Choice(family, f"{name}={shlex.join(words)}", f"{family}:{name}")


def _command_of(choice: Choice) -> str:
    return choice.argument.partition("=")[2]


def _open_command(choice: Choice) -> Backend:
    from conformance.backends.command.backend import CommandBackend

    return CommandBackend(choice.name, _command_of(choice))


def _open_folder(choice: Choice) -> Backend:
    from conformance.backends.command.folder import FolderBackend

    return FolderBackend(choice.name, _command_of(choice))


def _choose_release(family: str, argument: str) -> Choice:
    if not re.fullmatch(r"\d+(\.\d+)+", argument):
        given = f"{family}:{argument}" if argument else family
        raise UsageError(f"{given!r} is no release: write jaxlib:VERSION, such as jaxlib:0.7.2")
    return _choice_of(family, argument)


def _command_of_release(choice: Choice) -> str:
    from conformance.backends.releases.environments import command_of

    return command_of(choice.name, choice.argument)


def _open_release(choice: Choice) -> Backend:
    from conformance.backends.releases.environments import ReleaseBackend

    return ReleaseBackend(choice.name, choice.argument, _command_of_release(choice))


def _choose_outputs(family: str, argument: str) -> Choice:
    name, _, paths = argument.partition("=")
    folders = paths.split(",")
    if not (_NAME.fullmatch(name) and len(folders) == 2 and all(folders)):
        raise UsageError("outputs of vectors are judged by: hlo-conformance judge VECTORS OUTPUTS")
    whole = ",".join(str(Path(folder).expanduser().absolute()) for folder in folders)
    return Choice(family, f"{name}={whole}", f"{family}:{name}")


def _open_outputs(choice: Choice) -> Backend:
    from conformance.backends.outputs import OutputsBackend

    vectors, outputs = choice.argument.partition("=")[2].split(",")
    return OutputsBackend(choice.name, Path(vectors), Path(outputs))


def _choose_python(family: str, argument: str) -> Choice:
    name, equals, path = argument.partition("=")
    if _NAME.fullmatch(name) and not equals:
        return _choice_of(family, name)
    if not (_NAME.fullmatch(name) and path):
        form = "FILE: the file, such as python:mine=my_backend.py"
        raise _no_name(family, argument, "Python file", form)
    return Choice(family, f"{name}={Path(path).expanduser().absolute()}", f"{family}:{name}")


def _open_python(choice: Choice) -> Backend:
    from conformance.backends.python_file import open_file, open_installed

    name, equals, path = choice.argument.partition("=")
    return open_file(choice.name, Path(path)) if equals else open_installed(choice.name, name)


def _library(given: str) -> Path:
    """Return the absolute path of a plugin, given by its path or an installed package's name.

    Raises:
        UsageError: when a package has installed several plugins, or none.
    """
    path = Path(given).expanduser().absolute()
    if path.exists() or Path(given).name != given:
        return path
    from conformance.backends.versions import libraries_of

    libraries = libraries_of(given)
    if libraries is None:
        return path
    if len(libraries) != 1:
        found = "several: " + ", ".join(map(str, libraries)) if libraries else "none"
        raise UsageError(
            f"the package {given} must have one PJRT plugin, and has {found}; "
            "give the library's path"
        )
    return libraries[0]


def _open_plugin(choice: Choice) -> Backend:
    from conformance.backends.plugin import PluginBackend

    return PluginBackend(choice.name, Path(choice.argument.partition("=")[2]))


def _choose_iree(family: str, argument: str) -> Choice:
    if argument and argument not in IREE_TARGETS:
        raise UsageError(describe_unknown("target of IREE", argument, IREE_TARGETS))
    return _choice_of(family, "" if argument == IREE_TARGETS[0] else argument)


def _open_iree(choice: Choice) -> Backend:
    from conformance.backends.iree.backend import IreeBackend

    return IreeBackend(choice.name, choice.argument or IREE_TARGETS[0])


def _open_interpreter(choice: Choice) -> Backend:
    from conformance.backends.interpreter.backend import InterpreterBackend

    assert choice.name == InterpreterBackend.name
    return InterpreterBackend()


BACKENDS: dict[str, Family] = {
    "cpu": Family(
        "XLA on this machine's CPU",
        _choose_cpu,
        _open_pjrt,
        _XLA,
        arguments="ISA: the newest instruction set that XLA may use, such as AVX2",
        configures=True,
    ),
    # of the processes that share a GPU each takes memory for itself
    "gpu": Family("XLA on an NVIDIA GPU", _choice_of, _open_pjrt, _XLA, workers=4, device="GPU"),
    "tpu": Family("XLA on a TPU", _choice_of, _open_pjrt, _XLA, workers=1, device="TPU"),
    "plugin": Family(
        "any compiler with PJRT's C interface",
        _choose_plugin,
        _open_plugin,
        _XLA,
        arguments="NAME=PATH: a name that you choose, and its library or installed package",
        needs_argument=True,
        workers=1,  # whether its device takes more, only who made it can tell
    ),
    "command": Family(
        "any compiler that answers requests on its standard input and output",
        _choose_command,
        _open_command,
        ("conformance.backends.command.backend", _TEXTS),
        arguments="NAME=COMMAND: a name that you choose, and the command that starts it",
        needs_argument=True,
        workers=1,
        command=_command_of,
    ),
    "folder": Family(
        "any compiler that is run once for each program, on a folder with files",
        _choose_command,
        _open_folder,
        ("conformance.backends.command.folder", _TEXTS),
        arguments="NAME=COMMAND: a name that you choose, and the command that gets the folder",
        needs_argument=True,
        workers=1,
    ),
    "jaxlib": Family(
        "XLA on this machine's CPU, of another release of jaxlib",
        _choose_release,
        _open_release,
        ("conformance.backends.releases.environments", _TEXTS),
        arguments="VERSION: the release, 0.4.30 or later, installed once into the cache",
        needs_argument=True,
        release_of="cpu",
        command=_command_of_release,
    ),
    "outputs": Family(
        "stored outputs of any tool for vectors, as the command judge reads them",
        _choose_outputs,
        _open_outputs,
        ("conformance.backends.outputs", _TEXTS),
        arguments="NAME=VECTORS,OUTPUTS: a name, the folder of export, and a folder with outputs",
        needs_argument=True,
        quantized=True,
    ),
    "python": Family(
        "a backend in a Python file, or in an installed package",
        _choose_python,
        _open_python,
        ("conformance.backends.python_file", _TEXTS),
        arguments="NAME=FILE: a name that you choose, and a file with open_backend(); or the NAME "
        "of an entry point of hlo_conformance.backends",
        needs_argument=True,
        workers=1,
    ),
    "cpu-compile": Family(
        "the optimised modules of XLA's compiler for this machine's CPU",
        _choice_of,
        _open_cpu_compile,
        _COMPILED,
        only_compiles=True,
    ),
    "gpu-compile": Family(
        "the optimised modules of XLA's compiler for GPUs; no GPU is needed",
        _argument_chooser("GPU", GPU_TARGETS),
        _open_gpu_compile,
        _COMPILED,
        arguments=f"TARGET: the GPU to compile for, {', '.join(GPU_TARGETS)}",
        configures=True,
        only_compiles=True,
    ),
    "tpu-compile": Family(
        "the optimised modules of XLA's compiler for TPUs; no TPU is needed",
        _argument_chooser("TPU", TPU_TOPOLOGIES),
        _open_tpu_compile,
        _COMPILED,
        arguments=f"TOPOLOGY: the TPU to compile for, {', '.join(TPU_TOPOLOGIES)}",
        configures=True,
        only_compiles=True,
        separates=_is_costly,
    ),
    "interpreter": Family(
        "StableHLO's own interpreter, in jaxlib",
        _choice_of,
        _open_interpreter,
        ("conformance.backends.interpreter.backend", _TEXTS),
        quantized=True,
        separates=_is_quantized,
    ),
    "iree": Family(
        "IREE's compiler, on this machine's CPU",
        _choose_iree,
        _open_iree,
        ("conformance.backends.iree.backend", _TEXTS),
        arguments=f"TARGET: {' or '.join(IREE_TARGETS)}",
        separates=_is_quantized,
    ),
    "reference": Family(
        "the suite's own reference, optionally with seeded faults",
        _choose_fault,
        _open_reference,
        (),
        arguments="FAULT, FAULT@OP or several joined by +: seeded faults",
        quantized=True,
        choices=_describe_faults,
    ),
}
"""The families of backends, each with the facts that are needed before a backend is opened."""
