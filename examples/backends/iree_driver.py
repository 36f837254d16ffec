"""IREE behind a command, from an environment that needs iree-base-compiler, iree-base-runtime and
ml_dtypes alone. docs/backends.md describes the messages.

hlo-conformance run --backend 'command:iree=ENVIRONMENT/bin/python examples/backends/iree_driver.py'
"""

import os
import re
import sys
from math import prod

import iree.compiler as compiler
import iree.compiler.version
import iree.runtime as runtime
import ml_dtypes  # noqa: F401 - numpy knows its types by name afterwards
import numpy as np

VERSION = iree.compiler.version.VERSION or "?"
HAL = {
    "i1": "BOOL_8", "i8": "SINT_8", "i16": "SINT_16", "i32": "SINT_32", "i64": "SINT_64",
    "ui8": "UINT_8", "ui16": "UINT_16", "ui32": "UINT_32", "ui64": "UINT_64", "f16": "FLOAT_16",
    "bf16": "BFLOAT_16", "f32": "FLOAT_32", "f64": "FLOAT_64", "complex<f32>": "COMPLEX_64",
    "complex<f64>": "COMPLEX_128", "f8E4M3FN": "FLOAT_8_E4M3_FN", "f8E5M2": "FLOAT_8_E5M2",
    "f8E4M3FNUZ": "FLOAT_8_E4M3_FNUZ", "f8E5M2FNUZ": "FLOAT_8_E5M2_FNUZ",
}  # fmt: skip
TENSOR = re.compile(r"tensor<((?:\d+x)*)([a-z]\w*(?:<\w+>)?)>")
UNSUPPORTED = re.compile(r"failed to legalize|not supported|unsupported|unimplemented")
FLAGS = ["--iree-input-demote-f64-to-f32=false", "--iree-llvmcpu-target-cpu=host"]


class Answer(Exception):
    """An answer that is not a result: its word, and the reason."""


def size_of(name: str) -> int:
    """Return the bytes of an element."""
    return 1 if name == "i1" else int(HAL[name].split("_")[1]) // 8


def compile_module(text: str) -> tuple[bytes, list[tuple[list[int], str]]]:
    """Return the compiled module, and the sizes and element types of main's results."""
    signature = re.search(r"function_type = (.*), sym_name = \"main\"", text)[1]
    takes, gives = (TENSOR.findall(one) for one in signature.split(" -> "))
    for _, name in (*takes, *gives):
        if name not in HAL:
            raise Answer("unsupported", f"no element type {name}")
    try:
        made = compiler.compile_str(
            text, target_backends=["llvm-cpu"], input_type="stablehlo", extra_args=FLAGS
        )
    except compiler.CompilerToolError as error:
        said = " ".join(re.findall(r"error: (.*)", str(error))) or "no diagnostics"
        raise Answer("unsupported" if UNSUPPORTED.search(said) else "failed", said) from error
    return made, [([int(one) for one in sizes.split("x")[:-1]], name) for sizes, name in gives]


class Program:
    """A module that is loaded to the device."""

    def __init__(self, text: str, config: runtime.Config) -> None:
        """Compile and load it."""
        module, self.results = compile_module(text)
        self.device = config.device
        instance = config.vm_instance
        loaded = runtime.VmModule.copy_buffer(instance, module)
        hal = runtime.create_hal_module(instance, self.device)
        self.context = runtime.VmContext(instance, modules=[hal, loaded])
        self.function = loaded.lookup_function("main")

    def execute(self, arguments: list[tuple[list[int], str, bytes]]) -> list[bytes]:
        """Return the bytes of the results."""
        given, made = (
            runtime.VmVariantList(len(arguments)),
            runtime.VmVariantList(len(self.results)),
        )
        for sizes, name, data in arguments:
            buffer = self.device.allocator.allocate_buffer_copy(
                memory_type=runtime.MemoryType.DEVICE_LOCAL,
                allowed_usage=runtime.BufferUsage.DEFAULT | runtime.BufferUsage.MAPPING,
                device=self.device,
                buffer=np.frombuffer(data or b"\0", np.uint8),
                element_type=None,
            )
            element = getattr(runtime.HalElementType, HAL[name])
            given.push_ref(runtime.HalBufferView(buffer, sizes, element))
        try:
            self.context.invoke(self.function, given, made)
        except RuntimeError as error:
            raise Answer("failed", str(error)) from error
        found = []
        for index, (sizes, name) in enumerate(self.results):
            length = prod(sizes) * size_of(name)
            view = made.get_as_object(index, runtime.HalBufferView)
            whole = view.get_buffer().byte_length()
            raw = view.map().asarray([whole], np.dtype(np.uint8)).tobytes() if length else b""
            found.append(bytes(map(bool, raw[:length])) if name == "i1" else raw[:length])
        return found


def serve() -> None:
    """Answer requests until the stream ends."""
    read, write = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what the compiler prints must not come between messages
    config, programs = runtime.Config("local-sync"), {}
    for line in iter(read.readline, b""):
        request, *words = line.decode().split()
        text, arguments = "", []
        if request == "compile":
            text = read.read(int(words[1])).decode()
        for _ in range(int(words[2]) if request == "execute" else 0):
            kind, size = read.readline().decode().split()
            sizes, name = re.fullmatch(r"tensor<((?:\d+x)*)(.*)>", kind).groups()
            arguments.append(([int(n) for n in sizes.split("x")[:-1]], name, read.read(int(size))))
        try:
            if request == "describe":
                said = f"protocol 1\nplatform iree\ndevice llvm-cpu\nversion iree {VERSION}"
                write.write(b"ok %d\n%s" % (len(said), said.encode()))
            elif request == "compile":
                programs[words[0]] = Program(text, config)
                write.write(b"ok\n")
            elif request == "execute":
                program = programs[words[0]]
                found = program.execute(arguments)
                write.write(b"ok %d\n" % len(found))
                for (sizes, name), data in zip(program.results, found, strict=True):
                    kind = f"tensor<{''.join(f'{n}x' for n in sizes)}{name}> {len(data)}\n"
                    write.write(kind.encode() + data)
            elif request == "free":
                programs.pop(words[0], None)
                write.write(b"ok\n")
            else:
                raise Answer("unsupported", f"no request {request}")
        except Answer as error:
            word, why = error.args
            write.write(b"%s %d\n%s" % (word.encode(), len(why.encode()), why.encode()))
        write.flush()


if __name__ == "__main__":
    serve()
