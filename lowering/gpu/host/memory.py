"""Buffers and kernel launches of the host program."""

from __future__ import annotations

from ragged_dialect._mlir import DYNAMIC, ir
from ragged_dialect.errors import CompileError
from ragged_dialect.ir import build
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.match import made_by
from ragged_dialect.lowering.buffers.subviews import is_buffer, starts_and_sizes
from ragged_dialect.lowering.gpu.host.integers import literal, not_negative
from ragged_dialect.lowering.gpu.host.writer import FLOATS, Emitter, HostWriter, dtype, kind
from ragged_dialect.lowering.gpu.kernel.kernel import NARROW

_POINTER = "p"


def _tuple(items: list[str]) -> str:
    return f"({', '.join(items)}{',' * (len(items) == 1)})"


def _text(w: HostWriter, number: Mixed) -> str:
    return str(number) if isinstance(number, int) else w.name(number)


def _alloc(w: HostWriter, op: ir.Operation) -> None:
    type_ = op.results[0].type
    sizes = iter(op.operands)
    shape = [_size(w, next(sizes)) if extent == DYNAMIC else str(extent) for extent in type_.shape]
    w.allocate(op.results[0], f"{w.runtime('empty')}({_tuple(shape)}, {dtype(type_.element_type)})")


def _size(w: HostWriter, value: ir.Value) -> str:
    """A size that is not negative: after a check has failed it may be anything, and what runs then
    does nothing."""
    return w.name(value) if not_negative(value) else f"max({w.name(value)}, 0)"


def _dealloc(w: HostWriter, op: ir.Operation) -> None:
    """Nothing: every buffer is given up after its last use."""


def _dim(w: HostWriter, op: ir.Operation) -> None:
    buffer, axis = op.operands
    name, rank = w.name(axis), len(buffer.type.shape)
    if name.isdigit() and int(name) >= rank:
        raise CompileError(f"expected a dim in [0, {rank}), got {name}")
    if name.isdigit() and buffer.type.shape[int(name)] != DYNAMIC:
        w.alias(op.results[0], literal(buffer.type.shape[int(name)]))
    else:
        w.assign(op.results[0], f"{w.name(buffer)}.shape[{name}]")


def _load(w: HostWriter, op: ir.Operation) -> None:
    buffer, *indices = op.operands
    _check_whole(op, buffer)
    w.reads_back[op.name] = None
    text = f"{w.runtime('load')}({w.name(buffer)}, {_tuple(w.names(indices))})"
    name = kind(op.results[0].type)
    w.assign(op.results[0], text if name in FLOATS else f"{'bool' if name == 'i1' else 'int'}({text})")


def _store(w: HostWriter, op: ir.Operation) -> None:
    value, buffer, *indices = op.operands
    _check_whole(op, buffer)
    w.line(f"{w.runtime('store')}({w.name(buffer)}, {_tuple(w.names(indices))}, {w.name(value)})")


def _check_whole(op: ir.Operation, buffer: ir.Value) -> None:
    """The name of a pointer is that of its whole buffer, which has other indices."""
    if made_by(buffer, "memref.reinterpret_cast") is not None:
        raise CompileError(f"expected '{op.name}' of a whole buffer in the host program, got one of a view")


def _copy(w: HostWriter, op: ir.Operation) -> None:
    source, target = w.names(op.operands)
    w.line(f"{w.runtime('copy')}({target}, {source})")


def _clone(w: HostWriter, op: ir.Operation) -> None:
    w.allocate(op.results[0], f"{w.runtime('clone')}({w.name(op.operands[0])})")


def _cast(w: HostWriter, op: ir.Operation) -> None:
    w.alias(op.results[0], w.name(op.operands[0]))


def _expand(w: HostWriter, op: ir.Operation) -> None:
    """A view with axes split."""
    shape = [_text(w, x) for x in build.joined(op.results[0].type.shape, list(op.operands)[1:])]
    w.assign(op.results[0], f"{w.name(op.operands[0])}.reshape({_tuple(shape)})")


def _collapse(w: HostWriter, op: ir.Operation) -> None:
    """A view with axes joined."""
    w.assign(op.results[0], f"{w.name(op.operands[0])}.reshape({_tuple(_joined(w, op))})")


def _joined(w: HostWriter, op: ir.Operation) -> list[str]:
    """The extents of a buffer whose axes are joined."""
    source = w.name(op.operands[0])
    names: list[str] = []
    for group, size in zip(op.attributes["reassociation"], op.results[0].type.shape, strict=True):
        axes = [f"{source}.shape[{k.value}]" for k in group]
        names.append(str(size) if size != DYNAMIC else " * ".join(axes))
    return names


def _subview(w: HostWriter, op: ir.Operation) -> None:
    """A range of a buffer; axes that the result lacks have one entry."""
    starts, sizes = ([_text(w, x) for x in numbers] for numbers in starts_and_sizes(op))
    if any(s != 1 for s in op.attributes["static_strides"]):
        raise CompileError("expected views of neighbouring elements on the host, got 'memref.subview' with strides")
    ranges = [f"{a}:{a} + {n}" if a != "0" else f":{n}" for a, n in zip(starts, sizes, strict=True)]
    text = f"{w.name(op.operands[0])}[{', '.join(ranges)}]"
    shape = op.results[0].type.shape
    if len(shape) != len(sizes):
        left = len(sizes) - len(shape)
        kept = [n for k, n in enumerate(sizes) if n != "1" or sizes[: k + 1].count("1") > left]
        text += f".reshape({_tuple(kept)})"
    w.assign(op.results[0], text)


def _pointer(w: HostWriter, op: ir.Operation) -> None:
    offsets = list(ir.DenseI64ArrayAttr(op.attributes["static_offsets"]))
    if op.results[0].type.shape or offsets != [0] or len(op.operands) > 1:
        raise CompileError(f"expected views in kernels only, got 'memref.reinterpret_cast' to {op.results[0].type}")
    _cast(w, op)


def _global(w: HostWriter, op: ir.Operation) -> None:
    name = op.attributes["name"].value
    w.alias(op.results[0], w.bind(f"rt.constant({name!r})", "constant"))


def _launch(w: HostWriter, op: ir.Operation) -> None:
    segments = list(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"]))
    if segments[0] or any(segments[7:11]) or segments[12]:
        raise CompileError("expected launches without tokens, clusters and dynamic shared memory, got one with")
    grid, block = w.names(op.operands[:3]), w.names(op.operands[3:6])
    if not all(name.isdigit() for name in block):
        raise CompileError(f"expected constant sizes of blocks, got {_tuple(block)}")
    values = op.operands[6 : 6 + segments[11]]
    kernel = str(op.attributes["kernel"]).split("@")[-1]
    kinds = " ".join(_POINTER if is_buffer(v) else kind(v.type) for v in values)
    narrow = f", {kernel + NARROW!r}" if kernel in w.narrow else ""
    launch = w.bind(f"rt.kernel({kernel!r}, {_tuple(block)}, {kinds!r}{narrow})", "k")
    call = f"{launch}({', '.join([*grid, *(_argument(w, v) for v in values)])})"
    guard = " and ".join(f"{name} > 0" for name in dict.fromkeys(grid) if not name.isdigit() or int(name) == 0)
    if not guard:
        w.line(call)
        return
    w.line(f"if {guard}:")
    with w.nested():
        w.line(call)


def _argument(w: HostWriter, value: ir.Value) -> str:
    """Floats are NumPy's already, and plain ints have 64 bits."""
    name = w.name(value)
    if is_buffer(value) or kind(value.type) in ("index", "i64", *FLOATS):
        return name
    return f"{dtype(value.type)}({name})"


EMITTERS: dict[str, Emitter] = {
    "memref.alloc": _alloc,
    "memref.alloca": _alloc,
    "memref.dealloc": _dealloc,
    "memref.dim": _dim,
    "memref.load": _load,
    "memref.store": _store,
    "memref.copy": _copy,
    "bufferization.clone": _clone,
    "memref.cast": _cast,
    "memref.extract_aligned_pointer_as_index": _cast,
    "memref.collapse_shape": _collapse,
    "memref.expand_shape": _expand,
    "memref.subview": _subview,
    "memref.reinterpret_cast": _pointer,
    "memref.get_global": _global,
    "gpu.launch_func": _launch,
}
