"""Blocks of rows along lanes, and the tiles of rows that they meet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ragged_dialect._mlir import ir
from ragged_dialect.ir.build import Mixed


@dataclass(frozen=True)
class Block:
    """A block of rows of a component along the lanes, or a few blocks: the component, the first one's number there and
    its row, how many they are, and whether they are its last ones; where the component's rows that they meet begin in
    either tensor, and how many these are; `shift` as for `Keys`."""

    component: ir.Value
    first: ir.Value
    row: ir.Value
    count: ir.Value
    is_last: ir.Value
    starts: tuple[Mixed, Mixed]
    others: Mixed
    shift: Mixed


class Bounds(NamedTuple):
    """The rows that some lane of a block meets, low to high, and of these those that all do, full to stop."""

    low: Mixed
    full: Mixed
    stop: Mixed
    high: Mixed


class Ahead(NamedTuple):
    """What is read later of a tensor: from a row and a head on, pieces as wide as a head, so many elements from one to
    the next."""

    x: ir.Value
    row: ir.Value
    head: ir.Value
    apart: Mixed


class Meeting(NamedTuple):
    """A tile of rows of a head, from the first on, and a block of lanes of a head of its own, the one of a number, that
    meets those from a low place of the tile to a high one; the low one is a multiple of the rows that are multiplied at
    once. `ahead` is asked for by all `blocks` that meet the tile, and `own`, which will be along lanes, in the last
    tile."""

    ahead: Sequence[Ahead]
    own: Sequence[Ahead]
    blocks: ir.Value
    is_last: ir.Value
    head: ir.Value
    own_head: ir.Value
    number: ir.Value
    block: Block
    bounds: Bounds
    first: ir.Value
    low: Mixed
    high: Mixed
