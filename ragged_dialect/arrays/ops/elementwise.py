"""NumPy's ufuncs on ragged arrays, and `where`, `clip`, `astype`, `erf` in their manner."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from ragged_dialect._mlir import ir
from ragged_dialect.arrays.core.spec import DType
from ragged_dialect.arrays.core.storage import DTypeLike, check_dtype, dtype_of
from ragged_dialect.arrays.ops.broadcast import elementwise
from ragged_dialect.arrays.ops.ufunc_bodies import Loop
from ragged_dialect.arrays.ops.ufunc_floats import BODIES  # with those that are made there
from ragged_dialect.arrays.tracing import elements
from ragged_dialect.arrays.tracing.operation import Operation, operation
from ragged_dialect.arrays.tracing.python_numbers import Exact, exact
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.arrays.tracing.trace import Trace
from ragged_dialect.arrays.tracing.wrap import contiguous
from ragged_dialect.errors import ArgumentError
from ragged_dialect.ir import build

Scalars: TypeAlias = "Callable[[list[ir.Value]], Sequence[ir.Value]]"


def map_elements(
    trace: Trace,
    operands: Sequence[Tensor],
    inputs: Sequence[DType],
    results: Sequence[DType],
    body: Scalars,
    exact: Exact,
) -> list[Tensor]:
    """Apply a scalar body, which gets elements in the dtypes `inputs`, to tensors that broadcast.

    Numbers stay scalars; without any tensor the results are numbers too, `exact` in Python. Windows are made
    contiguous."""
    for x, dtype in zip(operands, inputs, strict=True):
        if x.weak:
            trace.number_fits(x, dtype)
    tensors = [contiguous(x) for x in operands if x.axes or not x.weak]

    def scalars(given: list[ir.Value]) -> Sequence[ir.Value]:
        rest = iter(given)
        converted: list[ir.Value] = []
        for x, dtype in zip(operands, inputs, strict=True):
            if x.constant is not None:
                converted.append(elements.constant(dtype, x.constant))
            else:
                converted.append(elements.convert(x.value if x.weak else next(rest), x.dtype, dtype))
        return body(converted)

    if not tensors:
        values = scalars([])
        return [trace.number(v, dtype, operands, exact, k) for k, (v, dtype) in enumerate(zip(values, results))]
    return elementwise(trace, tensors, results, scalars)


def resolve(name: str, operands: Sequence[Tensor], count: int = 1) -> tuple[list[DType], list[DType]]:
    """The dtypes of NumPy's loop for operands: inputs and results. ArgumentError where it has none, or
    one of a dtype that programs do not have."""
    short = next((x.dtype for x in operands if x.dtype.name == "bfloat16"), None)
    alone = all(x.weak for x in operands)  # NumPy compares two integers of Python as objects
    given = [_python_type(x, short) if x.weak and not alone else x.dtype for x in operands]
    try:
        found = getattr(np, name).resolve_dtypes((*given, *[None] * count))
    except TypeError as error:
        names = " and ".join(str(x.dtype) for x in operands)
        raise ArgumentError(
            f"{operands[0].trace.op}: expected dtypes that NumPy's {name} takes, got {names}"
        ) from error
    for dtype in found:
        check_dtype(dtype)
    return list(found[: len(operands)]), list(found[len(operands) :])


def _python_type(x: Tensor, short: DType | None) -> type | np.dtype:
    """The type of a number as NumPy resolves it. Beside bfloat16 a float has this type: NumPy, which does not know
    it, would make it a float32."""
    return {"b": x.dtype, "i": int, "f": short or float}[x.dtype.kind]


def _make(name: str, results: int) -> Operation:
    def body(*operands: Tensor) -> Tensor | tuple[Tensor, ...]:
        if len(operands) != (wanted := getattr(np, name).nin):
            raise ArgumentError(f"{name}: expected {wanted} arguments, got {len(operands)}")
        if name == "power" and all(x.weak for x in operands):
            operands = _with_inverse(*operands)
        inputs, outputs = resolve(name, operands, results)
        loop = Loop(inputs[0], outputs[0])

        def scalars(given: list[ir.Value]) -> Sequence[ir.Value]:
            made = BODIES[name](loop, *given)
            return made if isinstance(made, list) else [made]

        found = map_elements(operands[0].trace, operands, inputs, outputs, scalars, exact(name))
        return found[0] if results == 1 else tuple(found)

    body.__name__ = name
    body.__doc__ = f"NumPy's `{name}`, element by element, with broadcasting."
    return operation(name, elementwise=True)(body)


def _with_inverse(x: Tensor, exponent: Tensor) -> tuple[Tensor, Tensor]:
    """The operands of a power of Python's numbers, which is a float of a negative exponent. One that only calls know
    has to be none: the program has one dtype."""
    if x.dtype.kind == "f" or exponent.dtype.kind == "f":
        return x, exponent
    if exponent.constant is None:
        x.trace.number_in(
            exponent, 0, 2**63 - 1, f"{x.trace.op} by an exponent that calls know (2.0 ** n for negative ones)"
        )
    elif exponent.constant < 0:
        x = UFUNCS["multiply"](x, 1.0)
    return x, exponent


UFUNCS: dict[str, Operation] = {name: _make(name, 2 if name in ("divmod", "modf", "frexp") else 1) for name in BODIES}
"""Every ufunc by its NumPy name."""


@operation("where", elementwise=True)
def where(condition: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """`a` where the condition holds, else `b`; the three broadcast."""
    _, (dtype,) = resolve("add", [a, b]) if a.dtype.kind != "b" or b.dtype.kind != "b" else (None, [a.dtype])
    inputs = [elements.BOOL, dtype, dtype]

    def select(given: list[ir.Value]) -> list[ir.Value]:
        return [elements.select(*given)]

    return map_elements(condition.trace, [condition, a, b], inputs, [dtype], select, lambda c, x, y: [x if c else y])[0]


@operation("astype")
def astype(x: Tensor, *, dtype: DTypeLike) -> Tensor:
    """The elements in another dtype; floats that become integers lose their fractions."""
    wanted = dtype_of(dtype)

    def body(given: list[ir.Value]) -> list[ir.Value]:
        return [elements.convert(given[0], x.dtype, wanted)]

    return map_elements(x.trace, [x], [x.dtype], [wanted], body, lambda v: [np.asarray(v).astype(wanted)[()]])[0]


@operation("clip", elementwise=True)
def clip(x: Tensor, min: Tensor | None = None, max: Tensor | None = None) -> Tensor:
    """The elements moved into [min, max]; None for no bound. nan stays."""
    if min is not None:
        x = UFUNCS["maximum"](x, min)
    return x if max is None else UFUNCS["minimum"](x, max)


@operation("rounded", elementwise=True)
def rounded(x: Tensor, *, decimals: int) -> Tensor:
    """The nearest multiples of 10**-decimals, halves to the even one, computed as NumPy does: scaled, rounded, scaled
    back. Integers stay integers."""
    whole = x.dtype.kind in "iu"
    if whole and decimals >= 0:
        return x
    if decimals == 0:
        return UFUNCS["rint"](x)
    up, down = ("multiply", "divide") if decimals > 0 else ("divide", "multiply")
    scale = float(f"1e{abs(decimals)}")  # inf where ** raises
    made = UFUNCS[down](UFUNCS["rint"](UFUNCS[up](x, scale)), scale)
    return astype(made, dtype=x.dtype) if whole else made


def _formula(x: Tensor, like: str, body: Callable[[ir.Value], ir.Value], number: Callable[[float], float]) -> Tensor:
    """A function of floats, in the dtypes of one of NumPy's; `number` is that of a number of Python."""
    inputs, outputs = resolve(like, [x])
    return map_elements(x.trace, [x], inputs, outputs, lambda v: [body(v[0])], lambda v: [number(v)])[0]


@operation("erf")
def erf(x: Tensor) -> Tensor:
    """The error function."""
    return _formula(x, "exp", lambda v: elements.create("math.erf", v), math.erf)


@operation("root")
def root(x: Tensor) -> Tensor:
    """The square root of sums of squares. Where it is 0 they all are, and its derivative is 0, as PyTorch's is of
    deviations and norms."""

    def body(v: ir.Value) -> ir.Value:
        is_zero = elements.compare("eq", v, build.constant(v.type, 0))
        nonzero = elements.select(is_zero, build.constant(v.type, 1), v)
        return elements.select(is_zero, v, elements.create("math.sqrt", nonzero))

    return _formula(x, "sqrt", body, math.sqrt)


@operation("rsqrt")
def rsqrt(x: Tensor) -> Tensor:
    """One over the square root."""
    return _formula(x, "sqrt", lambda v: elements.create("math.rsqrt", v), lambda v: v**-0.5)
