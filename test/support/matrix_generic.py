"""Cells of the support matrix for linalg.generic, arith and math."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from support.matrix_linalg import dims, init, named_reduce, reduced
from support.matrix_program import Builder, Value
from support.matrix_structure import Build, Entry, filled_pairs
from support.structures import type_text

from ragged_dialect.errors import LayoutError
from ragged_dialect.layout import RAGGED
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
    lost = any(shape.layout.is_plain(k) and b.shape.layout.letter(d) in RAGGED for k, d in enumerate(kept))
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
    out, level = filled_pairs(b, y, 0)
    axis, _ = b.shape.layout.locate(level)
    own = b.shape.layout.dims(axis)
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
    yield "arith", "other lengths", lambda b: arith(b, ["addf"], b.like(True))
    yield "arith", "a chain", _chain
    yield "math", "floats", _math_floats
    yield "math", "powf, fma", _math_more


def arith(b: Builder, names: Sequence[str], y: Value) -> None:
    """Ops of x and y."""
    for name in names:
        b.give(b.value(f"arith.{name} {b.x.name}, {y.name} : {b.x.type}", b.shape))


def _arith_floats(b: Builder) -> None:
    arith(b, "addf subf mulf divf maximumf minimumf maxnumf minnumf".split(), b.like())
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
