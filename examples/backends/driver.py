"""A compiler behind a command: three ops of f32, on tensors of one shape; anything else is
unsupported. docs/backends.md describes the messages.

hlo-conformance run --backend 'command:mine=python examples/backends/driver.py' --op abs
"""

import re
import sys

import numpy as np

OPS = {"abs": np.abs, "add": np.add, "negate": np.negative}
STEP = re.compile(r'(%\w+) = "stablehlo\.(\w+)"\((.*?)\) : ')
read, write = sys.stdin.buffer, sys.stdout.buffer


def answer(word: str, text: str) -> None:
    """Write an answer that has a text."""
    write.write(b"%s %d\n%s" % (word.encode(), len(text), text.encode()))


def compile_module(text: str) -> tuple[list[str], list[tuple[str, ...]], list[str]] | None:
    """Return arguments, steps and results of the only function; None if it is not supported."""
    steps = [found.groups() for found in STEP.finditer(text)]
    types = set(re.findall(r"tensor<.*?>", text))
    is_known = all(op in OPS for _, op, _ in steps) and text.count(" = ") == len(steps) + 2
    if not is_known or len(types) != 1 or not re.fullmatch(r"tensor<(\d+x)*f32>", types.pop()):
        return None
    results = re.findall(r"%\w+", re.search(r'"func\.return"\((.*?)\)', text)[1])
    return re.findall(r"(%\w+): tensor", text), steps, results


programs = {}
for line in iter(read.readline, b""):
    request, *words = line.decode().split()
    if request == "describe":
        answer("ok", f"protocol 1\nbatches no\nplatform example\nversion numpy {np.__version__}")
    elif request == "compile":
        programs[words[0]] = compile_module(read.read(int(words[1])).decode())
        if programs[words[0]]:
            write.write(b"ok\n")
        else:
            answer("unsupported", "only abs, add and negate of f32, without constants")
    elif request == "execute":
        arguments, steps, results = programs[words[0]]
        values = {}
        for name in arguments:
            kind, size = read.readline().split()
            values[name] = np.frombuffer(read.read(int(size)), "<f4")
        for result, op, operands in steps:
            values[result] = OPS[op](*(values[name] for name in operands.split(", ")))
        write.write(b"ok %d\n" % len(results))
        for name in results:
            data = values[name].tobytes()
            write.write(b"%s %d\n%s" % (kind, len(data), data))
    elif request == "free":
        write.write(b"ok\n")
    else:
        answer("unsupported", f"no request {request}")
    write.flush()
