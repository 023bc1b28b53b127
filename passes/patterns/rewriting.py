"""What rewriting passes share: a worklist driver over our own patterns, and the rewriter they get.

The driver never erases an op: a replaced op loses its uses and upstream's dead code elimination
takes it. So no Python handle can dangle, whatever order the patterns run in.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager

from ragged_dialect._mlir import DYNAMIC, ir
from ragged_dialect.erasing import no_value
from ragged_dialect.ir import shapes
from ragged_dialect.ir.match import blocks_of, is_read
from ragged_dialect.layout import Layout
from ragged_dialect.passes.base import PassFailure
from ragged_dialect.passes.patterns.matching import shapes_kept
from ragged_dialect.types import is_ragged, layout_of

Pattern = Callable[[ir.Operation, "Rewriter"], bool]
Patterns = Mapping[str, Sequence[Pattern]]
_REWRITES = 200
"""How many rewrites there may be for an op: our patterns make less than one for each in all files of the tests."""


class Rewriter:
    """Handed to every pattern: creates ops beside the matched one and replaces its result."""

    def __init__(self) -> None:
        self.touched: list[ir.Operation] = []
        self.roots: dict[ir.Value, ir.Value] = {}
        """Memo of `structure.root_of`, valid for one run of the driver."""
        self._layouts: dict[ir.RankedTensorType, Layout | None] = {}

    def layout(self, value: ir.Value) -> Layout | None:
        """Layout of a ragged tensor, None for any other value."""
        type_ = value.type
        if type_ not in self._layouts:
            self._layouts[type_] = layout_of(type_) if is_ragged(type_) else None
        return self._layouts[type_]

    @contextmanager
    def before(self, op: ir.Operation) -> Generator[None, None, None]:
        """Insertion point before `op`, with the location of `op`."""
        with ir.InsertionPoint(op), op.location:
            yield

    def replace(self, op: ir.Operation, value: ir.Value) -> bool:
        """Replace the only result of `op`; a cast is inserted when static extents differ.
        Returns True, so that a pattern can end with it."""
        result = op.results[0]
        if (other := no_value(value)) is not None:
            raise TypeError(f"expected a value in place of the result of '{op.name}', got {other}")
        if value == result:
            raise ValueError(f"expected another value in place of the result of '{op.name}', got itself")
        if value.type != result.type:
            if not may_cast(value.type, result.type):
                raise TypeError(f"expected a value of {result.type} for '{op.name}', got {value.type}")
            with self.before(op):
                value = shapes.cast(value, result.type)
        self._touch_users(result)
        result.replace_all_uses_with(value)
        owner = value.owner
        if not isinstance(owner, ir.Block):
            self.touched.append(owner.operation)
        return True

    def set_operands(self, op: ir.Operation, values: Sequence[ir.Value]) -> bool:
        """Let `op` read other values of the types of its first operands. Returns True."""
        operands = op.operands
        if len(values) > len(operands):
            raise ValueError(f"expected at most {len(operands)} operands for '{op.name}', got {len(values)}")
        for number, value in enumerate(values):
            if (other := no_value(value)) is not None:
                raise TypeError(f"expected a value as operand of '{op.name}', got {other}")
            operands[number] = value
        self._touch_users(op.results[0])
        return True

    def _touch_users(self, result: ir.Value) -> None:
        self.touched.extend(use.owner.operation for use in result.uses)


def may_cast(source: ir.Type, target: ir.Type) -> bool:
    """Whether types of tensors differ in what is known of their extents alone."""
    if not isinstance(source, ir.RankedTensorType) or not isinstance(target, ir.RankedTensorType):
        return False
    encodings = [str(type_.encoding) for type_ in (source, target)]  # the bindings compare attributes with attributes
    same = source.element_type == target.element_type and encodings[0] == encodings[1]
    extents = zip(source.shape, target.shape, strict=False)
    return same and source.rank == target.rank and all(a == b or DYNAMIC in (a, b) for a, b in extents)


def run_patterns(root: ir.Operation, patterns: Patterns, seed: int | None) -> bool:
    """Apply patterns to the ops nested in `root` until none matches; returns whether one did.

    `seed` shuffles the order of ops and patterns: the result must not depend on it.
    """
    work = [op for op in walk(root, bodies=False) if op.name in patterns]
    work.reverse()
    if seed is not None:
        patterns = _shuffled(patterns, work, seed)
    with shapes_kept():
        return _run_worklist(work, patterns)


def _run_worklist(work: list[ir.Operation], patterns: Patterns) -> bool:
    queued = set(work)
    rewriter = Rewriter()
    changed = False
    left = _REWRITES * (len(work) + 1)
    while work:
        op = work.pop()
        queued.discard(op)
        name = op.name
        if not is_read(*op.results) or not any(pattern(op, rewriter) for pattern in patterns[name]):
            continue
        changed = True
        left -= 1
        if not left:
            raise PassFailure(op, f"expected rewrites to come to an end, got one more of '{op.name}'")
        rewriter.touched.append(op)
        for touched in reversed(rewriter.touched):
            if touched not in queued and touched.name in patterns:
                queued.add(touched)
                work.append(touched)
        rewriter.touched.clear()
    return changed


def _shuffled(patterns: Patterns, work: list[ir.Operation], seed: int) -> Patterns:
    order = random.Random(seed)
    order.shuffle(work)
    return {name: order.sample(list(group), len(group)) for name, group in patterns.items()}


def walk(root: ir.Operation, bodies: bool = True) -> Iterator[ir.Operation]:
    """The ops nested in `root`, in program order, each before those of its regions; without
    `bodies` not the scalar ops in linalg ops, none of which is ragged."""
    for block in blocks_of(root):
        for op in block.operations:
            operation = op.operation
            yield operation
            if len(operation.regions) and (bodies or not operation.name.startswith("linalg.")):
                yield from walk(operation, bodies)
