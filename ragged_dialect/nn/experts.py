"""Mixture of experts: tokens go to the experts that they choose, and come back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from ragged_dialect.arrays.core.arguments import integer
from ragged_dialect.arrays.index.dims import reshape, unsqueeze
from ragged_dialect.arrays.index.exchange import Shipment, picked, to_owners
from ragged_dialect.arrays.index.getitem import take
from ragged_dialect.arrays.index.routing import places_of, ungroup
from ragged_dialect.arrays.index.rows import take_components
from ragged_dialect.arrays.ops.elementwise import UFUNCS
from ragged_dialect.arrays.ops.matmul import grouped_product
from ragged_dialect.arrays.ops.normalise import logsumexp, softmax
from ragged_dialect.arrays.ops.sorting.topk import top_k
from ragged_dialect.arrays.tracing.agreement import equal_extents, equal_levels, has_extent, known_extent
from ragged_dialect.arrays.tracing.axes import NestedAxis, PlainAxis
from ragged_dialect.arrays.tracing.guards import Guard, extent_at
from ragged_dialect.arrays.tracing.leaves import Leaves, Origin
from ragged_dialect.arrays.tracing.operation import OPERATIONS, operation
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.arrays.tracing.wrap import contiguous
from ragged_dialect.errors import ArgumentError, LayoutError, RuntimeCheckError
from ragged_dialect.ir import build, shapes, vectors
from ragged_dialect.ir.build import Mixed
from ragged_dialect.nn.activations import ACTIVATIONS
from ragged_dialect.ranks.group import current


@operation("moe")
def moe(
    x: Tensor,
    scores: Tensor,
    gate: Tensor | None,
    up: Tensor,
    down: Tensor,
    *,
    k: int,
    activation: str = "silu",
    normalized: bool = True,
    owned: tuple[int, ...] | None = None,
    chunks: int = 1,
) -> Tensor:
    """A mixture of experts: every token is the weighted sum of what `k` experts make of it. The tokens of an expert are
    a component, so that no expert has a capacity, no token is dropped and nothing is padded.

    `x` are tokens of `hidden` features, [tokens, hidden] or ragged with them as last dim; the result is like it.
    `scores`, [tokens, experts] or of the structure of `x`, are the router's, a product of the tokens as a rule. A token
    goes to the `k` experts of its largest scores (of equal ones to the first). Their weights are the softmax of these
    scores, or, with `normalized=False`, the shares of these scores in the softmax of all. Expert e makes
    `activation(x @ up[e]) @ down[e]` of it, or `(activation(x @ gate[e]) * (x @ up[e])) @ down[e]` where there is a
    gate: `up` and `gate` are [experts, hidden, inner], `down` is [experts, inner, hidden], the activation is "silu",
    "gelu" or "relu". A token with a score of nan becomes nan.

    Experts may be spread over the ranks of the group that is entered (`rg.ranks`): `owned` says how many each rank has,
    the first ones rank 0 and so on, `up`, `gate` and `down` are those of this rank, and `scores` has all. Tokens go to
    the ranks of their experts and come back (`rg.all_to_all`), and gradients the other way. With more `chunks` than one
    each rank's experts are as many groups, whose tokens travel while those of others are computed with.

    ArgumentError for another activation or rank and for `owned` of other ranks than there are, RuntimeCheckError for
    extents that differ, for `owned` that is not what the weights are, and for k beyond the number of experts. It has
    gradients, in the scores too.

    >>> up, down = np.ones((2, 3, 4)), np.ones((2, 4, 3))
    >>> rg.nn.moe(np.ones((1, 3)), np.zeros((1, 2)), None, up, down, k=2, activation="relu")
    array([[12., 12., 12.]])
    """
    if activation not in ACTIVATIONS:
        raise ArgumentError(f"moe: expected an activation among {', '.join(ACTIVATIONS)}, got {activation!r}")
    chunks = integer("moe", "chunks", chunks)
    if chunks < 1 or (chunks > 1 and owned is None):
        raise ArgumentError(
            f"moe: expected {'chunks of at least 1' if chunks < 1 else 'owned for chunks'}, got {chunks}"
        )
    weights_of = _Experts(gate, up, down, activation)
    for name, weights in weights_of.named():
        if not weights.is_dense or weights.ndim != 3:
            raise ArgumentError(f"moe: expected {name} of rank 3, a matrix for every expert, got {weights.described}")
    x, scores = contiguous(x), contiguous(scores)
    tokens, scored = _rows("tokens", x), _rows("scores", scores)
    if not (x.is_dense or scores.is_dense):
        if x.layout != scores.layout:
            raise LayoutError(
                f'moe: expected scores of the structure of the tokens, "{x.layout}", got "{scores.layout}"'
            )
        with x.trace.about("scores"):
            equal_levels(x, scores, 0, len(x.layout.axes[0]))
    with x.trace.about("scores"):
        equal_extents((tokens, 0), (scored, 0), 0)
    if owned is None:
        with x.trace.about("up"):
            equal_extents((scored, 1), (up, 0), 0)
    else:
        _check_owned(scored, weights_of, owned)
    weights_of.check_extents(tokens)
    best, experts = top_k(scored, k=k, axis=1)
    weights = (
        softmax(best, axis=1)
        if normalized
        else UFUNCS["exp"](UFUNCS["subtract"](best, unsqueeze(logsumexp(scored, axis=1), axis=1)))
    )
    places = places_of(reshape(experts, dims=(0, 1), shape=(-1,)), build.value(scored.extent(1)))
    own = take(tokens, UFUNCS["floor_divide"](places, k))
    if owned is None:
        made = weights_of.applied(own)
    elif chunks == 1:
        made = _returned(to_owners(own, owned, up.extent(0)), weights_of)
    else:  # as many as there are experts at most: groups without any are code for nothing
        made, places = _in_chunks(own, places, weights_of, owned, min(chunks, max(owned)))
    made = ungroup(made, places)
    chosen = reshape(made, dims=(0,), shape=(-1, k))
    found = OPERATIONS["sum"](UFUNCS["multiply"](chosen, unsqueeze(weights, axis=2)), axis=1)
    if x.is_dense:
        return found
    return x.trace.assembled(found.storage, [*x.axes[:-1], found.axes[-1]], found.dtype)


def _check_owned(scored: Tensor, experts: _Experts, owned: tuple[int, ...]) -> None:
    """What experts and ranks there are is what `owned` says. ArgumentError, RuntimeCheckError."""
    if not owned or not all(type(n) is int and 0 <= n < 2**31 for n in owned):
        raise ArgumentError(f"moe: expected owned to have integers in [0, 2**31), one for each rank, got {owned}")
    with scored.trace.about(f"scores, beside owned {owned}"):
        has_extent((scored, 1), sum(owned), 1)
    held = [(name, known_extent((weights, 0))) for name, weights in experts.named()]
    scored.trace.guard(_Placed(owned, tuple((name, extent) for name, extent in held if extent is not None)))


@dataclass(frozen=True)
class _Placed(Guard):
    """Every rank of the group that is entered has as many experts as are said to be there."""

    owned: tuple[int, ...]
    held: tuple[tuple[str, Origin | int], ...]

    def __call__(self, leaves: Leaves) -> None:
        """ArgumentError for another number of ranks, RuntimeCheckError for other weights."""
        group = current()
        if len(self.owned) != group.size:
            ranks = "rank" if group.size == 1 else "ranks"
            raise ArgumentError(f"moe: expected owned of {group.size} {ranks}, got {self.owned}")
        own = self.owned[group.rank]
        for name, extent in self.held:
            if (found := extent_at(leaves, extent)) != own:
                text = f"expected extent {own}, the experts of rank {group.rank} by owned {self.owned}, got {found}"
                raise RuntimeCheckError(f"moe: {name}: dim 0: {text}")


class _Experts(NamedTuple):
    """The weights of some experts."""

    gate: Tensor | None
    up: Tensor
    down: Tensor
    activation: str

    def named(self) -> list[tuple[str, Tensor]]:
        """The weights by the names of the arguments."""
        named = [("up", self.up), ("down", self.down), ("gate", self.gate)]
        return [(name, weights) for name, weights in named if weights is not None]

    def check_extents(self, tokens: Tensor) -> None:
        """RuntimeCheckError for matrices that fit neither each other nor tokens, now or in calls."""
        up, inner, hidden = self.up, (self.up, 2), (tokens, 1)
        agreeing = [("up", (hidden, (up, 1), 1)), ("down", ((up, 0), (self.down, 0), 0))]
        agreeing += [("down", (inner, (self.down, 1), 1)), ("down", (hidden, (self.down, 2), 2))]
        if self.gate is not None:
            agreeing += [
                ("gate", (expected, (self.gate, at), at)) for at, expected in enumerate([(up, 0), hidden, inner])
            ]
        for name, (expected, given, at) in agreeing:
            with tokens.trace.about(name):
                equal_extents(expected, given, at)

    def applied(self, own: Tensor) -> Tensor:
        """What experts make of the tokens of their components."""
        made = grouped_product(own, self.up)
        act = ACTIVATIONS[self.activation]
        made = act(made) if self.gate is None else UFUNCS["multiply"](act(grouped_product(own, self.gate)), made)
        return grouped_product(made, self.down)

    def part(self, chunk: int, chunks: int) -> _Experts:
        """Those of a group of the experts."""
        low, high = (build.divide(build.mul(self.up.extent(0), n), chunks) for n in (chunk, chunk + 1))
        return self.some(low, build.sub(high, low))

    def some(self, low: Mixed, count: Mixed) -> _Experts:
        """Some that follow one another: views."""
        gate = None if self.gate is None else _some(self.gate, low, count)
        return _Experts(gate, _some(self.up, low, count), _some(self.down, low, count), self.activation)


def _some(w: Tensor, low: Mixed, count: Mixed) -> Tensor:
    """Some matrices of several: a view."""
    rest = [w.extent(dim) for dim in (1, 2)]
    storage = shapes.extract_slice(w.storage, [low, 0, 0], [count, *rest], [True] * 3)
    return w.trace.assembled(storage, [PlainAxis(None), *w.axes[1:]], w.dtype)


def _in_chunks(
    own: Tensor, places: Tensor, experts: _Experts, owned: Sequence[int], chunks: int
) -> tuple[Tensor, Tensor]:
    """What experts make of the components that are theirs, and the places of what they made: chunk by chunk, all of
    which are under way before the first one is computed with (`ragged-overlap`)."""
    ends = [0, *accumulate(owned)]
    numbers: list[list[int]] = []
    shipments: list[tuple[Shipment, _Experts]] = []
    for chunk in range(chunks):
        cuts = [
            (low + n * chunk // chunks, low + n * (chunk + 1) // chunks) for low, n in zip(ends, owned, strict=False)
        ]
        numbers.append([expert for low, high in cuts for expert in range(low, high)])
        part = experts.part(chunk, chunks)
        counts = [high - low for low, high in cuts]
        shipments.append((to_owners(_components(own, numbers[-1]), counts, part.up.extent(0)), part))
    made = [_returned(*sent) for sent in shipments]
    return OPERATIONS["concat"](*made, axis=0), _components(places, [n for group in numbers for n in group])


def _returned(shipment: Shipment, experts: _Experts) -> Tensor:
    """What experts make of the components that came for them, back where these came from."""
    mine, back = shipment.arrived()
    if shipment.own == 1:  # as `mine` has it: a number that no pass knows
        experts = experts.some(0, mine.extent(0))
    return back(experts.applied(mine))


def _components(x: Tensor, numbers: Sequence[int]) -> Tensor:
    """Some components, one after the other."""
    at = vectors.generate(len(numbers), lambda i: picked(i, [build.value(n) for n in numbers]))
    return contiguous(take_components(x, at))


def _rows(name: str, x: Tensor) -> Tensor:
    """The rows of an array, one after the other: [rows, features]. LayoutError."""
    if x.is_dense and x.ndim == 2:
        return x
    if len(x.axes) == 2 and isinstance(x.axes[0], NestedAxis) and isinstance(x.axes[1], PlainAxis):
        return x.trace.assembled(x.storage, [PlainAxis(None), x.axes[1]], x.dtype)
    raise LayoutError(f'moe: expected {name} of layout "d|d" or ragged with one dense dim, got layout "{x.layout}"')
