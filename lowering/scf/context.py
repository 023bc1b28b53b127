"""State of one lowering: the value map, values already computed, the forall that is open."""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable
from contextlib import contextmanager
from typing import Any, TypeVar

from ragged_dialect._mlir import ir
from ragged_dialect.ir import shapes
from ragged_dialect.iteration import MAPPING
from ragged_dialect.layout import Layout
from ragged_dialect.lowering.nests.forall import OpenForall
from ragged_dialect.lowering.scf.parts import Parts
from ragged_dialect.lowering.vector.machine import Registers
from ragged_dialect.shape import RaggedShape
from ragged_dialect.types import shape_of

T = TypeVar("T")


class Lowering:
    """Maps values of the ragged program to their parts, and remembers index values by key so that
    the same offset is loaded once per block."""

    def __init__(
        self,
        exact: Callable[[ir.Value], frozenset[int]] = lambda _: frozenset(),
        tensor_cores: bool = False,
        keys: int = 1,
        keys_of_a_count: int = 1,
        counts: int = 0,
        rows: int = 0,
        registers: Registers | None = None,
        tile: int = 0,
    ) -> None:
        """`exact` gives the tile dims of a value that are known to have no holes; `tensor_cores` do attention; a part
        of what is grouped has at least so many `keys`, and so many for each of its counts, of which there are so many
        at most, where not 0. Nests that reduce rows of at most `rows` elements are in no forall. `registers` are
        those of vectors, None where there are none. Rows that a mask keeps are found in tiles of so many, where not
        0."""
        self._exact = exact
        self.keys = keys
        self.keys_of_a_count = keys_of_a_count
        self.counts = counts
        self.rows = rows
        self.registers = registers
        self.tile = tile
        self.tensor_cores = tensor_cores
        self.map: dict[ir.Value, Parts] = {}
        self.scopes: list[dict[Hashable, Any]] = []
        self.forall: OpenForall | None = None
        self.mapping: dict[str, ir.Attribute] = {}
        """What the op that is lowered says of its forall."""
        self.dead: list[ir.Operation] = []

    def parts(self, value: ir.Value) -> Parts:
        """Parts of a value; a dense tensor is its own only part."""
        if value in self.map:
            return self.map[value]
        shape = RaggedShape(Layout.dense(len(value.type.shape)), shape_of(value.type).shape)
        ctx: Any = self  # the linked folders give pyright two names for this class
        return Parts(ctx, shape, value, {}, {})

    def memo(self, key: Hashable, make: Callable[[], T]) -> T:
        """The value remembered under a key in this block or one around it, made if there is none."""
        for scope in reversed(self.scopes):
            if key in scope:
                return scope[key]
        made = make()
        self.scopes[-1][key] = made
        return made

    @contextmanager
    def scope(self, known: dict[Hashable, Any] | None = None) -> Generator[None]:
        """A block of its own: values made inside are not remembered outside."""
        self.scopes.append({} if known is None else known)
        try:
            yield
        finally:
            self.scopes.pop()

    def close(self) -> None:
        """Finish the open forall, if there is one."""
        if self.forall is not None:
            forall, self.forall = self.forall, None
            forall.close()

    def begin(self, op: ir.Operation) -> None:
        """An op is about to be lowered; one with a mapping is in no forall that has another."""
        self.mapping = {MAPPING: op.attributes[MAPPING]} if MAPPING in op.attributes else {}
        if self.mapping and self.forall is not None and self.forall.mapping != self.mapping:
            self.close()

    def is_pending(self, value: ir.Value) -> bool:
        """Whether a value comes from the open forall."""
        parts = self.map.get(value)
        return parts is not None and parts.pending is not None

    def bind(self, old: ir.Value, parts: Parts) -> None:
        """Set the parts of a value; the uses of a dense one are replaced once its tensor exists."""
        parts = parts.without_holes(self._exact(old))
        self.map[old] = parts
        if not parts.layout.is_dense:
            return
        if parts.pending is not None:
            parts.pending.forall.on_close(lambda: self._replace_dense(old, parts))
        else:
            self._replace_dense(old, parts)

    def _replace_dense(self, old: ir.Value, parts: Parts) -> None:
        new = shapes.cast(parts.values, old.type)
        parts.held = new
        old.replace_all_uses_with(new)

    def erase_later(self, op: ir.Operation) -> None:
        """Erase an op of the ragged program at the end."""
        self.dead.append(op)
