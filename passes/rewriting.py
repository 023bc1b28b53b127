"""What rewriting passes share: a worklist driver over our own patterns, and the rewriter they get.

The driver never erases an op: a replaced op loses its uses and upstream's dead code elimination
takes it. So no Python handle can dangle, whatever order the patterns run in.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from ragged_dialect._mlir import arith, ir, tensor
from ragged_dialect.errors import LayoutError
from ragged_dialect.layout import Extent
from ragged_dialect.shape import RaggedShape
from ragged_dialect.traits import int_attr
from ragged_dialect.types import compatible, shape_of

Pattern = Callable[[Any, "Rewriter"], bool]
Patterns = Mapping[str, Sequence[Pattern]]

_SHAPES: ContextVar[dict[Any, RaggedShape] | None] = ContextVar("shapes", default=None)
"""Shapes by type while patterns run; not longer, because a type keeps its context alive."""


class Rewriter:
    """Handed to every pattern: creates ops beside the matched one and replaces its result."""

    def __init__(self) -> None:
        self.touched: list[Any] = []
        self.roots: dict[Any, Any] = {}
        """Memo of `structure.root_of`, valid for one run of the driver."""

    @contextmanager
    def before(self, op: Any) -> Generator[None, None, None]:
        """Insertion point before `op`, with the location of `op`."""
        with ir.InsertionPoint(op), op.location:
            yield

    def replace(self, op: Any, value: Any) -> bool:
        """Replace the only result of `op`; a cast is inserted when static extents differ.
        Returns True, so that a pattern can end with it."""
        result = op.results[0]
        if value.type != result.type:
            with self.before(op):
                value = cast(value, result.type)
        self.touched.extend(use.owner.operation for use in result.uses)
        result.replace_all_uses_with(value)
        owner = value.owner
        if not isinstance(owner, ir.Block):
            self.touched.append(owner.operation)
        return True


def cast(value: Any, type_: Any) -> Any:
    """`tensor.cast`, or the value itself when it has the type."""
    return value if value.type == type_ else tensor.CastOp(type_, value).result


def run_patterns(root: Any, patterns: Patterns, seed: int | None = None) -> bool:
    """Apply patterns to the ops nested in `root` until none matches; returns whether any did.

    `seed` shuffles the order of ops and patterns: the result must not depend on it.
    """
    work = [op for op in _walk_outside_bodies(root) if op.name in patterns]
    work.reverse()
    if seed is not None:
        patterns = _shuffled(patterns, work, seed)
    token = _SHAPES.set({})
    try:
        return _run_worklist(work, patterns)
    finally:
        _SHAPES.reset(token)


def _run_worklist(work: list[Any], patterns: Patterns) -> bool:
    queued = set(work)
    rewriter = Rewriter()
    changed = False
    while work:
        op = work.pop()
        queued.discard(op)
        if not _is_live(op) or not any(pattern(op, rewriter) for pattern in patterns[op.name]):
            continue
        changed = True
        rewriter.touched.append(op)
        for touched in reversed(rewriter.touched):
            if touched not in queued and touched.name in patterns:
                queued.add(touched)
                work.append(touched)
        rewriter.touched.clear()
    return changed


def _shuffled(patterns: Patterns, work: list[Any], seed: int) -> Patterns:
    order = random.Random(seed)
    order.shuffle(work)
    return {name: order.sample(list(group), len(group)) for name, group in patterns.items()}


def _is_live(op: Any) -> bool:
    return any(True for result in op.results for _ in result.uses)


def walk(root: Any) -> Iterator[Any]:
    """The ops nested in `root`, in program order, each before those of its regions."""
    for region in root.regions:
        for block in region.blocks:
            for op in block.operations:
                operation = op.operation
                yield operation
                if len(operation.regions):
                    yield from walk(operation)


def _walk_outside_bodies(root: Any) -> Iterator[Any]:
    """Like `walk`, without the scalar bodies of linalg ops, which hold no ragged ops."""
    for region in root.regions:
        for block in region.blocks:
            for op in block.operations:
                operation = op.operation
                yield operation
                if len(operation.regions) and not operation.name.startswith("linalg."):
                    yield from _walk_outside_bodies(operation)


# Matching ----------------------------------------------------------------------------------------


def source(value: Any) -> Any:
    """The value behind casts that only change static extents."""
    while True:
        owner = value.owner
        if isinstance(owner, ir.Block) or owner.operation.name != "tensor.cast":
            return value
        value = owner.operation.operands[0]


def producer(value: Any, name: str) -> Any | None:
    """The op called `name` that defines a value, casts aside; None for any other."""
    while True:
        owner = value.owner
        if isinstance(owner, ir.Block):
            return None
        operation = owner.operation
        found = operation.name
        if found == name:
            return operation
        if found != "tensor.cast":
            return None
        value = operation.operands[0]


def defining(value: Any) -> Any | None:
    """The op that defines a value, casts aside; None for a block argument."""
    owner = source(value).owner
    return None if isinstance(owner, ir.Block) else owner.operation


def dim_of(op: Any) -> int:
    """The attribute `dim` of a verified op."""
    return int_attr(op, "dim")


def shape(value: Any) -> RaggedShape:
    """Shape and layout of a tensor value."""
    type_, known = value.type, _SHAPES.get()
    if known is None:
        return shape_of(type_)
    found = known.get(type_)
    if found is None:
        found = known[type_] = shape_of(type_)
    return found


def attempt(rule: Callable[[], RaggedShape]) -> RaggedShape | None:
    """The shape a rule yields, None where the layout algebra refuses it."""
    try:
        return rule()
    except LayoutError:
        return None


def same_meaning(a: RaggedShape | None, b: RaggedShape) -> bool:
    """Whether two shapes have one layout and static extents that do not contradict each other."""
    return a is not None and a.layout == b.layout and compatible(a.shape, b.shape)


def constant_int(value: Any) -> int | None:
    """Value of a scalar integer constant, None for anything else."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.operation.name != "arith.constant":
        return None
    attr = owner.operation.attributes["value"]
    return attr.value if isinstance(attr, ir.IntegerAttr) else None


def add(a: Any, b: Any) -> Any:
    """Sum of two scalar integers of one type, without an op where one is zero."""
    if constant_int(a) == 0:
        return b
    return a if constant_int(b) == 0 else arith.AddIOp(a, b).result


def is_value_of_dim(value: Any, tensor_value: Any, dim: int, extent: Extent) -> bool:
    """Whether a scalar is the extent of a tensor's dim: its static extent, or its `tensor.dim`."""
    known = constant_int(value)
    if known is not None or extent is not None:
        return known is not None and known == extent
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.operation.name != "tensor.dim":
        return False
    of, index = owner.operation.operands
    return source(of) == source(tensor_value) and constant_int(index) == dim
