"""Cells of the support matrix for linalg, arith and math."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

from support.matrix_program import Builder, Value
from support.matrix_structure import Build, Entry, attempt, pair_shape
from support.structures import type_text

from ragged_dialect.errors import LayoutError
from ragged_dialect.layout import Layout
from ragged_dialect.shape import RaggedShape

Operand = tuple[Value, str]


def generic(
    b: Builder, ins: Sequence[Operand], outs: Sequence[Operand], kinds: str, body: Sequence[str], yielded: str
) -> list[Value]:
    """`linalg.generic`: operands with the results of their maps, kinds as letters p and r, and a
    region over %i0, %i1, … and %o0, %o1, …"""
    loops = ", ".join(f"d{k}" for k in range(len(kinds)))
    maps = ", ".join(f"affine_map<({loops}) -> ({exprs})>" for _, exprs in (*ins, *outs))
    types = ", ".join({"p": '"parallel"', "r": '"reduction"'}[k] for k in kinds)
    given = ", ".join(v.name for v, _ in ins)
    taken = ", ".join(v.name for v, _ in outs)
    arguments = [f"%i{k}: {v.element}" for k, (v, _) in enumerate(ins)]
    arguments += [f"%o{k}: {v.element}" for k, (v, _) in enumerate(outs)]
    sources = f"ins({given} : {', '.join(v.type for v, _ in ins)}) " if ins else ""
    results = ", ".join(v.type for v, _ in outs)
    names = [f"%r{b.count}_{k}" for k in range(len(outs))]
    text = "\n    ".join(body)
    b.lines.append(
        f"{', '.join(names)} = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{types}]}} {sources}"
        f"outs({taken} : {results}) {{\n  ^bb0({', '.join(arguments)}):\n    {text}\n"
        f"    linalg.yield {yielded} : {', '.join(v.element for v, _ in outs)}\n"
        f"  }} -> {results if len(outs) == 1 else f'({results})'}"
    )
    b.count += 1
    return [Value(n, v.type, v.shape, v.element) for n, (v, _) in zip(names, outs, strict=True)]


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
    for dim in range(rank):
        yield "linalg.softmax", f"dim {dim}", _softmax(dim)
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


def _softmax(dim: int) -> Build:
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
        y, exprs = (b.like(), dims(range(b.rank))) if both else (b.dims_of_x([dim], 0 if _dense(b, dim) else 2), f"d{dim}")
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


# Generic ------------------------------------------------------------------------------------------


def generic_cells(shape: RaggedShape) -> Iterator[Entry]:
    """linalg.generic: what its operands and region may do."""
    rank = shape.rank
    yield "linalg.generic", "all loop indices", _indices
    for dim in range(rank):
        yield "linalg.generic with a dense vector", f"on the loop of dim {dim}", _with_vector(dim)
        yield "linalg.generic with a shifted index", f"of dim {dim}", _shifted(dim)
    yield "linalg.generic", "a dense operand on all loops", _with_padded
    yield "linalg.generic", "a scalar operand", _with_scalar
    yield "linalg.generic", "a dense vector on two loops", _with_matrix
    yield "linalg.generic", "a tensor of equal lengths", _with_conforming
    yield "linalg.generic", "a tensor of other lengths", _with_other
    yield "linalg.generic", "reads its out", _accumulates
    yield "linalg.generic", "two outs", _two_outs
    yield "linalg.generic", "two outs, one reduced", _reduced_too
    yield "linalg.generic", "arg max of the last dim", _arg_max
    yield "linalg.generic", "gathers from a table", _gathers
    yield "linalg.generic", "pairs of two tensors", _pairs
    yield "linalg.generic", "narrow to wide type", _widens


def _all(b: Builder) -> str:
    return dims(range(b.rank))


def _indices(b: Builder) -> None:
    body = ["%s0 = arith.constant 0 : index"]
    for dim in range(b.rank):
        body += [
            f"%n{dim} = linalg.index {dim} : index",
            f"%c{dim} = arith.constant {10**dim} : index",
            f"%p{dim} = arith.muli %n{dim}, %c{dim} : index",
            f"%s{dim + 1} = arith.addi %s{dim}, %p{dim} : index",
        ]
    body += [f"%w = arith.index_cast %s{b.rank} : index to i64"]
    b.give(*generic(b, [(b.x, _all(b))], [(b.same(0, "i64"), _all(b))], "p" * b.rank, body, "%w"))


def _plus(b: Builder, y: Value, exprs: str) -> None:
    body = ["%s = arith.addf %i0, %i1 : f32"]
    b.give(*generic(b, [(b.x, _all(b)), (y, exprs)], [(b.same(), _all(b))], "p" * b.rank, body, "%s"))


def _with_vector(dim: int) -> Build:
    def build(b: Builder) -> None:
        extra = 0 if b.shape.layout.letter(dim) == "d" else 1
        _plus(b, b.dims_of_x([dim], extra), f"d{dim}")

    return build


def _shifted(dim: int) -> Build:
    def build(b: Builder) -> None:
        extent = b.shape.shape[dim]
        y = b.dense((None if extent is None else extent + 1,), lambda s: [s.longest(dim) + 1])
        _plus(b, y, f"d{dim} + 1")

    return build


def _with_padded(b: Builder) -> None:
    _plus(b, b.dims_of_x(range(b.rank), 1), _all(b))


def _with_scalar(b: Builder) -> None:
    _plus(b, Value(b.number(3).name, "f32"), "")


def _with_matrix(b: Builder) -> None:
    _plus(b, b.dims_of_x([b.rank - 1, 0], 1), f"d{b.rank - 1}, d0")


def _with_conforming(b: Builder) -> None:
    _plus(b, b.like(), _all(b))


def _with_other(b: Builder) -> None:
    _plus(b, b.like(True), _all(b))


def _accumulates(b: Builder) -> None:
    y = b.like()
    body = ["%s = arith.addf %i0, %o0 : f32"]
    b.give(*generic(b, [(b.x, _all(b))], [(y, _all(b))], "p" * b.rank, body, "%s"))


def _two_outs(b: Builder) -> None:
    body = ["%s = arith.addf %i0, %i0 : f32", "%t = arith.fptosi %i0 : f32 to i32"]
    outs = [(b.same(), _all(b)), (b.same(0, "i32"), _all(b))]
    b.give(*generic(b, [(b.x, _all(b))], outs, "p" * b.rank, body, "%s, %t"))


def _reduced_too(b: Builder) -> None:
    """Sum and sum of squares over the last dim."""
    kept = list(range(b.rank - 1))
    shape = reduced(b.shape, [b.rank - 1])
    outs = [(init(b, shape, kept, n), dims(kept)) for n in (0, 1)]
    body = ["%s = arith.addf %o0, %i0 : f32", "%q = arith.mulf %i0, %i0 : f32", "%t = arith.addf %o1, %q : f32"]
    b.give(*generic(b, [(b.x, _all(b))], outs, "p" * len(kept) + "r", body, "%s, %t"))


def _arg_max(b: Builder) -> None:
    kept = list(range(b.rank - 1))
    shape = reduced(b.shape, [b.rank - 1])
    best = (init(b, shape, kept, -9), dims(kept))
    lost = any(shape.layout.is_plain(k) and not _dense(b, d) and b.shape.layout.letter(d) != "t" for k, d in enumerate(kept))
    at = (best[0] if lost else b.filled(shape, kept, -1, "i64"), dims(kept))
    body = [
        f"%n = linalg.index {b.rank - 1} : index",
        "%w = arith.index_cast %n : index to i64",
        "%g = arith.cmpf ogt, %i0, %o0 : f32",
        "%s = arith.select %g, %i0, %o0 : f32",
        "%t = arith.select %g, %w, %o1 : i64",
    ]
    b.give(*generic(b, [(b.x, _all(b))], [best, at], "p" * len(kept) + "r", body, "%s, %t"))


def _gathers(b: Builder) -> None:
    """The element of a table at the (clamped) value of x."""
    table = b.dense((5,), lambda s: [5])
    body = [
        "%four = arith.constant 4 : i32",
        "%zero = arith.constant 0 : i32",
        "%k = arith.fptosi %i0 : f32 to i32",
        "%l = arith.maxsi %k, %zero : i32",
        "%m = arith.minsi %l, %four : i32",
        "%n = arith.index_cast %m : i32 to index",
        f"%t = tensor.extract {table.name}[%n] : {table.type}",
    ]
    b.give(*generic(b, [(b.x, _all(b))], [(b.same(), _all(b))], "p" * b.rank, body, "%t"))


def _pairs(b: Builder) -> None:
    """s[…, i, j] = sum over the rest of x[…, i, rest] * y[…, j, rest]: scores of attention."""
    y = b.like(False)
    shape, sources, level = pair_shape(b)
    axis, _ = b.shape.layout.locate(level)
    own = b.shape.layout.dims(axis)
    empty = b.op("ragged.empty", [b.x, y], f"from = [{', '.join(sources)}]", shape)
    zero = b.number(0)
    out = b.value(f"linalg.fill ins({zero.name} : f32) outs({empty.name} : {empty.type}) -> {empty.type}", shape)
    fresh = b.rank
    mine = [f"d{d}" for d in range(b.rank)]
    other = [f"d{fresh}" if d == level else f"d{d}" for d in range(b.rank)]
    result = ", ".join([*(f"d{d}" for d in own), f"d{fresh}"])
    kinds = "".join("p" if d in own else "r" for d in range(b.rank)) + "p"
    body = ["%m = arith.mulf %i0, %i1 : f32", "%s = arith.addf %o0, %m : f32"]
    b.give(*generic(b, [(b.x, ", ".join(mine)), (y, ", ".join(other))], [(out, result)], kinds, body, "%s"))


def _widens(b: Builder) -> None:
    body = ["%s = arith.extf %i0 : f32 to f64"]
    b.give(*generic(b, [(b.x, _all(b))], [(b.same(0, "f64"), _all(b))], "p" * b.rank, body, "%s"))


# arith and math -----------------------------------------------------------------------------------


def elementwise_cells(shape: RaggedShape) -> Iterator[Entry]:
    """arith and math on whole tensors."""
    yield "arith", "floats", _arith_floats
    yield "arith", "integers", _arith_integers
    yield "arith", "casts", _arith_casts
    yield "arith", "compare and select", _arith_select
    yield "arith", "select of a scalar condition", _scalar_select
    yield "arith", "other lengths", lambda b: _arith(b, ["addf"], b.like(True))
    yield "arith", "a chain", _chain
    yield "math", "floats", _math_floats
    yield "math", "powf, fma", _math_more


def _arith(b: Builder, names: Sequence[str], y: Value) -> None:
    for name in names:
        b.give(b.value(f"arith.{name} {b.x.name}, {y.name} : {b.x.type}", b.shape))


def _arith_floats(b: Builder) -> None:
    _arith(b, "addf subf mulf divf maximumf minimumf maxnumf minnumf".split(), b.like())
    b.give(b.value(f"arith.negf {b.x.name} : {b.x.type}", b.shape))


def _integer(b: Builder, x: Value) -> Value:
    type_ = type_text(b.shape, "i32")
    return b.value(f"arith.fptosi {x.name} : {x.type} to {type_}", b.shape, "i32")


def _arith_integers(b: Builder) -> None:
    x, y = _integer(b, b.x), _integer(b, b.like())
    for name in "addi subi muli maxsi minsi maxui minui andi ori xori".split():
        b.give(b.value(f"arith.{name} {x.name}, {y.name} : {x.type}", b.shape, "i32"))


def _arith_casts(b: Builder) -> None:
    def cast(op: str, x: Value, element: str) -> Value:
        made = b.value(f"arith.{op} {x.name} : {x.type} to {type_text(b.shape, element)}", b.shape, element)
        b.give(made)
        return made

    wide = cast("fptosi", b.x, "i64")
    cast("sitofp", cast("trunci", wide, "i8"), "f64")
    cast("extsi", cast("trunci", wide, "i16"), "i32")
    cast("extf", cast("truncf", b.x, "bf16"), "f32")
    cast("bitcast", b.x, "i32")


def _arith_select(b: Builder) -> None:
    y = b.like()
    condition = b.value(f"arith.cmpf ogt, {b.x.name}, {y.name} : {b.x.type}", b.shape, "i1")
    picked = f"arith.select {condition.name}, {b.x.name}, {y.name} : {condition.type}, {b.x.type}"
    b.give(condition, b.value(picked, b.shape))


def _scalar_select(b: Builder) -> None:
    y = b.like(True)
    condition = b.argument("i1", lambda s: bool(s.pick(0, 1)))
    b.give(b.value(f"arith.select {condition.name}, {b.x.name}, {y.name} : {b.x.type}", b.shape))


def _chain(b: Builder) -> None:
    """Sums of squares of differences: elementwise ops that fuse with a reduction."""
    y = b.like()
    d = b.value(f"arith.subf {b.x.name}, {y.name} : {b.x.type}", b.shape)
    b.x = b.value(f"arith.mulf {d.name}, {d.name} : {d.type}", b.shape)
    try:
        b.shape.reduce(frozenset({b.rank - 1}))
        b.give(named_reduce(b, [b.rank - 1], number=0))
    except LayoutError:
        b.give(named_reduce(b, list(range(b.rank)), number=0))


def _math_floats(b: Builder) -> None:
    b.exact = False
    for name in "exp exp2 expm1 log1p sqrt rsqrt sin cos tanh erf absf ceil floor round roundeven trunc".split():
        b.give(b.value(f"math.{name} {b.x.name} : {b.x.type}", b.shape))


def _math_more(b: Builder) -> None:
    b.exact = False
    y = b.like()
    b.give(b.value(f"math.powf {b.x.name}, {y.name} : {b.x.type}", b.shape))
    b.give(b.value(f"math.fma {b.x.name}, {y.name}, {b.x.name} : {b.x.type}", b.shape))
    b.give(b.value(f"math.atan2 {b.x.name}, {y.name} : {b.x.type}", b.shape))


def compute_cells(shape: RaggedShape) -> list[Entry]:
    """All cells of compute ops."""
    cells: Callable[[RaggedShape], Iterator[Entry]]
    return [entry for cells in (linalg_cells, generic_cells, elementwise_cells) for entry in cells(shape)]
