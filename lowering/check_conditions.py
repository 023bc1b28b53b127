"""The conditions of the run-time checks, as index arithmetic on dense vectors.

Each kind of `ragged.assert_valid` is a list of cases, tested in order; a later case may rely on
the earlier ones to hold, so it is only evaluated then. A case is a function that returns
(failed, component, a, b): an i1 and three indices for the error text of `ragged_dialect.checks`.
"""

from __future__ import annotations

from collections.abc import Callable

from ragged_dialect._mlir import arith, ir, tensor
from ragged_dialect.ir import build, flow, shapes
from ragged_dialect.ir.build import Mixed
from ragged_dialect.types import is_tensor

Case = Callable[[], tuple[ir.Value, Mixed, Mixed, Mixed]]


def first(count: Mixed, bad: Callable[[ir.Value], ir.Value]) -> ir.Value:
    """The first i below `count` with bad(i), or -1."""

    def body(i: ir.Value, state: list[ir.Value]) -> list[ir.Value]:
        fresh = arith.andi(build.less(state[0], 0), bad(i))
        return [arith.select(fresh, i, state[0])]

    return flow.for_loop(count, [build.value(-1)], body, fold="search")[0]


def _component(
    count: Mixed, bad: Callable[[ir.Value], ir.Value], values: Callable[[ir.Value], tuple[Mixed, Mixed]]
) -> Case:
    """A case of one component: the first for which bad(i), with the values of its error."""

    def case() -> tuple[ir.Value, Mixed, Mixed, Mixed]:
        at = first(count, bad)
        failed = build.at_least(at, 0)
        index = build.index_type()

        def found() -> list[ir.Value]:
            return [build.value(v) for v in values(at)]

        a, b = flow.choose(failed, found, lambda: [build.value(0), build.value(0)], [index, index])
        return failed, at, a, b

    return case


def _whole(
    failed: Callable[[], ir.Value], a: Callable[[], Mixed], b: Callable[[], Mixed], component: Mixed = -1
) -> Case:
    return lambda: (failed(), component, a(), b())


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


def _offsets(offsets: ir.Value, extent: ir.Value, count: ir.Value | None = None) -> list[Case]:
    size = lambda: _size(offsets)  # noqa: E731
    parents = lambda: build.sub(_size(offsets), 1)  # noqa: E731
    end = lambda: shapes.load(offsets, parents())  # noqa: E731
    cases = [_whole(lambda: build.equal(size(), 0), lambda: 0, lambda: 0)]
    counted = (lambda: count) if count is not None else parents
    wanted = lambda: build.capped(build.add_unsigned(build.value(counted()), build.value(1)))  # noqa: E731
    cases.append(_whole(lambda: build.unequal(parents(), counted()), wanted, size))
    cases.append(
        _whole(lambda: build.unequal(shapes.load(offsets, 0), 0), lambda: shapes.load(offsets, 0), lambda: 0, 0)
    )

    def pair(i: ir.Value) -> tuple[ir.Value, ir.Value]:
        return shapes.load(offsets, build.add(i, 1)), shapes.load(offsets, i)

    cases.append(lambda: _component(parents(), lambda i: build.less(*pair(i)), pair)())
    cases.append(lambda: (build.unequal(end(), extent), build.sub(parents(), 1), end(), extent))
    return cases


def _cell(matrix: ir.Value, row: ir.Value, column: Mixed) -> ir.Value:
    return build.to_index(tensor.extract(matrix, [build.value(row), build.value(column)]))


def _row_count(matrix: ir.Value, lengths: ir.Value, count: ir.Value | None) -> Case:
    wanted = (
        (lambda: _size(lengths)) if is_tensor(lengths.type) else (lambda: _size(matrix) if count is None else count)
    )
    return _whole(lambda: build.unequal(_size(matrix), wanted()), wanted, lambda: _size(matrix))


def _rows(matrix: ir.Value, lengths: ir.Value, count: ir.Value | None = None) -> list[Case]:
    columns = lambda: shapes.dim(matrix, 1)  # noqa: E731
    last = lambda i: _cell(matrix, i, build.sub(columns(), 1))  # noqa: E731

    def decreasing(i: ir.Value) -> ir.Value:
        return first(
            build.sub(columns(), 1), lambda k: build.less(_cell(matrix, i, build.add(k, 1)), _cell(matrix, i, k))
        )

    def pair(i: ir.Value) -> tuple[ir.Value, ir.Value]:
        k = decreasing(i)
        return _cell(matrix, i, build.add(k, 1)), _cell(matrix, i, k)

    rows = lambda: _size(matrix)  # noqa: E731
    return [
        _whole(lambda: build.equal(columns(), 0), lambda: 0, lambda: 0),
        _row_count(matrix, lengths, count),
        lambda: _component(
            rows(), lambda i: build.unequal(_cell(matrix, i, 0), 0), lambda i: (_cell(matrix, i, 0), 0)
        )(),
        lambda: _component(rows(), lambda i: build.at_least(decreasing(i), 0), pair)(),
        lambda: _component(
            rows(), lambda i: build.unequal(last(i), _at(lengths, i)), lambda i: (last(i), _at(lengths, i))
        )(),
    ]


def _row_lengths(matrix: ir.Value, lengths: ir.Value, count: ir.Value | None = None) -> list[Case]:
    columns = lambda: shapes.dim(matrix, 1)  # noqa: E731

    def negative(i: ir.Value) -> ir.Value:
        return first(columns(), lambda k: build.less(_cell(matrix, i, k), 0))

    def total(i: ir.Value) -> ir.Value:
        return _total(columns(), lambda k: _cell(matrix, i, k))

    rows = lambda: _size(matrix)  # noqa: E731
    return [
        _row_count(matrix, lengths, count),
        lambda: _component(
            rows(), lambda i: build.at_least(negative(i), 0), lambda i: (_cell(matrix, i, negative(i)), 0)
        )(),
        lambda: _component(
            rows(),
            lambda i: build.unequal(total(i), _at(lengths, i)),
            lambda i: (_at(lengths, i), build.capped(total(i))),
        )(),
    ]


def _negative(vector: ir.Value) -> Case:
    """A case for the first negative entry of a vector."""

    def entry(i: ir.Value) -> tuple[Mixed, Mixed]:
        return shapes.load(vector, i), 0

    return lambda: _component(_size(vector), lambda i: build.less(shapes.load(vector, i), 0), entry)()


def _lengths(lengths: ir.Value, extent: ir.Value, count: ir.Value | None = None) -> list[Case]:
    size = lambda: _size(lengths)  # noqa: E731
    wanted = (lambda: count) if count is not None else size

    def end() -> tuple[ir.Value, Mixed, Mixed, Mixed]:
        summed = _total(size(), lambda i: shapes.load(lengths, i))
        return build.unequal(summed, extent), -1, extent, build.capped(summed)

    return [
        _whole(lambda: build.unequal(size(), wanted()), wanted, size),
        lambda: _component(
            size(), lambda i: build.less(shapes.load(lengths, i), 0), lambda i: (shapes.load(lengths, i), 0)
        )(),
        end,
    ]


def _windows(starts: ir.Value, lengths: ir.Value, extent: ir.Value, count: ir.Value | None = None) -> list[Case]:
    size = lambda: _size(starts)  # noqa: E731
    wanted = (lambda: count) if count is not None else size
    stop = lambda i: build.capped(build.add_unsigned(shapes.load(starts, i), shapes.load(lengths, i)))  # noqa: E731
    total = lambda: _total(size(), lambda i: shapes.load(lengths, i))  # noqa: E731

    return [
        _whole(lambda: build.unequal(size(), _size(lengths)), size, lambda: _size(lengths)),
        _whole(lambda: build.unequal(size(), wanted()), wanted, size),
        _negative(lengths),
        _negative(starts),
        # start > extent - length rather than start + length > extent, which could wrap
        lambda: _component(
            size(),
            lambda i: build.more(shapes.load(starts, i), build.sub(extent, shapes.load(lengths, i))),
            lambda i: (stop(i), extent),
        )(),
        # windows overlap, so that each may be inside the extent and all together have more elements than an index
        _whole(lambda: build.less(total(), 0), lambda: 0, lambda: 0),
    ]


def _index(index: ir.Value, bound: ir.Value) -> list[Case]:
    def outside(i: ir.Value | None) -> ir.Value:
        x = _at(index, i)
        return arith.ori(build.less(x, 0), build.at_least(x, _at(bound, i)))

    return [_each([index, bound], outside, lambda i: (_at(index, i), _at(bound, i)))]


def _each(
    operands: list[ir.Value],
    bad: Callable[[ir.Value | None], ir.Value],
    values: Callable[[ir.Value | None], tuple[Mixed, Mixed]],
) -> Case:
    """A case per component where an operand is a vector, one without component else."""
    if any(is_tensor(x.type) for x in operands):
        return lambda: _component(_sizes(*operands), bad, values)()

    def case() -> tuple[ir.Value, Mixed, Mixed, Mixed]:
        a, b = values(None)
        return bad(None), -1, a, b

    return case


def _range(lo: ir.Value, hi: ir.Value, bound: ir.Value) -> list[Case]:
    operands = [lo, hi, bound]
    vectors = [x for x in operands if is_tensor(x.type)]

    def mismatch() -> tuple[ir.Value, Mixed, Mixed, Mixed]:
        wanted = _size(bound) if is_tensor(bound.type) else _sizes(*vectors)
        failed, got = build.unequal(0, 0), wanted
        for x in vectors:
            wrong = build.unequal(_size(x), wanted)
            got = arith.select(wrong, build.value(_size(x)), build.value(got))
            failed = arith.ori(failed, wrong)
        return failed, -1, wanted, got

    return [
        mismatch,
        _each(operands, lambda i: build.less(_at(lo, i), 0), lambda i: (_at(lo, i), 0)),
        _each(operands, lambda i: build.more(_at(lo, i), _at(hi, i)), lambda i: (_at(lo, i), _at(hi, i))),
        _each(operands, lambda i: build.more(_at(hi, i), _at(bound, i)), lambda i: (_at(hi, i), _at(bound, i))),
    ]


def _against(predicate: Callable[[ir.Value, int], ir.Value]) -> Callable[[ir.Value, int], list[Case]]:
    def cases(x: ir.Value, factor: int) -> list[Case]:
        return [_each([x], lambda i: predicate(_at(x, i), factor), lambda i: (_at(x, i), factor))]

    return cases


def _remains(x: ir.Value, factor: int) -> ir.Value:
    return build.unequal(arith.remsi(build.value(x), build.value(factor)), 0)


def _equal(extent: ir.Value, wanted: ir.Value) -> list[Case]:
    return [_whole(lambda: build.unequal(extent, wanted), lambda: extent, lambda: wanted)]


def _holds(condition: ir.Value) -> list[Case]:
    return [_whole(lambda: build.equal(condition, 0), lambda: 0, lambda: 0)]


def _covers(extent: ir.Value, lengths: ir.Value) -> list[Case]:
    return [_each([lengths], lambda i: build.less(extent, _at(lengths, i)), lambda i: (extent, _at(lengths, i)))]


def _conform(a: ir.Value, b: ir.Value) -> list[Case]:
    if not is_tensor(a.type) or not is_tensor(b.type):
        return [_whole(lambda: build.unequal(a, b), lambda: a, lambda: b)]
    return [
        _whole(lambda: build.unequal(_size(a), _size(b)), lambda: _size(a), lambda: _size(b)),
        lambda: _component(
            _size(a),
            lambda i: build.unequal(shapes.load(a, i), shapes.load(b, i)),
            lambda i: (shapes.load(a, i), shapes.load(b, i)),
        )(),
    ]


def _fits(*factors: ir.Value) -> list[Case]:
    def case() -> tuple[ir.Value, Mixed, Mixed, Mixed]:
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
        return failed, -1, left, right

    return [case]


_CASES: dict[str, Callable[..., list[Case]]] = {
    "offsets": _offsets,
    "rows": _rows,
    "lengths": _lengths,
    "row_lengths": _row_lengths,
    "windows": _windows,
    "index": _index,
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
    cases = _CASES[kind](*operands, *([] if factor is None else [factor]))
    index = build.index_type()

    def chain(k: int) -> list[ir.Value]:
        failed, component, a, b = cases[k]()
        record = [build.value(x) for x in (k, component, a, b)]
        if k + 1 == len(cases):
            return [arith.select(failed, record[0], build.value(-1)), *record[1:]]
        return flow.choose(failed, lambda: record, lambda: chain(k + 1), [index] * 4)

    return chain(0)
