"""Layouts through the loops of a linalg op: what an operand says of the loops it indexes, and the
layout that follows for another operand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragged_dialect._mlir import ir
from ragged_dialect.errors import LayoutError
from ragged_dialect.generic import indexing_maps
from ragged_dialect.ir.match import loops_of
from ragged_dialect.layout import RAGGED, Layout
from ragged_dialect.types import is_ragged, is_tensor, shape_of

Loops = tuple[int | None, ...]


@dataclass(frozen=True)
class LoopLevel:
    """What a loop runs over: the letter of the level, the loops above it in its axis."""

    letter: str
    parents: tuple[int, ...]

    @property
    def strength(self) -> tuple[int, int]:
        """Of what several operands say of a loop, the strongest counts, whichever is known first."""
        return "drwt".index(self.letter), len(self.parents)


def operand_loops(op: ir.Operation) -> list[Loops]:
    """Per operand of a linalg op the loop of each dim, None for an index that is not a loop."""
    if op.name == "linalg.softmax":
        return [tuple(range(shape_of(v.type).rank)) for v in op.operands]
    out: list[Loops] = []
    for map_, operand in zip(indexing_maps(op), op.operands, strict=True):
        out.append(loops_of(map_) if is_tensor(operand.type) else ())
    return out


def loop_levels(values: Sequence[tuple[ir.Value, Loops]]) -> dict[int, LoopLevel]:
    """What is known of the loops from ragged values."""
    levels: dict[int, LoopLevel] = {}
    for value, loops in values:
        if not is_ragged(value.type):
            continue
        layout = shape_of(value.type).layout
        for axis, letters in enumerate(layout.axes):
            if letters == "d":
                continue
            dims = layout.dims(axis)
            for at, dim in enumerate(dims):
                loop = loops[dim]
                if loop is None:
                    raise LayoutError(f'expected a loop for dim {dim} of layout "{layout}", got another index')
                above = tuple(outer for d in dims[:at] if (outer := loops[d]) is not None)
                found = LoopLevel(letters[at], above)
                if loop not in levels or levels[loop].strength < found.strength:
                    levels[loop] = found
    return levels


def layout_on(loops: Loops, levels: dict[int, LoopLevel]) -> Layout:
    """The layout of a tensor whose dims run over `loops`. LayoutError where a ragged level would lose
    a level above it."""
    axes: list[str] = []
    current: list[int] = []
    for at, loop in enumerate(loops):
        level = None if loop is None else levels.get(loop)
        if loop is None or level is None or _is_plain(loop, level, loops, at, levels):
            axes.append("d")
            current = []
            continue
        if level.letter == "d" and not _continues(loop, current, loops[at + 1 :], levels):
            axes.append("")
            current = []
        elif level.letter != "d" and not set(level.parents) <= set(current):
            wanted, got = sorted(level.parents), sorted(current)
            raise LayoutError(f"expected loops {wanted} above ragged loop {loop}, got {got} (use ragged.reduce_across)")
        axes[-1] += level.letter
        current.append(loop)
    return Layout.of_axes(axes)


def _is_plain(loop: int, level: LoopLevel, loops: Loops, at: int, levels: dict[int, LoopLevel]) -> bool:
    if level.letter == "t":
        return not set(level.parents) <= set(loops)
    if level.letter in RAGGED:
        return False
    return not any(_below(loop, other, levels) for other in loops[at + 1 :])


def _below(loop: int, other: int | None, levels: dict[int, LoopLevel]) -> bool:
    return other is not None and other in levels and loop in levels[other].parents


def _continues(loop: int, current: list[int], later: Loops, levels: dict[int, LoopLevel]) -> bool:
    """Whether a dense level is one more of the current axis: some later level is below all of them."""
    return bool(current) and any(
        _below(loop, other, levels) and all(_below(c, other, levels) for c in current) for other in later
    )
