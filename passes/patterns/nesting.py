"""Chains of partitions and merges: what undoes each other goes, what commutes gets one order."""

from __future__ import annotations

from ragged_dialect import builders
from ragged_dialect._mlir import ir
from ragged_dialect.merging import merge_rule
from ragged_dialect.passes.analysis.structure.roots import is_vector_of
from ragged_dialect.passes.patterns.matching import dim_of, producer, same_meaning, shape
from ragged_dialect.passes.patterns.rewriting import Pattern, Rewriter


def partition_of_merge(op: ir.Operation, rewriter: Rewriter) -> bool:
    """partition{d}(merge{d}(y), v) -> y, where v provably holds the offsets y has there."""
    merged = producer(op.operands[0], "ragged.merge")
    dim = dim_of(op)
    if merged is None or dim_of(merged) != dim:
        return False
    y = merged.operands[0]
    if merge_rule(shape(y), dim).name != "components" or not same_meaning(shape(y), shape(op.results[0])):
        return False
    kind = "lengths" if "lengths" in op.attributes else "offsets"
    if shape(y).layout.is_split_outer(dim + 1) or not is_vector_of(op.operands[1], y, kind, dim + 1, rewriter):
        return False
    return rewriter.replace(op, y)


def partition_of_values(op: ir.Operation, rewriter: Rewriter) -> bool:
    """partition{d}(values(y), v) -> y, where d is the only axis of y with levels and v holds its offsets."""
    access = producer(op.operands[0], "ragged.values")
    dim = dim_of(op)
    if access is None or "lengths" in op.attributes:
        return False
    y = access.operands[0]
    layout = shape(y).layout
    if not same_meaning(shape(y), shape(op.results[0])) or layout.axes[layout.locate(dim)[0]] != "dr":
        return False
    if sum(axis != "d" for axis in layout.axes) != 1:
        return False
    if not is_vector_of(op.operands[1], y, "offsets", dim + 1, rewriter):
        return False
    return rewriter.replace(op, y)


def assemble_to_partitions(op: ir.Operation, rewriter: Rewriter) -> bool:
    """assemble(values, offsets…) of contiguous levels -> partitions, innermost level first."""
    result = shape(op.results[0])
    layout = result.layout
    if any(axis != "d" and axis.strip("r") != "d" for axis in layout.axes):
        return False
    parts = list(op.operands)
    value, vectors = parts[0], parts[1:]
    if len(parts) != len(result.parts()):
        return False
    with rewriter.before(op):
        for axis, letters in enumerate(layout.axes):
            levels = len(letters) - 1
            for vector in reversed(vectors[:levels]):
                value = builders.partition(value, vector, layout.dims(axis)[0])
            vectors = vectors[levels:]
        return rewriter.replace(op, value)


def from_padded_of_to_padded(op: ir.Operation, rewriter: Rewriter) -> bool:
    """from_padded(to_padded(x), offsets of x) -> x."""
    padded = producer(op.operands[0], "ragged.to_padded")
    if padded is None or "truncate" in padded.attributes:
        return False
    x = padded.operands[0]
    if not same_meaning(shape(x), shape(op.results[0])):
        return False
    levels = [dim for kind, dim in shape(x).layout.vectors() if kind == "offsets"]
    vectors = list(op.operands)[1:]
    if not all(is_vector_of(v, x, "offsets", d, rewriter) for v, d in zip(vectors, levels, strict=True)):
        return False
    return rewriter.replace(op, x)


def assemble_of_parts(op: ir.Operation, rewriter: Rewriter) -> bool:
    """assemble(values(x), vectors of x) -> x."""
    access = producer(op.operands[0], "ragged.values")
    if access is None:
        return False
    x = access.operands[0]
    parts = shape(op.results[0]).parts()
    if not same_meaning(shape(x), shape(op.results[0])) or any(part.kind == "extent" for part in parts):
        return False
    if shape(x).layout.has_tiles or shape(x).parts() != parts:
        return False
    vectors = zip(parts[1:], list(op.operands)[1:], strict=True)
    if not all(is_vector_of(v, x, part.kind, part.dim, rewriter) for part, v in vectors):
        return False
    return rewriter.replace(op, x)


PATTERNS: dict[str, tuple[Pattern, ...]] = {
    "ragged.partition": (partition_of_merge, partition_of_values),
    "ragged.assemble": (assemble_of_parts, assemble_to_partitions),
    "ragged.from_padded": (from_padded_of_to_padded,),
}
