"""What is known of structures without looking at data: equal keys, and equalities that checks
establish on the way."""

from __future__ import annotations

from collections.abc import Sequence

from ragged_dialect._mlir import ir
from ragged_dialect.ir.build import Mixed
from ragged_dialect.narrowing import is_tuple
from ragged_dialect.passes.analysis.structure.keys import Key, Keys, LevelKey, Stored


class Facts(Keys):
    """Answers whether checks hold. Equalities are learnt per scope, a block."""

    def __init__(self) -> None:
        super().__init__()
        self._equal: list[dict[Key, Key]] = [{}]

    # Equalities --------------------------------------------------------------------------------

    def push(self) -> None:
        """Enter a scope: equalities learnt in it end with `pop`."""
        self._equal.append({})

    def pop(self) -> None:
        """Leave a scope."""
        self._equal.pop()

    def find(self, key: Key) -> Key:
        """The representative of a key, and of the keys that it names, under the equalities in force."""
        passed: list[Key] = []
        while (known := next((scope[key] for scope in reversed(self._equal) if key in scope), None)) is not None:
            passed.append(key)
            key = known
        self._equal[-1].update(dict.fromkeys(passed, key))  # one step, next time
        return self._of_parts(key) if is_tuple(key) else key

    def _of_parts(self, key: tuple[Key, ...]) -> Key:
        found = tuple(self.find(part) if is_tuple(part) else part for part in key)
        return key if found == key else self.find(Stored._make(found) if isinstance(key, Stored) else found)

    def learn(self, a: Key, b: Key) -> None:
        """Two keys are equal from here to the end of the scope."""
        a, b = self.find(a), self.find(b)
        if isinstance(b, int) or _names(a, b):
            a, b = b, a
        if a != b and not isinstance(b, int):
            self._equal[-1][b] = a

    def learn_conform(self, a: ir.Value, b: ir.Value, pairs: Sequence[tuple[int, int]]) -> None:
        """The last of `pairs` conforms from here to the end of the scope."""
        *parents, (i, j) = pairs
        left, right = self.dim(a, i), self.dim(b, j)
        if isinstance(left, LevelKey) and isinstance(right, LevelKey):
            mapped = tuple(tuple(dict(pairs).get(d, -1) for d in group) for group in left.parents)
            if mapped == right.parents:
                self.learn(left.key, right.key)
        if len(parents) == 1 and parents[0][1] >= 0:
            above, other = self.dim(a, parents[0][0]), self.dim(b, parents[0][1])
            if not isinstance(above, LevelKey) and not isinstance(other, LevelKey):
                self.learn(above, other)

    # Questions ---------------------------------------------------------------------------------

    def conform(self, a: ir.Value, b: ir.Value, pairs: Sequence[tuple[int, int]]) -> bool:
        """Whether two tensors provably have equal lengths on the last of `pairs`."""
        mapping = dict(pairs)
        implied: set[int] = set()
        for i, j in reversed(pairs):
            if j < 0:
                continue
            left, right = self.dim(a, i), self.dim(b, j)
            if isinstance(left, LevelKey) and isinstance(right, LevelKey):
                if not self.same_level(left, right, mapping):
                    return False
                implied |= {group[0] for group in left.parents if len(group) == 1}
            elif isinstance(left, LevelKey) or isinstance(right, LevelKey):
                return False
            elif i not in implied and self.find(left) != self.find(right):
                return False
        return True

    def same_level(self, a: LevelKey, b: LevelKey, mapping: dict[int, int]) -> bool:
        """Whether two levels have one origin, indexed by the same loops."""
        mapped = tuple(tuple(mapping.get(d, -1) for d in group) for group in a.parents)
        return self.find(a.key) == self.find(b.key) and mapped == b.parents

    def holds(self, kind: str, operands: Sequence[Mixed], factor: int | None) -> bool:
        """Whether a check on scalars (integers or values) or lengths holds whatever the data."""
        keys = [self.find(self.operand(v)) for v in operands]
        numbers = [k for k in keys if isinstance(k, int)]
        if kind == "equal":
            return keys[0] == keys[1]
        if kind == "covers":
            longest = ("max", keys[1])
            return keys[0] == longest or (len(numbers) == 2 and numbers[0] >= numbers[1])
        if kind == "at_least" and factor == 0 and _is_size(keys[0]):
            return True
        if kind == "index" and self._counts_below(operands[0], keys[1]):
            return True
        return len(numbers) == len(keys) and _evaluate(kind, numbers, factor or 0)

    def _counts_below(self, index: Mixed, bound: Key) -> bool:
        """Whether an index is that of a loop which runs from 0 or more up to a bound."""
        if not isinstance(index, ir.BlockArgument) or index.arg_number:
            return False
        loop = index.owner.owner.operation
        if loop.name != "scf.for":
            return False
        low, high, step = (self.find(self.operand(v)) for v in list(loop.operands)[:3])
        if not (isinstance(low, int) and low >= 0 and isinstance(step, int) and step > 0):
            return False
        return high == bound or (isinstance(high, int) and isinstance(bound, int) and high <= bound)


def _names(key: Key, part: Key) -> bool:
    """Whether a key is another one, or has it inside, as that of the sum of lengths has the key of a level."""
    if key is None:  # which the bindings do not compare with a value
        return False
    return key == part or (is_tuple(key) and any(_names(one, part) for one in key))


def _is_size(key: Key) -> bool:
    """Whether a scalar key is an extent or a length, which are never negative."""
    return isinstance(key, tuple) and key[0] in ("extent", "count", "max", "total")


def _evaluate(kind: str, n: list[int], factor: int) -> bool:
    """Whether a check on constants holds."""
    if kind == "fits":
        size = 1
        for number in n:
            size *= number
        return size < 2**63
    tests = {
        "at_least": lambda: n[0] >= factor,
        "at_most": lambda: n[0] <= factor,
        "divides": lambda: n[0] % factor == 0,
        "index": lambda: 0 <= n[0] < n[1],
        "range": lambda: 0 <= n[0] <= n[1] <= n[2],
    }
    return kind in tests and tests[kind]()
