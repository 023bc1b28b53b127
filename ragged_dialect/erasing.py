"""What becomes of ops that are erased, detached and moved.

A handle of the bindings is a pointer, and of all handles to an op only the one that erases it becomes invalid. Passes
of ours hold no other. Code of plug-ins may do anything, so what it erases (while `foreign` is entered) is buried: it
can be read by any handle until the pass ends, and nothing of it is part of a program any more.
"""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeGuard

from ragged_dialect.errors import PassError, kind_of

if TYPE_CHECKING:
    from ragged_dialect._mlir import Op, ir


_kept: list[ir.Operation] = []  # no set: passes in passes run on one op
_lost: list[Grave] = []
"""Graves of what programs still use, which would read freed memory without them."""


class _Here(threading.local):
    """The grave of the pass that runs in a thread, whether an op is on its way there, and how often `foreign` and
    `frozen` are entered."""

    grave: Grave | None = None
    burying = False
    foreign = 0
    frozen = 0


_here = _Here()


class Grave:
    """Ops that were erased or detached in a pass."""

    def __init__(self) -> None:
        self._modules: dict[ir.Context, ir.Module] = {}
        self._detached: list[ir.Operation] = []

    def bury(self, op: ir.Operation) -> None:
        """Take an op that has no uses out of its program; it, and what is in it, uses nothing any more."""
        module = self._modules.get(op.context)
        if module is None:
            module = self._modules[op.context] = _empty(op)
        nothing = next(iter(module.body.operations)).results[0]
        for inner in _nested(op):
            for number in range(len(inner.operands)):
                inner.operands[number] = nothing
        for number in range(len(op.successors)):
            op.successors[number] = module.body
        _here.burying = True
        try:
            module.body.append(op)
        finally:
            _here.burying = False

    def keep(self, op: ir.Operation) -> None:
        """Keep an op that is in no block."""
        self._detached.append(op)

    def let_go(self, op: ir.Operation) -> None:
        """Keep an op no longer, which is in a block again: whoever erases it there does not ask here."""
        for number in reversed(range(len(self._detached))):
            if self._detached[number] == op:
                del self._detached[number]
                return

    def has(self, op: ir.Operation) -> bool:
        """Whether an op is here."""
        return self.has_buried(op) or (bool(self._detached) and _outermost(op) in self._detached)

    def has_buried(self, op: ir.Operation) -> bool:
        """Whether an op was erased."""
        return bool(self._modules) and any(_outermost(op) == one.operation for one in self._modules.values())

    def used(self) -> str | None:
        """What of the ops here a program still uses; such a grave stays for good."""
        gone = [(op, op) for op in self._detached if _is_valid(op) and parent_of(op) is None]
        for module in self._modules.values():
            gone += [(op.operation, module.operation) for op in module.body.operations]
        for op, outer in gone:
            uses = (use for inner in _nested(op) for value in _values(inner) for use in value.uses)
            if any(not is_within(use.owner.operation, outer) for use in uses):
                _lost.append(self)
                return "an operand of one" if op.name == _NOTHING else f"one of '{op.name}'"
        return None


_NOTHING = "builtin.unrealized_conversion_cast"
"""The op that is an operand of all that is buried."""


def _empty(op: ir.Operation) -> ir.Module:
    from ragged_dialect._mlir import ir

    with op.context, ir.Location.unknown():
        made = ir.Module.create()
        with ir.InsertionPoint(made.body):
            ir.Operation.create(_NOTHING, results=[ir.IndexType.get()])
    return made


def _nested(op: ir.Operation) -> Iterator[ir.Operation]:
    yield op
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield from _nested(inner.operation)


def _values(op: ir.Operation) -> Iterator[ir.Value]:
    yield from op.results
    for region in op.regions:
        for block in region.blocks:
            yield from block.arguments


@contextmanager
def grave() -> Generator[None]:
    """Keep what `foreign` code erases while this is entered. PassError if a program uses some of it then."""
    if _here.grave is not None:
        yield
        return
    _here.grave = Grave()
    used = None
    try:
        yield
    finally:
        ended, _here.grave = _here.grave, None
        used = ended.used()
    if used is not None:
        raise PassError(f"expected uses of ops that are part of a program, got {used}, which is erased")


class foreign:
    """Bury what is erased while this is entered, and refuse to erase or detach what an op is in."""

    def __init__(self, *within: Op | None) -> None:
        self._within = [op.operation for op in within if op is not None]

    def __enter__(self) -> None:
        _here.foreign += 1
        _kept.extend(self._within)

    def __exit__(self, *_: object) -> None:
        _here.foreign -= 1
        for op in self._within:
            _kept.remove(op)


def is_foreign() -> bool:
    """Whether code of a plug-in runs."""
    return _here.foreign > 0


class frozen:
    """Refuse to erase, detach and move ops while this is entered: MLIR goes through them."""

    def __enter__(self) -> None:
        _here.frozen += 1

    def __exit__(self, *_: object) -> None:
        _here.frozen -= 1


def require_free(op: ir.Operation, what: str) -> None:
    """ValueError where a verifier changes an op."""
    if _here.frozen:
        raise ValueError(f"expected a verifier to change nothing, got '{op.name}' to {what}")


@contextmanager
def kept(*ops: ir.Operation) -> Generator[None]:
    """Refuse to erase some ops, and what they are in, while this is entered: passes are running on them."""
    _kept.extend(ops)
    try:
        yield
    finally:
        for op in ops:
            _kept.remove(op)


def is_kept(op: ir.Operation) -> bool:
    """Whether passes are running on an op, or on what is in it."""
    return op in _kept or (len(op.regions) > 0 and any(is_within(one, op) for one in _kept))


def is_within(op: ir.Operation, outer: ir.Operation) -> bool:
    """Whether an op is another one, or in it."""
    while op != outer:
        parent = parent_of(op)
        if parent is None:
            return False
        op = parent
    return True


def _outermost(op: ir.Operation) -> ir.Operation:
    while (parent := parent_of(op)) is not None:
        op = parent
    return op


def parent_of(op: ir.Operation) -> ir.Operation | None:
    """The op around an op, None for one that is in no block."""
    try:
        return op.parent.operation if op.parent is not None else None
    except ValueError:  # of the bindings: it is detached
        return None


def is_erased(op: ir.Operation) -> bool:
    """Whether an op is no part of a program any more."""
    return not _is_valid(op) or (_here.grave is not None and _here.grave.has(op))


def is_buried(op: ir.Operation) -> bool:
    """Whether an op was erased, and not detached."""
    return not _is_valid(op) or (_here.grave is not None and _here.grave.has_buried(op))


def is_value(found: object) -> TypeGuard[ir.Value]:
    """Whether what code of a plug-in gives is a value, of an op or a block that is part of a program."""
    return no_value(found) is None


def no_value(found: object) -> str | None:
    """What else than a value of a program code of a plug-in gives, None for such a value. One of an op that is in no
    block, as without an insertion point, ends with the last handle to the op."""
    from ragged_dialect._mlir import ir

    if isinstance(found, (ir.Operation, ir.OpView)):
        return f"the op '{found.operation.name}'" if _is_valid(found.operation) else "an op that is erased"
    if not isinstance(found, ir.Value):
        return kind_of(found)
    try:
        owner = found.owner
        op = (owner.owner if isinstance(owner, ir.Block) else owner).operation
        if is_buried(op):
            return f"one of '{op.name}', which is erased"
        alone = not isinstance(owner, ir.Block) and parent_of(op) is None
        return f"one of '{op.name}', which is in no block" if alone else None
    except RuntimeError:  # of the bindings: made by the handle that has erased it
        return "one that is erased"


def _is_valid(op: ir.Operation) -> bool:
    try:
        return bool(op.name)
    except RuntimeError:  # of the bindings
        return False


def check_erased(op: ir.Operation) -> None:
    """ValueError for an op that must not be erased."""
    check_detached(op, "erase")
    if any(next(result.uses, None) is not None for result in op.results):
        raise ValueError(f"expected an op that has no uses, got '{op.name}' to erase")


def check_detached(op: ir.Operation, purpose: str = "detach") -> None:
    """ValueError for an op that must not be detached, which is for a purpose."""
    require_free(op, purpose)
    if is_kept(op):
        raise ValueError(f"expected an op that no pass is running on, got '{op.name}' to {purpose}")


def check_place(at: ir.InsertionPoint) -> None:
    """ValueError for an insertion point in what is erased: what is made there is in no program."""
    if _here.foreign and _here.grave is not None and _here.grave.has_buried(at.block.owner.operation):
        raise ValueError("expected an insertion point in a program, got one in what is erased")


def check_moved(op: ir.Operation, block: ir.Block) -> None:
    """ValueError for an op that must not be moved to a block: no op is in itself, and what is erased stays where it
    is."""
    require_free(op, "move")
    for one in (op, block.owner.operation):
        if _here.grave is not None and not _here.burying and _here.grave.has_buried(one):
            raise ValueError(f"expected '{op.name}' to be moved within a program, got an op that is erased")
    if len(op.regions) and is_within(block.owner.operation, op):
        raise ValueError(f"expected a place outside of '{op.name}', got one in it")


def buried(op: ir.Operation) -> bool:
    """Bury an op that code of a plug-in erases; whether it is."""
    if not _here.foreign or _here.grave is None:
        return False
    _here.grave.bury(op)
    return True


def keep_detached(op: ir.Operation) -> None:
    """Keep an op that code of a plug-in has detached until its pass ends."""
    if _here.foreign and _here.grave is not None:
        _here.grave.keep(op)


def let_go(op: ir.Operation) -> None:
    """Keep a detached op no longer: it is in a block again."""
    if _here.grave is not None:
        _here.grave.let_go(op)
