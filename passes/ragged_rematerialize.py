"""ragged-rematerialize: what a function keeps for its gradient, and what that computes again."""

from __future__ import annotations

from dataclasses import dataclass

from ragged_dialect._mlir import ir
from ragged_dialect.ir.functions import body_of, copy_function, defined_functions, name_of, return_instead, users_of
from ragged_dialect.ir.match import definer
from ragged_dialect.ir.numbering import ValueNumbers
from ragged_dialect.passes.base import PassFailure, RaggedPass
from ragged_dialect.passes.differentiate.keeping import Place, worth_keeping
from ragged_dialect.passes.differentiate.values import assert_like


@dataclass(frozen=True)
class RaggedRematerialize(RaggedPass):
    """Let a gradient take from its function what it would take reductions to compute again, in as few bytes as can be.

    ```mlir
    func.func @f(%x: !jagged) -> !jagged {
      %m = linalg.reduce { arith.maximumf } …   // of the rows of %x: one number for each component
      %y = linalg.generic … ins(%x, %m) …       // exp(x - m)
      return %y : !jagged
    }
    func.func @f_vjp(%x: !jagged, %c: !jagged) -> !jagged {
      %m = linalg.reduce { arith.maximumf } …
      %y = linalg.generic … ins(%x, %m) …
      …                                         // of %c, %x, %m and %y
    }
    ```
    becomes
    ```mlir
    func.func @f_kept(%x: !jagged) -> (!jagged, !sums) {
      …
      return %y, %m : !jagged, !sums
    }
    func.func @f_vjp(%x: !jagged, %c: !jagged, %m: !sums) -> !jagged {
      %y = linalg.generic … ins(%x, %m) …       // one loop, which fuses with what reads it
      …
    }
    ```

    Reductions are sums, maxima, products, a softmax, attention: a loop that computes one again would go over all
    elements before the first can be used. What is kept is a minimal cut between the function's reductions and what the
    gradient reads. Costs are bytes; an extent that is not known counts as more than all that are, so that a number for
    each component is less than its rows. Results of the function cost nothing; those that are kept are returned twice.
    Arguments are there. Kept are tensors of floats or booleans, without windows.

    What equal ops compute of equal values is one value of the two functions. Options: `function`, by default the only
    one that has a gradient; `gradient`, by default its name with `_vjp`, which takes the arguments of the function
    first. Preconditions: no checks yet, functions of one block.
    """

    function: str = ""
    gradient: str = ""

    def run(self, op: ir.Operation) -> None:
        """Rewrite the gradient, and add the function that keeps."""
        source, gradient = self._pair(op)
        block = gradient.regions[0].blocks[0]
        numbers = ValueNumbers()
        for function in (source, gradient):
            for k, x in enumerate(function.regions[0].blocks[0].arguments):
                numbers.add(k, [x])
        (theirs, returned), (own, end) = body_of(source), body_of(gradient)
        first: dict[int, Place] = {}
        for number, x in enumerate(theirs):
            numbers.add_results(x)
            for k, result in enumerate(x.results):
                first.setdefault(numbers[result], Place(number, k))
        for x in own:
            numbers.add_results(x)
        again = [x for x in own if len(x.results) and numbers[x.results[0]] in first]
        results = {numbers[x] for x in returned.operands}
        values = [x for one in again for x in one.results if numbers[x] in results]
        kept: list[Place] = []
        for places in worth_keeping(again, values, list(end.operands)):
            equal = [place.of(again) for place in places]
            kept.append(first[numbers[equal[0]]])
            taken = block.add_argument(equal[0].type, definer(equal[0]).location)
            for value in equal:
                value.replace_all_uses_with(taken)
                with ir.InsertionPoint(end), gradient.location:  # what reads it is checked as anything of two operands
                    assert_like(value, taken, self.name)
        return_instead(gradient, list(end.operands))
        copy = copy_function(op, source, f"{name_of(source)}_kept")
        ops, end = body_of(copy)
        return_instead(copy, [*end.operands, *(place.of(ops) for place in kept)])

    def _pair(self, module: ir.Operation) -> tuple[ir.Operation, ir.Operation]:
        functions = defined_functions(module)
        names = [self.function] if self.function else [name for name in functions if f"{name}_vjp" in functions]
        gradient = self.gradient or f"{names[0] if len(names) == 1 else '…'}_vjp"
        if len(names) != 1 or names[0] not in functions or gradient not in functions:
            wanted = f"'{self.function}'" if self.function else "one function"
            got = ", ".join(functions) or "none"
            raise PassFailure(module, f"{self.name}: expected {wanted} and its gradient '{gradient}', got {got}")
        uses = users_of(module, gradient)
        if uses or gradient == names[0]:
            got = f"'{uses[0].name}' of it" if uses else "the function itself"
            raise PassFailure(
                uses[0] if uses else module, f"{self.name}: expected a gradient that nothing calls, got {got}"
            )
        pair = functions[names[0]], functions[gradient]
        for function in pair:
            count = len(function.regions[0].blocks)
            if count != 1:
                raise PassFailure(function, f"{self.name}: expected a function of one block, got {count}")
        own, theirs = ([x.type for x in function.regions[0].blocks[0].arguments] for function in pair)
        if theirs[: len(own)] != own:
            expected, got = (", ".join(map(str, types)) or "none" for types in (own, theirs[: len(own)]))
            raise PassFailure(pair[1], f"{self.name}: expected the function's arguments first, {expected}, got {got}")
        return pair
