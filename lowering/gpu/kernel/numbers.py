"""What kernels compute with: numbers of at most 64 bits, and which indices need more than 32 of these."""

from __future__ import annotations

from collections.abc import Iterable

from ragged_dialect._mlir import ir
from ragged_dialect.generic import input_count
from ragged_dialect.ir.match import bit_width, constant_int, is_number, made_by
from ragged_dialect.ir.walk import captures, ops_in
from ragged_dialect.lowering.attention.call import AttentionCall
from ragged_dialect.passes.base import PassFailure
from ragged_dialect.runtime.narrow import LIMIT

_WIDEST = 64
"""Bits of integers: of wider ones LLVM's code for PTX ends the process, or does not end."""

_PRODUCTS = ("arith.muli", "arith.shli")
_CASTS = {"arith.index_cast": 32, "arith.index_castui": 31}
"""Ops that make indices of integers, with the bits of those that an index of 32 bits holds."""

_ADDRESSED = {"memref.load": 1, "tensor.extract": 1, "memref.store": 2}
"""Ops that have indices, with the number of the first one."""


def has_wide_numbers(forall: ir.Operation) -> bool:
    """Whether constants are too large, or bodies of linalg ops make indices of elements of more than 32 bits, or by
    products, and do anything with these but read what is there: addresses are checked, or of a buffer. So are bounds of
    loops. What index vectors have may be places in a larger buffer, which the kernel has not: a number made of that by
    way of indices needs all bits."""
    constants = [made for x in captures([forall]) if (made := made_by(x, "arith.constant")) is not None]
    ops = ops_in(forall)
    return any(_is_large(op) or _computes(op) for op in (*constants, *ops)) or _makes_numbers(ops)


def _makes_numbers(ops: Iterable[ir.Operation]) -> bool:
    """Whether ops make numbers of indices that are, or are computed of, what they load."""
    indices = set[ir.Value]()
    for op in ops:
        if not op.name.startswith("arith."):
            continue
        if op.name in _CASTS and (loaded := made_by(op.operands[0], "memref.load")) is not None:
            if isinstance(op.results[0].type, ir.IndexType) and bit_width(loaded.results[0].type) > _CASTS[op.name]:
                indices.add(op.results[0])
        elif any(x in indices for x in op.operands):
            if op.name in _CASTS:
                return True
            indices.update(x for x in op.results if isinstance(x.type, ir.IndexType))
    return False


def _is_large(op: ir.Operation) -> bool:
    if op.name != "arith.constant" or not isinstance(op.results[0].type, ir.IndexType):
        return False
    return not -LIMIT < (constant_int(op.results[0]) or 0) < LIMIT


def _computes(op: ir.Operation) -> bool:
    """Whether the body of a linalg op uses elements as indices, and these as numbers."""
    if not op.name.startswith("linalg.") or len(op.regions) != 1:
        return False
    block = op.regions[0].blocks[0]
    elements, indices = set[ir.Value](list(block.arguments)[: input_count(op)]), set[ir.Value]()
    for inner in (found for outer in block.operations for found in ops_in(outer.operation)):
        first = _ADDRESSED.get(inner.name, len(inner.operands))
        used = list(inner.operands)[:first]
        if any(x in indices for x in used):
            if not all(isinstance(r.type, ir.IndexType) for r in inner.results) or not inner.results:
                return True
            indices.update(inner.results)
        elif inner.name in _PRODUCTS and isinstance(inner.results[0].type, ir.IndexType):
            indices.add(inner.results[0])
        elif inner.name in _CASTS and used[0] in elements:
            if isinstance(inner.results[0].type, ir.IndexType) and bit_width(used[0].type) > _CASTS[inner.name]:
                indices.add(inner.results[0])
        elif inner.name.startswith("arith.") and any(x in elements for x in used):
            elements.update(inner.results)
    return False


def require_numbers(forall: ir.Operation) -> None:
    """PassFailure where a kernel would have other elements than numbers of at most 64 bits, in memory as all is, or
    calls."""
    for op in ops_in(forall):
        if op.name == "func.call" and AttentionCall.of(op) is None:
            raise PassFailure(op, f"expected no calls in kernels, got one of {op.attributes['callee']}")
        for type_ in (value.type for value in (*op.operands, *op.results)):
            element = type_.element_type if isinstance(type_, ir.MemRefType) else type_
            if not is_number(element) or (isinstance(element, ir.IntegerType) and element.width > _WIDEST):
                raise PassFailure(op, f"expected numbers of at most {_WIDEST} bits in kernels, got {type_}")
            if isinstance(type_, ir.MemRefType) and type_.memory_space is not None:
                raise PassFailure(op, f"expected buffers without a memory space, got {type_}")
