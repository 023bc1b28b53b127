"""Where checks go, and the values they need.

An extent is a Python integer where it is static and an MLIR value where it is not. Every helper
op and every check is made once per scope and set of operands. Values made from arguments only,
for ops of the entry block, go to the entry of the function; everything else right before the
guarded op, so that checks of a region stay inside it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from ragged_dialect import builders
from ragged_dialect._mlir import DYNAMIC, arith, ir, tensor
from ragged_dialect.checking.checker import Checker
from ragged_dialect.ir import flow, shapes
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.match import constant_int, definer, is_read
from ragged_dialect.passes.analysis.structure.facts import Facts
from ragged_dialect.types import shape_of

Extent = Mixed

T = TypeVar("T")


class Emitter(Checker[ir.Value]):
    """Makes checks for the ops of one function."""

    def __init__(self, function: ir.Operation) -> None:
        super().__init__()
        self.facts = Facts()
        self._entry = function.regions[0].blocks[0]
        self._anchor = self._entry.operations[0].operation
        self._entry_values: set[ir.Value] = set(self._entry.arguments)
        self._entry_scope: dict[Hashable, Any] = {}
        self._scopes: list[dict[Hashable, Any]] = []
        self._made: list[ir.Value] = []
        self.taken = False
        """Whether the op of `guard` has checks so far."""
        self.moves = False
        """Whether passes might move what has no memory effect over the checks."""
        self.replaced: list[ir.Operation] = []
        """Ops that are of no use any more, which stay until the end: checks stand before the first op."""
        self._op: ir.Operation = self._anchor
        self._name = ""

    @contextmanager
    def scope(self) -> Generator[None, None, None]:
        """A block: what is made inside is not visible outside."""
        self._scopes.append({})
        yield
        self._scopes.pop()

    def guard(self, op: ir.Operation, name: str | None = None) -> None:
        """The checks that follow are for `op` and carry its name (or `name`)."""
        self._op = op
        self._name = name or op.name
        self.taken = False

    def named(self, name: str) -> None:
        """The checks that follow carry another name."""
        self._name = name

    # Making ops once ---------------------------------------------------------------------------

    def once(
        self,
        key: tuple[Hashable, ...],
        operands: Sequence[ir.Value],
        build: Callable[[], T],
    ) -> T:
        """What `build` returned for this key and these operands, made where it is visible here."""
        whole = (*key, *operands)
        hoists = len(self._scopes) == 1 and all(v in self._entry_values for v in operands)
        for scope in (self._entry_scope, *(() if hoists else self._scopes)):
            if whole in scope:
                return scope[whole]
        with ir.InsertionPoint(self._anchor if hoists else self._op), self._op.location:
            made = build()
        (self._entry_scope if hoists else self._scopes[-1])[whole] = made
        if isinstance(made, ir.Value):
            self._made.append(made)
            if hoists:
                self._entry_values.add(made)
        return made

    def finish(self) -> None:
        """Erase what was replaced, and helper values that no check took."""
        for op in self.replaced:
            op.erase()
        for value in reversed(self._made):
            if not is_read(value):
                definer(value).erase()
        self._made.clear()

    def index(self, value: Extent) -> ir.Value:
        """A scalar as a value of type index."""
        if isinstance(value, int):
            attr = ir.IntegerAttr.get(ir.IndexType.get(), value)
            return self.once(("constant", value), (), lambda: arith.ConstantOp(ir.IndexType.get(), attr).result)
        if isinstance(value.type, ir.IndexType):
            return value
        return self.once(("index",), (value,), lambda: arith.IndexCastOp(ir.IndexType.get(), value).result)

    def extent(self, x: ir.Value, dim: int) -> Extent:
        """The extent of a dense dim."""
        size = x.type.shape[dim]
        if size != DYNAMIC:
            return size
        at = self.index(dim)
        return self.once(("dim",), (x, at), lambda: tensor.DimOp(x, at).result)

    def lengths(self, x: ir.Value, dim: int) -> ir.Value:
        """The logical lengths of a level."""
        return self.once(("lengths", dim), (x,), lambda: builders.lengths(x, dim))

    def part(self, kind: str, x: ir.Value, dim: int) -> ir.Value:
        """The stored offsets, starts or lengths of a level of `x`; for values, `dim` is ignored."""
        if kind == "lengths" and shape_of(x.type).layout.stores_lengths(dim):
            return self.lengths(x, dim)
        build: Callable[[], ir.Value] = {
            "offsets": lambda: builders.offsets(x, dim),
            "starts": lambda: builders.starts(x, dim),
            "lengths": lambda: builders.lengths(x, dim, stored=True),
            "values": lambda: builders.values(x),
        }[kind]
        return self.once(("stored", kind, dim), (x,), build)

    def binary(self, op: Callable[..., ir.OpView], a: Extent, b: Extent) -> ir.Value:
        """An arith op on two scalars, as index."""
        lhs, rhs = self.index(a), self.index(b)
        return self.once((op.__name__,), (lhs, rhs), lambda: op(lhs, rhs).result)

    def entry(self, vector: ir.Value, at: Extent) -> ir.Value:
        """An entry of a vector, as index; the place is known to be in it, by an earlier check if any."""
        place = self.index(at)
        return self.once(("entry",), (vector, place), lambda: shapes.load(vector, self.behind(place)))

    def behind(self, value: ir.Value) -> ir.Value:
        """A value for what must not run before the checks of the op so far."""
        return builders.guard(value) if self.moves and self.taken else value

    def number(self, value: Extent) -> Extent:
        """A scalar operand, or what is static of an op, as an extent."""
        known = value if isinstance(value, int) else constant_int(value)
        return self.index(value) if known is None else known

    def sum(self, x: ir.Value, level: int) -> ir.Value:
        """The total of a level."""
        return self.once(("total", level), (x,), lambda: builders.total(x, level))

    def longest(self, x: ir.Value, level: int) -> ir.Value:
        """The longest length of a level."""
        return self.once(("max_length", level), (x,), lambda: builders.max_length(x, level))

    def last(self, vector: ir.Value) -> Extent:
        """The last entry of offsets, 0 if there is none: the size of what they index."""
        size = self.extent(vector, 0)
        if isinstance(size, int):
            at = self.index(max(size - 1, 0))
            return self.once(("last",), (vector, at), lambda: shapes.load(vector, at)) if size else 0
        zero, at = self.index(0), self.index(self.minus(size, 1))
        some = self._compare(arith.CmpIPredicate.sgt, size, zero)

        def build() -> ir.Value:
            return flow.choose(some, lambda: [shapes.load(vector, at)], lambda: [zero], [ir.IndexType.get()])[0]

        return self.once(("last",), (vector, some, at, zero), build)

    def _compare(self, predicate: Any, a: ir.Value, b: ir.Value) -> ir.Value:
        return self.once(("cmpi", str(predicate)), (a, b), lambda: arith.CmpIOp(predicate, a, b).result)

    def steps(self, offsets: ir.Value) -> ir.Value:
        """The lengths that offsets delimit; none for empty offsets, which another check refuses."""
        size = self.extent(offsets, 0)
        if isinstance(size, int):
            count: Extent = max(size - 1, 0)
        else:
            count = self.binary(arith.MaxSIOp, self.minus(size, 1), 0)
        element = offsets.type.element_type

        def build() -> ir.Value:
            static = count if isinstance(count, int) else DYNAMIC
            sizes = [] if isinstance(count, int) else [count]
            type_ = ir.RankedTensorType.get([static], element)
            low, high = (
                tensor.ExtractSliceOp(type_, offsets, [], sizes, [], [first], [static], [1]).result for first in (0, 1)
            )
            return arith.SubIOp(high, low).result

        return self.once(("steps",), (offsets, *(() if isinstance(count, int) else (count,))), build)

    # Checks ------------------------------------------------------------------------------------

    def valid(self, kind: str, level: int, *operands: Extent, factor: int | None = None) -> None:
        """`ragged.assert_valid`, unless it holds statically."""
        if self.facts.holds(kind, operands, factor):
            return
        self.taken = True
        values = [self.index(v) if isinstance(v, int) else v for v in operands]
        name = self._name
        key = ("valid", kind, name, level, factor)
        self.once(key, values, lambda: builders.assert_valid(values, kind, name, level, factor))

    def counted(self, kind: str, level: int, vector: ir.Value, *operands: Extent, count: Extent | None) -> None:
        """A kind whose last operand is left out where the vector's type tells that it is right."""
        known = isinstance(count, int) and vector.type.shape[0] == count + (kind == "offsets")
        super().counted(kind, level, vector, *operands, count=None if known else count)

    def conform(self, a: ir.Value, b: ir.Value, pairs: Sequence[tuple[int, int]]) -> None:
        """`ragged.assert_conform`, unless the two have one structure by the way they are made."""
        if self.facts.conform(a, b, pairs):
            return
        name = self._name

        def build() -> None:
            # The lengths of b are looked up where a has indices: the levels above are known to conform.
            builders.assert_conform(self.behind(a), self.behind(b), pairs, name)

        self.once(("conform", name, tuple(pairs)), (a, b), build)
        self.taken = True

    def fits(self, level: int, factors: Sequence[Extent]) -> None:
        """One factor fits."""
        factors = [f for f in factors if f != 1]
        if len(factors) > 1:
            super().fits(level, factors)
