"""Cells of the support matrix for tensor, scf and func ops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from support.matrix_program import Builder, Sample, Value, parse_layout
from support.matrix_structure import Build, Entry
from support.structures import type_text

from ragged_dialect.errors import LayoutError
from ragged_dialect.layout import Layout
from ragged_dialect.shape import RaggedShape


def flow_cells(shape: RaggedShape) -> Iterator[Entry]:
    """tensor ops at every dim, and values through control flow."""
    rank = shape.rank
    for dim in range(rank):
        yield "tensor.dim", f"dim {dim}", _dim(dim)
        yield "tensor.extract_slice", f"part of dim {dim}", _extract_slice(dim)
        yield "tensor.expand_shape", f"dim {dim}", _expand_shape(dim)
    for dim in range(rank - 1):
        yield "tensor.collapse_shape", f"dims {dim}, {dim + 1}", _collapse_shape(dim)
    yield "tensor.extract", "the first element", _extract
    yield "tensor.extract", "any element", _extract_any
    yield "tensor.cast", "other extents", _cast
    yield "tensor.empty", "", _refused("tensor.empty({sizes}) : {type}")
    yield "tensor.splat", "", _refused("tensor.splat %s[{sizes}] : {type}")
    yield "tensor.concat", "", _concat
    yield "tensor.insert", "", _refused("tensor.insert %s into %a0[{zeros}] : {type}")
    yield "tensor.pad", "", _pad
    yield "scf.if", "yields x or twice x", _if
    yield "scf.if", "yields one of two structures", _if_other
    yield "scf.for", "doubles n times", _for
    yield "scf.while", "doubles while below n", _while
    yield "func.call", "", _call
    yield "func.call", "twice, of a function with checks", _checked_call


def _dim(dim: int) -> Build:
    def build(b: Builder) -> None:
        b.give(b.extent(b.x, dim))

    return build


def _letters_of(axes: Sequence[str]) -> Layout:
    return parse_layout("|".join(axes))


def _whole(b: Builder, dim: int) -> Value:
    """The extent of a dim in ops that name one: `tensor.dim`, or the longest length."""
    if b.shape.layout.letter(dim) == "d":
        return b.extent(b.x, dim)
    return b.op("ragged.max_length", [b.x], f"level = {dim}", "index")


def _size(b: Builder, dim: int) -> str:
    static = b.shape.shape[dim]
    return str(static) if static is not None else _whole(b, dim).name


def _extract_slice(dim: int) -> Build:
    def build(b: Builder) -> None:
        part = b.argument("index", lambda s: max(0, s.longest(dim) - 1))
        tile = b.shape.layout.letter(dim) == "t"
        sizes = [("3" if tile else part.name) if d == dim else _size(b, d) for d in range(b.rank)]
        offsets = ["1" if d == dim else "0" for d in range(b.rank)]
        # a tensor of extent 0 has no part that starts at 1
        if b.shape.layout.letter(dim) == "d" and b.shape.layout.is_plain(dim):
            offsets[dim] = b.argument("index", lambda s: min(1, s.longest(dim))).name
        shape = b.shape
        if tile or b.shape.layout.letter(dim) == "d":
            extent = 3 if tile else None
            shape = RaggedShape(b.shape.layout, tuple(extent if d == dim else e for d, e in enumerate(b.shape.shape)))
        ones = ", ".join(["1"] * b.rank)
        text = f"tensor.extract_slice {b.x.name}[{', '.join(offsets)}] [{', '.join(sizes)}] [{ones}] "
        b.give(b.value(f"{text}: {b.x.type} to {type_text(shape, 'f32')}", shape))

    return build


def _expand_shape(dim: int) -> Build:
    def build(b: Builder) -> None:
        layout = b.shape.layout
        axis, _ = layout.locate(dim)
        extents = (*b.shape.shape[: dim + 1], 1, *b.shape.shape[dim + 1 :])
        shape = RaggedShape(Layout.dense(b.rank + 1), extents)
        if dim == layout.dims(axis)[-1]:
            shape = RaggedShape(_letters_of([*layout.axes[: axis + 1], "d", *layout.axes[axis + 1 :]]), extents)
        sizes = [_size(b, d) for d in range(b.rank)]
        sizes.insert(dim + 1, "1")
        groups = [[d + (d > dim)] if d != dim else [d, d + 1] for d in range(b.rank)]
        text = f"tensor.expand_shape {b.x.name} {groups} output_shape [{', '.join(sizes)}] "
        b.give(b.value(f"{text}: {b.x.type} into {type_text(shape, 'f32')}", shape))

    return build


def _collapse_shape(dim: int) -> Build:
    """Two dims into one: plain ones as they are; a plain last one after an expand of it."""

    def build(b: Builder) -> None:
        layout = b.shape.layout
        x, shape = b.x, b.shape
        if layout.is_plain(dim) and layout.is_plain(dim + 1):
            pass
        elif dim + 1 == b.rank - 1 and layout.is_plain(dim + 1):
            x, shape = _expanded(b)
            dim_now = dim + 1
            return b.give(_collapsed(b, x, shape, dim_now))
        return b.give(_collapsed(b, x, shape, dim))

    return build


def _expanded(b: Builder) -> tuple[Value, RaggedShape]:
    layout = b.shape.layout
    shape = RaggedShape(_letters_of([*layout.axes, "d"]), (*b.shape.shape, 1))
    sizes = [*(_size(b, d) for d in range(b.rank)), "1"]
    groups = [[d] if d < b.rank - 1 else [d, d + 1] for d in range(b.rank)]
    text = f"tensor.expand_shape {b.x.name} {groups} output_shape [{', '.join(sizes)}] "
    return b.value(f"{text}: {b.x.type} into {type_text(shape, 'f32')}", shape), shape


def _collapsed(b: Builder, x: Value, shape: RaggedShape, dim: int) -> Value:
    groups = [[d] for d in range(dim)] + [[dim, dim + 1]] + [[d] for d in range(dim + 2, shape.rank)]
    one, two = shape.shape[dim : dim + 2]
    extent = None if one is None or two is None else one * two
    extents = (*shape.shape[:dim], extent, *shape.shape[dim + 2 :])
    try:
        merged = shape.merge(dim)
        result = RaggedShape(merged.layout, extents) if shape.layout.is_plain(dim) else shape
    except LayoutError:
        result = shape
    if result is shape:
        result = RaggedShape(Layout.dense(len(extents)), extents)
    text = f"tensor.collapse_shape {x.name} {groups} : {x.type} into {type_text(result, 'f32')}"
    return b.value(text, result)


def _extract(b: Builder) -> None:
    zero = b.index(0)
    indices = ", ".join([zero.name] * b.rank)
    b.give(Value(b.line(f"tensor.extract {b.x.name}[{indices}] : {b.x.type}"), "f32"))


def _extract_any(b: Builder) -> None:
    """An element of x where it has one, else an index that is out of range."""
    drawn: dict[int, tuple[int, ...]] = {}

    def index(s: Sample) -> tuple[int, ...]:
        if id(s) not in drawn:
            found = list(s.value.indices())
            drawn[id(s)] = found[s.pick(0, len(found) - 1)] if found else (s.pick(-1, 3),) * b.rank
        return drawn[id(s)]

    indices = [b.argument("index", lambda s, d=d: index(s)[d]).name for d in range(b.rank)]
    b.give(Value(b.line(f"tensor.extract {b.x.name}[{', '.join(indices)}] : {b.x.type}"), "f32"))


def _cast(b: Builder) -> None:
    """To the type with every dense extent dynamic, or static, and back."""
    letters = b.shape.layout.letters
    static = {d: (3 if b.shape.layout.is_plain(d) else 2) for d, c in enumerate(letters) if c == "d"}
    other = RaggedShape(
        b.shape.layout,
        tuple((None if b.static else static[d]) if d in static else e for d, e in enumerate(b.shape.shape)),
    )
    cast = b.value(f"tensor.cast {b.x.name} : {b.x.type} to {type_text(other, 'f32')}", other)
    b.give(b.value(f"tensor.cast {cast.name} : {cast.type} to {b.x.type}", b.shape))


def _refused(text: str) -> Build:
    def build(b: Builder) -> None:
        b.lines.append("%s = arith.constant 1.0 : f32")
        zero = b.index(0)
        dynamic = ", ".join([zero.name] * sum(e is None for e in b.shape.shape))
        zeros = ", ".join([zero.name] * b.rank)
        b.give(b.value(text.format(sizes=dynamic, zeros=zeros, type=b.x.type), b.shape))

    return build


def _concat(b: Builder) -> None:
    first = b.shape.shape[0]
    shape = RaggedShape(b.shape.layout, (None if first is None else 2 * first, *b.shape.shape[1:]))
    t = b.x.type
    b.give(b.value(f"tensor.concat dim(0) %a0, %a0 : ({t}, {t}) -> {type_text(shape, 'f32')}", shape))


def _pad(b: Builder) -> None:
    zeros = ", ".join(["0"] * b.rank)
    arguments = ", ".join(f"%p{d}: index" for d in range(b.rank))
    b.lines.append("%s = arith.constant 1.0 : f32")
    text = (
        f"tensor.pad {b.x.name} low[{zeros}] high[{zeros}] {{\n  ^bb0({arguments}):\n    tensor.yield %s : f32\n"
        f"  }} : {b.x.type} to {b.x.type}"
    )
    b.give(b.value(text, b.shape))


def _twice(x: str, name: str, type_: str) -> str:
    return f"{name} = arith.addf {x}, {x} : {type_}"


def _if(b: Builder) -> None:
    condition = b.argument("i1", lambda s: bool(s.pick(0, 1)))
    t = b.x.type
    text = (
        f"scf.if {condition.name} -> ({t}) {{\n    {_twice('%a0', '%t', t)}\n    scf.yield %t : {t}\n"
        f"  }} else {{\n    scf.yield %a0 : {t}\n  }}"
    )
    b.give(b.value(text, b.shape))


def _if_other(b: Builder) -> None:
    y = b.like(True)
    condition = b.argument("i1", lambda s: bool(s.pick(0, 1)))
    t = b.x.type
    text = (
        f"scf.if {condition.name} -> ({t}) {{\n    {_twice('%a0', '%t', t)}\n    scf.yield %t : {t}\n"
        f"  }} else {{\n    scf.yield {y.name} : {t}\n  }}"
    )
    b.give(b.value(text, b.shape))


def _for(b: Builder) -> None:
    count = b.argument("index", lambda s: s.pick(0, 3))
    zero, one = b.index(0), b.index(1)
    t = b.x.type
    text = (
        f"scf.for %k = {zero.name} to {count.name} step {one.name} iter_args(%y = %a0) -> ({t}) {{\n"
        f"    {_twice('%y', '%t', t)}\n    scf.yield %t : {t}\n  }}"
    )
    b.give(b.value(text, b.shape))


def _while(b: Builder) -> None:
    count = b.argument("index", lambda s: s.pick(0, 3))
    zero = b.index(0)
    t = b.x.type
    name = b.line(
        f"scf.while (%k = {zero.name}, %y = %a0) : (index, {t}) -> {t} {{\n"
        f"    %c = arith.cmpi slt, %k, {count.name} : index\n    scf.condition(%c) %y : {t}\n  }} do {{\n"
        f"  ^bb0(%z: {t}):\n    {_twice('%z', '%t', t)}\n"
        f"    scf.yield {count.name}, %t : index, {t}\n  }}"
    )
    b.give(Value(name, t, b.shape))


def _call(b: Builder) -> None:
    t = b.x.type
    b.functions = f"func.func private @g(%x: {t}) -> {t} {{\n  {_twice('%x', '%y', t)}\n  return %y : {t}\n}}\n"
    b.give(b.value(f"func.call @g(%a0) : ({t}) -> {t}", b.shape))


def _checked_call(b: Builder) -> None:
    """A call of a function whose operands must conform."""
    y = b.like(False)
    t = b.x.type
    b.functions = (
        f"func.func private @g(%x: {t}, %y: {t}) -> {t} {{\n  %z = arith.mulf %x, %y : {t}\n  return %z : {t}\n}}\n"
    )
    once = b.value(f"func.call @g(%a0, {y.name}) : ({t}, {t}) -> {t}", b.shape)
    b.give(b.value(f"func.call @g({once.name}, {y.name}) : ({t}, {t}) -> {t}", b.shape))
