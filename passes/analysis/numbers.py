"""What a block makes of one row, as numbers: bodies of loops that go along components row by row are made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ragged_dialect._mlir import arith, ir, tensor
from ragged_dialect.generic import indexing_maps, input_count, iterator_kinds, loop_index
from ragged_dialect.ir import build
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.clone import ValueMap, clone, copy_attributes
from ragged_dialect.ir.match import (
    body_ops,
    constant_int,
    defining_op,
    is_made_in,
    is_read,
    loop_of,
    loops_of,
    terminator,
)
from ragged_dialect.passes.analysis.rows import Rows
from ragged_dialect.types import is_ragged, is_tensor


class NoNumbersError(Exception):
    """Rows that are not made number by number."""


class Numbers:
    """Elements of the row that values of a block have, made at the insertion point. NoNumbersError for those that are
    not made element by element, by ops that are as fast on numbers as on vectors."""

    def __init__(self, op: ir.Operation, rows: Rows, checked: bool) -> None:
        """Of the block of `op`. Where places are `checked` once they were read, others are read for those that do not
        exist."""
        self._op, self._rows, self._checked = op, rows, checked
        self.are_inside: ir.Value | None = None
        """Whether all places that were read exist, None where none might not."""
        self._given: ValueMap = {}
        self._made = dict[tuple[ir.Operation, tuple[Mixed, ...]], list[ir.Value]]()

    def give(self, given: Iterable[tuple[ir.Value, ir.Value]]) -> None:
        """What arguments of the block are here: numbers, or ragged tensors that are read where the loops are."""
        self._given.update(given)

    def element(self, x: ir.Value, places: Sequence[Mixed] = ()) -> ir.Value:
        """An element of the row of a value, at indices in its other dims."""
        if x in self._given:
            found = self._given[x]
            return self._read(found, x, places) if is_tensor(found.type) else found
        if not is_made_in(x, self._op):
            return self._read(x, x, places)
        op = defining_op(x)
        if op is None or self._rows.dim(x) is None:
            raise NoNumbersError
        if op.name == "linalg.generic":
            return self._computed(op, next(k for k, result in enumerate(op.results) if result == x), places)
        rule = _RULES.get(op.name)
        if rule is None:
            raise NoNumbersError
        return rule(self, op, places)

    def _read(self, found: ir.Value, x: ir.Value, places: Sequence[Mixed]) -> ir.Value:
        at = [build.value(self._inside(x, place, d)) for d, place in self._others(x, places)]
        return tensor.extract(found, [loop_index(0), loop_index(1), *at] if is_ragged(found.type) else at)

    def number(self, x: ir.Value) -> ir.Value:
        """A number that does not depend on rows."""
        if not is_made_in(x, self._op):
            return x
        op = defining_op(x)
        if op is not None and op.name == "ragged.guard":
            return self.number(op.operands[0])
        if op is None or not op.name.startswith("arith.") or is_tensor(x.type):
            raise NoNumbersError
        return clone(op, {operand: self.number(operand) for operand in op.operands}).results[0]

    def _others(self, x: ir.Value, places: Sequence[Mixed]) -> list[tuple[int, Mixed]]:
        """The indices in all dims but that of rows, with these dims."""
        dims = [d for d in range(x.type.rank) if d != self._rows.dim(x)]
        return list(zip(dims, places, strict=True))

    def _inside(self, x: ir.Value, place: Mixed, dim: int) -> Mixed:
        if isinstance(place, int) or not self._checked or constant_int(place) is not None:
            return place
        extent = x.type.shape[dim]
        if extent <= 0:  # there may be nothing to read
            raise NoNumbersError
        there = arith.cmpi(arith.CmpIPredicate.ult, place, build.value(extent))
        self.are_inside = there if self.are_inside is None else arith.andi(self.are_inside, there)
        return arith.select(there, place, build.value(0))

    # Ops -------------------------------------------------------------------------------------------

    def _computed(self, op: ir.Operation, number: int, places: Sequence[Mixed]) -> ir.Value:
        """A result of a loop over elements."""
        key = op, tuple(places)
        if key not in self._made:
            self._made[key] = self._results(op, number, places)
        return self._made[key][number]

    def _results(self, op: ir.Operation, number: int, places: Sequence[Mixed]) -> list[ir.Value]:
        maps, inputs = indexing_maps(op), input_count(op)
        result = maps[inputs + number]
        own = dict(self._others(op.results[number], places))
        if "reduction" in iterator_kinds(op) or not result.is_permutation or set(maps[inputs:]) != {result}:
            raise NoNumbersError
        index = {loop_of(expr): own.get(d) for d, expr in enumerate(result.results)}  # None is the row
        known: ValueMap = {}
        block = op.regions[0].blocks[0]
        for k, (x, argument, m) in enumerate(zip(op.operands, block.arguments, maps, strict=True)):
            if is_read(argument):
                if k >= inputs:
                    raise NoNumbersError
                known[argument] = self._input(x, m, index) if is_tensor(x.type) else self.number(x)
        for inner in body_ops(block):
            self._step(inner, known, index)
        return [known[x] if x in known else self.number(x) for x in terminator(block).operands]

    def _input(self, x: ir.Value, m: ir.AffineMap, index: dict[int, Mixed | None]) -> ir.Value:
        places: list[Mixed] = []
        for d, expr in enumerate(m.results):
            if d == self._rows.dim(x):
                continue
            loop = loops_of(m)[d]
            place = expr.value if isinstance(expr, ir.AffineConstantExpr) else None if loop is None else index[loop]
            if place is None:  # the row in another dim, or what is computed of loops
                raise NoNumbersError
            places.append(place)
        return self.element(x, places)

    def _step(self, op: ir.Operation, known: ValueMap, index: dict[int, Mixed | None]) -> None:
        """One op of a body."""
        if op.name == "linalg.index":
            place = index[op.attributes["dim"].value]
            if place is not None:  # the number of the row is read by what is read at it
                known[op.results[0]] = build.value(place)
            return
        if op.name == "tensor.extract":
            x, *at = op.operands
            row = self._rows.dim(x)
            places = [known[v] if v in known else self.number(v) for d, v in enumerate(at) if d != row]
            known[op.results[0]] = self.element(x, places)
            return
        if op.name not in CHEAP:
            raise NoNumbersError
        known.update((x, self.number(x)) for x in op.operands if x not in known)
        clone(op, known)

    def elementwise(self, op: ir.Operation, places: Sequence[Mixed]) -> ir.Value:
        """Arithmetic on tensors."""
        key = op, tuple(places)
        if key not in self._made:
            operands = [self.element(x, places) if is_tensor(x.type) else self.number(x) for x in op.operands]
            types = [x.type.element_type for x in op.results]
            made = ir.Operation.create(op.name, results=types, operands=operands, attributes=copy_attributes(op))
            self._made[key] = list(made.results)
        return self._made[key][0]

    def same(self, op: ir.Operation, places: Sequence[Mixed]) -> ir.Value:
        """What leaves elements where they are."""
        return self.element(op.operands[0], places)

    def select(self, op: ir.Operation, places: Sequence[Mixed]) -> ir.Value:
        """One index of a dim."""
        x, dim = op.operands[0], op.attributes["dim"].value
        places = list(places)
        places.insert(dim - (self._rows.dim(x) < dim), self.number(op.operands[1]))
        return self.element(x, places)

    def reshape(self, op: ir.Operation, places: Sequence[Mixed]) -> ir.Value:
        """Dims of extent 1 that come or go."""
        x, made = op.operands[0], op.results[0]
        own = dict(self._others(made, places))
        groups = [[number.value for number in group] for group in op.attributes["reassociation"]]
        is_expanded, found = op.name == "tensor.expand_shape", list[Mixed]()
        longer = made if is_expanded else x
        for d, group in enumerate(groups):
            wide = [k for k in group if longer.type.shape[k] != 1] or group[:1]
            if len(wide) > 1:
                raise NoNumbersError
            others = [k for k in ((d,) if is_expanded else group) if k != self._rows.dim(x)]
            found += [own[wide[0]] if is_expanded else own[d] if k in wide else 0 for k in others]
        return self.element(x, found)


CHEAP = frozenset(
    f"arith.{name}"
    for name in (
        "constant addf subf mulf negf maximumf minimumf maxnumf minnumf cmpf select addi subi muli andi ori xori shli "
        "shrsi shrui cmpi maxsi minsi maxui minui extf truncf extsi extui trunci sitofp uitofp fptosi index_cast "
        "bitcast divf divsi remsi floordivsi"
    ).split()
)
"""What takes a number about as long as it takes a row of a vector, as it waits for the step before anyway."""

_RULES: dict[str, Callable[[Numbers, ir.Operation, Sequence[Mixed]], ir.Value]] = {
    **dict.fromkeys(CHEAP - {"arith.constant"}, Numbers.elementwise),
    **dict.fromkeys(("tensor.cast", "ragged.guard"), Numbers.same),
    "ragged.select": Numbers.select,
    **dict.fromkeys(("tensor.collapse_shape", "tensor.expand_shape"), Numbers.reshape),
}
