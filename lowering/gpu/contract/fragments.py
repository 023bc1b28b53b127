"""What a warp does with tensor cores: loads fragments of matrices from shared memory, multiplies and adds them.

Which lane has which element is said by the PTX ISA manual, 9.7.14.5.8 and 9.7.14.5.15. All matrices here are of f16 or
bf16, sums are f32.
"""

from __future__ import annotations

from collections.abc import Sequence

from ragged_dialect._mlir import arith, ir, llvm, memref, vector
from ragged_dialect.device_model import DEVICE
from ragged_dialect.ir import build
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.match import byte_size

M, N, K = 16, 8, 16
"""The product of one instruction: M x K and K x N."""

SIDE = 8
"""Rows and columns of a matrix of `ldmatrix`, which loads four."""

ELEMENT = 2
"""Bytes of an element."""


def row_stride(columns: int) -> int:
    """Elements from row to row in shared memory: an odd number of accesses of 16 bytes, so that the rows of a matrix of
    `ldmatrix` are in different banks, and so are the chunks that threads store."""
    chunks = -(-columns * ELEMENT // DEVICE.access_bytes)
    return (chunks | 1) * DEVICE.access_bytes // ELEMENT


def swizzling(chunks: int) -> tuple[int, int]:
    """How many rows of `chunks`, a power of two, have the same number that those of their chunks are xored with, and
    how many such numbers there are: the eight chunks of a matrix of `ldmatrix`, one below the other, are in different
    banks then, and so are eight that follow each other."""
    return max(1, SIDE // chunks), min(SIDE, chunks)  # rows that share the 128 bytes of all banks


def swizzle(row: ir.Value, chunks: int) -> ir.Value:
    """What the numbers of the chunks in a row are xored with."""
    same, numbers = swizzling(chunks)
    return arith.remui(arith.divui(row, build.value(same)), build.value(numbers))


def place_of(lane: ir.Value, pairs: bool) -> tuple[ir.Value, Mixed, Mixed]:
    """Which row of which of four 8 x 8 matrices a lane gives the address of: the row, and where the matrix starts,
    along the rows or columns of the result and along what is summed. The second matrix is the next one along the
    result, or (`pairs`) along the sum: registers of a fragment have to be neighbours, four of A, two and two of B."""
    row, second, third = arith.remui(lane, build.value(SIDE)), _bit(lane, SIDE), _bit(lane, 2 * SIDE)
    along, inner = (third, second) if pairs else (second, third)
    return row, build.mul(along, build.value(SIDE)), build.mul(inner, build.value(SIDE))


def _bit(x: ir.Value, bit: int) -> ir.Value:
    return arith.remui(arith.divui(x, build.value(bit)), build.value(2))


def shared_pointer(buffer: ir.Value, elements: Mixed, more: int = 0) -> ir.Value:
    """The pointer so many elements after the start of a buffer in shared memory; `more` is part of an instruction."""
    size = byte_size(buffer.type.element_type)
    return _inttoptr(build.add(build.add(_address(buffer), build.mul(elements, size)), size * more), 3)


def global_pointer(buffer: ir.Value, elements: Mixed) -> ir.Value:
    """The pointer so many elements after the first of a view of a buffer of the host."""
    _, offset, *_ = memref.extract_strided_metadata(buffer)
    size = byte_size(buffer.type.element_type)
    start = build.add(_address(buffer), build.mul(build.add(offset, elements), size))
    return llvm.addrspacecast(ir.Type.parse("!llvm.ptr<1>"), _inttoptr(start, 0))


def vector_of(values: Sequence[ir.Value]) -> ir.Value:
    """A vector of some scalars."""
    return vector.from_elements(ir.VectorType.get([len(values)], values[0].type), list(values))


def copy(target: ir.Value, source: ir.Value, inside: ir.Value, size: int = DEVICE.access_bytes) -> None:
    """Start an asynchronous copy of 4, 8 or 16 bytes, which are 0 where they are not `inside`: nothing is read then."""
    i32 = ir.IntegerType.get_signless(32)
    given = arith.select(inside, build.constant(i32, size), build.constant(i32, 0))
    past_l1 = "cg" if size == DEVICE.access_bytes else "ca"  # no fewer bytes may go past the first cache
    attributes = {
        "size": ir.IntegerAttr.get(i32, size),
        "modifier": ir.Attribute.parse(f"#nvvm<load_cache_modifier {past_l1}>"),
    }
    ir.Operation.create("nvvm.cp.async.shared.global", operands=[target, source, given], attributes=attributes)


def end_group() -> None:
    """Make a group of the asynchronous copies that the thread has started since it made the last one."""
    ir.Operation.create("nvvm.cp.async.commit.group")


def wait_for_groups(pending: int) -> None:
    """Wait for all groups of copies of the thread, but for the last ones."""
    number = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), pending)
    ir.Operation.create("nvvm.cp.async.wait.group", attributes={"n": number})


def _address(buffer: ir.Value) -> ir.Value:
    return memref.extract_aligned_pointer_as_index(buffer)


def _inttoptr(address: Mixed, space: int) -> ir.Value:
    kind = ir.Type.parse(f"!llvm.ptr<{space}>" if space else "!llvm.ptr")
    return llvm.inttoptr(kind, build.to_i64(address))


def load(pointer: ir.Value, element: ir.Type, transposed: bool) -> list[ir.Value]:
    """Four matrices, a register each."""
    layout = "col" if transposed else "row"
    shapes = {"shape": "#nvvm.ld_st_matrix_shape<m = 8, n = 8>", "eltType": "#nvvm.ld_st_matrix_elt_type<b16>"}
    kind = ir.Type.parse("!llvm.struct<(i32, i32, i32, i32)>")
    whole = build.made("nvvm.ldmatrix", kind, pointer, num="4 : i32", layout=f"#nvvm.mma_layout<{layout}>", **shapes)
    words = _parts(whole, ir.IntegerType.get_signless(32))
    pair = register(element)
    if pair == words[0].type:
        return words
    return [llvm.bitcast(pair, word) for word in words]


def register(element: ir.Type) -> ir.Type:
    """The type of a register of a fragment, of two elements."""
    return ir.IntegerType.get_signless(32) if isinstance(element, ir.BF16Type) else ir.VectorType.get([2], element)


def pack(values: Sequence[ir.Value], element: ir.Type) -> ir.Value:
    """A register of two numbers of f32, rounded."""
    pair = ir.VectorType.get([2], element)
    short = arith.truncf(pair, vector_of(values))
    return short if register(element) == pair else llvm.bitcast(register(element), short)


def multiply(
    a: Sequence[ir.Value], b: Sequence[ir.Value], sums: Sequence[ir.Value], element: ir.Type
) -> list[ir.Value]:
    """Sums of a 16 x 8 fragment and the product of fragments of four and of two registers."""
    kind = f"#nvvm.mma_type<{'bf16' if isinstance(element, ir.BF16Type) else 'f16'}>"
    attributes = {
        "layoutA": "#nvvm.mma_layout<row>",
        "layoutB": "#nvvm.mma_layout<col>",
        "multiplicandAPtxType": kind,
        "multiplicandBPtxType": kind,
        "shape": f"#nvvm.shape<m = {M}, n = {N}, k = {K}>",
        "operandSegmentSizes": f"array<i32: {len(a)}, {len(b)}, {len(sums)}>",
    }
    whole_type = ir.Type.parse("!llvm.struct<(f32, f32, f32, f32)>")
    return _parts(build.made("nvvm.mma.sync", whole_type, *a, *b, *sums, **attributes), ir.F32Type.get())


def _parts(whole: ir.Value, kind: ir.Type) -> list[ir.Value]:
    return [llvm.extractvalue(kind, whole, [k]) for k in range(4)]
