"""Identities of real numbers that compilers apply to rounded numbers, as data.

To add an identity: a line here, with a class of its own, and an entry in conformance/gate/known/
that names the class and has a counterexample.
"""

from __future__ import annotations

from conformance.known.hypothesis import LEFT_OUT
from conformance.known.rewritings.patterns import Rewriting
from reference.ir.types import Kind

REGROUPED = "constants multiplied first"
MERGED = "quotients made one"
ADDED = "constants added first"
FACTOR = "common factor taken out of a sum"
UNDONE = "difference undone"
LOGARITHM = "logarithm of a power as a product"
INVERSE = "logarithm of an exponential as its argument"
EXPONENTIAL = "quotient by an exponential as a product"
POWER = "quotient by a power as a product"
ROOT = "quotient by a root as a product"
LOGISTIC = "logistic taken apart in a quotient"
POWER_OF_EXPONENTIAL = "power of an exponential as one"
PRODUCT = "product of exponentials as one"
MAGNITUDE = "root of a square as a magnitude"
UNSIGNED = "magnitude left out of a maximum"
NOT_NEGATIVE = "taken for not negative"
BIT_MOVED = "exponent of one bit less ignored"
CANCELLED = "disjunction with itself as false"
ANGLE_OF_ZEROS = "angle of zeros as a quotient"
SELECTION = "truth value as a selection"
NEGATION = "negation moved out of a sum"
ZEROS = "zeros taken for equal"
POSITIVE = "+0 for zeros before a reduction"
OTHER = "other operand for NaN before a reduction"


_REAL = (Kind.FLOAT, Kind.SIGNED, Kind.UNSIGNED)
_NUMBERS = (Kind.FLOAT, Kind.COMPLEX)


def _lines(label: str, *texts: str, **of: object) -> tuple[Rewriting, ...]:
    return tuple(Rewriting(label, text, **of) for text in texts)  # type: ignore[arg-type]


FORMS: tuple[Rewriting, ...] = _lines(
    "",
    "(abs (exponential x)) -> (exponential x)",
    "(divide 1 (exponential x)) -> (exponential (negate x))",
    "(multiply (exponential x) (exponential y)) -> (exponential (add x y))",
    "(divide (exponential x) (exponential y)) -> (exponential (subtract x y))",
    "(power x 2) -> (multiply x x)",
    "(abs (multiply x x)) -> (multiply x x)",
    "(multiply (multiply x C) D) -> (multiply x (multiply C D))",
    "(multiply (divide x C) D) -> (multiply x (divide D C))",
    "(divide (multiply x C) D) -> (multiply x (divide C D))",
    "(divide (divide x C) D) -> (divide x (multiply C D))",
    "(divide x C:power_of_two) -> (multiply x (divide 1 C))",
)
"""Rewritings of operands to equivalent forms; patterns may match these forms, too."""

SIMPLIFICATIONS: tuple[Rewriting, ...] = _lines(
    "",
    "(add x 0) -> x",
    "(subtract x 0) -> x",
    "(multiply x 1) -> x",
    "(multiply x -1) -> (negate x)",
    "(divide x 1) -> x",
    "(divide x -1) -> (negate x)",
    "(power x 1) -> x",
    "(negate (negate x)) -> x",
    "(abs x:not_negative) -> x",
    "(maximum x -inf) -> x",
    "(minimum x +inf) -> x",
    "(maximum x x) -> x",
    "(minimum x x) -> x",
    "(clamp -inf x +inf) -> x",
    "(clamp x y z) -> (minimum (maximum x y) z)",
    "(select p x x) -> x",
    "(select 1 x y) -> x",
    "(select 0 x y) -> y",
    "(convert x) -> x",
    "(reduce_precision x):unchanged -> x",
    "(bitcast_convert (bitcast_convert x)) -> x",
    "(real x) -> x",
    "(real (complex x y)) -> x",
    "(imag (complex x y)) -> y",
    "(dynamic_update_slice x y ...):overwritten -> y",
)
"""Operations that return an operand unchanged, and operations that are equivalent to others.

They apply where the result has the type of the replacement's values.
"""

IDENTITIES: tuple[Rewriting, ...] = (
    *_lines(
        SELECTION,
        "(multiply (convert p:boolean) x) -> (select p x 0)",
        "(divide (convert p:boolean) x) -> (select p (divide 1 x) 0)",
        "(divide a (divide b (convert p:boolean))) -> (divide (select p a 0) b)",
        kinds=_NUMBERS,
        flushes=False,
    ),
    *_lines(
        NEGATION,
        *(
            f"({op} {operands}) -> (negate ({op} x y))"
            for op in ("convolution", "dot", "dot_general", "einsum")
            for operands in ("(negate x) y", "x (negate y)")
        ),
        *(f"({op} (negate x) y) -> (negate ({op} x y))" for op in ("reduce", "reduce_window")),
        kinds=_NUMBERS,
        flushes=False,
    ),
    *_lines(
        ZEROS,
        "(maximum C D) -> (other_zeros (maximum C D))",
        "(minimum C D) -> (other_zeros (minimum C D))",
        "(clamp C D F) -> (other_zeros (clamp C D F))",
        is_exact=True,
        flushes=False,
    ),
    *_lines(
        OTHER,  # constants come second
        *(
            f"({op}! {first}):reduced -> (select (compare.NE x x) y ({op} x y))"
            for op in ("maximum", "minimum")
            for first in ("x:variable y", "y:constant x")
        ),
        is_exact=True,
        flushes=False,
    ),
    *_lines(
        POSITIVE,
        *(
            f"({op} x):reduced -> (add 0 ({op} x))"
            for op in ("negate", "tanh", "sign", "exponential_minus_one", "log_plus_one")
        ),
        is_exact=True,
        flushes=False,
    ),
    *_lines(
        REGROUPED,
        "(multiply (multiply x C) D) -> (multiply x (multiply C D))",
        "(multiply (divide x C) D) -> (multiply x (divide D C))",
        "(multiply (divide x C) D) -> (multiply x (multiply (divide 1 C) D))",
        "(multiply (multiply x C) (multiply y D)) -> (multiply (multiply x y) (multiply C D))",
        "(multiply (divide x C) (multiply y D))"
        " -> (multiply (multiply x y) (multiply (divide 1 C) D))",
        "(multiply (divide x C) (divide y D))"
        " -> (multiply (multiply x y) (multiply (divide 1 C) (divide 1 D)))",
        "(divide (multiply x C) D) -> (multiply x (divide C D))",
        "(divide (multiply x C) D) -> (multiply x (multiply C (divide 1 D)))",
        "(divide (divide x C) D) -> (multiply x (multiply (divide 1 C) (divide 1 D)))",
        "(divide (divide x C) D) -> (divide x (multiply C D))",
    ),
    *_lines(
        EXPONENTIAL,
        "(divide a (exponential x)) -> (multiply a (exponential (negate x)))",
        has_budget=True,
    ),
    *_lines(
        POWER,
        "(divide a (power b x)) -> (multiply a (power b (negate x)))",
        has_budget=True,
    ),
    *_lines(
        POWER,
        "(divide a (power b x)) -> (multiply a (power b (negate x)))",
        "(divide a (power b x)) -> (multiply a (power b (and (negate x) 63)))",
        kinds=(Kind.SIGNED, Kind.UNSIGNED),
        is_exact=True,
    ),
    *_lines(ROOT, "(divide a (sqrt x)) -> (multiply a (rsqrt x))", has_budget=True),
    *_lines(
        LOGISTIC,
        "(divide a (logistic x)) -> (multiply a (add 1 (exponential (negate x))))",
        "(divide (logistic x) a) -> (divide 1 (multiply (add 1 (exponential (negate x))) a))",
        has_budget=True,
    ),
    *_lines(
        MERGED,
        "(divide (divide a b) (divide c d)) -> (divide (multiply a d) (multiply b c))",
        "(divide (divide a b) c) -> (divide a (multiply b c))",
        "(divide a (divide b c)) -> (divide (multiply a c) b)",
    ),
    *_lines(
        PRODUCT,
        "(multiply (exponential x) (exponential y)) -> (exponential (add x y))",
        "(divide (exponential x) (exponential y)) -> (exponential (subtract x y))",
        has_budget=True,
    ),
    *_lines(
        LOGARITHM,
        "(log (power x y)) -> (multiply y (log x))",
        "(log (power x y)) -> (multiply y (log (abs x)))",
        "(log (rsqrt x)) -> (multiply -0.5 (log x))",
        "(log (rsqrt x)) -> (multiply -0.5 (log (abs x)))",
    ),
    *_lines(INVERSE, "(log (exponential x)) -> x", has_budget=True),
    *_lines(
        POWER_OF_EXPONENTIAL,
        "(power (exponential x) y) -> (exponential (multiply x y))",
        has_budget=True,
    ),
    *_lines(
        MAGNITUDE,
        "(sqrt (multiply x x)) -> (abs x)",
        "(power (multiply x x) 0.5) -> (abs x)",
        is_exact=True,
    ),
    *_lines(
        ADDED,
        "(add (add x C) D) -> (sum x (add C D))",
        "(add (subtract x C) D) -> (sum x (subtract D C))",
        "(add (subtract C x) D) -> (sum (negate x) (add C D))",
        "(subtract (add x C) D) -> (sum x (subtract C D))",
        "(subtract (subtract x C) D) -> (sum x (negate (add C D)))",
        "(subtract (subtract C x) D) -> (sum (negate x) (subtract C D))",
        "(subtract D (add x C)) -> (sum (negate x) (subtract D C))",
        "(subtract D (subtract x C)) -> (sum (negate x) (add C D))",
        "(subtract D (subtract C x)) -> (sum x (subtract D C))",
        kinds=_NUMBERS,
    ),
    *_lines(
        FACTOR,
        "(add (multiply x C) (multiply y C)) -> (multiply (add x y) C)",
    ),
    *_lines(
        UNDONE,
        "(add (subtract x y) y) -> x",
        "(subtract (add x y) y) -> x",
        kinds=(Kind.COMPLEX,),
        is_exact=True,
    ),
    *_lines(
        NOT_NEGATIVE,
        "(compare.GE x:not_negative 0) -> 1",
        "(compare.LT x:not_negative 0) -> 0",
        "(compare.LE 0 x:not_negative) -> 1",
        "(compare.GT 0 x:not_negative) -> 0",
        kinds=_REAL,
    ),
    *_lines(
        NOT_NEGATIVE,
        "(abs x:not_negative) -> x",
        "(divide x:not_negative C:power_of_two) -> (unsigned_quotient x C)",
        "(remainder x:not_negative C:power_of_two) -> (unsigned_remainder x C)",
        kinds=(Kind.SIGNED,),
    ),
    *_lines(
        UNSIGNED,  # by NVIDIA's assembler, which keeps the magnitudes in front of constants
        "(maximum (abs x) y:variable) -> (maximum x y)",
        "(maximum y:variable (abs x)) -> (maximum y x)",
        "(clamp y:variable (abs x) z) -> (clamp y x z)",
        kinds=(Kind.SIGNED,),
        is_exact=True,
    ),
    *_lines(
        ANGLE_OF_ZEROS,
        "(atan2 x:zero_by_truth_values y:zero_by_truth_values) -> (divide x y)",
        is_exact=True,
    ),
    *_lines(CANCELLED, "(add x:constant x) -> 0", kinds=(Kind.BOOLEAN,), is_exact=True),
    *_lines(BIT_MOVED, "(reduce_precision x):bit_moved -> x", kinds=_NUMBERS, is_exact=True),
    *_lines(
        LEFT_OUT,
        *(
            text
            for outer in ("convert", "reduce_precision")
            for text in (
                f"({outer} x) -> x",
                f"({outer} (convert x)) -> x",
                f"({outer} (reduce_precision x)) -> x",
            )
        ),
        kinds=_NUMBERS,
        is_exact=True,
    ),
)
"""The identities in the order of trial."""
