"""The cheapest nodes of a graph that all paths between two sets go through.

A minimal cut of the graph whose nodes are edges, by augmenting paths (Ford and Fulkerson 1956; shortest ones first:
Edmonds and Karp 1972). Programs have some hundred nodes: a package of graphs would be a dependency for this alone.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable, Iterable, Mapping
from itertools import pairwise
from typing import Generic, TypeVar

Node = TypeVar("Node", bound=Hashable)


def vertex_cut(
    costs: Mapping[Node, int | None], edges: Iterable[tuple[Node, Node]], first: Iterable[Node], last: Iterable[Node]
) -> set[Node]:
    """The nodes of least cost, in sum, without which nothing of `last` is reached from `first`, whose nodes may be cut
    too; of equal ones those next to `first`. A node whose cost is None stays. ValueError where that cannot be."""
    network = _Network(costs)
    for a, b in edges:
        network.connect(a, b)
    ends = list(first), set(last)
    while (path := network.path(*ends)) is not None:
        network.fill(path)
    reached = network.reached(ends[0])
    return {node for node in costs if (node, False) in reached and (node, True) not in reached}


class _Network(Generic[Node]):
    """What may still flow. A node is two, where it is entered and where it is left (True)."""

    def __init__(self, costs: Mapping[Node, int | None]) -> None:
        self._unlimited = 1 + sum(cost for cost in costs.values() if cost is not None)
        self._left: defaultdict[tuple[Node, bool], dict[tuple[Node, bool], int]] = defaultdict(dict)
        for node, cost in costs.items():
            self._left[node, False][node, True] = self._unlimited if cost is None else cost

    def connect(self, a: Node, b: Node) -> None:
        """Add an edge."""
        self._left[a, True][b, False] = self._unlimited

    def reached(self, first: Iterable[Node]) -> dict[tuple[Node, bool], tuple[Node, bool] | None]:
        """What can be reached, each with what it is reached from."""
        found: dict[tuple[Node, bool], tuple[Node, bool] | None] = {(node, False): None for node in first}
        ahead = deque(found)
        while ahead:
            place = ahead.popleft()
            for next_, left in self._left[place].items():
                if left and next_ not in found:
                    found[next_] = place
                    ahead.append(next_)
        return found

    def path(self, first: Iterable[Node], last: set[Node]) -> list[tuple[Node, bool]] | None:
        """A path along which more may flow, None where there is none."""
        found = self.reached(first)
        place = next(((node, True) for node in last if (node, True) in found), None)
        if place is None:
            return None
        path = [place]
        while (before := found[path[-1]]) is not None:
            path.append(before)
        return path[::-1]

    def fill(self, path: list[tuple[Node, bool]]) -> None:
        """Let as much flow along a path as can."""
        steps = list(pairwise(path))
        most = min(self._left[a][b] for a, b in steps)
        if most >= self._unlimited:
            raise ValueError(
                f"expected a node that may be cut on every path, got none between {path[0][0]} and {path[-1][0]}"
            )
        for a, b in steps:
            self._left[a][b] -= most
            self._left[b][a] = self._left[b].get(a, 0) + most
