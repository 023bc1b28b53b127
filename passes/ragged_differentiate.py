"""ragged-differentiate: a function that computes derivatives of another."""

from __future__ import annotations

from dataclasses import dataclass

from ragged_dialect import extensions
from ragged_dialect._mlir import ir
from ragged_dialect.ir.functions import body_of, copy_function, defined_functions, name_of, return_instead
from ragged_dialect.ir.walk import find_ops, is_outside, ops_in
from ragged_dialect.iteration import LINALG_OPS
from ragged_dialect.passes.base import RaggedPass
from ragged_dialect.passes.differentiate.program import has_derivative, jvp, vjp
from ragged_dialect.passes.differentiate.tables import DerivativeFailure
from ragged_dialect.passes.differentiate.values import assert_like
from ragged_dialect.types import is_tensor

_MODES = {"vjp": vjp, "jvp": jvp}


@dataclass(frozen=True)
class RaggedDifferentiate(RaggedPass):
    """Add a function that computes derivatives of another one.

    ```mlir
    func.func @f(%x: !jagged) -> !jagged {
      %y = math.exp %x : !jagged
      return %y : !jagged
    }
    ```
    adds
    ```mlir
    func.func @f_vjp(%x: !jagged, %c: !jagged) -> !jagged {
      %y = math.exp %x : !jagged
      %g = arith.mulf %c, %y : !jagged
      return %g : !jagged
    }
    ```

    The program is linearised, op by op, and what is linear is transposed: the result is an ordinary ragged program on
    the same structures, which passes fuse and the pass differentiates again. `f_vjp` takes a cotangent, of its type,
    for every float result, and gives the gradients of the arguments; `f_jvp` takes tangents of the arguments and gives
    those of the results. The gradient of a max or min is that of the first of equal elements; that of an empty
    component does not exist. An op without a rule is refused by name.

    Options: `function`, by default the only one; `mode`, `vjp` or `jvp`; `arguments`, numbers of arguments with commas
    between them, by default all of floats; `result`, the name of the new function. Precondition: no checks yet.
    """

    function: str = ""
    mode: str = "vjp"
    arguments: str = ""
    result: str = ""

    def run(self, op: ir.Operation) -> None:
        """Add the function to a module."""
        if self.mode not in _MODES:
            raise DerivativeFailure(op, f"expected a mode among vjp, jvp, got '{self.mode}'")
        extensions.modules("derivatives")
        source = self._source(op)
        made = copy_function(op, source, self.result or f"{name_of(source)}_{self.mode}")
        with made.location:
            self._differentiate(made)

    def _source(self, module: ir.Operation) -> ir.Operation:
        functions = defined_functions(module)
        if not self.function and len(functions) == 1:
            return next(iter(functions.values()))
        if not self.function and functions:
            names = ", ".join(functions)
            raise DerivativeFailure(module, f"expected a function among {names}, got no option for it")
        if self.function not in functions:
            names = ", ".join(functions) or "none"
            raise DerivativeFailure(module, f"expected a function among {names}, got '{self.function}'")
        return functions[self.function]

    def _numbers(self, function: ir.Operation, block: ir.Block) -> list[int]:
        """Which arguments to differentiate by."""
        if not self.arguments:
            return [k for k, x in enumerate(block.arguments) if has_derivative(x)]
        words = self.arguments.split(",")
        for word in words:
            if not word.isdecimal() or int(word) >= len(block.arguments):
                count = len(block.arguments)
                raise DerivativeFailure(function, f"expected numbers of arguments below {count}, got '{word}'")
            type_ = block.arguments[int(word)].type
            if not has_derivative(block.arguments[int(word)]):
                raise DerivativeFailure(
                    function, f"expected an argument of floats, got argument {word} of type {type_}"
                )
        numbers = [int(word) for word in words]
        if len(set(numbers)) != len(numbers):
            raise DerivativeFailure(function, f"expected different argument numbers, got '{self.arguments}'")
        return numbers

    def _differentiate(self, function: ir.Operation) -> None:
        """Make a function one of derivatives."""
        blocks = list(function.regions[0].blocks)
        if len(blocks) != 1:
            raise DerivativeFailure(function, f"expected a function of one block, got {len(blocks)}")
        (block,) = blocks
        _move_out(function)
        ops, end = body_of(function)
        for op in find_ops(function, "ragged.annotate"):
            before, after = op.operands[0].type, op.results[0].type
            if before != after:
                text = "expected no change of layout (run ragged-infer-layouts)"
                raise DerivativeFailure(op, f"{text}, got {before} to {after}")
        inputs = [block.arguments[k] for k in self._numbers(function, block)]
        results = [r for r in end.operands if has_derivative(r)]
        given = [block.add_argument(x.type, function.location) for x in (results if self.mode == "vjp" else inputs)]
        with ir.InsertionPoint(end):
            if self.mode == "vjp":
                for result, cotangent in zip(results, given, strict=True):
                    assert_like(result, cotangent, self.name)
                found = vjp(ops, inputs, results, given, block)
            else:
                for value, tangent in zip(inputs, given, strict=True):
                    assert_like(value, tangent, self.name)
                found = jvp(ops, inputs, given, results)
        return_instead(function, found)


def _move_out(function: ir.Operation) -> None:
    """Put the ops in bodies that make tensors, of what is outside alone, in front, as `ragged.values` of a table: rules
    see what a body takes of tensors around it."""
    for op in [x for x in ops_in(function) if x.name in LINALG_OPS and len(x.regions)]:
        for inner in [x.operation for x in op.regions[0].blocks[0].operations]:
            makes = any(is_tensor(result.type) for result in inner.results)
            if makes and not len(inner.regions) and all(is_outside(x, op) for x in inner.operands):
                inner.move_before(op)
