"""The run-time checks: what each kind takes, and how a failure reads.

`ragged.assert_valid` names a kind; a failed check leaves a record (`runtime/status.py`), whose error `Check` makes.
Plain Python, no MLIR.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ragged_dialect.errors import RangeError, RuntimeCheckError


class OperandSpec(NamedTuple):
    """An operand of a check: forms are s (scalar), v (vector), m (matrix)."""

    name: str
    forms: str
    optional: bool = False


@dataclass(frozen=True)
class CheckKind:
    """A kind of check: its operands, and one text per case with {i} the component, {j} the next
    one, {a} and {b} the values of the record. `whole` cases name no component. `error` is what a failure
    raises, wherever the check ran."""

    name: str
    operands: tuple[OperandSpec, ...]
    cases: tuple[str, ...]
    whole: frozenset[int] = frozenset()
    needs_factor: bool = False
    least_factor: int = 1
    error: type[RuntimeCheckError] = RuntimeCheckError


def _spec(name: str, forms: str, optional: bool = False) -> OperandSpec:
    return OperandSpec(name, forms, optional)


_COUNT = _spec("the count", "s", True)

_MOST_FACTORS = 32
"""More than tensors have dims."""

_KINDS = (
    # vector, extent it indexes, number of components
    CheckKind(
        "offsets",
        (_spec("offsets", "v"), _spec("the extent", "s"), _COUNT),
        (
            "expected at least 1 offset, got 0",
            "expected {a} offsets, got {b}",
            "expected offsets[0] == 0, got {a}",
            "expected offsets[{j}] >= offsets[{i}], got {a} < {b}",
            "expected offsets[{j}] == {b}, got {a}",
        ),
        frozenset({0, 1}),
    ),
    # rows of offsets relative to their component, lengths of the components (one where all have it)
    CheckKind(
        "rows",
        (_spec("offsets", "m"), _spec("lengths", "sv"), _COUNT),
        (
            "expected at least 1 offset per row, got 0",
            "expected {a} rows of offsets, got {b}",
            "expected the row of offsets to start at 0, got {a}",
            "expected the row of offsets not to decrease, got {a} < {b}",
            "expected the row of offsets to end at {b}, got {a}",
        ),
        frozenset({0, 1}),
    ),
    CheckKind(
        "lengths",
        (_spec("lengths", "v"), _spec("the extent", "s"), _COUNT),
        (
            "expected {a} lengths, got {b}",
            "expected lengths[{i}] >= 0, got {a}",
            "expected lengths to sum to {a}, got {b}",
        ),
        frozenset({0, 2}),
    ),
    CheckKind(
        "row_lengths",
        (_spec("lengths", "m"), _spec("the component lengths", "sv"), _COUNT),
        (
            "expected {a} rows of lengths, got {b}",
            "expected the row of lengths to be >= 0, got {a}",
            "expected the row of lengths to sum to {a}, got {b}",
        ),
        frozenset({0}),
    ),
    CheckKind(
        "windows",
        (_spec("starts", "v"), _spec("lengths", "v"), _spec("the extent", "s"), _COUNT),
        (
            "expected starts and lengths of one size, got {a} and {b}",
            "expected {a} starts and lengths, got {b}",
            "expected lengths[{i}] >= 0, got {a}",
            "expected starts[{i}] >= 0, got {a}",
            "expected starts[{i}] + lengths[{i}] <= {b}, got {a}",
            "expected lengths to sum to less than 2**63, got more",
        ),
        frozenset({0, 1, 5}),
    ),
    # index or one per component, bound or one per component
    CheckKind(
        "index",
        (_spec("the index", "sv"), _spec("the bound", "sv")),
        ("expected index in [0, {b}), got {a}",),
        error=RangeError,
    ),
    CheckKind(
        "range",
        (_spec("lo", "sv"), _spec("hi", "sv"), _spec("the bound", "sv")),
        (
            "expected {a} ranges, got {b}",
            "expected lo >= 0, got {a}",
            "expected lo <= hi, got {a} > {b}",
            "expected hi <= {b}, got {a}",
        ),
        frozenset({0}),
    ),
    CheckKind(
        "divides",
        (_spec("the extent", "sv"),),
        ("expected a multiple of {b}, got {a}",),
        needs_factor=True,
    ),
    CheckKind(
        "equal",
        (_spec("the extent", "s"), _spec("the expected extent", "s")),
        ("expected extent {b}, got {a}",),
        frozenset({0}),
    ),
    # lengths or an extent against the attribute `factor` of the op
    CheckKind(
        "at_least",
        (_spec("the extent", "sv"),),
        ("expected at least {b}, got {a}",),
        needs_factor=True,
        least_factor=0,
    ),
    CheckKind(
        "at_most",
        (_spec("the extent", "sv"),),
        ("expected at most {b}, got {a}",),
        needs_factor=True,
        least_factor=0,
    ),
    # extent of a dense dim, longest length it must reach
    CheckKind(
        "covers",
        (_spec("the extent", "s"), _spec("the lengths", "sv")),
        ("expected extent >= length {b}, got {a}",),
    ),
    # what `ragged.assert_conform` is lowered to: two vectors of lengths, or two counts
    CheckKind(
        "conform",
        (_spec("the lengths", "sv"), _spec("the other lengths", "sv")),
        ("expected {a} components, got {b}", "expected length {a}, got {b}"),
        frozenset({0}),
    ),
    # a condition, what `cf.assert` becomes: the text of it is the op's name
    CheckKind("holds", (_spec("the condition", "s"),), ("expected true, got false",), frozenset({0})),
    # factors whose product must fit into 64 bits
    CheckKind(
        "fits",
        tuple(_spec("a factor", "s", n > 0) for n in range(_MOST_FACTORS)),
        ("expected a size below 2**63, got {a} * {b}",),
        frozenset({0}),
    ),
)

CHECK_KINDS = {kind.name: kind for kind in _KINDS}

CHECKED = "ragged.checked"
"""Attribute of a function that has its checks, and of an op about which all is known to hold that
`ragged-insert-checks` would ask, or an assert that is known to hold."""

HIGHEST = 2**63 - 1
"""What a record has instead of a larger value."""


class Check(NamedTuple):
    """A check of a compiled program, in the order of its numbers from 1: kind (`conform` for
    `ragged.assert_conform`), the op it guards, the level."""

    kind: str
    op: str
    level: int

    def template(self, case: int, component: bool) -> str:
        """The text of a failure with {i} the component, {j} the next one, {a} and {b} the values of
        the record; `component` tells whether the record has one."""
        kind = CHECK_KINDS[self.kind]
        where = _literal(self.op) if self.kind == "holds" else f"{_literal(self.op)}: level {self.level}"
        if component and case not in kind.whole:
            where += ", component {i}"
        return f"{where}: {kind.cases[case]}"

    def message(self, case: int, component: int, a: int, b: int) -> str:
        """The text of a failure."""
        a, b = (min(value, HIGHEST) for value in (a, b))
        return self.template(case, component >= 0).format(i=component, j=component + 1, a=a, b=b)

    def error(self, case: int, component: int, a: int, b: int) -> RuntimeCheckError:
        """The exception of a failure."""
        return CHECK_KINDS[self.kind].error(self.message(case, component, a, b))


def _literal(text: str) -> str:
    """A text as a part of a format string."""
    return text.replace("{", "{{").replace("}", "}}")
