"""The conditions of the run-time checks, as index arithmetic on dense vectors.

Each kind of `ragged.assert_valid` is an iterator over cases (failed, component, a, b): an i1 and three indices for the
error text of `ragged_dialect.checks`. A case is emitted when the iterator is asked for it, where those before are known
to hold: it may rely on them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from ragged_dialect._mlir import arith, ir, tensor
from ragged_dialect.checks import CHECK_KINDS
from ragged_dialect.ir import build, flow, shapes
from ragged_dialect.ir.build import Mixed
from ragged_dialect.types import is_tensor

Case: TypeAlias = "tuple[ir.Value, Mixed, Mixed, Mixed]"
Cases: TypeAlias = Iterator[Case]


def first(count: Mixed, bad: Callable[[ir.Value], ir.Value]) -> ir.Value:
    """The first i below `count` with bad(i), or -1: the smallest, of unsigned numbers, in any order."""
    none = build.value(-1)

    def body(i: ir.Value, state: list[ir.Value]) -> list[ir.Value]:
        return [arith.minui(state[0], arith.select(bad(i), i, none))]

    return flow.for_loop(count, [none], body, fold="search")[0]


def _component(
    count: Mixed, bad: Callable[[ir.Value], ir.Value], values: Callable[[ir.Value], tuple[Mixed, Mixed]]
) -> Case:
    """A case of one component: the first for which bad(i), with the values of its error."""
    at = first(count, bad)
    failed = build.at_least(at, 0)
    index = build.index_type()

    def found() -> list[ir.Value]:
        return [build.value(v) for v in values(at)]

    a, b = flow.choose(failed, found, lambda: [build.value(0), build.value(0)], [index, index])
    return failed, at, a, b


def _each(
    operands: list[ir.Value],
    bad: Callable[[ir.Value | None], ir.Value],
    values: Callable[[ir.Value | None], tuple[Mixed, Mixed]],
) -> Case:
    """A case per component where an operand is a vector, one without component else."""
    if any(is_tensor(x.type) for x in operands):
        return _component(_sizes(*operands), bad, values)
    a, b = values(None)
    return bad(None), -1, a, b


def _size(x: ir.Value) -> Mixed:
    return shapes.dim(x, 0)


def _at(x: ir.Value, i: ir.Value | None) -> ir.Value:
    """Entry of a vector, or the scalar itself."""
    if not is_tensor(x.type):
        return x
    assert i is not None
    return shapes.load(x, i)


def _sizes(*operands: ir.Value) -> Mixed:
    """Number of components: the size of a vector among the operands, else 1."""
    for x in operands:
        if is_tensor(x.type):
            return _size(x)
    return 1


def _total(count: Mixed, length: Callable[[ir.Value], ir.Value]) -> ir.Value:
    """The sum of lengths of at least 0, unsigned and never wrapped: that of four times 2**62 is not 0."""

    def body(i: ir.Value, state: list[ir.Value]) -> list[ir.Value]:
        return [build.add_unsigned(state[0], length(i))]

    return flow.for_loop(count, [build.value(0)], body, "add_unsigned")[0]


def _offsets(offsets: ir.Value, extent: ir.Value, count: ir.Value | None = None) -> Cases:
    def parents() -> Mixed:
        return build.sub(_size(offsets), 1)

    def counted() -> Mixed:
        return parents() if count is None else count

    def pair(i: ir.Value) -> tuple[ir.Value, ir.Value]:
        return shapes.load(offsets, build.add(i, 1)), shapes.load(offsets, i)

    def end() -> ir.Value:
        return shapes.load(offsets, parents())

    yield build.equal(_size(offsets), 0), -1, 0, 0
    wrong = build.unequal(parents(), counted())
    yield wrong, -1, build.capped(build.add_unsigned(build.value(counted()), build.value(1))), _size(offsets)
    yield build.unequal(shapes.load(offsets, 0), 0), 0, shapes.load(offsets, 0), 0
    yield _component(parents(), lambda i: build.less(*pair(i)), pair)
    yield build.unequal(end(), extent), build.sub(parents(), 1), end(), extent


def _cell(matrix: ir.Value, row: ir.Value, column: Mixed) -> ir.Value:
    return build.to_index(tensor.extract(matrix, [build.value(row), build.value(column)]))


def _counted(vector: ir.Value, count: Mixed | None) -> Case:
    """A case for a vector, or a matrix, of another number of entries, or rows, than there is to be."""

    def wanted() -> Mixed:
        return _size(vector) if count is None else count

    return build.unequal(_size(vector), wanted()), -1, wanted(), _size(vector)


def _rows(matrix: ir.Value, lengths: ir.Value, count: ir.Value | None = None) -> Cases:
    def columns() -> Mixed:
        return shapes.dim(matrix, 1)

    def last(i: ir.Value) -> ir.Value:
        return _cell(matrix, i, build.sub(columns(), 1))

    def pair(i: ir.Value, k: ir.Value) -> tuple[ir.Value, ir.Value]:
        return _cell(matrix, i, build.add(k, 1)), _cell(matrix, i, k)

    def decreasing(i: ir.Value) -> ir.Value:
        return first(build.sub(columns(), 1), lambda k: build.less(*pair(i, k)))

    yield build.equal(columns(), 0), -1, 0, 0
    yield _counted(matrix, _size(lengths) if is_tensor(lengths.type) else count)
    yield _component(_size(matrix), lambda i: build.unequal(_cell(matrix, i, 0), 0), lambda i: (_cell(matrix, i, 0), 0))
    yield _component(_size(matrix), lambda i: build.at_least(decreasing(i), 0), lambda i: pair(i, decreasing(i)))
    yield _component(
        _size(matrix), lambda i: build.unequal(last(i), _at(lengths, i)), lambda i: (last(i), _at(lengths, i))
    )


def _row_lengths(matrix: ir.Value, lengths: ir.Value, count: ir.Value | None = None) -> Cases:
    def negative(i: ir.Value) -> ir.Value:
        return first(shapes.dim(matrix, 1), lambda k: build.less(_cell(matrix, i, k), 0))

    def total(i: ir.Value) -> ir.Value:
        return _total(shapes.dim(matrix, 1), lambda k: _cell(matrix, i, k))

    yield _counted(matrix, _size(lengths) if is_tensor(lengths.type) else count)
    rows = _size(matrix)
    yield _component(rows, lambda i: build.at_least(negative(i), 0), lambda i: (_cell(matrix, i, negative(i)), 0))
    rows = _size(matrix)
    yield _component(
        rows, lambda i: build.unequal(total(i), _at(lengths, i)), lambda i: (_at(lengths, i), build.capped(total(i)))
    )


def _negative(vector: ir.Value) -> Case:
    """A case for the first negative entry of a vector."""
    return _component(
        _size(vector), lambda i: build.less(shapes.load(vector, i), 0), lambda i: (shapes.load(vector, i), 0)
    )


def _lengths(lengths: ir.Value, extent: ir.Value, count: ir.Value | None = None) -> Cases:
    yield _counted(lengths, count)
    yield _negative(lengths)
    summed = _total(_size(lengths), lambda i: shapes.load(lengths, i))
    yield build.unequal(summed, extent), -1, extent, build.capped(summed)


def _windows(starts: ir.Value, lengths: ir.Value, extent: ir.Value, count: ir.Value | None = None) -> Cases:
    def stop(i: ir.Value) -> ir.Value:
        return build.capped(build.add_unsigned(shapes.load(starts, i), shapes.load(lengths, i)))

    yield build.unequal(_size(starts), _size(lengths)), -1, _size(starts), _size(lengths)
    yield _counted(starts, count)
    yield _negative(lengths)
    yield _negative(starts)
    # start > extent - length rather than start + length > extent, which could wrap
    yield _component(
        _size(starts),
        lambda i: build.more(shapes.load(starts, i), build.sub(extent, shapes.load(lengths, i))),
        lambda i: (stop(i), extent),
    )
    # windows overlap, so that each may be inside the extent and all together have more elements than an index
    yield build.less(_total(_size(starts), lambda i: shapes.load(lengths, i)), 0), -1, 0, 0


def _index(index: ir.Value, bound: ir.Value, given: Callable[[ir.Value, ir.Value], ir.Value] | None = None) -> Cases:
    def outside(i: ir.Value | None) -> ir.Value:
        x, limit = _at(index, i), _at(bound, i)
        return arith.ori(build.not_below(x, limit), build.less(limit, 0))  # one comparison where the bound is of all

    def values(i: ir.Value | None) -> tuple[ir.Value, ir.Value]:
        at, limit = _at(index, i), _at(bound, i)
        return at if given is None else given(at, limit), limit

    yield _each([index, bound], outside, values)


def _position(index: ir.Value, bound: ir.Value) -> Cases:
    def given(at: ir.Value, limit: ir.Value) -> ir.Value:
        return arith.select(build.less(at, 0), build.value(build.sub(at, limit)), at)

    return _index(index, bound, given)


def _range(lo: ir.Value, hi: ir.Value, bound: ir.Value) -> Cases:
    operands = [lo, hi, bound]
    vectors = [x for x in operands if is_tensor(x.type)]
    wanted = _size(bound) if is_tensor(bound.type) else _sizes(*vectors)
    failed, got = build.unequal(0, 0), wanted
    for x in vectors:
        wrong = build.unequal(_size(x), wanted)
        got = arith.select(wrong, build.value(_size(x)), build.value(got))
        failed = arith.ori(failed, wrong)
    yield failed, -1, wanted, got
    yield _each(operands, lambda i: build.less(_at(lo, i), 0), lambda i: (_at(lo, i), 0))
    yield _each(operands, lambda i: build.more(_at(lo, i), _at(hi, i)), lambda i: (_at(lo, i), _at(hi, i)))
    yield _each(operands, lambda i: build.more(_at(hi, i), _at(bound, i)), lambda i: (_at(hi, i), _at(bound, i)))


def _against(predicate: Callable[[ir.Value, int], ir.Value]) -> Callable[[ir.Value, int], Cases]:
    def cases(x: ir.Value, factor: int) -> Cases:
        yield _each([x], lambda i: predicate(_at(x, i), factor), lambda i: (_at(x, i), factor))

    return cases


def _remains(x: ir.Value, factor: int) -> ir.Value:
    return build.unequal(arith.remsi(build.value(x), build.value(factor)), 0)


def _equal(extent: ir.Value, wanted: ir.Value) -> Cases:
    yield build.unequal(extent, wanted), -1, extent, wanted


def _holds(condition: ir.Value) -> Cases:
    yield build.equal(condition, 0), -1, 0, 0


def _covers(extent: ir.Value, lengths: ir.Value) -> Cases:
    yield _each([lengths], lambda i: build.less(extent, _at(lengths, i)), lambda i: (extent, _at(lengths, i)))


def _conform(a: ir.Value, b: ir.Value) -> Cases:
    def both(i: ir.Value) -> tuple[ir.Value, ir.Value]:
        return shapes.load(a, i), shapes.load(b, i)

    yield build.unequal(_size(a), _size(b)), -1, _size(a), _size(b)
    yield _component(_size(a), lambda i: build.unequal(*both(i)), both)


def _fits(*factors: ir.Value) -> Cases:
    product: Mixed = factors[0]
    failed, left, right = build.unequal(0, 0), build.value(0), build.value(0)
    for factor in factors[1:]:
        limit = arith.divsi(build.value((1 << 63) - 1), build.maximum(factor, 1))
        wrong = arith.andi(build.more(product, limit), build.more(factor, 0))
        fresh = arith.andi(
            wrong, build.equal(0, arith.index_cast(build.index_type(), arith.extui(build.i64(), failed)))
        )
        left, right = (
            arith.select(fresh, build.value(product), left),
            arith.select(fresh, build.value(factor), right),
        )
        failed = arith.ori(failed, wrong)
        product = build.mul(product, factor)
    yield failed, -1, left, right


_CASES: dict[str, Callable[..., Cases]] = {
    "offsets": _offsets,
    "rows": _rows,
    "lengths": _lengths,
    "row_lengths": _row_lengths,
    "windows": _windows,
    "index": _index,
    "position": _position,
    "range": _range,
    "divides": _against(_remains),
    "at_least": _against(lambda x, f: build.less(x, f)),
    "at_most": _against(lambda x, f: build.more(x, f)),
    "equal": _equal,
    "holds": _holds,
    "covers": _covers,
    "conform": _conform,
    "fits": _fits,
}


def evaluate(kind: str, operands: list[ir.Value], factor: int | None) -> list[ir.Value]:
    """Emit a check; returns (case, component, a, b) as indices, case -1 when it holds."""
    if kind == "conform" and not all(is_tensor(x.type) for x in operands):
        kind = "equal"  # two counts
    cases = _CASES[kind](*operands, *([] if factor is None else [factor]))
    last, index = len(CHECK_KINDS[kind].cases) - 1, build.index_type()

    def chain(k: int) -> list[ir.Value]:
        failed, component, a, b = next(cases)
        record = [build.value(x) for x in (k, component, a, b)]
        if k == last:
            return [arith.select(failed, record[0], build.value(-1)), *record[1:]]
        return flow.choose(failed, lambda: record, lambda: chain(k + 1), [index] * 4)

    return chain(0)
