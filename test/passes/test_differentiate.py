"""`ragged-differentiate`: every op has rules or a reason for none, and derivatives of single ops are right."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.run_pass import transform

from ragged_dialect import compile, ops
from ragged_dialect._mlir import arith, ir, math
from ragged_dialect.asm.module import print_module
from ragged_dialect.dialect import context
from ragged_dialect.errors import RuntimeCheckError
from ragged_dialect.iteration import LINALG_OPS
from ragged_dialect.passes.base import PassFailure
from ragged_dialect.passes.differentiate.tables import CONSTANT, linearizes, transposes
from ragged_dialect.passes.ragged_differentiate import RaggedDifferentiate

OPS = sorted(ops.OPS)
WITHOUT = {
    "linalg.select": "a named op that no pass makes: arith.select is one on tensors",
    "arith.scaling_extf": "scaled formats are no dtypes of programs",
    "arith.scaling_truncf": "scaled formats are no dtypes of programs",
    "arith.flush_denormals": "no operation of arrays makes it",
}
"""Ops of floats without a rule, each with the reason."""
NEVER_LINEAR = {
    "ragged.attention": "its tangents are those of an op of their own",
    "ragged.attention_vjp_q": "its tangents are those of other ops",
    "ragged.attention_vjp_kv": "its tangents are those of other ops",
}
"""Ops that no rule makes for tangents, so that none is transposed."""


def names(dialect: Any) -> list[str]:
    """The ops of a dialect of the bindings."""
    return sorted(getattr(dialect, name).OPERATION_NAME for name in dir(dialect) if name.endswith("Op"))


FLOATS = [n for n in (*names(arith), *names(math)) if n.endswith("f") or n.startswith("math.")]
INTEGERS = {"math.absi", "math.ctlz", "math.cttz", "math.ctpop", "math.ipowi", "arith.cmpf"} | {
    f"math.is{what}" for what in ("finite", "inf", "nan", "normal")
}
"""Ops of math whose results are no floats."""


class TestTables:
    """What the tables hold."""

    @pytest.mark.parametrize("name", OPS)
    def test_every_op_of_the_dialect(self, name: str) -> None:
        assert name in CONSTANT or (name in linearizes and (name in transposes or name in NEVER_LINEAR))

    @pytest.mark.parametrize("name", sorted({*FLOATS, *LINALG_OPS} - INTEGERS))
    def test_every_op_that_computes_floats(self, name: str) -> None:
        assert (name in linearizes) + (name in CONSTANT) + (name in WITHOUT) == 1

    def test_reasons_are_used(self) -> None:
        assert not [name for name in WITHOUT if name in linearizes]
        assert all(CONSTANT.values())


UNARY: dict[str, tuple[Callable[[np.ndarray], np.ndarray], float, float]] = {
    "absf": (np.abs, -2, 2),
    "exp": (np.exp, -2, 2),
    "exp2": (np.exp2, -2, 2),
    "expm1": (np.expm1, -2, 2),
    "log": (np.log, 0.5, 2),
    "log2": (np.log2, 0.5, 2),
    "log10": (np.log10, 0.5, 2),
    "log1p": (np.log1p, -0.5, 2),
    "sqrt": (np.sqrt, 0.5, 2),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 0.5, 2),
    "sin": (np.sin, -2, 2),
    "cos": (np.cos, -2, 2),
    "tan": (np.tan, -1, 1),
    "atan": (np.arctan, -2, 2),
    "tanh": (np.tanh, -2, 2),
    "sinh": (np.sinh, -2, 2),
    "cosh": (np.cosh, -2, 2),
    "asin": (np.arcsin, -0.9, 0.9),
    "acos": (np.arccos, -0.9, 0.9),
    "asinh": (np.arcsinh, -2, 2),
    "acosh": (np.arccosh, 1.5, 3),
    "atanh": (np.arctanh, -0.9, 0.9),
    "cbrt": (np.cbrt, 0.5, 2),
}


def test_functions_of_one_operand() -> None:
    """All at once: one function with a result per op."""
    given = ", ".join(f"%x{k}: tensor<5xf64>" for k in range(len(UNARY)))
    lines = [f"%y{k} = math.{name} %x{k} : tensor<5xf64>" for k, name in enumerate(UNARY)]
    results = ", ".join(f"%y{k}" for k in range(len(UNARY)))
    types = ", ".join(["tensor<5xf64>"] * len(UNARY))
    body = "\n".join(lines)
    text = f"func.func @f({given}) -> ({types}) {{\n{body}\nreturn {results} : {types}\n}}"
    function = compile(print_module(transform(text, RaggedDifferentiate())), entry="f_vjp")
    points = [np.linspace(low, high, 5) + 0.01 for _, low, high in UNARY.values()]
    ones = [np.ones(5)] * len(UNARY)
    for (name, (f, *_)), x, gradient in zip(UNARY.items(), points, function(*points, *ones), strict=True):
        step = 1e-6
        np.testing.assert_allclose(gradient, (f(x + step) - f(x - step)) / (2 * step), rtol=1e-6, err_msg=name)


def differentiated(text: str, **options: str) -> Callable[..., Any]:
    """The derivative of the function `f` of a module."""
    return compile(print_module(transform(text, RaggedDifferentiate(function="f", **options))), entry="f_vjp")


class TestPrograms:
    """Programs that arrays do not make."""

    def test_overlapping_windows_add_up(self) -> None:
        text = """
        #w = #ragged.layout<"dw">
        func.func @f(%x: tensor<?xf64>, %s: tensor<3xi64>, %l: tensor<3xi64>) -> tensor<3x?xf64, #w> {
          %y = ragged.assemble %x, %s, %l : (tensor<?xf64>, tensor<3xi64>, tensor<3xi64>) -> tensor<3x?xf64, #w>
          %z = arith.addf %y, %y : tensor<3x?xf64, #w>
          return %z : tensor<3x?xf64, #w>
        }"""
        starts, lengths = np.array([0, 1, 2]), np.array([3, 0, 2])
        upstream = (np.arange(1.0, 6), np.array([0, 3, 3]), lengths)
        gradient = differentiated(text)(np.zeros(5), starts, lengths, upstream)
        np.testing.assert_allclose(gradient, 2 * np.array([1, 2, 3 + 4, 5, 0]))

    def test_powers_of_tensors(self) -> None:
        text = """
        #r = #ragged.layout<"dr">
        func.func @f(%x: tensor<?x?xf64, #r>, %n: tensor<?x?xi32, #r>) -> tensor<?x?xf64, #r> {
          %y = math.fpowi %x, %n : tensor<?x?xf64, #r>, tensor<?x?xi32, #r>
          return %y : tensor<?x?xf64, #r>
        }"""
        x, n, offsets = np.array([0.0, 2, 3, 0.5]), np.array([0, 1, 3, -1], np.int32), np.array([0, 1, 1, 4])
        gradient, _ = differentiated(text)((x, offsets), (n, offsets), (np.ones(4), offsets))
        np.testing.assert_allclose(gradient, [0, 1, 27, -4])

    def test_results_of_each_others_outs(self) -> None:
        """What is in one out before is read for the other one."""
        text = """
        #id = affine_map<(i) -> (i)>
        func.func @f(%x: tensor<3xf64>, %y: tensor<3xf64>) -> (tensor<3xf64>, tensor<3xf64>) {
          %0:2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
              outs(%x, %y : tensor<3xf64>, tensor<3xf64>) {
          ^bb0(%o: f64, %p: f64):
            %m = arith.mulf %o, %p : f64
            linalg.yield %p, %m : f64, f64
          } -> (tensor<3xf64>, tensor<3xf64>)
          return %0#0, %0#1 : tensor<3xf64>, tensor<3xf64>
        }"""
        x, y, first, second = np.array([[1.0, 2, 3], [4, 5, 6], [1, 0, 2], [3, 1, 0]])
        by_x, by_y = differentiated(text)(x, y, first, second)
        np.testing.assert_allclose(by_x, second * y)
        np.testing.assert_allclose(by_y, first + second * x)

    def test_pad_and_truncation(self) -> None:
        text = """
        #j = #ragged.layout<"dr">
        func.func @f(%x: tensor<?x?xf64, #j>, %pad: f64, %m: index) -> tensor<?x?xf64> {
          %y = ragged.to_padded %x, %pad, %m {truncate} : (tensor<?x?xf64, #j>, f64, index) -> tensor<?x?xf64>
          return %y : tensor<?x?xf64>
        }"""
        upstream = np.arange(1.0, 7).reshape(3, 2)
        (values, _), pad = differentiated(text)((np.zeros(4), np.array([0, 3, 3, 4])), 0.0, 2, upstream)
        np.testing.assert_allclose(values, [1, 2, 0, 5])
        assert pad == 3 + 4 + 6

    def test_calls_and_branches(self) -> None:
        text = """
        func.func private @g(%x: tensor<?xf64>) -> tensor<?xf64> {
          %a = math.sin %x : tensor<?xf64>
          return %a : tensor<?xf64>
        }
        func.func @f(%x: tensor<?xf64>, %c: i1) -> tensor<?xf64> {
          %y = scf.if %c -> (tensor<?xf64>) {
            %a = func.call @g(%x) : (tensor<?xf64>) -> tensor<?xf64>
            %b = arith.mulf %a, %x : tensor<?xf64>
            scf.yield %b : tensor<?xf64>
          } else {
            scf.yield %x : tensor<?xf64>
          }
          return %y : tensor<?xf64>
        }"""
        function = differentiated(text)
        x, one = np.linspace(-1, 1, 4), np.ones(4)
        np.testing.assert_allclose(function(x, True, one), np.sin(x) + x * np.cos(x))
        np.testing.assert_allclose(function(x, False, one), one)

    def test_loop_with_a_number_of_iterations(self) -> None:
        text = """
        #j = #ragged.layout<"dr">
        func.func @f(%x: tensor<?x?xf64, #j>, %n: index) -> tensor<?x?xf64, #j> {
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %y = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (tensor<?x?xf64, #j>) {
            %s = math.sin %a : tensor<?x?xf64, #j>
            %b = arith.mulf %s, %x : tensor<?x?xf64, #j>
            scf.yield %b : tensor<?x?xf64, #j>
          }
          return %y : tensor<?x?xf64, #j>
        }"""
        function = differentiated(text)
        x, offsets = np.array([0.3, -0.7, 1.1]), np.array([0, 2, 2, 3])
        for count in (0, 1, 3):

            def value(x: np.ndarray, count: int = count) -> np.ndarray:
                y = x
                for _ in range(count):
                    y = np.sin(y) * x
                return y

            step = 1e-6
            expected = (value(x + step) - value(x - step)) / (2 * step)
            np.testing.assert_allclose(function((x, offsets), count, (np.ones(3), offsets))[0], expected, rtol=1e-6)

    @pytest.mark.sampled(3)
    @pytest.mark.parametrize(
        ("before", "after"),
        [
            ("", "scf.yield %q : !x"),
            (  # in a loop
                "%z = scf.for %j = %c0 to %c2 step %c1 iter_args(%b = %a) -> (!x) {",
                "scf.yield %q : !x\n}\nscf.yield %z : !x",
            ),
            (  # in a branch
                "%c = arith.cmpi ult, %i, %n : index\n%z = scf.if %c -> (!x) {",
                "scf.yield %q : !x\n} else {\nscf.yield %a : !x\n}\nscf.yield %z : !x",
            ),
        ],
    )
    def test_slices_and_concats_in_loops(self, before: str, after: str) -> None:
        text = f"""
        #rows = #ragged.layout<"dr|d">
        !x = tensor<?x?x4xf64, #rows>
        !part = tensor<?x?x?xf64, #rows>
        func.func @f(%x: !x, %n: index) -> !x {{
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %c2 = arith.constant 2 : index
          %c4 = arith.constant 4 : index
          %y = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (!x) {{
            {before}
            %s = ragged.slice {"%b" if "%b" in before else "%a"}, %c1, %c4 {{dim = 2}} : (!x, index, index) -> !part
            %t = ragged.slice {"%b" if "%b" in before else "%a"}, %c0, %c1 {{dim = 2}} : (!x, index, index) -> !part
            %r = ragged.concat %s, %t {{dim = 2}} : (!part, !part) -> !part
            %p = tensor.cast %r : !part to !x
            %q = arith.mulf %p, %p : !x
            {after}
          }}
          return %y : !x
        }}"""
        x, offsets = np.random.default_rng(0).standard_normal((3, 4)), np.array([0, 2, 2, 3])
        count, times = 3, 6 if "iter_args" in before else 3
        gradient, _ = differentiated(text, arguments="0")((x, offsets), count, (np.ones((3, 4)), offsets))
        np.testing.assert_allclose(gradient, 2**times * x ** (2**times - 1))

    def test_a_loop_that_carries_other_structures(self) -> None:
        text = """
        #j = #ragged.layout<"dr">
        !x = tensor<?x?xf64, #j>
        func.func @f(%x: !x, %v: tensor<?xf64>, %n: index) -> (!x, tensor<?xf64>) {
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %c2 = arith.constant 2 : index
          %y:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %b = %v) -> (!x, tensor<?xf64>) {
            %d = tensor.dim %a, %c0 : !x
            %s = ragged.slice %a, %c1, %d {dim = 0} : (!x, index, index) -> !x
            %t = ragged.slice %a, %c0, %c1 {dim = 0} : (!x, index, index) -> !x
            %r = ragged.concat %s, %t {dim = 0} : (!x, !x) -> !x
            %q = arith.mulf %r, %r : !x
            %e = tensor.dim %b, %c0 : tensor<?xf64>
            %h = arith.ceildivui %e, %c2 : index
            %p = tensor.extract_slice %b[0] [%h] [1] : tensor<?xf64> to tensor<?xf64>
            %w = arith.mulf %p, %p : tensor<?xf64>
            scf.yield %q, %w : !x, tensor<?xf64>
          }
          return %y#0, %y#1 : !x, tensor<?xf64>
        }"""
        what = "ragged-differentiate: what scf.for carries: level "
        function = differentiated(text, arguments="0,1")
        x, ones = np.arange(4.0), np.ones(4)

        def call(lengths: list[int], size: int, count: int) -> Any:
            offsets = np.cumsum([0, *lengths])
            rolled = np.roll(lengths, -count)
            end = -(-size // 2**count)
            return function(
                (x, offsets), np.arange(1.0, size + 1), count, (ones, np.cumsum([0, *rolled])), np.ones(end)
            )

        (gradient, _), other = call([2, 2], 1, 2)
        np.testing.assert_array_equal(gradient, 4 * x**3)
        np.testing.assert_array_equal(other, [4])
        assert call([2, 1, 1], 4, 0)[1].tolist() == [1] * 4
        for lengths, size, count, error in (
            ([2, 1, 1], 1, 1, "1, component 0: expected length 2, got 1"),
            ([2, 1, 1], 1, 3, "1, component 0: expected length 2, got 1"),  # the last is as the first
            ([2, 2], 8, 1, "0: expected 8 components, got 4"),
            ([2, 2], 8, 2, "0: expected 8 components, got 4"),
        ):
            with pytest.raises(RuntimeCheckError, match=what + error):
                call(lengths, size, count)

    def test_a_sign_has_no_derivative(self) -> None:
        text = """
        func.func @f(%x: tensor<5xf64>, %y: tensor<5xf64>) -> tensor<5xf64> {
          %z = math.copysign %x, %y : tensor<5xf64>
          return %z : tensor<5xf64>
        }"""
        function = differentiated(text, arguments="1")
        assert function(np.ones(5), np.arange(5.0), np.ones(5)).tolist() == [0] * 5

    def test_half_precision_accumulates_in_single(self) -> None:
        text = """
        #j = #ragged.layout<"dr">
        func.func @f(%x: tensor<?xf16>, %like: tensor<?x?xf16, #j>) -> tensor<?x?xf16, #j> {
          %y = linalg.broadcast ins(%x : tensor<?xf16>) outs(%like : tensor<?x?xf16, #j>) dimensions = [1]
          return %y : tensor<?x?xf16, #j>
        }"""
        count = 5000  # ones added in float16 stop at 2048
        offsets = np.array([0, count])
        like = np.zeros(count, np.float16)
        function = differentiated(text, arguments="0")
        gradient = function(np.zeros(1, np.float16), (like, offsets), (np.ones(count, np.float16), offsets))
        assert gradient.dtype == np.float16
        assert gradient.tolist() == [5000]

    @pytest.mark.parametrize("type_", ["f16", "tensor<1xf16>"])
    def test_half_precision_of_what_a_loop_captures(self, type_: str) -> None:
        text = f"""
        func.func @f(%w: {type_}, %x: {type_}, %n: index) -> {type_} {{
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %y = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> ({type_}) {{
            %b = arith.addf %a, %w : {type_}
            scf.yield %b : {type_}
          }}
          return %y : {type_}
        }}"""
        zero, one = (np.full(() if type_ == "f16" else 1, k, np.float16) for k in (0, 1))
        assert np.all(differentiated(text, arguments="0")(zero, zero, 5000, one) == 5000)

    def test_half_precision_of_running_sums(self) -> None:
        text = """
        #j = #ragged.layout<"dr">
        func.func @f(%x: tensor<?x?xf16, #j>) -> tensor<?x?xf16, #j> {
          %y = ragged.scan %x {dim = 1, kind = "sum"} : (tensor<?x?xf16, #j>) -> tensor<?x?xf16, #j>
          return %y : tensor<?x?xf16, #j>
        }"""
        ones, offsets = np.ones(5000, np.float16), np.array([0, 5000])
        gradient, _ = differentiated(text)((ones, offsets), (ones, offsets))
        np.testing.assert_array_equal(gradient, np.arange(5000, 0, -1).astype(np.float16))

    def test_other_structure_is_refused(self) -> None:
        text = """
        #j = #ragged.layout<"dr">
        func.func @f(%x: tensor<?x?xf64, #j>) -> tensor<?x?xf64, #j> {
          %y = math.exp %x : tensor<?x?xf64, #j>
          return %y : tensor<?x?xf64, #j>
        }"""
        function = differentiated(text)
        with pytest.raises(RuntimeCheckError, match="ragged-differentiate: level 1, component 0"):
            function((np.zeros(3), np.array([0, 1, 3])), (np.zeros(3), np.array([0, 2, 3])))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"function": "g"}, "ragged-differentiate: expected a function among f, got 'g'"),
        ({"arguments": "0,0"}, "ragged-differentiate: expected different argument numbers, got '0,0'"),
        ({"arguments": "2"}, "ragged-differentiate: expected numbers of arguments below 2, got '2'"),
        (
            {"arguments": "1"},
            "ragged-differentiate: expected an argument of floats, got argument 1 of type tensor<5xi64>",
        ),
    ],
)
def test_options(options: dict[str, str], text: str) -> None:
    """What no function has."""
    source = "func.func @f(%x: tensor<5xf32>, %i: tensor<5xi64>) -> tensor<5xf32> {\n  return %x : tensor<5xf32>\n}"
    module = transform(source)
    with module.context, ir.Location.unknown(), pytest.raises(PassFailure, match=re.escape(text)):
        RaggedDifferentiate(**options).run(module.operation)


def test_windows_below_a_ragged_level() -> None:
    """The cotangent of windows is one of windows, without gaps."""
    text = """
    #w = #ragged.layout<"drw">
    #r = #ragged.layout<"drr">
    func.func @f(%x: tensor<?x?x?xf64, #w>) -> tensor<?x?x?xf64, #r> {
      %y = ragged.compact %x : (tensor<?x?x?xf64, #w>) -> tensor<?x?x?xf64, #r>
      return %y : tensor<?x?x?xf64, #r>
    }"""
    outer, lengths, cotangent = np.array([0, 2, 3]), np.array([2, 0, 3]), np.arange(1.0, 6)
    x = (np.zeros(7), outer, np.array([1, 3, 4]), lengths)
    gradient, *structure = differentiated(text)(x, (cotangent, outer, np.array([0, 2, 2, 5])))
    np.testing.assert_array_equal(gradient, cotangent)
    for made, expected in zip(structure, (outer, [0, 2, 2], lengths), strict=True):
        np.testing.assert_array_equal(made, expected)


def test_tiles_of_windows() -> None:
    """A tile is where it is in its window."""
    text = """
    #w = #ragged.layout<"dwt">
    func.func @f(%x: tensor<?xf64>, %s: tensor<2xi64>, %l: tensor<2xi64>) -> tensor<2x?x2xf64, #w> {
      %y = ragged.assemble %x, %s, %l : (tensor<?xf64>, tensor<2xi64>, tensor<2xi64>) -> tensor<2x?x2xf64, #w>
      return %y : tensor<2x?x2xf64, #w>
    }"""
    lengths = np.array([3, 2])
    upstream = (np.arange(1.0, 6), np.array([0, 3]), lengths)
    gradient = differentiated(text)(np.zeros(6), np.array([2, 1]), lengths, upstream)
    np.testing.assert_array_equal(gradient, [0, 4, 1 + 5, 2, 3, 0])


def test_modules_are_valid_in_other_contexts() -> None:
    """The pass leaves what it does not differentiate as it was."""
    text = "func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> {\n  return %x : tensor<?xf32>\n}"
    module = transform(text, RaggedDifferentiate())
    with context():
        assert ir.Module.parse(str(module)).operation.verify()
