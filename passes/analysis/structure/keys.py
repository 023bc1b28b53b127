"""Where structures come from: keys of extents, levels, vectors and scalars.

Two dense dims with one key have one extent, two levels with one key have equal lengths wherever
their parents do. A key is found by following a value to what made its structure: an index
vector, a function argument, or an op nothing is known of.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple, TypeAlias

from ragged_dialect._mlir import ir
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.match import attribute_names, constant_int, defining_op, made_by, terminator, view_of
from ragged_dialect.iteration import ELEMENTWISE_DIALECTS, whole_value
from ragged_dialect.layout import RAGGED
from ragged_dialect.ops import SAME_LENGTHS, VIEWS
from ragged_dialect.ops.making import EmptyOp
from ragged_dialect.shape import Part, RaggedShape
from ragged_dialect.sources import Source, parent_dims
from ragged_dialect.traits import int_attr
from ragged_dialect.types import is_ragged, is_tensor, shape_of

Key: TypeAlias = Hashable
"""A hashable name: equal keys, equal extents or lengths."""

Groups = tuple[tuple[int, ...], ...]


class LevelKey(NamedTuple):
    """A ragged level or tile: the key of its lengths, and for each index of the origin the dims
    of this value that make it (several dims count as one, row by row)."""

    key: Key
    parents: Groups


class Stored(NamedTuple):
    """A vector read from a tensor: level `level` of `of`, or `of` is the key of the level."""

    name: str
    of: Key
    level: int | None


_INTO = frozenset({"tensor.insert", "tensor.insert_slice"})
_BOUNDS = 3
"""Operands of an `scf.for` before what it carries: from, to, step."""
_OF_LENGTHS = {"ragged.max_length": "max", "ragged.total": "total"}
_SCALAR_CASTS = frozenset({"arith.index_cast", "arith.extsi"})


def computed_from(op: ir.Operation, number: int) -> ir.Value | None:
    """The operand whose structure result `number` of a computing op has; None for other ops."""
    if op.name.startswith("linalg."):
        return op.operands[len(op.operands) - len(op.results) + number]
    if op.name.split(".", 1)[0] in ELEMENTWISE_DIALECTS and not whole_value(op):
        values = list(op.operands)[op.name == "arith.select" :]  # a condition has the structure, but nothing more
        return next((v for v in values if is_tensor(v.type)), None)
    return None


class Keys:
    """Keys of the values of a function, memoised: they depend on how values are made, and on no check."""

    def __init__(self) -> None:
        self._dims: dict[tuple[ir.Value, int], Key] = {}
        self._made_of: dict[Key, Key] = {}

    def operand(self, value: Mixed) -> Key:
        """The key of an operand of a check: a number, a scalar, a vector."""
        if isinstance(value, int):
            return value
        return self.vector(value) if is_tensor(value.type) else self.scalar(value)

    def scalar(self, value: ir.Value) -> Key:
        """The key of a scalar; an integer when it is constant."""
        known = constant_int(value)
        if known is not None:
            return known
        op = defining_op(value)
        if op is None:
            return value
        if op.name in _SCALAR_CASTS:
            return self.scalar(op.operands[0])
        if op.name == "tensor.dim":
            dim = constant_int(op.operands[1])
            return value if dim is None else self.dim(op.operands[0], dim)
        if op.name in _OF_LENGTHS:
            return (_OF_LENGTHS[op.name], self._lengths(op.operands[0], int_attr(op, "level")))
        return value

    def vector(self, value: ir.Value) -> Key:
        """The key of an index vector: casts of the same numbers have one key."""
        op = defining_op(value)
        if op is None:
            return value
        if op.name in _SCALAR_CASTS or op.name == "tensor.cast":
            return self.vector(op.operands[0])
        if op.name == "ragged.lengths" and not _differs_stored(op):
            return self._lengths(op.operands[0], int_attr(op, "level"))
        if op.name in ("ragged.offsets", "ragged.starts", "ragged.lengths") and is_ragged(op.operands[0].type):
            return self._stored(op)
        return value

    def _lengths(self, x: ir.Value, level: int) -> Stored:
        """Key of the flat lengths of a level: its own key where the origin has the same parents."""
        found = self.dim(x, level)
        assert isinstance(found, LevelKey)
        flat = [d for group in found.parents for d in group]
        if flat == [*shape_of(x.type).layout.above(level)]:
            return Stored("lengths", found.key, None)
        return Stored("lengths", x, level)

    def level_of(self, kind: str, vector: ir.Value) -> Key:
        """The key of the level that a vector makes: that of the level it was read from, if it was."""
        key = self.vector(vector)
        if not isinstance(key, Stored):
            return (kind, key)
        if kind == "offsets" and key.name == "ragged.offsets" and key.level is not None:
            assert isinstance(key.of, ir.Value)
            if not shape_of(key.of.type).layout.stores_lengths(key.level):
                return (kind, key)
            key = self._lengths(key.of, key.level)
            kind = "lengths"
        return key.of if kind == "lengths" and key.name == "lengths" and key.level is None else (kind, key)

    def _stored(self, op: ir.Operation) -> Key:
        """A stored vector of a level, through ops that keep their operand's storage."""
        x, level = op.operands[0], int_attr(op, "level")
        while (maker := defining_op(x)) is not None:
            if maker.name == "ragged.assemble":
                for part, operand in zip(shape_of(x.type).parts(), maker.operands, strict=True):
                    if part == (op.name.removeprefix("ragged."), level):
                        return self.vector(operand)
            if maker.name not in VIEWS or not is_ragged(maker.operands[0].type):
                break
            x = maker.operands[0]
        return Stored(op.name, x, level)

    def total(self, kind: str, vector: ir.Value) -> Key:
        """The key of the sum of the lengths that a vector, offsets or lengths, makes."""
        return ("total", Stored("lengths", self.level_of(kind, vector), None))

    # Keys of dims ------------------------------------------------------------------------------

    def dim(self, value: ir.Value, dim: int) -> Key:
        """The key of a dense dim (an integer when static), or the LevelKey of a ragged one."""
        place = (value, dim)
        if place not in self._dims:
            self._dims[place] = self._trace(value, dim)
        return self._dims[place]

    def _trace(self, value: ir.Value, dim: int) -> Key:
        """`_dim` for chains of ops that keep the structure, without recursion."""
        while True:
            above = _above(value)
            shape = shape_of(value.type)
            if shape.layout.letter(dim) == "d" and shape.shape[dim] is not None:
                return shape.shape[dim]
            if above is None or shape_of(above.type).contiguous().layout != shape.contiguous().layout:
                return self._dim(value, dim)
            if (above, dim) in self._dims:
                return self._dims[above, dim]
            value = above

    def _dim(self, value: ir.Value, dim: int) -> Key:
        shape = shape_of(value.type)
        if shape.layout.letter(dim) == "d":
            return self._made(value, shape, dim) or ("extent", value, dim)
        return self._made(value, shape, dim) or own_level(("level", value, dim), shape, dim)

    def _made(self, value: ir.Value, shape: RaggedShape, dim: int) -> Key | None:
        op = defining_op(value)
        if op is None:
            return None
        if op.name == "ragged.empty":
            return self._of_empty(op, shape, dim)
        if op.name == "ragged.assemble":
            return self._of_assemble(op, shape, dim)
        if op.name in ("ragged.partition", "ragged.merge", "ragged.split", "ragged.slice", "ragged.select"):
            return self._of_structure(op, shape, dim)
        if op.name in ("tensor.empty", "tensor.expand_shape"):
            number = sum(e is None for e in shape.shape[:dim])
            return self.scalar(op.operands[number + (op.name == "tensor.expand_shape")])
        if op.name == "ragged.lengths" and "stored" not in op.attributes and _is_below_first(op):
            return self.dim(op.operands[0], 0)
        return None

    def _of_empty(self, op: ir.Operation, shape: RaggedShape, dim: int) -> Key | None:
        likes = [v for v in op.operands if is_tensor(v.type)]
        sources = view_of(op, EmptyOp).sources()
        source = sources[dim]
        if source is None:
            number = sum(s is None and e is None for s, e in zip(sources[:dim], shape.shape, strict=False))
            return self.scalar(op.operands[len(likes) + number])
        found = self.dim(likes[source.like], source.level)
        if not isinstance(found, LevelKey):
            return found
        shapes = [shape_of(v.type) for v in likes]
        places = _places(shapes, sources, shape, dim)
        if any(d not in places for group in found.parents for d in group):
            return None
        return LevelKey(found.key, tuple(tuple(places[d] for d in group) for group in found.parents))

    def _of_assemble(self, op: ir.Operation, shape: RaggedShape, dim: int) -> Key | None:
        letter = shape.layout.letter(dim)
        named = dict(zip(shape.parts(), op.operands, strict=True))
        if letter == "d":
            if shape.layout.is_plain(dim):
                return self.dim(named[Part("values", 0)], shape.layout.locate(dim)[0])
            given = named.get(Part("extent", dim))
            if given is not None:
                return self.scalar(given)
            kind = "offsets" if shape.layout.letter(dim + 1) == "r" else "lengths"
            return ("count", self.vector(named[Part(kind, dim + 1)]))
        if letter == "t" or not shape.layout.stores_lengths(dim):
            return None
        kind = "offsets" if letter == "r" else "lengths"
        return LevelKey(self.level_of(kind, named[Part(kind, dim)]), (tuple(shape.layout.above(dim)),))

    def _of_structure(self, op: ir.Operation, shape: RaggedShape, dim: int) -> Key | None:
        """Levels of other axes, and those above the dim that the op changes, stay as they are;
        the others are named by the op and what it is given."""
        x, at = op.operands[0], int_attr(op, "dim")
        before = shape_of(x.type)
        if op.name == "ragged.partition" and dim in (at, at + 1):
            return self._of_partition(op, shape, dim, at)
        source = dim if dim < at else dim - (shape.rank - before.rank)
        if op.name == "ragged.partition" and dim > at:
            return self._below_partition(x, source, at)
        axis, _ = before.layout.locate(at)
        touched = {axis, axis + 1} if op.name == "ragged.merge" and _crosses(before, at) else {axis}
        if dim < at or not {before.layout.locate(source)[0] if 0 <= source < before.rank else axis} & touched:
            found = self.dim(x, source) if before.layout.letter(source) == shape.layout.letter(dim) else None
            if not isinstance(found, LevelKey):
                return found
            shift = source - dim
            return LevelKey(found.key, tuple(tuple(d - shift if d >= at else d for d in g) for g in found.parents))
        if shape.layout.letter(dim) == "d":
            merged = op.name == "ragged.merge" and dim == at and before.layout.letter(at + 1) in RAGGED
            return ("total", self._lengths(x, at + 1)) if merged else None
        return own_level(self._function(op, dim), shape, dim)

    def _of_partition(self, op: ir.Operation, shape: RaggedShape, dim: int, at: int) -> Key:
        vector = op.operands[1]
        kind = "lengths" if "lengths" in op.attributes else "offsets"
        rows = shape_of(vector.type).rank == 2
        if dim == at:
            return (kind + " per row" if rows else "count", self.vector(vector))
        if not rows:
            return LevelKey(self.level_of(kind, vector), ((at,),))
        return LevelKey((kind + " rows", self.vector(vector)), (tuple(shape.layout.above(dim)),))

    def _below_partition(self, x: ir.Value, source: int, at: int) -> Key:
        """An index of the partitioned dim is now a pair."""
        found = self.dim(x, source)
        if not isinstance(found, LevelKey):
            return found
        groups = (tuple(e for d in g for e in ((at, at + 1) if d == at else (d + (d > at),))) for g in found.parents)
        return LevelKey(found.key, tuple(groups))

    def _function(self, op: ir.Operation, dim: int) -> Key:
        """A number for what an op makes of its inputs: with their keys in it keys would double along a chain."""
        inputs: list[Key] = []
        for value in op.operands:
            if is_ragged(value.type):
                inputs += [self.dim(value, d) for d in range(shape_of(value.type).rank)]
            else:
                inputs.append(self.operand(value))
        attributes = tuple(sorted((name, str(op.attributes[name])) for name in attribute_names(op)))
        return self._made_of.setdefault((op.name, dim, attributes, *inputs), ("made", len(self._made_of)))


def _differs_stored(op: ir.Operation) -> bool:
    """Whether `ragged.lengths` reads stored lengths that are not the logical ones."""
    return "stored" in op.attributes and not shape_of(op.operands[0].type).layout.stores_lengths(int_attr(op, "level"))


def _is_below_first(op: ir.Operation) -> bool:
    """Whether the level of an op is of the components of the first dim: there is a length for each."""
    return int_attr(op, "level") == 1 and shape_of(op.operands[0].type).layout.letter(1) in RAGGED


def own_level(key: Key, shape: RaggedShape, dim: int) -> LevelKey:
    """A level indexed by the dims above it in its axis."""
    return LevelKey(key, tuple((d,) for d in shape.layout.above(dim)))


def _above(value: ir.Value) -> ir.Value | None:
    """The operand with the same structure, dim by dim."""
    if isinstance(value, ir.BlockArgument):
        return _before_loop(value.owner.owner.operation, value.arg_number - 1)
    if not isinstance(value, ir.OpResult):
        return None
    op = value.owner.operation
    if op.name in SAME_LENGTHS:
        return op.operands[0]
    if op.name in _INTO:
        return op.operands[1]
    if op.name == "scf.for":
        return _before_loop(op, value.result_number)
    return computed_from(op, value.result_number) if is_tensor(value.type) else None


def _before_loop(loop: ir.Operation, number: int) -> ir.Value | None:
    """What a loop carries at first in a place, when each iteration passes on what has the same structure. Upwards from
    there, any other argument is of another place of the loop, or from outside of it."""
    if loop.name != "scf.for" or number < 0 or not is_tensor(loop.operands[_BOUNDS + number].type):
        return None
    block = loop.regions[0].blocks[0]
    carried = block.arguments[1 + number]
    value: ir.Value | None = terminator(block).operands[number]
    while isinstance(value, ir.OpResult):
        value = _above(value)
    return loop.operands[_BOUNDS + number] if value is not None and value == carried else None


def structural_source(value: ir.Value, memo: dict[ir.Value, ir.Value]) -> ir.Value:
    """The value furthest up whose dims have the same extents and lengths, one by one, by type too: a
    guard has its own, which is not known before it. `memo` makes chains of values linear; it is valid
    while the ops stay."""
    chain: list[ir.Value] = []
    while value not in memo:
        above = _above(value)
        if above is None or not is_ragged(above.type):
            above = _like(value)
        if above is None or made_by(value, "ragged.guard") is not None or shape_of(above.type) != shape_of(value.type):
            memo[value] = value
            break
        chain.append(value)
        value = above
    source = memo[value]
    for below in chain:
        memo[below] = source
    return source


def _like(value: ir.Value) -> ir.Value | None:
    """The like of a `ragged.empty` that takes all levels from it."""
    op = made_by(value, "ragged.empty")
    return view_of(op, EmptyOp).like if op is not None and len(op.operands) == 1 else None


def _places(shapes: list[RaggedShape], sources: list[Source | None], shape: RaggedShape, dim: int) -> dict[int, int]:
    """For a level of an empty: where the levels above it in its like are in the result."""
    source = sources[dim]
    assert source is not None
    if shape.layout.letter(dim) in RAGGED:
        return parent_dims(shapes, sources, shape, dim)
    places = parent_dims(shapes, sources, shape, dim - 1) if shape.layout.letter(dim - 1) in RAGGED else {}
    return {**places, source.level - 1: dim - 1}


def _crosses(shape: RaggedShape, dim: int) -> bool:
    return dim + 1 < shape.rank and shape.layout.locate(dim)[0] != shape.layout.locate(dim + 1)[0]
