"""Parts and facts of a ragged value, read off the op that made it."""

from __future__ import annotations

from itertools import pairwise

from ragged_dialect import builders
from ragged_dialect._mlir import arith, ir, tensor
from ragged_dialect.ir import shapes
from ragged_dialect.layout import Layout
from ragged_dialect.merging import merge_rule
from ragged_dialect.passes.analysis.structure.roots import extent_root, maker_of, root_of, vector_of
from ragged_dialect.passes.patterns.matching import defining, dim_of, same_meaning, shape
from ragged_dialect.passes.patterns.rewriting import Pattern, Rewriter
from ragged_dialect.tensor_rules import is_said_to_user
from ragged_dialect.traits import int_attr
from ragged_dialect.types import is_ragged

_SAME_STORAGE_MERGES = frozenset({"batch", "components", "rows", "levels", "scale", "untile", "tiles"})


def vector_of_maker(op: ir.Operation, rewriter: Rewriter) -> bool:
    """offsets, starts, lengths of an assemble or partition -> the vector they were made from."""
    x, level = op.operands[0], int_attr(op, "level")
    kind = op.name.removeprefix("ragged.")
    layout = shape(x).layout
    if kind == "lengths" and "stored" not in op.attributes and not _logical_is_stored(layout, level):
        return False
    if kind == "starts" and layout.letter(level) == "r":
        return False
    vector = vector_of(x, kind, level, rewriter)
    if vector is None:
        return False
    with rewriter.before(op):
        return rewriter.replace(op, shapes.as_vector(vector))


def _logical_is_stored(layout: Layout, level: int) -> bool:
    return layout.letter(level) != "t" and layout.stores_lengths(level)


def lengths_not_stored(op: ir.Operation, rewriter: Rewriter) -> bool:
    """lengths {stored} -> lengths, where the two are the same."""
    x, level = op.operands[0], int_attr(op, "level")
    if "stored" not in op.attributes or not shape(x).layout.stores_lengths(level):
        return False
    with rewriter.before(op):
        return rewriter.replace(op, builders.lengths(x, level))


def access_of_root(op: ir.Operation, rewriter: Rewriter) -> bool:
    """Lengths and what follows from them are read from the value the structure comes from."""
    x = op.operands[0]
    root = root_of(x, rewriter)
    if root == x or is_said_to_user(op):
        return False
    with rewriter.before(op):
        attributes = {"level": int_attr(op, "level"), "stored": "stored" in op.attributes}
        made = builders.create(op.name, [op.results[0].type], [root], attributes)
        return rewriter.replace(op, made.result)


def values_of_view(op: ir.Operation, rewriter: Rewriter) -> bool:
    """values of an assemble or of a view -> the values it was made from."""
    made = defining(op.operands[0])
    if made is None:
        return False
    if made.name == "ragged.assemble":
        return rewriter.replace(op, made.operands[0])
    if not _keeps_storage(made):
        return False
    x = made.operands[0]
    if not is_ragged(x.type):
        return same_meaning(shape(x), shape(op.results[0])) and rewriter.replace(op, x)
    with rewriter.before(op):
        return rewriter.replace(op, builders.values(x))


def _keeps_storage(made: ir.Operation) -> bool:
    """Whether a view has the very storage of its operand: no axes were joined."""
    if made.name in ("ragged.split", "ragged.assume"):
        return True
    if made.name == "ragged.partition":
        return shape(made.operands[0]).layout.storage_rank == shape(made.results[0]).layout.storage_rank
    if made.name != "ragged.merge":
        return False
    return merge_rule(shape(made.operands[0]), dim_of(made)).name in _SAME_STORAGE_MERGES


def total_of_partition(op: ir.Operation, rewriter: Rewriter) -> bool:
    """total of the level a partition of a plain dim made -> the extent of that dim."""
    x, level = op.operands[0], int_attr(op, "level")
    made = maker_of(x, level, rewriter)
    if made is None or made[0].name != "ragged.partition" or not _logical_is_stored(shape(x).layout, level):
        return False
    values, dim = made[0].operands[0], dim_of(made[0])
    root = extent_root(values, dim) if shape(values).layout.is_plain(dim) else None
    if root is None:
        return False
    with rewriter.before(op):
        index = arith.ConstantOp(ir.IndexType.get(), root[1]).result
        return rewriter.replace(op, tensor.DimOp(root[0], index).result)


def fact_of_constant(op: ir.Operation, rewriter: Rewriter) -> bool:
    """total and max_length of a level with constant offsets or lengths -> a constant."""
    x, level = op.operands[0], int_attr(op, "level")
    layout = shape(x).layout
    if not _logical_is_stored(layout, level):
        return False
    lengths = constant_lengths(x, level, rewriter)
    if lengths is None or is_said_to_user(op):
        return False
    value = sum(lengths) if op.name == "ragged.total" else max(lengths, default=0)
    with rewriter.before(op):
        return rewriter.replace(op, arith.ConstantOp(ir.IndexType.get(), value).result)


def constant_lengths(x: ir.Value, level: int, rewriter: Rewriter) -> list[int] | None:
    """The element lengths of a level made from a constant vector, None for any other."""
    offsets = _constant_vector(vector_of(x, "offsets", level, rewriter))
    if offsets is not None:
        return [b - a for a, b in pairwise(offsets)]
    return _constant_vector(vector_of(x, "lengths", level, rewriter))


def _constant_vector(vector: ir.Value | None) -> list[int] | None:
    made = None if vector is None else defining(vector)
    if made is None or made.name != "arith.constant":
        return None
    attr = made.attributes["value"]
    return [int(v) for v in attr] if isinstance(attr, ir.DenseIntElementsAttr) else None


_VECTORS = (vector_of_maker, access_of_root)
_FACTS = (fact_of_constant, total_of_partition, access_of_root)

PATTERNS: dict[str, tuple[Pattern, ...]] = {
    "ragged.offsets": _VECTORS,
    "ragged.starts": _VECTORS,
    "ragged.lengths": (lengths_not_stored, *_VECTORS),
    "ragged.row_ids": (access_of_root,),
    "ragged.total": _FACTS,
    "ragged.max_length": (fact_of_constant, access_of_root),
    "ragged.values": (values_of_view,),
}
