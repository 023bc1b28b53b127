"""Small IR builders for the lowering: index arithmetic that folds, slices with mixed sizes.

`Mixed` is a Python int or an SSA value of type index; ints fold, so static sizes stay static.
Everything is created at the current insertion point and location.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any

from ragged_dialect._mlir import DYNAMIC, arith, ir, scf, tensor
from ragged_dialect.checks import HIGHEST
from ragged_dialect.types import dense_type, vector_type

Mixed = Any

_SLT, _ULT = 2, 6


def i64() -> Any:
    """The type of vector elements."""
    return ir.IntegerType.get_signless(64)


def index_type() -> Any:
    """The index type."""
    return ir.IndexType.get()


def value(x: Mixed) -> Any:
    """An SSA value of type index."""
    return arith.constant(index_type(), x) if isinstance(x, int) else x


def constant(type_: Any, number: float | int) -> Any:
    """A scalar constant."""
    if isinstance(type_, (ir.IntegerType, ir.IndexType)):
        return arith.constant(type_, int(number))
    return arith.ConstantOp(type_, ir.FloatAttr.get(type_, float(number))).result


def add(a: Mixed, b: Mixed) -> Mixed:
    """a + b."""
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    if isinstance(a, int) and a == 0:
        return b
    if isinstance(b, int) and b == 0:
        return a
    return arith.addi(value(a), value(b))


def add_unsigned(a: Any, b: Any) -> Any:
    """a + b of unsigned indices, 2**64 - 1 where that is too large; in any grouping the same."""
    total = arith.addi(a, b)
    return arith.select(arith.cmpi(_ULT, total, a), value(-1), total)


def capped(x: Any) -> Any:
    """An unsigned index, 2**63 - 1 where a signed one does not hold it."""
    return arith.select(arith.cmpi(_SLT, x, value(0)), value(HIGHEST), x)


def sub(a: Mixed, b: Mixed) -> Mixed:
    """a - b."""
    if isinstance(a, int) and isinstance(b, int):
        return a - b
    if isinstance(b, int) and b == 0:
        return a
    return 0 if a is b else arith.subi(value(a), value(b))


def mul(a: Mixed, b: Mixed) -> Mixed:
    """a * b."""
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    for x, y in ((a, b), (b, a)):
        if isinstance(x, int) and x == 1:
            return y
        if isinstance(x, int) and x == 0:
            return 0
    return arith.muli(value(a), value(b))


def product(factors: Iterable[Mixed]) -> Mixed:
    """The product of some factors, 1 of none."""
    return reduce(mul, factors, 1)


def minimum(a: Mixed, b: Mixed) -> Mixed:
    """The smaller of two indices."""
    if isinstance(a, int) and isinstance(b, int):
        return min(a, b)
    return arith.minsi(value(a), value(b))


def maximum(a: Mixed, b: Mixed) -> Mixed:
    """The larger of two indices."""
    if isinstance(a, int) and isinstance(b, int):
        return max(a, b)
    return arith.maxsi(value(a), value(b))


def ceildiv(a: Mixed, b: int) -> Mixed:
    """ceil(a / b) for a >= 0 and a static b >= 1."""
    if b == 1:
        return a
    if isinstance(a, int):
        return -(-a // b)
    return arith.divui(arith.addi(a, value(b - 1)), value(b))


def divide(a: Mixed, b: Mixed) -> Mixed:
    """a / b where it divides; b above 0."""
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    return a if isinstance(b, int) and b == 1 else arith.divui(value(a), value(b))


def to_index(x: Any) -> Any:
    """An integer of any width as index."""
    return x if isinstance(x.type, ir.IndexType) else arith.index_cast(index_type(), x)


def to_i64(x: Mixed) -> Any:
    """An index as i64."""
    return arith.index_cast(i64(), value(x))


def dim(x: Any, axis: int) -> Mixed:
    """Extent of a dense tensor along an axis."""
    size = x.type.shape[axis]
    return tensor.dim(x, value(axis)) if size == DYNAMIC else size


def load(vector: Any, at: Mixed) -> Any:
    """Element of an index vector, as index."""
    return to_index(tensor.extract(vector, [value(at)]))


def empty(sizes: Sequence[Mixed], element: Any) -> Any:
    """An uninitialised dense tensor."""
    return tensor.empty(list(sizes), element)


def static(sizes: Sequence[Mixed]) -> tuple[int | None, ...]:
    """Static shape of mixed sizes."""
    return tuple(s if isinstance(s, int) else None for s in sizes)


def _split(items: Sequence[Mixed]) -> tuple[list[Any], Any]:
    dynamic = [x for x in items if not isinstance(x, int)]
    return dynamic, ir.DenseI64ArrayAttr.get([x if isinstance(x, int) else DYNAMIC for x in items])


def slice_operands(offsets: Sequence[Mixed], sizes: Sequence[Mixed]) -> tuple[list[Any], dict[str, Any], list[int]]:
    """Operands of a slice with unit strides, its attributes, and the sizes of its groups of operands."""
    dyn_offsets, static_offsets = _split(offsets)
    dyn_sizes, static_sizes = _split(sizes)
    attributes = {
        "static_offsets": static_offsets,
        "static_sizes": static_sizes,
        "static_strides": ir.DenseI64ArrayAttr.get([1] * len(sizes)),
    }
    return [*dyn_offsets, *dyn_sizes], attributes, [len(dyn_offsets), len(dyn_sizes), 0]


def extract_slice(x: Any, offsets: Sequence[Mixed], sizes: Sequence[Mixed], kept: Sequence[bool]) -> Any:
    """`tensor.extract_slice` with unit strides; axes that are not kept have size 1 and are dropped."""
    operands, attributes, groups = slice_operands(offsets, sizes)
    shape = tuple(s for s, keep in zip(static(sizes), kept, strict=True) if keep)
    if not operands and list(attributes["static_sizes"]) == list(x.type.shape) and all(kept):
        return x
    attributes["operandSegmentSizes"] = ir.DenseI32ArrayAttr.get([1, *groups])
    result = dense_type(shape, x.type.element_type)
    return ir.Operation.create(
        "tensor.extract_slice", results=[result], operands=[x, *operands], attributes=attributes
    ).result


def insert_slice(
    source: Any, into: Any, offsets: Sequence[Mixed], sizes: Sequence[Mixed], parallel: bool = False
) -> Any:
    """`tensor.insert_slice` with unit strides, or the parallel form in a forall's terminator."""
    operands, attributes, groups = slice_operands(offsets, sizes)
    attributes["operandSegmentSizes"] = ir.DenseI32ArrayAttr.get([1, 1, *groups])
    name = "tensor.parallel_insert_slice" if parallel else "tensor.insert_slice"
    op = ir.Operation.create(
        name, results=[] if parallel else [into.type], operands=[source, into, *operands], attributes=attributes
    )
    return None if parallel else op.result


FOLD = "ragged.fold"
"""Attribute of an `scf.for` that may run on many threads: `search` (its one carried index becomes the
first i that the body picks, -1 for none), `addi`, `add_unsigned` or `maxsi` (its carried index is folded so),
`scan` (its carried sum is stored at every step)."""


FEW = "ragged.few"
"""Attribute beside FOLD: many threads have few iterations each, not worth having several of in flight."""


def for_loop(
    count: Mixed,
    inits: Sequence[Any],
    body: Callable[[Any, list[Any]], Sequence[Any]],
    fold: str | None = None,
    few: bool = False,
) -> list[Any]:
    """`scf.for` from 0 to count; `body(i, carried)` returns the next carried values. `fold` says
    what the loop computes, see FOLD; `few` see FEW."""
    loop = scf.ForOp(value(0), value(count), value(1), list(inits))
    if fold is not None:
        loop.operation.attributes[FOLD] = ir.StringAttr.get(fold)
    if few:
        loop.operation.attributes[FEW] = ir.UnitAttr.get()
    with ir.InsertionPoint(loop.body):
        scf.yield_(list(body(loop.induction_variable, list(loop.inner_iter_args))))
    return list(loop.results)


def strided(
    low: Mixed, step: int, high: Mixed, inits: Sequence[Any], body: Callable[[Any, list[Any]], Sequence[Any]]
) -> list[Any]:
    """`scf.for` over low, low + step, …, as `for_loop`."""
    loop = scf.ForOp(value(low), value(high), value(step), list(inits))
    with ir.InsertionPoint(loop.body):
        scf.yield_(list(body(loop.induction_variable, list(loop.inner_iter_args))))
    return list(loop.results)


def repeat(
    state: Sequence[Any], condition: Callable[[list[Any]], Any], body: Callable[[list[Any]], Sequence[Any]]
) -> list[Any]:
    """`scf.while`: the state after the body has run as long as the condition holds."""
    types = [x.type for x in state]
    loop = scf.WhileOp(types, list(state))
    before = loop.operation.regions[0].blocks.append(*types)
    after = loop.operation.regions[1].blocks.append(*types)
    with ir.InsertionPoint(before):
        scf.ConditionOp(condition(list(before.arguments)), list(before.arguments))
    with ir.InsertionPoint(after):
        scf.yield_(list(body(list(after.arguments))))
    return list(loop.results)


def choose(
    condition: Any, then: Callable[[], Sequence[Any]], otherwise: Callable[[], Sequence[Any]], types: Sequence[Any]
) -> list[Any]:
    """`scf.if`: the values of one of two bodies."""
    choice = scf.IfOp(condition, list(types), has_else=True)
    with ir.InsertionPoint(choice.then_block):
        scf.yield_(list(then()))
    with ir.InsertionPoint(choice.else_block):
        scf.yield_(list(otherwise()))
    return list(choice.results)


def cast(x: Any, type_: Any) -> Any:
    """`tensor.cast` where the types differ."""
    return x if x.type == type_ else tensor.cast(type_, x)


def as_vector(x: Any) -> Any:
    """An index vector of any integer type and static size as `tensor<?xi64>`."""
    element = x.type.element_type
    if element != i64():
        rank = len(x.type.shape)
        widened = dense_type(tuple(None if s == DYNAMIC else s for s in x.type.shape), i64())
        x = (arith.index_cast if isinstance(element, ir.IndexType) else arith.extsi)(widened, x)
        if rank != 1:
            return x
    return cast(x, vector_type()) if len(x.type.shape) == 1 else x


def _named(name: str, source: Any, target: Any) -> Any:
    """A named linalg op of one input and one out, whose body yields the input."""
    element = target.type.element_type
    op = ir.Operation.create(
        name,
        results=[target.type] if isinstance(target.type, ir.RankedTensorType) else [],
        operands=[source, target],
        attributes={"operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 1])},
        regions=1,
    )
    block = op.regions[0].blocks.append(element, element)
    with ir.InsertionPoint(block):
        ir.Operation.create("linalg.yield", operands=[block.arguments[0]])
    return op.result if len(op.results) else None


def fill(scalar: Any, target: Any) -> Any:
    """`linalg.fill` of a tensor or buffer; the filled tensor."""
    return _named("linalg.fill", scalar, target)


def copy(source: Any, target: Any) -> Any:
    """`linalg.copy` into a tensor or buffer; the tensor copied to."""
    return _named("linalg.copy", source, target)


def copy_attributes(op: Any) -> dict[str, Any]:
    """Attributes of an op as a dict."""
    return {
        a if isinstance(a, str) else a.name: op.attributes[a] if isinstance(a, str) else a.attr for a in op.attributes
    }
