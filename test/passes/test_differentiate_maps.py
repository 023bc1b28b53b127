"""`ragged-differentiate` of `linalg.generic` whatever its maps are: right, or refused, but never wrong numbers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from support.run_pass import transform

from ragged_dialect import compile
from ragged_dialect.asm.module import print_module
from ragged_dialect.passes.ragged_differentiate import RaggedDifferentiate
from ragged_dialect.reference import run

PARALLEL, REDUCTION = "parallel", "reduction"
COPY = "linalg.yield %a : f64"
PRODUCT = "%m = arith.mulf %a, %b : f64\nlinalg.yield %m : f64"
PRODUCTS = "%m = arith.mulf %a, %b : f64\n%s = arith.addf %out, %m : f64\nlinalg.yield %s : f64"
GREATEST = PRODUCTS.replace("addf", "maximumf")
OFFSETS = np.array([0, 2, 2, 5])
ROWS, LISTS = "tensor<?x?x3xf64, #rows>", "tensor<?x?xf64, #lists>"


class Case(NamedTuple):
    """A generic op: types of its operands, the out last, and shapes of their elements."""

    types: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]
    maps: tuple[str, ...]
    kinds: tuple[str, ...]
    body: str

    def text(self) -> str:
        """A function of the operands."""
        given = ", ".join(f"%x{k}: {type_}" for k, type_ in enumerate(self.types))
        *ins, out = [f"%x{k}" for k in range(len(self.types))]
        *types, result = self.types
        maps = ", ".join(f"affine_map<{m}>" for m in self.maps)
        kinds = ", ".join(f'"{kind}"' for kind in self.kinds)
        elements = ", ".join(f"%{name}: f64" for name in ["a", "b"][: len(ins)])
        return f"""
        #rows = #ragged.layout<"dr|d">
        #lists = #ragged.layout<"dr">
        func.func @f({given}) -> {result} {{
          %y = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}}
              ins({", ".join(ins)} : {", ".join(types)}) outs({out} : {result}) {{
          ^bb0({elements}, %out: f64):
            {self.body}
          }} -> {result}
          return %y : {result}
        }}"""

    def arguments(self) -> list[Any]:
        """Values of the operands."""
        made = np.random.default_rng(0)
        values = [made.standard_normal(shape) for shape in self.shapes]
        return [(x, OFFSETS) if "#" in type_ else x for x, type_ in zip(values, self.types, strict=True)]


def values(x: Any) -> np.ndarray:
    """The elements of an array or of a ragged argument."""
    return x[0] if isinstance(x, tuple) else x


DENSE = ("tensor<?xf64>",) * 3
TWO = (PARALLEL, REDUCTION)
CASES = {
    "constant": Case(
        ("tensor<2x3xf64>", "tensor<2xf64>"), ((2, 3), (2,)), ("(i) -> (i, 1)", "(i) -> (i)"), (PARALLEL,), COPY
    ),
    "constant 0 of a dim of any extent": Case(
        ("tensor<?x?xf64>", "tensor<?xf64>"), ((2, 3), (2,)), ("(i) -> (i, 0)", "(i) -> (i)"), (PARALLEL,), COPY
    ),
    "constants only": Case(
        ("tensor<2x3xf64>", "tensor<2xf64>"), ((2, 3), (2,)), ("(i) -> (1, 2)", "(i) -> (i)"), (PARALLEL,), COPY
    ),
    "constant, ragged": Case(
        (ROWS, LISTS), ((5, 3), (5,)), ("(b, i) -> (b, i, 1)", "(b, i) -> (b, i)"), (PARALLEL, PARALLEL), COPY
    ),
    "constant, along a ragged loop": Case(
        ("tensor<2x5xf64>", LISTS, LISTS),
        ((2, 5), (5,), (5,)),
        ("(b, i) -> (1, i)", "(b, i) -> (b, i)", "(b, i) -> (b, i)"),
        (PARALLEL, PARALLEL),
        PRODUCT,
    ),
    "convolution": Case(
        ("tensor<6xf64>", "tensor<2xf64>", "tensor<5xf64>"),
        ((6,), (2,), (5,)),
        ("(i, j) -> (i + j)", "(i, j) -> (j)", "(i, j) -> (i)"),
        TWO,
        PRODUCTS,
    ),
    "convolution with strides": Case(
        DENSE, ((9,), (3,), (4,)), ("(i, j) -> (2 * i + j)", "(i, j) -> (j)", "(i, j) -> (i)"), TWO, PRODUCTS
    ),
    "convolution of features": Case(
        (ROWS, "tensor<2xf64>", ROWS.replace("3", "2")),
        ((5, 3), (2,), (5, 2)),
        ("(b, i, f, k) -> (b, i, f + k)", "(b, i, f, k) -> (k)", "(b, i, f, k) -> (b, i, f)"),
        (PARALLEL, PARALLEL, PARALLEL, REDUCTION),
        PRODUCTS,
    ),
    "transposed convolution": Case(
        DENSE, ((2,), (3,), (4,)), ("(i, j) -> (i)", "(i, j) -> (j)", "(i, j) -> (i + j)"), (REDUCTION,) * 2, PRODUCTS
    ),
    "pooling": Case(DENSE, ((6,), (2,), (5,)), ("(i, j) -> (i + j)", "(i, j) -> (j)", "(i, j) -> (i)"), TWO, GREATEST),
    "divisions": Case(
        ("tensor<3x3xf64>", "tensor<6xf64>"),
        ((3, 3), (6,)),
        ("(i) -> (i floordiv 2, i mod 3)", "(i) -> (i)"),
        (PARALLEL,),
        COPY,
    ),
    "diagonal": Case(
        ("tensor<3x3xf64>", "tensor<3xf64>"), ((3, 3), (3,)), ("(i) -> (i, i)", "(i) -> (i)"), (PARALLEL,), COPY
    ),
    "diagonal of rows": Case(
        (ROWS, LISTS), ((5, 3), (5,)), ("(b, i) -> (b, i, i)", "(b, i) -> (b, i)"), (PARALLEL, PARALLEL), COPY
    ),
    "diagonal along a ragged loop": Case(
        ("tensor<5x4xf64>", LISTS, LISTS),
        ((5, 4), (5,), (5,)),
        ("(b, i) -> (i, i)", "(b, i) -> (b, i)", "(b, i) -> (b, i)"),
        (PARALLEL, PARALLEL),
        PRODUCT,
    ),
    "result with an extent of 1": Case(
        ("tensor<2xf64>", "tensor<2x1xf64>"), ((2,), (2, 1)), ("(i) -> (i)", "(i) -> (i, 0)"), (PARALLEL,), COPY
    ),
}


@pytest.mark.sampled(16)
@pytest.mark.parametrize("name", CASES)
def test_gradients(name: str) -> None:
    """Against differences of the function, by every input."""
    case = CASES[name]
    text, arguments = case.text(), case.arguments()
    function = compile(text, entry="f")
    result = function(*arguments)
    upstream = np.arange(1.0, values(result).size + 1).reshape(values(result).shape)
    numbers = ",".join(map(str, range(len(arguments) - 1)))
    module = transform(text, RaggedDifferentiate(function="f", arguments=numbers))
    cotangent = (upstream, OFFSETS) if isinstance(result, tuple) else upstream
    found = compile(print_module(module), entry="f_vjp")(*arguments, cotangent)
    gradients = [found] if len(arguments) == 2 else found
    step = 1e-6
    for x, gradient in zip(arguments, gradients, strict=False):
        elements = values(x)
        for at in np.ndindex(elements.shape):
            ends: list[float] = []
            for change in (step, -2 * step):
                elements[at] += change
                ends.append(float((values(function(*arguments)) * upstream).sum()))
            elements[at] += step
            np.testing.assert_allclose(values(gradient)[at], (ends[0] - ends[1]) / (2 * step), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("body", [COPY, "%v = tensor.extract %x[%b, %i, %k] : !x\nlinalg.yield %v : f64"])
def test_windows_with_gaps(body: str) -> None:
    """The gradient has the elements without what lies between them; the elements of component b are read at b + 1."""
    text = f"""
    #rows = #ragged.layout<"dw|d">
    #w = #ragged.layout<"dw">
    !x = tensor<?x?x3xf64, #rows>
    !y = tensor<?x?xf64, #w>
    func.func @f(%x: !x, %o: !y) -> !y {{
      %c1 = arith.constant 1 : index
      %y = linalg.generic {{indexing_maps = [affine_map<(b, i) -> (b, i, b + 1)>, affine_map<(b, i) -> (b, i)>],
                           iterator_types = ["parallel", "parallel"]}} ins(%x : !x) outs(%o : !y) {{
      ^bb0(%a: f64, %out: f64):
        %b = linalg.index 0 : index
        %i = linalg.index 1 : index
        %k = arith.addi %b, %c1 : index
        {body}
      }} -> !y
      return %y : !y
    }}"""
    module = print_module(transform(text, RaggedDifferentiate(function="f", arguments="0")))
    windows = np.array([1, 4]), np.array([2, 1])
    upstream = (np.arange(6.0), *windows)
    ((gradient, *_),) = run(module, "f_vjp", [(np.zeros((6, 3)), *windows), (np.zeros(6), *windows), upstream])
    np.testing.assert_array_equal(gradient, [[0, 1, 0], [0, 2, 0], [0, 0, 4]])


def test_no_elements() -> None:
    """A dense operand of no rows, read at computed indices by components without elements."""
    case = Case(("tensor<0x2xf64>", LISTS), ((0, 2), (0,)), ("(b, i) -> (i, b mod 2)", "(b, i) -> (b, i)"),
                (PARALLEL, PARALLEL), COPY)  # fmt: skip
    module = print_module(transform(case.text(), RaggedDifferentiate(function="f", arguments="0")))
    nothing = np.zeros(0), np.array([0, 0])
    assert compile(module, entry="f_vjp")(np.zeros((0, 2)), nothing, nothing).shape == (0, 2)
