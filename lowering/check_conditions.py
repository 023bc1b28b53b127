"""The conditions of the run-time checks, as index arithmetic on dense vectors.

Each kind of `ragged.assert_valid` is a list of cases, tested in order; a later case may rely on
the earlier ones to hold, so it is only evaluated then. A case is a function that returns
(failed, component, a, b): an i1 and three indices for the error text of `ragged_dialect.checks`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ragged_dialect._mlir import arith, tensor
from ragged_dialect.lowering import emit
from ragged_dialect.lowering.emit import Mixed
from ragged_dialect.types import is_tensor

Case = Callable[[], tuple[Any, Mixed, Mixed, Mixed]]
_PREDICATES = {"eq": 0, "ne": 1, "slt": 2, "sle": 3, "sgt": 4, "sge": 5}


def compare(predicate: str, a: Mixed, b: Mixed) -> Any:
    """An i1 comparison of indices, signed."""
    return arith.cmpi(_PREDICATES[predicate], emit.value(a), emit.value(b))


def first(count: Mixed, bad: Callable[[Any], Any]) -> Any:
    """The first i below `count` with bad(i), or -1."""

    def body(i: Any, state: list[Any]) -> list[Any]:
        fresh = arith.andi(compare("slt", state[0], 0), bad(i))
        return [arith.select(fresh, i, state[0])]

    return emit.for_loop(count, [emit.value(-1)], body, fold="search")[0]


def _component(count: Mixed, bad: Callable[[Any], Any], values: Callable[[Any], tuple[Mixed, Mixed]]) -> Case:
    """A case of one component: the first for which bad(i), with the values of its error."""

    def case() -> tuple[Any, Mixed, Mixed, Mixed]:
        at = first(count, bad)
        failed = compare("sge", at, 0)
        index = emit.index_type()

        def found() -> list[Any]:
            return [emit.value(v) for v in values(at)]

        a, b = emit.choose(failed, found, lambda: [emit.value(0), emit.value(0)], [index, index])
        return failed, at, a, b

    return case


def _whole(failed: Callable[[], Any], a: Callable[[], Mixed], b: Callable[[], Mixed], component: Mixed = -1) -> Case:
    return lambda: (failed(), component, a(), b())


def _size(x: Any) -> Mixed:
    return emit.dim(x, 0)


def _at(x: Any, i: Any) -> Any:
    """Entry of a vector, or the scalar itself."""
    return emit.load(x, i) if is_tensor(x.type) else x


def _sizes(*operands: Any) -> Mixed:
    """Number of components: the size of a vector among the operands, else 1."""
    for x in operands:
        if is_tensor(x.type):
            return _size(x)
    return 1


def _total(count: Mixed, length: Callable[[Any], Any]) -> Any:
    """The sum of lengths of at least 0, unsigned and never wrapped: that of four times 2**62 is not 0."""

    def body(i: Any, state: list[Any]) -> list[Any]:
        return [emit.add_unsigned(state[0], length(i))]

    return emit.for_loop(count, [emit.value(0)], body, "add_unsigned")[0]


def _offsets(offsets: Any, extent: Any, count: Any = None) -> list[Case]:
    size = lambda: _size(offsets)  # noqa: E731
    parents = lambda: emit.sub(_size(offsets), 1)  # noqa: E731
    end = lambda: emit.load(offsets, parents())  # noqa: E731
    cases = [_whole(lambda: compare("eq", size(), 0), lambda: 0, lambda: 0)]
    counted = (lambda: count) if count is not None else parents
    wanted = lambda: emit.capped(emit.add_unsigned(emit.value(counted()), emit.value(1)))  # noqa: E731
    cases.append(_whole(lambda: compare("ne", parents(), counted()), wanted, size))
    cases.append(_whole(lambda: compare("ne", emit.load(offsets, 0), 0), lambda: emit.load(offsets, 0), lambda: 0, 0))

    def pair(i: Any) -> tuple[Any, Any]:
        return emit.load(offsets, emit.add(i, 1)), emit.load(offsets, i)

    cases.append(lambda: _component(parents(), lambda i: compare("slt", *pair(i)), pair)())
    cases.append(lambda: (compare("ne", end(), extent), emit.sub(parents(), 1), end(), extent))
    return cases


def _cell(matrix: Any, row: Any, column: Mixed) -> Any:
    return emit.to_index(tensor.extract(matrix, [emit.value(row), emit.value(column)]))


def _row_count(matrix: Any, lengths: Any, count: Any) -> Case:
    wanted = (
        (lambda: _size(lengths)) if is_tensor(lengths.type) else (lambda: _size(matrix) if count is None else count)
    )
    return _whole(lambda: compare("ne", _size(matrix), wanted()), wanted, lambda: _size(matrix))


def _rows(matrix: Any, lengths: Any, count: Any = None) -> list[Case]:
    columns = lambda: emit.dim(matrix, 1)  # noqa: E731
    last = lambda i: _cell(matrix, i, emit.sub(columns(), 1))  # noqa: E731

    def decreasing(i: Any) -> Any:
        return first(
            emit.sub(columns(), 1), lambda k: compare("slt", _cell(matrix, i, emit.add(k, 1)), _cell(matrix, i, k))
        )

    def pair(i: Any) -> tuple[Any, Any]:
        k = decreasing(i)
        return _cell(matrix, i, emit.add(k, 1)), _cell(matrix, i, k)

    rows = lambda: _size(matrix)  # noqa: E731
    return [
        _whole(lambda: compare("eq", columns(), 0), lambda: 0, lambda: 0),
        _row_count(matrix, lengths, count),
        lambda: _component(
            rows(), lambda i: compare("ne", _cell(matrix, i, 0), 0), lambda i: (_cell(matrix, i, 0), 0)
        )(),
        lambda: _component(rows(), lambda i: compare("sge", decreasing(i), 0), pair)(),
        lambda: _component(
            rows(), lambda i: compare("ne", last(i), _at(lengths, i)), lambda i: (last(i), _at(lengths, i))
        )(),
    ]


def _row_lengths(matrix: Any, lengths: Any, count: Any = None) -> list[Case]:
    columns = lambda: emit.dim(matrix, 1)  # noqa: E731

    def negative(i: Any) -> Any:
        return first(columns(), lambda k: compare("slt", _cell(matrix, i, k), 0))

    def total(i: Any) -> Any:
        return _total(columns(), lambda k: _cell(matrix, i, k))

    rows = lambda: _size(matrix)  # noqa: E731
    return [
        _row_count(matrix, lengths, count),
        lambda: _component(
            rows(), lambda i: compare("sge", negative(i), 0), lambda i: (_cell(matrix, i, negative(i)), 0)
        )(),
        lambda: _component(
            rows(),
            lambda i: compare("ne", total(i), _at(lengths, i)),
            lambda i: (_at(lengths, i), emit.capped(total(i))),
        )(),
    ]


def _negative(vector: Any) -> Case:
    """A case for the first negative entry of a vector."""

    def entry(i: Any) -> tuple[Mixed, Mixed]:
        return emit.load(vector, i), 0

    return lambda: _component(_size(vector), lambda i: compare("slt", emit.load(vector, i), 0), entry)()


def _lengths(lengths: Any, extent: Any, count: Any = None) -> list[Case]:
    size = lambda: _size(lengths)  # noqa: E731
    wanted = (lambda: count) if count is not None else size

    def end() -> tuple[Any, Mixed, Mixed, Mixed]:
        summed = _total(size(), lambda i: emit.load(lengths, i))
        return compare("ne", summed, extent), -1, extent, emit.capped(summed)

    return [
        _whole(lambda: compare("ne", size(), wanted()), wanted, size),
        lambda: _component(
            size(), lambda i: compare("slt", emit.load(lengths, i), 0), lambda i: (emit.load(lengths, i), 0)
        )(),
        end,
    ]


def _windows(starts: Any, lengths: Any, extent: Any, count: Any = None) -> list[Case]:
    size = lambda: _size(starts)  # noqa: E731
    wanted = (lambda: count) if count is not None else size
    stop = lambda i: emit.capped(emit.add_unsigned(emit.load(starts, i), emit.load(lengths, i)))  # noqa: E731
    total = lambda: _total(size(), lambda i: emit.load(lengths, i))  # noqa: E731

    return [
        _whole(lambda: compare("ne", size(), _size(lengths)), size, lambda: _size(lengths)),
        _whole(lambda: compare("ne", size(), wanted()), wanted, size),
        _negative(lengths),
        _negative(starts),
        # start > extent - length rather than start + length > extent, which could wrap
        lambda: _component(
            size(),
            lambda i: compare("sgt", emit.load(starts, i), emit.sub(extent, emit.load(lengths, i))),
            lambda i: (stop(i), extent),
        )(),
        # windows overlap, so that each may be inside the extent and all together have more elements than an index
        _whole(lambda: compare("slt", total(), 0), lambda: 0, lambda: 0),
    ]


def _index(index: Any, bound: Any) -> list[Case]:
    def outside(i: Any) -> Any:
        x = _at(index, i)
        return arith.ori(compare("slt", x, 0), compare("sge", x, _at(bound, i)))

    return [_each([index, bound], outside, lambda i: (_at(index, i), _at(bound, i)))]


def _each(operands: list[Any], bad: Callable[[Any], Any], values: Callable[[Any], tuple[Mixed, Mixed]]) -> Case:
    """A case per component where an operand is a vector, one without component else."""
    if any(is_tensor(x.type) for x in operands):
        return lambda: _component(_sizes(*operands), bad, values)()

    def case() -> tuple[Any, Mixed, Mixed, Mixed]:
        a, b = values(None)
        return bad(None), -1, a, b

    return case


def _range(lo: Any, hi: Any, bound: Any) -> list[Case]:
    operands = [lo, hi, bound]
    vectors = [x for x in operands if is_tensor(x.type)]

    def mismatch() -> tuple[Any, Mixed, Mixed, Mixed]:
        wanted = _size(bound) if is_tensor(bound.type) else _sizes(*vectors)
        failed, got = compare("ne", 0, 0), wanted
        for x in vectors:
            wrong = compare("ne", _size(x), wanted)
            got = arith.select(wrong, emit.value(_size(x)), emit.value(got))
            failed = arith.ori(failed, wrong)
        return failed, -1, wanted, got

    return [
        mismatch,
        _each(operands, lambda i: compare("slt", _at(lo, i), 0), lambda i: (_at(lo, i), 0)),
        _each(operands, lambda i: compare("sgt", _at(lo, i), _at(hi, i)), lambda i: (_at(lo, i), _at(hi, i))),
        _each(operands, lambda i: compare("sgt", _at(hi, i), _at(bound, i)), lambda i: (_at(hi, i), _at(bound, i))),
    ]


def _against(predicate: Callable[[Any, int], Any]) -> Callable[[Any, int], list[Case]]:
    def cases(x: Any, factor: int) -> list[Case]:
        return [_each([x], lambda i: predicate(_at(x, i), factor), lambda i: (_at(x, i), factor))]

    return cases


def _remains(x: Any, factor: int) -> Any:
    return compare("ne", arith.remsi(emit.value(x), emit.value(factor)), 0)


def _equal(extent: Any, wanted: Any) -> list[Case]:
    return [_whole(lambda: compare("ne", extent, wanted), lambda: extent, lambda: wanted)]


def _holds(condition: Any) -> list[Case]:
    return [_whole(lambda: compare("eq", condition, 0), lambda: 0, lambda: 0)]


def _covers(extent: Any, lengths: Any) -> list[Case]:
    return [_each([lengths], lambda i: compare("slt", extent, _at(lengths, i)), lambda i: (extent, _at(lengths, i)))]


def _conform(a: Any, b: Any) -> list[Case]:
    if not is_tensor(a.type) or not is_tensor(b.type):
        return [_whole(lambda: compare("ne", a, b), lambda: a, lambda: b)]
    return [
        _whole(lambda: compare("ne", _size(a), _size(b)), lambda: _size(a), lambda: _size(b)),
        lambda: _component(
            _size(a),
            lambda i: compare("ne", emit.load(a, i), emit.load(b, i)),
            lambda i: (emit.load(a, i), emit.load(b, i)),
        )(),
    ]


def _fits(*factors: Any) -> list[Case]:
    def case() -> tuple[Any, Mixed, Mixed, Mixed]:
        product: Mixed = factors[0]
        failed, left, right = compare("ne", 0, 0), emit.value(0), emit.value(0)
        for factor in factors[1:]:
            limit = arith.divsi(emit.value((1 << 63) - 1), emit.maximum(factor, 1))
            wrong = arith.andi(compare("sgt", product, limit), compare("sgt", factor, 0))
            fresh = arith.andi(
                wrong, compare("eq", 0, arith.index_cast(emit.index_type(), arith.extui(emit.i64(), failed)))
            )
            left, right = arith.select(fresh, emit.value(product), left), arith.select(fresh, emit.value(factor), right)
            failed = arith.ori(failed, wrong)
            product = emit.mul(product, factor)
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
    "at_least": _against(lambda x, f: compare("slt", x, f)),
    "at_most": _against(lambda x, f: compare("sgt", x, f)),
    "equal": _equal,
    "holds": _holds,
    "covers": _covers,
    "conform": _conform,
    "fits": _fits,
}


def evaluate(kind: str, operands: list[Any], factor: int | None) -> list[Any]:
    """Emit a check; returns (case, component, a, b) as indices, case -1 when it holds."""
    cases = _CASES[kind](*operands, *([] if factor is None else [factor]))
    index = emit.index_type()

    def chain(k: int) -> list[Any]:
        failed, component, a, b = cases[k]()
        record = [emit.value(x) for x in (k, component, a, b)]
        if k + 1 == len(cases):
            return [arith.select(failed, record[0], emit.value(-1)), *record[1:]]
        return emit.choose(failed, lambda: record, lambda: chain(k + 1), [index] * 4)

    return chain(0)
