"""Components exchanged between ranks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ragged_dialect import builders
from ragged_dialect._mlir import arith, ir, tensor
from ragged_dialect.arrays.index.levels import merge, structured
from ragged_dialect.arrays.index.rows import take_components
from ragged_dialect.arrays.tracing.agreement import equal_levels
from ragged_dialect.arrays.tracing.operation import operation
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.arrays.tracing.wrap import contiguous
from ragged_dialect.errors import LayoutError
from ragged_dialect.ir import build, vectors
from ragged_dialect.ir.build import Mixed


@operation("all_to_all")
def all_to_all(x: Tensor) -> Tensor:
    """What every rank of the group that is entered (`rg.ranks`) has for every other one: component r of `x`, along the
    first dim, goes to rank r, and component r of the result comes from rank r. The extent of the first dim is the
    number of ranks. Components may be ragged in any depth; lengths go first, and nothing is padded. Extents of dense
    dims are the same on all ranks. Without a group there is one rank. Its gradient goes the way back.

    LayoutError for a first dim that is not dense, or other axes that are ragged. RankError, on every rank, where a rank
    fails, leaves, runs another program or does not answer; ArgumentError for another number of components than ranks.

    >>> def shift(group):
    ...     mine = [[group.rank] * (1 + other) for other in range(group.size)]
    ...     return rg.all_to_all(rg.ragged(mine)).tolist()
    >>> rg.ranks.run(2, shift)
    [[[0], [1]], [[0, 0], [1, 1]]]
    """
    if not x.ndim:
        raise LayoutError("all_to_all: expected an array with a dim of ranks, got a number")
    return structured(x, builders.all_to_all(contiguous(x).value))


class Shipment(NamedTuple):
    """Components of some experts, with the tokens of this rank, on the way to the ranks that own these: `received` is
    [source, expert, token] there, and `own` is how many experts this rank has of them."""

    received: Tensor
    ranks: int
    own: Mixed

    def arrived(self) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
        """The components of the experts of this rank: each has the tokens of all ranks, in the order of the ranks. With
        them comes the way back of what has their lengths: to those that were sent. No pass finds out that there is one
        expert only: its sums over tokens would be made in another order, and have other bits."""
        ranks, own = self.ranks, self.own
        flat = merge(self.received, axis=0)
        equal_levels(self.received, _parted(flat, _uniform(ranks, own)), 0, 2)
        if own == 1:
            own = build.to_index(tensor.extract(builders.lengths(self.received.value, 1), [build.value(0)]))
        parts = contiguous(take_components(flat, _transposed(ranks, own)))  # of every expert one for each source
        mine = merge(_parted(parts, _uniform(own, ranks)), axis=1)

        def back(made: Tensor) -> Tensor:
            given = made.trace.assembled(made.storage, [parts.axes[0], *made.axes[1:]], made.dtype)
            again = contiguous(take_components(given, _transposed(own, ranks)))
            return merge(all_to_all(_parted(again, _uniform(ranks, own))), axis=0)

        return mine, back


def to_owners(x: Tensor, owned: Sequence[int], own: Mixed) -> Shipment:
    """The components of `x`, [expert, token], to the ranks that own them: the first `owned[0]` to rank 0, and so on;
    this one owns `own`."""
    counts = [build.value(n) for n in owned]
    sent = _parted(x, vectors.generate(len(owned), lambda i: picked(i, counts)))
    return Shipment(all_to_all(sent), len(owned), own)


def _parted(x: Tensor, lengths: ir.Value) -> Tensor:
    return structured(x, builders.partition(x.value, lengths, 0, True), view=True)


def picked(at: ir.Value, numbers: Sequence[ir.Value]) -> ir.Value:
    """One of some numbers, by place; 0 of none."""
    if not numbers:
        return build.value(0)
    found = numbers[-1]
    for k, number in enumerate(numbers[:-1]):
        found = arith.select(build.equal(at, k), number, found)
    return found


def _uniform(count: Mixed, length: Mixed) -> ir.Value:
    return vectors.generate(count, lambda _: length)


def _transposed(rows: Mixed, columns: Mixed) -> ir.Value:
    """Where the elements of a matrix are, of which those of a column follow one another in the result."""
    height = build.value(rows)
    return vectors.generate(
        build.mul(rows, columns),
        lambda i: build.add(build.mul(arith.remui(i, height), columns), arith.divui(i, height)),
    )
