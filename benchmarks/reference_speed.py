"""Speed of the reference, against StableHLO's own interpreter (`stablehlo.eval_module`).

    python benchmarks/reference_speed.py [--limit 60] [--repeat 5]

Both run the same modules on the same inputs in one run. Prints the seconds of each and their ratio.
The reference's figure is the best of several runs. The interpreter runs once, in a process of its
own, which it may crash; if it exceeds the limit it is stopped, and the ratio is at least the
printed ratio. Then prints the microseconds of small ops, each as a program of its own.
"""

from __future__ import annotations

import argparse
import multiprocessing
from dataclasses import dataclass
from multiprocessing.connection import Connection
from time import perf_counter
from typing import Any

import numpy as np

from conformance.stablehlo.parse import parse_module
from reference.interpreter.evaluate import evaluate

GOAL = 50
"""Aim: how many times faster the reference is than the interpreter."""

SMALL_GOAL = 100.0
"""Aim: microseconds of a small op."""


def _main(parameters: list[str], results: str, body: str) -> str:
    taken = ", ".join(f"%a{i}: {of}" for i, of in enumerate(parameters))
    return f"func.func @main({taken}) -> {results} {{\n{body}\n}}"


_F = "tensor<{}xf32>"
_ADD = _main(
    [_F.format(1 << 20)] * 2, _F.format(1 << 20),
    f"%0 = stablehlo.add %a0, %a1 : {_F.format(1 << 20)}\nreturn %0 : {_F.format(1 << 20)}",
)  # fmt: skip
_DOT = _main(
    ["tensor<512x512xf32>"] * 2, "tensor<512x512xf32>",
    """%0 = stablehlo.dot_general %a0, %a1, contracting_dims = [1] x [0]
      : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
    return %0 : tensor<512x512xf32>""",
)  # fmt: skip
_CONVOLUTION = _main(
    ["tensor<1x56x56x64xf32>", "tensor<3x3x64x64xf32>"], "tensor<1x56x56x64xf32>",
    """%0 = stablehlo.convolution(%a0, %a1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
      window = {pad = [[1, 1], [1, 1]]}
      {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x56x56x64xf32>, tensor<3x3x64x64xf32>) -> tensor<1x56x56x64xf32>
    return %0 : tensor<1x56x56x64xf32>""",
)  # fmt: skip
_SORT = _main(
    [_F.format(1 << 20)], _F.format(1 << 20),
    f"""%0 = "stablehlo.sort"(%a0) <{{dimension = 0 : i64, is_stable = true}}> ({{
      ^bb0(%x: tensor<f32>, %y: tensor<f32>):
        %1 = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %1 : tensor<i1>
    }}) : ({_F.format(1 << 20)}) -> {_F.format(1 << 20)}
    return %0 : {_F.format(1 << 20)}""",
)  # fmt: skip
_WHILE = _main(
    ["tensor<64x64xf32>"], "tensor<64x64xf32>",
    """%c0 = stablehlo.constant dense<0> : tensor<i32>
    %c1 = stablehlo.constant dense<1> : tensor<i32>
    %n = stablehlo.constant dense<1000> : tensor<i32>
    %half = stablehlo.constant dense<0.5> : tensor<64x64xf32>
    %r:2 = stablehlo.while(%i = %c0, %x = %a0) : tensor<i32>, tensor<64x64xf32>
      cond {
        %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %p : tensor<i1>
      } do {
        %j = stablehlo.add %i, %c1 : tensor<i32>
        %y = stablehlo.multiply %x, %half : tensor<64x64xf32>
        %z = stablehlo.add %y, %a0 : tensor<64x64xf32>
        stablehlo.return %j, %z : tensor<i32>, tensor<64x64xf32>
      }
    return %r#1 : tensor<64x64xf32>""",
)  # fmt: skip

WORK: dict[str, tuple[str, tuple[tuple[int, ...], ...]]] = {
    "add of 1M elements": (_ADD, ((1 << 20,), (1 << 20,))),
    "dot_general 512 x 512": (_DOT, ((512, 512), (512, 512))),
    "convolution 56 x 56 x 64, 3 x 3": (_CONVOLUTION, ((1, 56, 56, 64), (3, 3, 64, 64))),
    "sort of 1M elements": (_SORT, ((1 << 20,),)),
    "while, 1000 iterations of 64 x 64": (_WHILE, ((64, 64),)),
}
"""Modules with the shapes of their f32 inputs, by name."""

SMALL: dict[str, str] = {
    "add": "stablehlo.add %a0, %a0 : tensor<4x4xf32>",
    "exponential": "stablehlo.exponential %a0 : tensor<4x4xf32>",
    "transpose": "stablehlo.transpose %a0, dims = [1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf32>",
    "reverse": "stablehlo.reverse %a0, dims = [0] : tensor<4x4xf32>",
    "reshape": "stablehlo.reshape %a0 : (tensor<4x4xf32>) -> tensor<4x4xf32>",
    "concatenate": "stablehlo.concatenate %a0, dim = 0 : (tensor<4x4xf32>) -> tensor<4x4xf32>",
    "broadcast_in_dim": "stablehlo.broadcast_in_dim %a0, dims = [0, 1]"
    " : (tensor<4x4xf32>) -> tensor<4x4xf32>",
    "slice": "stablehlo.slice %a0 [0:4, 0:4] : (tensor<4x4xf32>) -> tensor<4x4xf32>",
    "dot_general": "stablehlo.dot_general %a0, %a0, contracting_dims = [1] x [0]"
    " : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>",
}
"""Small operations on one 4 x 4 matrix."""


@dataclass(frozen=True)
class Timings:
    """Seconds of the reference and of the interpreter; `stopped` if the interpreter did not finish
    within the limit.
    """

    name: str
    ours: float
    interpreter: float
    stopped: bool

    def line(self) -> str:
        """Return both times and their ratio as text; at least the ratio if the interpreter was
        stopped.
        """
        least, ratio = (">" if self.stopped else ""), self.interpreter / self.ours
        theirs, times = f"{least}{self.interpreter:.2f}", f"{least}{ratio:.0f}"
        verdict = "met" if ratio >= GOAL else "missed"
        return f"{self.name:36}{self.ours:10.4f}{theirs:>11}{times:>10}   {verdict}"


def _inputs(shapes: tuple[tuple[int, ...], ...]) -> list[np.ndarray]:
    random = np.random.default_rng(0)
    return [random.standard_normal(shape).astype(np.float32) for shape in shapes]


def _best_seconds(text: str, inputs: list[np.ndarray], repeat: int) -> float:
    program = parse_module(text)
    times = []
    for _ in range(repeat):
        begun = perf_counter()
        evaluate(program, inputs)
        times.append(perf_counter() - begun)
    return min(times)


def _interpret(text: str, shapes: tuple[tuple[int, ...], ...], seconds: Connection) -> None:
    from jax.interpreters.mlir import make_ir_context
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo

    with make_ir_context():
        module = ir.Module.parse(text)
        arrays: list[Any] = _inputs(shapes)
        given = [ir.DenseElementsAttr.get(array) for array in arrays]
        seconds.send(None)  # a pipe: a queue's thread would wait for the interpreter's lock
        begun = perf_counter()
        stablehlo.eval_module(module, given)
        seconds.send(perf_counter() - begun)


def interpreter(text: str, shapes: tuple[tuple[int, ...], ...], limit: float) -> float | None:
    """Return the seconds that the interpreter takes; None if it is stopped at the limit.

    Raises:
        SystemExit: if its process ends without an answer.
    """
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_interpret, args=(text, shapes, there))
    process.start()
    there.close()
    here.recv()  # it has read the module
    process.join(limit)
    if process.is_alive():
        process.kill()
        process.join()
        return None
    if process.exitcode:
        raise SystemExit(f"the interpreter's process ended with {process.exitcode}")
    return here.recv()


def measure(name: str, limit: float, repeat: int) -> Timings:
    text, shapes = WORK[name]
    ours = _best_seconds(text, _inputs(shapes), repeat)
    theirs = interpreter(text, shapes, limit)
    return Timings(name, ours, limit if theirs is None else theirs, theirs is None)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for the interpreter")
    parser.add_argument(
        "--repeat", type=int, default=5, help="evaluations, the best of which counts"
    )
    arguments = parser.parse_args()
    print(f"{'':36}{'ours s':>10}{'theirs s':>11}{'ratio':>10}   goal {GOAL}")
    for name in WORK:
        print(measure(name, arguments.limit, arguments.repeat).line())
    print(f"small ops, microseconds (goal {SMALL_GOAL:.0f})")
    for op, line in SMALL.items():
        of = "tensor<4x4xf32>"
        text = _main([of], of, f"%0 = {line}\nreturn %0 : {of}")
        taken = 1e6 * _best_seconds(text, _inputs(((4, 4),)), 20 * arguments.repeat)
        print(f"  {op:34}{taken:10.1f}   {'met' if taken <= SMALL_GOAL else 'missed'}")


if __name__ == "__main__":
    main()
