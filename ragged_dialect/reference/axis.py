"""One storage axis as nested lists.

The levels of an axis are a tree: nested Python lists, one nesting level per logical dim, whose
leaves are positions along the storage axis.

    dr   lengths [3, 0, 2]               [[0, 1, 2], [], [3, 4]]
    drt  the same split by 2             [[[0, 1], [2]], [], [[3, 4]]]
    dw   starts [5, 2], lengths [2, 3]   [[5, 6], [2, 3, 4]]

A window level with ragged levels below it points at nodes rather than positions: its leaves are
indices into the next forest, the list of all stored nodes, so that nodes in no window are kept
too. A `dwr` with three stored components is ([[0, 1], [1]], [[0, 1, 2], [], [3]]).

A list at place p holds one component of level p and is called a group here; groups come in
stored order, which is the order of the index vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, count
from typing import Any, TypeAlias

Node: TypeAlias = Any
"""A group, or an integer at the leaves: how deep the lists are, the letters say."""
Group: TypeAlias = list[Node]


class Window(list[Node]):
    """A component of a window level: a list that knows where it starts, also when it is empty."""

    def __init__(self, items: Iterable[Node], start: int) -> None:
        super().__init__(items)
        self.start = start


@dataclass(frozen=True)
class Axis:
    """Levels of a storage axis: letters, the tree and the forests below its windows, the extent of
    the storage axis, and per level the extent (None for ragged levels)."""

    letters: str
    forests: tuple[Group, ...]
    size: int
    extents: tuple[int | None, ...]

    @staticmethod
    def plain(size: int) -> Axis:
        """The axis of a dense dim."""
        return Axis("d", (list(range(size)),), size, (size,))

    @property
    def tree(self) -> Group:
        """The group of level 0."""
        return self.forests[0]

    @property
    def body(self) -> int:
        """Number of levels that are not tiles."""
        return len(self.letters.rstrip("t"))

    def locate(self, place: int) -> tuple[int, int]:
        """Forest of the groups of a level, and their depth in it."""
        cuts = [0, *(p + 1 for p in range(self.body - 1) if self.letters[p] == "w")]
        forest = max(k for k, cut in enumerate(cuts) if cut <= place)
        return forest, place - cuts[forest] + (forest > 0)

    def groups(self, place: int) -> list[Group]:
        """All stored groups of a level; for a tile level the parts of the level above."""
        forest, depth = self.locate(place)
        return flatten(self.forests[forest], depth)

    def rewrite(self, place: int, change: Callable[[int, Group], Node]) -> tuple[Group, ...]:
        """The forests with `change(number, group)` for every group of a level."""
        forest, depth = self.locate(place)
        new = map_at(self.forests[forest], depth, change, count())
        return (*self.forests[:forest], new, *self.forests[forest + 1 :])

    def child(self, place: int, group: Group, index: int) -> Node:
        """Element `index` of a group: a group of the next level, or a position."""
        if self.letters[place] == "w" and place < self.body - 1:
            return self.forests[self.locate(place)[0] + 1][group[index]]
        return group[index]

    def at(self, path: Sequence[int]) -> Node:
        """The group, or position, under the indices of the first levels."""
        node: Node = self.tree
        for place, index in enumerate(path):
            node = self.child(place, node, index)
        return node

    def expand(self) -> Group:
        """The tree with windows resolved: all its leaves are positions."""

        def walk(place: int, group: Group) -> Group:
            nodes = [self.child(place, group, i) for i in range(len(group))]
            return nodes if place == len(self.letters) - 1 else [walk(place + 1, node) for node in nodes]

        return walk(0, self.tree)

    def positions(self) -> list[int]:
        """The storage positions of all elements, in logical order."""
        return flatten(self.expand(), len(self.letters))

    def elements(self, group: Group) -> list[int]:
        """The elements of a group of the last level before the tiles."""
        return flatten(group, 1 + len(self.letters) - self.body)

    def lengths(self, place: int) -> list[int]:
        """Logical lengths of a level, in stored order."""
        return [len(group) for group in self.groups(place)]

    def vector_lengths(self, place: int) -> list[int]:
        """Lengths as the index vectors hold them: elements also where the level is split."""
        groups = self.groups(place)
        return [len(self.elements(g)) for g in groups] if place == self.body - 1 else [len(g) for g in groups]

    def starts(self, place: int) -> list[int]:
        """The starts of a window level."""
        return [group.start for group in self.groups(place) if isinstance(group, Window)]

    def vectors(self) -> list[list[int]]:
        """The index vectors in the order of the 1:N form."""
        out: list[list[int]] = []
        for place, letter in enumerate(self.letters):
            if letter == "r":
                out.append(prefix_sums(self.vector_lengths(place)))
            elif letter == "w":
                out += [self.starts(place), self.vector_lengths(place)]
        return out

    def compact(self) -> Axis:
        """The same components without windows, on storage that holds their elements only, in
        logical order (`positions` tells which)."""
        numbers = count()
        tree = map_at(self.expand(), len(self.letters), lambda n, leaf: next(numbers), count())
        return Axis(self.letters.replace("w", "r"), (tree,), next(numbers), self.extents)

    def fresh(self) -> Axis:
        """The same levels on contiguous storage of their own: windows stay windows."""
        return self.compact().lettered(self.letters)

    def lettered(self, letters: str) -> Axis:
        """A contiguous axis with some of its levels as windows."""
        axis = self
        for place, letter in enumerate(letters):
            axis = axis.windowed(place) if letter == "w" else axis
        return axis

    def windowed(self, place: int) -> Axis:
        """The axis with a ragged level turned into windows over what is stored there now."""
        if self.letters[place] == "w":
            return self
        lengths = self.vector_lengths(place)
        starts = prefix_sums(lengths)
        last = place == self.body - 1

        def change(number: int, group: Group) -> Window:
            return Window(group if last else range(starts[number], starts[number + 1]), starts[number])

        forests = self.rewrite(place, change)
        if not last:
            below = self.locate(place)[0] + 1
            forests = (*forests[:below], concatenated(self.groups(place)), *forests[below:])
        letters = f"{self.letters[:place]}w{self.letters[place + 1 :]}"
        return replace(self, letters=letters, forests=forests)

    def trimmed(self) -> Axis:
        """The axis without forests of levels that have gone."""
        return replace(self, forests=self.forests[: 1 + self.letters[: self.body - 1].count("w")])


def map_at(node: Node, depth: int, change: Callable[[int, Node], Node], numbers: Iterable[int]) -> Node:
    """The tree with `change(number, node)` for every node at a depth."""
    counter = iter(numbers)

    def walk(node: Node, depth: int) -> Node:
        if depth == 0:
            return change(next(counter), node)
        children = [walk(child, depth - 1) for child in node]
        return Window(children, node.start) if isinstance(node, Window) else children

    return walk(node, depth)


def flatten(node: Node, depth: int) -> list[Node]:
    """What is `depth` levels below a node, leaves or groups, in order."""
    return [node] if depth == 0 else [leaf for child in node for leaf in flatten(child, depth - 1)]


def concatenated(groups: Iterable[Group]) -> Group:
    """One list of the elements of all groups."""
    return [item for group in groups for item in group]


def chunks(items: Group, size: int) -> list[Group]:
    """Consecutive pieces of a size, the last one shorter if it does not divide."""
    return [items[k : k + size] for k in range(0, len(items), size)]


def prefix_sums(lengths: Iterable[int]) -> list[int]:
    """Offsets of lengths: 0, and the sums so far."""
    return [0, *accumulate(lengths)]
