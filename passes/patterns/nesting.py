"""Chains of partitions, merges and splits: what undoes each other goes, what commutes gets one order."""

from __future__ import annotations

from ragged_dialect import builders
from ragged_dialect._mlir import ir
from ragged_dialect.checks import CHECKED
from ragged_dialect.ir import build
from ragged_dialect.ir.match import definer
from ragged_dialect.merging import merge_rule
from ragged_dialect.ops import RESHAPES
from ragged_dialect.ops.structure import partition_count
from ragged_dialect.passes.analysis.iteration_domains import Cutter, Step
from ragged_dialect.passes.analysis.normal_form import normal_form
from ragged_dialect.passes.analysis.structure.roots import is_vector_of
from ragged_dialect.passes.patterns.matching import defining, dim_of, factor_of, producer, same_meaning, shape, source
from ragged_dialect.passes.patterns.rewriting import Pattern, Rewriter
from ragged_dialect.shape import Part

_LONGEST = 64
"""Ops of a chain that is put in order: the cost grows with the square, and no program that we know has so many."""


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


def merge_of_assemble(op: ir.Operation, rewriter: Rewriter) -> bool:
    """merge{d}(assemble(values, vectors, extents)) -> assemble, where d and d + 1 are batch dims and all that the op
    asks for is known to hold: what is asked for of the merged dim says less."""
    made, dim = producer(op.operands[0], "ragged.assemble"), dim_of(op)
    if made is None or CHECKED not in made.attributes:
        return False
    old, new = shape(made.results[0]), shape(op.results[0])
    if merge_rule(old, dim).name != "batch" or new.layout.has_tiles:
        return False
    parts = dict(zip(old.parts(), made.operands, strict=True))
    operands: list[ir.Value] = []
    with rewriter.before(op):
        for kind, level in new.parts():
            if kind == "extent" and level == dim:
                both = [parts.get(Part(kind, d), old.shape[d]) for d in (dim, dim + 1)]
                operands.append(build.value(build.product(extent for extent in both if extent is not None)))
            else:
                operands.append(parts[Part(kind, level + (level > dim))])
        merged = builders.assemble(operands, new.layout, new.shape)
        definer(merged).attributes[CHECKED] = ir.UnitAttr.get()
        return rewriter.replace(op, merged)


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


def chain_in_order(op: ir.Operation, rewriter: Rewriter) -> bool:
    """A chain of partitions, merges and splits -> the chain for its iteration domains, which depends
    on nothing else (`iteration_domains`)."""
    ops = _chain(op)
    layout = rewriter.layout(op.operands[0])
    if len(ops) > _LONGEST or (len(ops) == 1 and (layout is None or not layout.has_tiles)):
        return False  # one op alone has another spelling only where it makes or merges a tile of extent 1
    vectors: list[ir.Value] = []
    steps = tuple(_step(link, vectors) for link in ops)
    root = source(ops[0].operands[0])
    normal = normal_form(shape(root), steps)
    if normal is None or normal.steps == steps or not same_meaning(normal.shape, shape(op.results[0])):
        return False
    return rewriter.replace(op, _made(root, normal.steps, vectors, op, rewriter))


def _chain(op: ir.Operation) -> list[ir.Operation]:
    """The ops of a chain, down to `op`."""
    ops: list[ir.Operation] = []
    above: ir.Operation | None = op
    while above is not None and above.name in RESHAPES and len(ops) <= _LONGEST:
        ops.append(above)
        above = defining(above.operands[0])
    return ops[::-1]


def _step(op: ir.Operation, vectors: list[ir.Value]) -> Step:
    """An op as a step; a vector goes by its place in `vectors`."""
    if op.name == "ragged.merge":
        return Step(dim_of(op), None)
    if op.name == "ragged.split":
        return Step(dim_of(op), factor_of(op))
    vector, lengths = source(op.operands[1]), "lengths" in op.attributes
    if vector not in vectors:
        vectors.append(vector)
    known = shape(vector)
    count = partition_count(known, lengths)
    return Step(dim_of(op), Cutter(vectors.index(vector), lengths, known.rank, count, known.shape[0]))


def _made(
    x: ir.Value, steps: tuple[Step, ...], vectors: list[ir.Value], op: ir.Operation, rewriter: Rewriter
) -> ir.Value:
    """A chain of ops from `x`, before `op`."""
    with rewriter.before(op):
        for dim, by in steps:
            if by is None:
                x = builders.merge(x, dim)
            elif isinstance(by, int):
                x = builders.split(x, dim, by)
            else:
                x = builders.partition(x, vectors[by.vector], dim, by.lengths)
    return x


PATTERNS: dict[str, tuple[Pattern, ...]] = {
    **{name: (chain_in_order,) for name in sorted(RESHAPES)},
    "ragged.merge": (merge_of_assemble, chain_in_order),
    "ragged.partition": (partition_of_merge, partition_of_values, chain_in_order),
    "ragged.assemble": (assemble_of_parts, assemble_to_partitions),
    "ragged.from_padded": (from_padded_of_to_padded,),
}
