"""Two ops that nobody specified, each as someone would add it who read only CONTRIBUTING.md.

An addition is text to be put before the first line that begins so, in one of the project's files.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Addition:
    """Text for a file: `text` goes before the first line that begins with `before`."""

    file: str
    before: str
    text: str


SQUARE = (
    Addition(
        "reference/ops/elementwise/elementwise.py",
        "OPS: tuple",
        '''
def _square(operand: Array) -> Array:
    """`square`: the product of each element with itself."""
    return arithmetic.multiply(operand, operand)


def _is_square_exact(operands: tuple[Array, ...], result: Array) -> Array:
    """Where nothing of a square was rounded."""
    return exactness.is_exact_product((operands[0], operands[0]), result)


''',
    ),
    Addition(
        "reference/ops/elementwise/elementwise.py",
        '    _elementary("tan"),',
        """    replace(
        _unary("square", types.ARITHMETIC, _square, Rounding.CORRECT),
        unrounded=np.square, wraps=True, is_exact=_is_square_exact,
    ),
""",
    ),
    Addition(
        "conformance/catalog.py",
        '    Row("subtract"',
        """    Row("square", ARITHMETIC, t.MULTIPLIED, ANY_NUMBERS),
""",
    ),
)
"""An elementwise op: its cases and near misses follow from its record."""

WINDOW_MAXIMUM = (
    Addition(
        "reference/ops/folds/reduction.py",
        "_op = partial(",
        '''
def window_maximum_type(
    operand: TensorType,
    *,
    window_dimensions: tuple[int, ...],
    result: TensorType | None = None,
) -> TensorType:
    """Result type of `window_maximum`: as many windows as fit in, without padding."""
    fits = len(window_dimensions) == operand.rank
    require("C1", fits, window_dimensions)  # C1
    require("C2", all(size > 0 for size in window_dimensions), window_dimensions)  # C2
    if not fits:
        return result or operand
    pairs = zip(operand.static_shape, window_dimensions, strict=True)
    shape = tuple(max(size - window + 1, 0) for size, window in pairs)
    if result is not None:
        require("C3", result == replace(operand, shape=shape), result)  # C3
    return result or replace(operand, shape=shape)


def window_maximum(operand: Array, *, window_dimensions: tuple[int, ...]) -> Array:
    """`window_maximum`: the largest element in each window."""
    result = operand
    for axis, window in enumerate(window_dimensions):
        count = max(result.shape[axis] - window + 1, 0)
        taken = [np.take(result, range(n, n + count), axis) for n in range(window)]
        result = reduced(maximum, taken) if count else np.take(result, range(0), axis)
    return result


''',
    ),
    Addition(
        "reference/ops/folds/reduction.py",
        "from reference.numerics.contributions",
        "from functools import reduce as reduced\n"
        "from dataclasses import replace\n"
        "from reference.ir.constraints import require\n"
        "from reference.ir.program import TensorType\n"
        "from reference.ir.types import BITS, FLOATS\n"
        "from reference.numerics.arithmetic import maximum\n",
    ),
    Addition(
        "reference/ops/folds/reduction.py",
        ')  # fmt: skip\n"""The ops of this family',
        """    replace(
        _op(
            name="window_maximum", type_function=window_maximum_type, evaluate=window_maximum,
            operands=("operand",), attributes=("window_dimensions",),
            constraints=("C1", "C2", "C3"),
        ),
        element_types=BITS + FLOATS, rounding=Rounding.MOVES,
    ),
""",
    ),
    Addition(
        "generators/families/reduction.py",
        "BUILDERS: dict",
        """def _window_maximum(op: str, of: ElementType, pick: Pick) -> Case:
    size = shape(pick)
    windows = tuple(1 + pick(max(extent, 1)) for extent in size)
    kind = TensorType(size, of)
    given: dict[str, Attribute] = {"window_dimensions": windows}
    result = OPS[op].infer(kind, **given)
    return case(pick, op, {"operand": kind}, (result,), profiles.rows(of), given)


""",
    ),
    Addition(
        "generators/families/reduction.py",
        '    "map": partial(_map',
        '    "window_maximum": partial(_window_maximum, "window_maximum"),\n',
    ),
    Addition(
        "generators/families/reduction.py",
        "from generators.case.case import",
        "from generators.programs.building import case\n"
        "from generators.values import profiles\n"
        "from reference.ops.table import OPS\n",
    ),
    Addition(
        "generators/invalid/reduction.py",
        "NEAR_MISSES: dict",
        """def _window_maximum(op: str) -> Iterator[Miss]:
    operand = {"operand": tensor(_F32, 3, 4)}
    for windows, result, id_ in (
        ((2,), (3, 4), "C1"), ((0, 1), (4, 4), "C2"), ((2, 2), (3, 3), "C3"),
    ):  # fmt: skip
        yield id_, program(op, operand, (tensor(_F32, *result),), window_dimensions=windows)


""",
    ),
    Addition(
        "generators/invalid/reduction.py",
        '    "map": _map,',
        '    "window_maximum": _window_maximum,\n',
    ),
    Addition(
        "conformance/catalog.py",
        '    Row("xor"',
        """    Row("window_maximum", REDUCTION, t.DATA, ANY_NUMBERS),
""",
    ),
)
"""An op with windows: a type function with constraints, a strategy and near misses of its own."""
