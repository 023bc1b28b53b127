"""Cells of the support matrix for the named linalg ops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from support.matrix_program import Builder, Value
from support.matrix_structure import Build, Entry, attempt

from ragged_dialect.errors import LayoutError
from ragged_dialect.layout import Layout
from ragged_dialect.shape import RaggedShape


def dims(numbers: Sequence[int]) -> str:
    """Map results `d0, d1, …`."""
    return ", ".join(f"d{k}" for k in numbers)


def reduced(shape: RaggedShape, gone: Sequence[int]) -> RaggedShape:
    """The shape without dims; where that is refused the same extents without layout."""
    kept = tuple(e for d, e in enumerate(shape.shape) if d not in gone)
    return attempt(lambda: shape.reduce(frozenset(gone)), RaggedShape(Layout.dense(len(kept)), kept))


def init(b: Builder, shape: RaggedShape, kept: Sequence[int], number: int) -> Value:
    """A filled out for a reduction to dims `kept` of x; an argument where the dims of a dense
    result have no single extent in x."""
    lost = [d for k, d in enumerate(kept) if shape.layout.is_plain(k) and b.shape.layout.letter(d) not in "dt"]
    if not lost:
        return b.filled(shape, list(kept), number)
    return b.dims_of_x(kept, 0)


def named_reduce(b: Builder, gone: Sequence[int], combiner: str = "arith.addf", number: int = 5) -> Value:
    """`linalg.reduce` of x over dims."""
    kept = [d for d in range(b.rank) if d not in gone]
    shape = reduced(b.shape, gone)
    out = init(b, shape, kept, number)
    text = f"linalg.reduce {{ {combiner} }} ins({b.x.name} : {b.x.type}) outs({out.name} : {out.type}) "
    return b.value(f"{text}dimensions = [{', '.join(map(str, gone))}]", shape)


def names_of(gone: Sequence[int]) -> str:
    """How a set of dims reads."""
    return f"dim{'s' if len(gone) > 1 else ''} {', '.join(map(str, gone))}"


def linalg_cells(shape: RaggedShape) -> Iterator[Entry]:
    """The named linalg ops."""
    rank = shape.rank
    yield "linalg.fill", "", _fill
    yield "linalg.copy", "", lambda b: _named(b, "copy", [b.x], b.same())
    yield "linalg.map", "one operand", lambda b: _map(b, [b.x], "math.absf")
    yield "linalg.map", "two operands", lambda b: _map(b, [b.x, b.like()], "arith.mulf")
    for count in range(1, rank + 1):
        for gone in combinations(range(rank), count):
            yield "linalg.reduce", names_of(gone), lambda b, g=gone: b.give(named_reduce(b, g))
    for dim in range(rank):
        yield "linalg.reduce maximum", f"dim {dim}", lambda b, d=dim: b.give(named_reduce(b, [d], "arith.maximumf", -2))
    for count in sorted({1, rank - 1, rank}):
        for added in combinations(range(rank), count):
            yield "linalg.broadcast", f"adds {names_of(added)}", _broadcast(added)
    for dim in range(rank - 1):
        order = [*range(dim), dim + 1, dim, *range(dim + 2, rank)]
        yield "linalg.transpose", f"swaps dims {dim}, {dim + 1}", _transpose(order)
    if rank > 2:
        yield "linalg.transpose", "last dim first", _transpose([rank - 1, *range(rank - 1)])
    ragged = [axis for axis, letters in enumerate(shape.layout.axes) if len(letters) > 1]
    if len(ragged) > 1:
        axes = reversed(range(shape.layout.storage_rank))
        yield "linalg.transpose", "axes reversed", _transpose([d for k in axes for d in shape.layout.dims(k)])
    for dim in range(rank):
        yield "linalg.softmax", f"dim {dim}", softmax(dim)
    yield "linalg elementwise ops", "unary", _unary_ops
    yield "linalg elementwise ops", "binary", _binary_ops
    yield "linalg elementwise ops", "select, elementwise", _select_ops
    yield from _products(rank)


def _fill(b: Builder) -> None:
    two = b.number(2)
    text = f"linalg.fill ins({two.name} : {b.element}) outs({b.x.name} : {b.x.type}) -> {b.x.type}"
    b.give(b.value(text, b.shape))


def _named(b: Builder, name: str, ins: Sequence[Value], out: Value, attributes: str = "") -> None:
    given, types = ", ".join(v.name for v in ins), ", ".join(v.type for v in ins)
    text = f"linalg.{name} {attributes}ins({given} : {types}) outs({out.name} : {out.type}) -> {out.type}"
    b.give(b.value(text, out.tensor))


def _map(b: Builder, ins: Sequence[Value], op: str) -> None:
    out = b.same()
    given, types = ", ".join(v.name for v in ins), ", ".join(v.type for v in ins)
    b.give(b.value(f"linalg.map {{ {op} }} ins({given} : {types}) outs({out.name} : {out.type})", b.shape))


def _broadcast(added: Sequence[int]) -> Build:
    def build(b: Builder) -> None:
        kept = [d for d in range(b.rank) if d not in added]
        try:
            b.shape.reduce(frozenset(added))
            source = named_reduce(b, added)
        except LayoutError:
            source = b.dims_of_x(kept, 1)
        out = b.same()
        text = f"linalg.broadcast ins({source.name} : {source.type}) outs({out.name} : {out.type}) "
        b.give(b.value(f"{text}dimensions = [{', '.join(map(str, added))}]", b.shape))

    return build


def permuted(shape: RaggedShape, order: Sequence[int]) -> RaggedShape:
    """The shape of a transposition: whole axes in another order, and batch dims of one axis. Where
    the dims of an axis do not stay together a dense shape."""
    extents = tuple(shape.shape[d] for d in order)
    axes: list[str] = []
    groups: list[int] = []
    for d in order:
        axis, _ = shape.layout.locate(d)
        if not groups or groups[-1] != axis:
            groups.append(axis)
            axes.append("")
        axes[-1] += shape.layout.letter(d)
    if len(groups) != len(set(groups)):
        return RaggedShape(Layout.dense(len(order)), extents)
    return attempt(lambda: RaggedShape(_parsed(axes), extents), RaggedShape(Layout.dense(len(order)), extents))


def _parsed(axes: Sequence[str]) -> Layout:
    return Layout.dense(len(axes)) if all(a == "d" for a in axes) else Layout.parse("|".join(axes))


def _transpose(order: Sequence[int]) -> Build:
    def build(b: Builder) -> None:
        shape = permuted(b.shape, order)
        out = b.dims_of_x(order) if shape.layout.is_dense else b.filled(shape, order)
        text = f"linalg.transpose ins({b.x.name} : {b.x.type}) outs({out.name} : {out.type}) "
        b.give(b.value(f"{text}permutation = [{', '.join(map(str, order))}]", shape))

    return build


def softmax(dim: int) -> Build:
    """`linalg.softmax` of x along a dim."""

    def build(b: Builder) -> None:
        out = b.same()
        b.exact = False
        text = f"linalg.softmax dimension({dim}) ins({b.x.name} : {b.x.type}) outs({out.name} : {out.type})"
        b.give(b.value(f"{text} -> {out.type}", b.shape))

    return build


def _unary_ops(b: Builder) -> None:
    b.exact = False
    for name in "exp log abs ceil floor negf reciprocal round sqrt rsqrt square tanh erf".split():
        _named(b, name, [b.x], b.same())


def _binary_ops(b: Builder) -> None:
    y = b.like()
    for name in "add sub mul div max min".split():
        _named(b, name, [b.x, y], b.same())


def _select_ops(b: Builder) -> None:
    y = b.like()
    condition = b.value(f"arith.cmpf olt, {b.x.name}, {y.name} : {b.x.type}", b.shape, "i1")
    _named(b, "select", [condition, b.x, y], b.same())
    _named(b, "elementwise", [b.x, y], b.same(), "kind=#linalg.elementwise_kind<max_signed> ")


# Products -----------------------------------------------------------------------------------------


def _products(rank: int) -> Iterator[Entry]:
    for dim in range(rank):
        yield "linalg.contract with a dense vector", f"over dim {dim}", _contract(dim, False)
        yield "linalg.contract of two", f"over dim {dim}", _contract(dim, True)
    yield "linalg.contract with a dense matrix", "over the last dim", _projection
    if rank == 2:
        yield "linalg.matmul", "x on the left", lambda b: _matmul(b, "matmul", False)
        yield "linalg.matmul", "x on the right", lambda b: _matmul(b, "matmul", True)
        yield "linalg.matvec", "", lambda b: _matvec(b, "matvec", [0], [1])
        yield "linalg.vecmat", "", lambda b: _matvec(b, "vecmat", [1], [0])
    if rank == 3:
        yield "linalg.batch_matmul", "x on the left", lambda b: _matmul(b, "batch_matmul", False)
        yield "linalg.batch_matmul", "x on the right", lambda b: _matmul(b, "batch_matmul", True)
        yield "linalg.batch_matvec", "", lambda b: _matvec(b, "batch_matvec", [0, 1], [0, 2])
        yield "linalg.batch_vecmat", "", lambda b: _matvec(b, "batch_vecmat", [0, 2], [0, 1])


def _contract(dim: int, both: bool) -> Build:
    def build(b: Builder) -> None:
        kept = [d for d in range(b.rank) if d != dim]
        shape = reduced(b.shape, [dim])
        y = b.like() if both else b.dims_of_x([dim], 2)
        exprs = dims(range(b.rank)) if both else f"d{dim}"
        out = init(b, shape, kept, 1)
        loops = dims(range(b.rank))
        maps = ", ".join(f"affine_map<({loops}) -> ({e})>" for e in (loops, exprs, dims(kept)))
        text = f"linalg.contract indexing_maps = [{maps}] ins({b.x.name}, {y.name} : {b.x.type}, {y.type}) "
        b.give(b.value(f"{text}outs({out.name} : {out.type}) -> {out.type}", shape))

    return build


def _dense(b: Builder, dim: int) -> bool:
    return b.shape.layout.letter(dim) == "d"


def _projection(b: Builder) -> None:
    """y[…, n] = sum over k of x[…, k] * w[k, n]; where x's last dim goes with its levels, y is what
    is left of them and a plain dim."""
    last = b.rank - 1
    kept = list(range(last))
    left = reduced(b.shape, [last])
    shape = RaggedShape(_parsed([*left.layout.axes, "d"]), (*left.shape, 2))
    extent = b.shape.shape[last]
    w = b.dense((extent, 2), lambda s: (b.size(s, last, 1), 2))
    lost = any(shape.layout.is_plain(k) and not _dense(b, k) for k in kept)
    if lost:
        extents = tuple(b.shape.shape[d] for d in kept)
        out = b.dense((*extents, 2), lambda s: [*(b.size(s, d) for d in kept), 2])
    else:
        out = b.filled(shape, [*kept, None])
    loops = dims(range(b.rank + 1))
    exprs = [dims(range(b.rank)), f"d{last}, d{b.rank}", dims([*kept, b.rank])]
    maps = ", ".join(f"affine_map<({loops}) -> ({e})>" for e in exprs)
    text = f"linalg.contract indexing_maps = [{maps}] ins({b.x.name}, {w.name} : {b.x.type}, {w.type}) "
    b.give(b.value(f"{text}outs({out.name} : {out.type}) -> {out.type}", out.tensor))


def _matmul(b: Builder, name: str, right: bool) -> None:
    """x times a dense matrix (one per batch), or the other way round."""
    batch = list(range(b.rank - 2))
    rows, columns = b.rank - 2, b.rank - 1
    summed, kept = (rows, columns) if right else (columns, rows)
    inner = [*batch, summed]
    extents = tuple(b.shape.shape[d] for d in inner)
    if right:
        own = (*extents[:-1], 2, extents[-1])
        y = b.dense(own, lambda s: [*(b.size(s, d) for d in batch), 2, b.size(s, summed, 1)])
        sources: list[int | None] = [*batch, None, kept]
    else:
        y = b.dense((*extents, 2), lambda s: [*(b.size(s, d) for d in batch), b.size(s, summed, 1), 2])
        sources = [*batch, kept, None]
    left = reduced(b.shape, [summed])
    shape = _with_two(left, len(batch) if right else len(batch) + 1)
    if any(d is not None and shape.layout.is_plain(k) and not _dense(b, d) for k, d in enumerate(sources)):
        own = tuple(2 if d is None else b.shape.shape[d] for d in sources)
        out = b.dense(own, lambda s: [2 if d is None else b.size(s, d) for d in sources])
    else:
        out = b.filled(shape, sources)
    _named(b, name, [y, b.x] if right else [b.x, y], out)


def _with_two(left: RaggedShape, at: int) -> RaggedShape:
    """The shape with a plain dim of extent 2 put in; dense where that would cut an axis."""
    extents = (*left.shape[:at], 2, *left.shape[at:])
    axis, place = left.layout.locate(at) if at < left.rank else (left.layout.storage_rank, 0)
    if place:
        return RaggedShape(Layout.dense(len(extents)), extents)
    axes = [*left.layout.axes[:axis], "d", *left.layout.axes[axis:]]
    return RaggedShape(_parsed(axes), extents)


def _matvec(b: Builder, name: str, kept: Sequence[int], used: Sequence[int]) -> None:
    gone = [d for d in range(b.rank) if d not in kept]
    y = b.dims_of_x(used, 0)
    shape = reduced(b.shape, gone)
    out = init(b, shape, kept, 0)
    _named(b, name, [y, b.x] if "vecmat" in name else [b.x, y], out)
