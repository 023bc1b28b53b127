"""Cells of the support matrix for the ops of the dialect."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from support.matrix_program import Builder, Sample, Value
from support.structures import DTYPES, composition, offsets_of, type_text

from ragged_dialect.errors import LayoutError
from ragged_dialect.layout import RAGGED, Layout
from ragged_dialect.shape import RaggedShape

Build = Callable[[Builder], None]
Entry = tuple[str, str, Build]


def attempt(make: Callable[[], RaggedShape], other: RaggedShape) -> RaggedShape:
    """The shape an op yields; where it is refused any type, which the verifier does not reach."""
    try:
        return make()
    except LayoutError:
        return other


def structure_cells(shape: RaggedShape) -> Iterator[Entry]:
    """Structure ops at every dim."""
    for dim in range(shape.rank):
        for rank in (1, 2):
            for kind in ("offsets", "lengths"):
                yield f"ragged.partition by rank-{rank} {kind}", f"dim {dim}", _partition(dim, rank, kind)
    for dim in range(shape.rank):
        yield "ragged.merge", f"dim {dim}", _unary("merge", f"dim = {dim}", lambda s, d=dim: s.merge(d))
        yield (
            "ragged.split by 2",
            f"dim {dim}",
            _unary("split", f"dim = {dim}, factor = 2", lambda s, d=dim: s.split(d, 2)),
        )
        yield "ragged.select", f"dim {dim}", _select(dim)
        yield "ragged.slice by scalars", f"dim {dim}", _slice(dim, False)
        yield "ragged.slice by vectors", f"dim {dim}", _slice(dim, True)
        yield "ragged.concat of equal structures", f"dim {dim}", _concat(dim, False)
        yield "ragged.concat of any structures", f"dim {dim}", _concat(dim, True)
    yield "ragged.compact", "", _unary("compact", "", lambda s: s.compact())


def _unary(name: str, attributes: str, result: Callable[[RaggedShape], RaggedShape]) -> Build:
    def build(b: Builder) -> None:
        b.give(b.op(f"ragged.{name}", [b.x], attributes, attempt(lambda: result(b.shape), b.shape)))

    return build


def _partition(dim: int, rank: int, kind: str) -> Build:
    element = "i64" if kind == "offsets" else "i32"

    def build(b: Builder) -> None:
        def data(s: Sample) -> Any:
            rows = _totals(s, dim) if rank == 2 else [s.longest(dim)]
            parts = [composition(s.pick, n, 2) for n in rows]
            made = [p if kind == "lengths" else offsets_of(p).tolist() for p in parts]
            matrix = np.array(made, np.int64).reshape(len(made), 2 + (kind == "offsets"))
            return (matrix if rank == 2 else matrix[0]).astype(DTYPES[element])

        vector = b.argument(f"tensor<{'?x' * rank}{element}>", data)
        result = attempt(lambda: b.shape.partition(dim, rank, None), b.shape)
        lengths = ", lengths" if kind == "lengths" else ""
        b.give(b.op("ragged.partition", [b.x, vector], f"dim = {dim}{lengths}", result))

    return build


def _totals(s: Sample, dim: int) -> list[int]:
    layout = s.value.shape.layout
    if layout.is_plain(dim):
        return [s.value.extent(dim)] * (s.value.extent(dim - 1) if dim and layout.is_plain(dim - 1) else 1)
    return s.rows(dim)


def _index(s: Sample, dim: int) -> int:
    """An index that every component has, where they have one."""
    bound = min([s.value.extent(dim)] if s.value.shape.layout.letter(dim) == "d" else s.rows(dim), default=1)
    return max(0, s.pick(0, max(bound - 1, 0)))


def _select(dim: int) -> Build:
    def build(b: Builder) -> None:
        index = b.argument("index", lambda s: _index(s, dim))
        b.give(b.op("ragged.select", [b.x, index], f"dim = {dim}", attempt(lambda: b.shape.select(dim), b.shape)))

    return build


def _slice(dim: int, vectors: bool) -> Build:
    def build(b: Builder) -> None:
        drawn: dict[int, tuple[Any, Any]] = {}

        def bounds(s: Sample) -> tuple[Any, Any]:
            if id(s) not in drawn:
                drawn[id(s)] = _bounds(s, dim, vectors)
            return drawn[id(s)]

        type_ = "tensor<?xi32>" if vectors else "index"
        low, high = (b.argument(type_, lambda s, k=k: bounds(s)[k]) for k in (0, 1))
        result = attempt(lambda: b.shape.slice(dim), b.shape)
        b.give(b.op("ragged.slice", [b.x, low, high], f"dim = {dim}", result))

    return build


def _bounds(s: Sample, dim: int, vectors: bool) -> tuple[Any, Any]:
    ends = [s.value.extent(dim)] if s.value.shape.layout.letter(dim) == "d" else s.rows(dim)
    if not vectors:
        high = s.pick(0, min(ends, default=0))
        return s.pick(0, high), high
    highs = [s.pick(0, n) for n in ends]
    return np.array([s.pick(0, n) for n in highs], np.int32), np.array(highs, np.int32)


def _concat(dim: int, other: bool) -> Build:
    def build(b: Builder) -> None:
        y = b.like(other)
        result = attempt(lambda: b.shape.concat([b.shape], dim), b.shape)
        b.give(b.op("ragged.concat", [b.x, y], f"dim = {dim}", result))

    return build


def access_cells(shape: RaggedShape) -> Iterator[Entry]:
    """Access ops at every level."""
    yield "ragged.assemble", "", _assemble
    yield "ragged.values", "", _values
    for level in range(shape.rank):
        for name in ("offsets", "starts", "lengths", "row_ids"):
            yield f"ragged.{name}", f"level {level}", _read(name, level, "tensor<?xi64>")
        for name in ("total", "max_length"):
            yield f"ragged.{name}", f"level {level}", _read(name, level, "index")
    yield "ragged.print", "", lambda b: b.lines.append(f'ragged.print {b.x.name} {{label = "x"}} : ({b.x.type}) -> ()')
    yield "ragged.guard", "", _unary("guard", "", lambda s: s)


def _storage(shape: RaggedShape) -> RaggedShape:
    return RaggedShape(Layout.dense(shape.layout.storage_rank), shape.storage_shape())


def _assemble(b: Builder) -> None:
    parts = b.shape.parts()
    types = {"values": type_text(_storage(b.shape), b.element), "extent": "index"}
    operands = [
        b.argument(types.get(p.kind, "tensor<?xi64>"), lambda s, k=k: s.case.parts[k]) for k, p in enumerate(parts)
    ]
    b.give(b.op("ragged.assemble", operands, "", b.shape))


def _values(b: Builder) -> None:
    b.give(b.op("ragged.values", [b.x], "", _storage(b.shape)))


VECTOR = RaggedShape(Layout.dense(1), (None,))


def _read(name: str, level: int, type_: str) -> Build:
    def build(b: Builder) -> None:
        result = b.op(f"ragged.{name}", [b.x], f"level = {level}", type_)
        b.give(Value(result.name, type_, VECTOR if type_ != "index" else None, "i64"))

    return build


def making_cells(shape: RaggedShape) -> Iterator[Entry]:
    """Making and conversion ops, facts and checks."""
    yield "ragged.empty", "like x", _empty_default
    yield "ragged.empty", "levels from x", lambda b: b.give(b.same(7))
    yield "ragged.empty", "levels of two", lambda b: b.give(filled_pairs(b, b.like(False), 3)[0])
    for variant in ("longest", "maxima", "truncated"):
        yield "ragged.to_padded", variant, _to_padded(variant)
    yield "ragged.from_padded", "", _from_padded
    for dim in range(shape.rank):
        yield "ragged.reduce_across sum", f"dim {dim}", _reduce_across(dim, "sum")
    for kind in ("prod", "max", "min"):
        yield f"ragged.reduce_across {kind}", "last ragged dim", _reduce_across(_last_ragged(shape), kind)
    for dim in range(shape.rank):
        yield "ragged.scan sum", f"dim {dim}", _scan(dim, 'kind = "sum"')
    yield "ragged.scan max", "last ragged dim, backwards", _scan(_last_ragged(shape), 'kind = "max", reverse')
    for dim in range(shape.rank):
        yield "ragged.recurrence", f"dim {dim}", _recurrence(dim)
    for level in range(shape.rank):
        facts = f"level = {level}, divisible_by = 1, min = 0, max = 99"
        yield "ragged.assume", f"level {level}", _unary("assume", facts, lambda s: s)
        yield "ragged.assert_conform", f"dim {level}", _assert_conform(level)
        yield "ragged.assert_valid", f"level {level}", _assert_valid(level)
    yield "ragged.annotate", "taken off for a call", _annotate


def _last_ragged(shape: RaggedShape) -> int:
    return max((d for d, c in enumerate(shape.layout.letters) if c in RAGGED), default=shape.rank - 1)


def _empty_default(b: Builder) -> None:
    sizes = [b.extent(b.x, d) for d in range(b.rank) if b.shape.layout.is_plain(d) and b.shape.shape[d] is None]
    made = b.op("ragged.empty", [b.x, *sizes], "", b.shape, "i32")
    seven = b.number(7, "i32")
    text = f"linalg.fill ins({seven.name} : i32) outs({made.name} : {made.type}) -> {made.type}"
    b.give(b.value(text, b.shape, "i32"))


def pair_shape(b: Builder) -> tuple[RaggedShape, list[str], int]:
    """The levels of x's first axis that is not plain, followed by the first ragged level of another
    tensor: the shape, its `from`, and that level."""
    layout = b.shape.layout
    axis = next((k for k, a in enumerate(layout.axes) if a != "d"), 0)
    dims = layout.dims(axis)
    level = next((d for d in dims if layout.letter(d) in RAGGED), dims[-1])
    letters = layout.axes[axis] + layout.letter(level)
    shape = attempt(lambda: RaggedShape(Layout((letters,)), tuple(b.shape.shape[d] for d in (*dims, level))), b.shape)
    return shape, [*(f"[0, {d}]" for d in dims), f"[1, {level}]"], level


def filled_pairs(b: Builder, y: Value, number: int) -> tuple[Value, int]:
    """A tensor like scores of attention of x and y, filled with a number, and the level of both that it has."""
    shape, sources, level = pair_shape(b)
    made = b.op("ragged.empty", [b.x, y], f"from = [{', '.join(sources)}]", shape)
    given = b.number(number)
    text = f"linalg.fill ins({given.name} : f32) outs({made.name} : {made.type}) -> {made.type}"
    return b.value(text, shape), level


def _to_padded(variant: str) -> Build:
    def build(b: Builder) -> None:
        pad = b.number(9)
        ragged = [d for d in range(b.rank) if b.shape.layout.letter(d) in RAGGED]
        extra = -1 if variant == "truncated" else 1
        maxima = [b.argument("index", lambda s, d=d: max(0, s.longest(d) + extra)) for d in ragged]
        operands = [] if variant == "longest" else maxima
        truncate = "truncate" if variant == "truncated" else ""
        b.give(b.op("ragged.to_padded", [b.x, pad, *operands], truncate, b.shape.padded()))

    return build


def _from_padded(b: Builder) -> None:
    dense = b.dims_of_x(range(b.rank), 1)
    ragged = [k for k, p in enumerate(b.shape.parts()) if p.kind in ("offsets", "starts")]
    vectors = [b.argument("tensor<?xi64>", lambda s, k=k: s.case.parts[k]) for k in ragged]
    b.give(b.op("ragged.from_padded", [dense, *vectors], "", b.shape))


def _reduce_across(dim: int, kind: str) -> Build:
    def build(b: Builder) -> None:
        most = b.argument("index", lambda s: s.longest(dim) + 1)
        result = attempt(lambda: b.shape.reduce_across(dim), b.shape)
        b.give(b.op("ragged.reduce_across", [b.x, most], f'dim = {dim}, kind = "{kind}"', result))

    return build


def _scan(dim: int, attributes: str) -> Build:
    return _unary("scan", f"dim = {dim}, {attributes}", lambda s: s.contiguous())


def _recurrence(dim: int) -> Build:
    def build(b: Builder) -> None:
        b.exact = False
        shape = attempt(b.shape.contiguous, b.shape)
        b.give(b.op("ragged.recurrence", [b.x, b.like()], f"dim = {dim}", shape))

    return build


def _assert_conform(dim: int) -> Build:
    def build(b: Builder) -> None:
        y = b.like(False)
        layout = b.shape.layout
        axis, at = layout.locate(dim)
        first = layout.dims(axis)[0]
        dims = [*range(first, first + at), dim] if layout.letter(dim) != "d" else [dim]
        array = ", ".join(map(str, dims))
        b.lines.append(
            f"ragged.assert_conform {b.x.name}, {y.name} {{lhs = array<i64: {array}>, rhs = array<i64: {array}>, "
            f'op = "test"}} : ({b.x.type}, {y.type}) -> ()'
        )
        b.give(b.x)

    return build


def _assert_valid(level: int) -> Build:
    def build(b: Builder) -> None:
        lengths = b.op("ragged.lengths", [b.x], f"level = {level}", "tensor<?xi64>")
        b.lines.append(
            f'ragged.assert_valid {lengths.name} {{kind = "at_most", factor = 4, op = "test", level = {level}}} '
            ": (tensor<?xi64>) -> ()"
        )
        b.give(b.x)

    return build


def _annotate(b: Builder) -> None:
    plain = b.shape.padded()
    off = b.op("ragged.annotate", [b.x], "", plain)
    called = b.value(f"func.call @g({off.name}) : ({off.type}) -> {off.type}", plain)
    b.give(b.op("ragged.annotate", [called], "", b.shape))
    b.functions = (
        f"func.func private @g(%x: {off.type}) -> {off.type} {{\n"
        f"  %y = arith.addf %x, %x : {off.type}\n  return %y : {off.type}\n}}\n"
    )


def ragged_cells(shape: RaggedShape) -> Sequence[Entry]:
    """All cells of the dialect's own ops."""
    return [*structure_cells(shape), *access_cells(shape), *making_cells(shape)]
