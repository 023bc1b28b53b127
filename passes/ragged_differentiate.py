"""ragged-differentiate: a function that computes derivatives of another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ragged_dialect import extensions
from ragged_dialect._mlir import ir
from ragged_dialect.ir.match import definer
from ragged_dialect.ir.walk import free_symbol
from ragged_dialect.passes.base import PassFailure, RaggedPass
from ragged_dialect.passes.differentiate.keeping import Place, worth_keeping
from ragged_dialect.passes.differentiate.program import has_derivative, jvp, vjp
from ragged_dialect.passes.differentiate.values import assert_like

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

    With `keep`, `f_vjp` computes no reduction of `f` again (a maximum, a softmax, a product, attention): it takes the
    results of those that it needs, last, and `f_kept` is `f` with these as further results.

    Options: `function`, by default the only one; `mode`, `vjp` or `jvp`; `arguments`, numbers of arguments with commas
    between them, by default all of floats; `result`, the name of the new function; `keep`, of a vjp only.
    Precondition: no checks yet.
    """

    name: ClassVar[str] = "ragged-differentiate"
    function: str = ""
    mode: str = "vjp"
    arguments: str = ""
    result: str = ""
    keep: bool = False

    def run(self, op: ir.Operation) -> None:
        """Add the function to a module."""
        if self.mode not in _MODES:
            raise PassFailure(op, f"ragged-differentiate: expected a mode among vjp, jvp, got '{self.mode}'")
        if self.keep and self.mode != "vjp":
            raise PassFailure(op, f"ragged-differentiate: expected mode vjp with keep, got '{self.mode}'")
        extensions.modules("derivatives")
        source = self._source(op)
        name = ir.StringAttr(source.attributes["sym_name"]).value
        made = _copy(op, source, self.result or f"{name}_{self.mode}")
        with made.location:
            places = self._differentiate(made)
        if self.keep:
            _return_also(_copy(op, source, f"{name}_kept"), places)

    def _source(self, module: ir.Operation) -> ir.Operation:
        functions = {
            ir.StringAttr(op.operation.attributes["sym_name"]).value: op.operation
            for op in module.regions[0].blocks[0].operations
            if op.operation.name == "func.func" and len(op.operation.regions[0].blocks)
        }
        if not self.function and len(functions) == 1:
            return next(iter(functions.values()))
        if self.function not in functions:
            names = ", ".join(functions) or "none"
            raise PassFailure(module, f"ragged-differentiate: expected a function among {names}, got '{self.function}'")
        return functions[self.function]

    def _numbers(self, function: ir.Operation, block: ir.Block) -> list[int]:
        """Which arguments to differentiate by."""
        if not self.arguments:
            return [k for k, x in enumerate(block.arguments) if has_derivative(x)]
        words = self.arguments.split(",")
        for word in words:
            if not word.isdecimal() or int(word) >= len(block.arguments):
                count = len(block.arguments)
                raise PassFailure(
                    function, f"ragged-differentiate: expected numbers of arguments below {count}, got '{word}'"
                )
            type_ = block.arguments[int(word)].type
            if not has_derivative(block.arguments[int(word)]):
                raise PassFailure(
                    function,
                    f"ragged-differentiate: expected an argument of floats, got argument {word} of type {type_}",
                )
        numbers = [int(word) for word in words]
        if len(set(numbers)) != len(numbers):
            raise PassFailure(
                function, f"ragged-differentiate: expected different argument numbers, got '{self.arguments}'"
            )
        return numbers

    def _differentiate(self, function: ir.Operation) -> list[Place]:
        """Make a function one of derivatives; what it takes of what was kept."""
        blocks = list(function.regions[0].blocks)
        if len(blocks) != 1:
            raise PassFailure(function, f"ragged-differentiate: expected a function of one block, got {len(blocks)}")
        (block,) = blocks
        *ops, end = [op.operation for op in block.operations]
        inputs = [block.arguments[k] for k in self._numbers(function, block)]
        results = [r for r in end.operands if has_derivative(r)]
        given = [block.add_argument(x.type, function.location) for x in (results if self.mode == "vjp" else inputs)]
        kept: list[Place] = []
        with ir.InsertionPoint(end):
            if self.mode == "vjp":
                for result, cotangent in zip(results, given, strict=True):
                    assert_like(result, cotangent, self.name)
                found = vjp(ops, inputs, results, given, block)
                for place in worth_keeping(ops, found) if self.keep else ():
                    kept.append(place)
                    found = _taken(place.of(ops), block, found)
            else:
                for value, tangent in zip(inputs, given, strict=True):
                    assert_like(value, tangent, self.name)
                found = jvp(ops, inputs, given, results)
            ir.Operation.create("func.return", operands=found)
        end.erase()
        types = ir.FunctionType.get([x.type for x in block.arguments], [x.type for x in found])
        function.attributes["function_type"] = ir.TypeAttr.get(types)
        for name in ("arg_attrs", "res_attrs"):
            if name in function.attributes:
                del function.attributes[name]
        return kept


def _copy(module: ir.Operation, source: ir.Operation, name: str) -> ir.Operation:
    """A function again, behind it, with a name that is free."""
    made = source.clone(ir.InsertionPoint(source)).operation
    source.move_before(made)
    made.attributes["sym_name"] = ir.StringAttr.get(free_symbol(module, name))
    return made


def _taken(value: ir.Value, block: ir.Block, gradients: list[ir.Value]) -> list[ir.Value]:
    """Take a value from the caller; gradients, of which it may be one."""
    taken = block.add_argument(value.type, definer(value).location)
    value.replace_all_uses_with(taken)
    assert_like(value, taken, RaggedDifferentiate.name)
    return [taken if gradient == value else gradient for gradient in gradients]


def _return_also(function: ir.Operation, places: Sequence[Place]) -> None:
    """Return what is kept behind the results of a function."""
    *ops, end = [op.operation for op in function.regions[0].blocks[0].operations]
    returned = [*end.operands, *(place.of(ops) for place in places)]
    with ir.InsertionPoint(end), end.location:
        ir.Operation.create("func.return", operands=returned)
    end.erase()
    inputs = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value).inputs
    types = ir.FunctionType.get(inputs, [x.type for x in returned])
    function.attributes["function_type"] = ir.TypeAttr.get(types)
    if "res_attrs" in function.attributes:
        del function.attributes["res_attrs"]
