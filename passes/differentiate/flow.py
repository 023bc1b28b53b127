"""Applying the tables: tangents forwards through a list of ops, cotangents backwards through the linear ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar, cast

from ragged_dialect._mlir import arith, ir
from ragged_dialect.erasing import is_value
from ragged_dialect.errors import is_own, kind_of, require_nothing, wrong_answer
from ragged_dialect.ir.match import defining_op
from ragged_dialect.ir.walk import captures, ops_in
from ragged_dialect.iteration import is_elementwise
from ragged_dialect.passes.base import faults_at
from ragged_dialect.passes.differentiate.tables import (
    CONSTANT,
    DerivativeFailure,
    Rule,
    Rules,
    has_derivative,
    hides_floats,
    linearizes,
    transposes,
)
from ragged_dialect.types import is_tensor

Made = TypeVar("Made")


def recorded(block: ir.Block, make: Callable[[], Made]) -> tuple[list[ir.Operation], Made]:
    """What `make` gives, and the ops of a block that it makes, at one place."""
    before = {op.operation for op in block.operations}
    made = make()
    return [op.operation for op in block.operations if op.operation not in before], made


def reads(op: ir.Operation) -> list[ir.Value]:
    """What an op reads: its operands, and what its regions capture."""
    return captures([op]) if len(op.regions) else list(op.operands)


def _rule(table: Rules, op: ir.Operation) -> Rule:
    rule = table.find(op)
    if rule is None:
        hint = " (scf.for, and rg.fori_loop, have one)" if op.name == "scf.while" else ""
        raise DerivativeFailure(op, f"expected ops with a derivative, got '{op.name}'{hint}")
    return rule


class Tangents:
    """Tangents of values; `outer` has those of the values around a region."""

    def __init__(self, known: Mapping[ir.Value, ir.Value], outer: Tangents | None = None) -> None:
        self._known = dict(known)
        self._outer = outer
        self.likes: dict[ir.Value, ir.Value] = {t: x for x, t in known.items()} if outer is None else outer.likes
        self._needed: set[ir.Value] = set()

    def of(self, value: ir.Value) -> ir.Value | None:
        """The tangent of a value, None for one that does not depend on what is differentiated."""
        found = self._known.get(value)
        return found if found is not None or self._outer is None else self._outer.of(value)

    def given(self, value: ir.Value) -> ir.Value:
        """The tangent of a value that has one."""
        found = self.of(value)
        assert found is not None
        return found

    def wants(self, value: ir.Value) -> bool:
        """Whether the tangent of a result is asked for."""
        return value in self._needed

    def inside(self, known: Mapping[ir.Value, ir.Value]) -> Tangents:
        """Tangents of a region, which sees those around it."""
        return Tangents(known, self)

    def run(self, ops: Sequence[ir.Operation], results: Iterable[ir.Value]) -> None:
        """Make the tangents that those of some results need, at the insertion point, of ops in order."""
        self._needed = _needed(ops, results)
        reads_memory = any(map(_is_memory, self._needed))
        for op in ops:
            if reads_memory and any(self.of(v) is not None for v in reads(op)):
                _require_floats(op, _written(op))
            if not any(self.wants(r) for r in op.results) or op.name in CONSTANT:
                continue
            if not any(self.of(v) is not None for v in reads(op)):
                continue
            _require_floats(op, op.results)
            rule = _rule(linearizes, op)
            with op.location, faults_at(op, rule):
                self._note(op, cast(object, rule(self, op.opview)))

    def _note(self, op: ir.Operation, made: object) -> None:
        tangents = list(cast(Sequence[object], made)) if isinstance(made, (list, tuple)) else [made]
        if made is None or len(tangents) != len(op.results) or not all(map(_is_tangent, tangents, op.results)):
            types = " and ".join(str(result.type) for result in op.results)
            raise TypeError(f"expected {types} from a rule of linearizes, got {_types_of(tangents)}")
        for result, tangent in zip(op.results, tangents, strict=True):
            if isinstance(tangent, ir.Value):
                self._known[result] = tangent
                self.likes.setdefault(tangent, result)


def _is_memory(value: ir.Value) -> bool:
    return isinstance(value.type, (ir.MemRefType, ir.UnrankedMemRefType))


def _written(op: ir.Operation) -> list[ir.Value]:
    """The memory that an op, or one in its regions, may write."""
    writers = [x for x in ops_in(op) if not len(x.results) or x.name.startswith("func.call") or "atomic" in x.name]
    return [v for writer in writers for v in writer.operands if _is_memory(v)]


def _require_floats(op: ir.Operation, values: Iterable[ir.Value]) -> None:
    """DerivativeFailure where floats that have tangents become what has none, of which results are computed."""
    for value in filter(hides_floats, values):
        text = "expected floats and tensors of floats on the way to results"
        raise DerivativeFailure(op, f"{text}, got {value.type} of '{op.name}'")


def _is_tangent(tangent: object, result: ir.Value) -> bool:
    return tangent is None or (is_value(tangent) and tangent.type == result.type)


def _types_of(made: list[object]) -> str:
    return " and ".join(str(one.type) if is_value(one) else kind_of(one) for one in made) or "nothing"


def _needed(ops: Sequence[ir.Operation], results: Iterable[ir.Value]) -> set[ir.Value]:
    """The values of floats, and those that hide some, that results are computed of through such values."""
    needed = {v for v in results if has_derivative(v)}
    for op in reversed(ops):
        if any(r in needed for r in op.results) and op.name not in CONSTANT:
            needed.update(v for v in reads(op) if has_derivative(v) or hides_floats(v))
    return needed


class Cotangents:
    """Cotangents of linear values: of tangents, and of what is computed of them. `likes` gives for a tangent a value
    of its type and structure that is there when tangents are not."""

    def __init__(
        self, linear: Iterable[ir.Value], likes: Mapping[ir.Value, ir.Value], outer: Cotangents | None = None
    ) -> None:
        self._linear = set(linear)
        self._likes = dict(likes) if outer is None else {}
        self._outer = outer
        self._known: dict[ir.Value, ir.Value] = {}
        self._added = 0
        self._read: set[ir.Value] | None = None  # by the op whose rule runs

    def is_linear(self, value: ir.Value) -> bool:
        """Whether a value is linear in what is transposed."""
        return value in self._linear or (self._outer is not None and self._outer.is_linear(value))

    def add(self, value: ir.Value, cotangent: ir.Value | None) -> None:
        """Add to the cotangent of a value; values that are not linear have none."""
        self._added += 1
        if not isinstance(cast(object, value), ir.Value):
            raise TypeError(f"expected a value that has a cotangent, got {type(value).__name__}")
        if self._read is not None and not self.is_linear(value) and value not in self._read:
            raise TypeError(f"expected a cotangent of an operand, got one of {value.get_name()}")
        if cotangent is None or not self.is_linear(value):
            return
        if not is_value(cotangent):
            raise TypeError(f"expected a cotangent, got {kind_of(cotangent)}")
        if self.is_linear(cotangent):
            raise TypeError(f"expected a cotangent of values and cotangents, got the tangent {cotangent.get_name()}")
        if cotangent.type != value.type:
            raise TypeError(f"expected a cotangent of type {value.type}, got {cotangent.type}")
        before = self._known.get(value)
        self._known[value] = cotangent if before is None else arith.addf(before, cotangent)

    def of(self, value: ir.Value) -> ir.Value | None:
        """The cotangent of a value, None for 0."""
        return self._known.get(value)

    def like(self, value: ir.Value) -> ir.Value:
        """A value with the type and the structure of a linear one that is not linear itself."""
        while self.is_linear(value):
            found = self.noted(value)
            op = defining_op(value)
            if found is not None:
                value = found
            elif op is not None and op.name.startswith("linalg."):
                value = op.operands[len(op.operands) - len(op.results)]
            elif op is not None and is_elementwise(op):
                tensors = [v for v in op.operands if is_tensor(v.type)]
                alike = [v for v in tensors if v.type == value.type]  # not the condition of a choice
                value = (alike or tensors)[0]
            else:
                return value
        return value

    def noted(self, value: ir.Value) -> ir.Value | None:
        """What was there with the structure of a linear value when this was made, None where nothing is known."""
        found = self._likes.get(value)
        return found if found is not None or self._outer is None else self._outer.noted(value)

    def note(self, likes: Iterable[tuple[ir.Value, ir.Value]]) -> None:
        """What has the structure of linear values."""
        self._likes.update(likes)

    def inside(self, linear: Iterable[ir.Value]) -> Cotangents:
        """Cotangents of a region's own values; what is linear around it is linear there."""
        return Cotangents(linear, {}, self)

    def spread(self, ops: Sequence[ir.Operation]) -> None:
        """Find the linear values that ops make."""
        for op in ops:
            if any(map(self.is_linear, reads(op))):
                self._linear.update(r for r in op.results if has_derivative(r))

    def _transposed(self, rule: Rule, op: ir.Operation, given: list[ir.Value | None]) -> object:
        """What a rule gives. One of a plug-in makes nothing of tangents, which are not there in the end."""

        def call() -> object:
            return rule(self, op.opview, given[0] if len(given) == 1 else given)

        if is_own(rule):
            return call()
        made, found = recorded(ir.InsertionPoint.current.block, call)
        for new in made:
            if any(map(self.is_linear, reads(new))):
                raise TypeError(f"expected cotangents of values and cotangents, got '{new.name}' of a tangent")
        return found

    def run(self, ops: Sequence[ir.Operation]) -> None:
        """Make the cotangents of all that linear ops read, at the insertion point, of ops in order."""
        self.spread(ops)
        for op in reversed(ops):
            given = [self.of(r) for r in op.results]
            if all(g is None for g in given):
                continue
            before, self._read = self._added, set(reads(op))
            rule = _rule(transposes, op)
            with op.location, faults_at(op, rule):
                require_nothing(self._transposed(rule, op, given), "a rule of transposes", rule)
            with faults_at(op, rule):
                if self._added == before:
                    raise wrong_answer("expected cotangents from a rule of transposes, got none", rule)
        self._read = None
