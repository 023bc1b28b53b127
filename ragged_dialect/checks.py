"""The run-time checks: what each kind takes, and how a failure reads.

`ragged.assert_valid` names a kind; a failed check leaves a record (`runtime/status.py`), whose error `Check` makes.
Plain Python, no MLIR.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ragged_dialect.errors import RangeError, RuntimeCheckError


class OperandSpec(NamedTuple):
    """An operand of a check: forms are s (scalar), v (vector), m (matrix)."""

    name: str
    forms: str
    optional: bool = False


class CheckKind(NamedTuple):
    """A kind of check: its operands, and one text per case with {i} the component, {j} the next
    one, {a} and {b} the values of the record. `whole` cases name no component. `error` is what a failure
    raises, wherever the check ran. `holds` is the kind that holds for the same data: another one where only the texts
    differ. `empty` is the text where {b} is 0, of a kind that has another one then."""

    name: str
    operands: tuple[OperandSpec, ...]
    cases: tuple[str, ...]
    whole: frozenset[int]
    needs_factor: bool
    least_factor: int
    error: type[RuntimeCheckError]
    holds: str
    empty: str


def _kind(
    name: str,
    operands: str,
    *cases: str,
    whole: Iterable[int] = (),
    least_factor: int | None = None,
    error: type[RuntimeCheckError] = RuntimeCheckError,
    holds: str = "",
    empty: str = "",
) -> CheckKind:
    """A kind of check; an operand is written `name: forms`, or `name: forms?` where it may be absent."""
    pairs = (operand.split(": ") for operand in operands.split(", "))
    specs = tuple(OperandSpec(what, forms.rstrip("?"), forms.endswith("?")) for what, forms in pairs)
    needs_factor, least = least_factor is not None, least_factor or 0
    return CheckKind(name, specs, cases, frozenset(whole), needs_factor, least, error, holds or name, empty)


_MOST_FACTORS = 32
"""More than tensors have dims."""

_KINDS = (
    # vector, extent it indexes, number of components
    _kind(
        "offsets",
        "offsets: v, the extent: s, the count: s?",
        "expected at least 1 offset, got 0",
        "expected {a} offsets, got {b}",
        "expected offsets[0] == 0, got {a}",
        "expected offsets[{j}] >= offsets[{i}], got {a} < {b}",
        "expected offsets[{j}] == {b}, got {a}",
        whole=(0, 1),
    ),
    # rows of offsets relative to their component, lengths of the components (one where all have it)
    _kind(
        "rows",
        "offsets: m, lengths: sv, the count: s?",
        "expected at least 1 offset per row, got 0",
        "expected {a} rows of offsets, got {b}",
        "expected the row of offsets to start at 0, got {a}",
        "expected the row of offsets not to decrease, got {a} < {b}",
        "expected the row of offsets to end at {b}, got {a}",
        whole=(0, 1),
    ),
    _kind(
        "lengths",
        "lengths: v, the extent: s, the count: s?",
        "expected {a} lengths, got {b}",
        "expected lengths[{i}] >= 0, got {a}",
        "expected lengths to sum to {a}, got {b}",
        whole=(0, 2),
    ),
    _kind(
        "row_lengths",
        "lengths: m, the component lengths: sv, the count: s?",
        "expected {a} rows of lengths, got {b}",
        "expected the row of lengths to be >= 0, got {a}",
        "expected the row of lengths to sum to {a}, got {b}",
        whole=(0,),
    ),
    _kind(
        "windows",
        "starts: v, lengths: v, the extent: s, the count: s?",
        "expected starts and lengths of one size, got {a} and {b}",
        "expected {a} starts and lengths, got {b}",
        "expected lengths[{i}] >= 0, got {a}",
        "expected starts[{i}] >= 0, got {a}",
        "expected starts[{i}] + lengths[{i}] <= {b}, got {a}",
        "expected lengths to sum to less than 2**63, got more",
        whole=(0, 1, 5),
    ),
    # index or one per component, bound or one per component
    _kind("index", "the index: sv, the bound: sv", "expected index in [0, {b}), got {a}", error=RangeError),
    # the same of indices to whose negative ones the bound was added; the error has what was given
    _kind(
        "position",
        "the index: sv, the bound: sv",
        "expected index in [-{b}, {b}), got {a}",
        error=RangeError,
        holds="index",
        empty="expected an index of what has elements, got {a} of what is empty "
        "(x[x.lengths > 0] leaves out empty components, rg.to_padded fills them)",
    ),
    _kind(
        "range",
        "lo: sv, hi: sv, the bound: sv",
        "expected {a} ranges, got {b}",
        "expected lo >= 0, got {a}",
        "expected lo <= hi, got {a} > {b}",
        "expected hi <= {b}, got {a}",
        whole=(0,),
    ),
    _kind("divides", "the extent: sv", "expected a multiple of {b}, got {a}", least_factor=1),
    _kind("equal", "the extent: s, the expected extent: s", "expected extent {b}, got {a}", whole=(0,)),
    # lengths or an extent against the attribute `factor` of the op
    _kind("at_least", "the extent: sv", "expected at least {b}, got {a}", least_factor=0),
    _kind("at_most", "the extent: sv", "expected at most {b}, got {a}", least_factor=0),
    # extent of a dense dim, longest length it must reach
    _kind("covers", "the extent: s, the lengths: sv", "expected extent >= length {b}, got {a}"),
    # what `ragged.assert_conform` is lowered to: two vectors of lengths, or two counts
    _kind(
        "conform",
        "the lengths: sv, the other lengths: sv",
        "expected {a} components, got {b}",
        "expected length {a}, got {b}",
        whole=(0,),
    ),
    # a condition, what `cf.assert` becomes: the text of it is the op's name
    _kind("holds", "the condition: s", "expected true, got false", whole=(0,)),
    # factors whose product must fit into 64 bits
    _kind(
        "fits",
        ", ".join(["a factor: s"] + ["a factor: s?"] * (_MOST_FACTORS - 1)),
        "expected a size below 2**63, got {a} * {b}",
        whole=(0,),
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

    @property
    def has_empty(self) -> bool:
        """Whether its text is another one where the record's {b} is 0."""
        return bool(CHECK_KINDS[self.kind].empty)

    def template(self, case: int, component: bool, empty: bool = False) -> str:
        """The text of a failure with {i} the component, {j} the next one, {a} and {b} the values of
        the record; `component` tells whether the record has one, `empty` whether {b} is 0."""
        kind = CHECK_KINDS[self.kind]
        where = _literal(self.op)
        if self.kind != "holds":
            where += f": {'dim' if self.kind == 'equal' else 'level'} {self.level}"
        if component and case not in kind.whole:
            where += ", component {i}"
        return f"{where}: {kind.empty if empty and kind.empty else kind.cases[case]}"

    def message(self, case: int, component: int, a: int, b: int) -> str:
        """The text of a failure."""
        a, b = (min(value, HIGHEST) for value in (a, b))
        return self.template(case, component >= 0, b == 0).format(i=component, j=component + 1, a=a, b=b)

    def error(self, case: int, component: int, a: int, b: int) -> RuntimeCheckError:
        """The exception of a failure."""
        return CHECK_KINDS[self.kind].error(self.message(case, component, a, b))


def _literal(text: str) -> str:
    """A text as a part of a format string."""
    return text.replace("{", "{{").replace("}", "}}")
