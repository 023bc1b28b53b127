"""What components have as sets: `unique` (the elements without what is there again), `contains`, `union`,
`intersection`, `difference`."""

from __future__ import annotations

from ragged_dialect import builders
from ragged_dialect._mlir import arith, ir, tensor
from ragged_dialect.arrays.index.dims import dim_of, insert_ones
from ragged_dialect.arrays.index.gather import boolean_mask
from ragged_dialect.arrays.ops.elementwise import UFUNCS
from ragged_dialect.arrays.ops.join import concat
from ragged_dialect.arrays.ops.reduce import source
from ragged_dialect.arrays.ops.sorting.search import isin, searchsorted
from ragged_dialect.arrays.ops.sorting.sort import ordered, sorting, taken
from ragged_dialect.arrays.ops.statistics import REDUCTIONS
from ragged_dialect.arrays.tracing.axes import PlainAxis
from ragged_dialect.arrays.tracing.elements import BOOL, INT64, compare, kind
from ragged_dialect.arrays.tracing.loops import mapped
from ragged_dialect.arrays.tracing.operation import OPERATIONS, operation
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.arrays.tracing.wrap import contiguous
from ragged_dialect.errors import LayoutError
from ragged_dialect.generic import loop_index
from ragged_dialect.ir import build, shapes, vectors
from ragged_dialect.ir.build import Mixed
from ragged_dialect.layout import RAGGED

_FEW = 32
"""So many numbers for each component are compared with all of its elements, which no sort puts in order: of 1,000
int64 1 takes a twelfth of the time on a Zen 4 core, 32 a quarter, and of 5 a third."""


@operation("unique")
def unique(
    x: Tensor,
    *,
    axis: int = -1,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
) -> Tensor | tuple[Tensor, ...]:
    """The distinct elements of every component of lists of numbers, in ascending order, as `np.unique` of each; then,
    as asked for, each int64: the index in the component where each is first, the index among the distinct ones of each
    element of `x`, how often each is there. All nan are one element. The values have a gradient, which goes to the
    first of equal ones. LayoutError for features, which may have different numbers of them.

    >>> words = rg.ragged([[7, 3, 7], [], [5]])
    >>> rg.unique(words).tolist()
    [[3, 7], [], [5]]
    >>> rg.unique(words, return_counts=True)[1].tolist()
    [[1, 2], [], [1]]
    >>> rg.unique(words, return_inverse=True)[1].tolist()
    [[1, 0, 1], [], [0]]
    """
    given, dim = lists(x, axis)
    order = sorting(given, dim, descending=False) if return_index else None
    x = ordered(given, dim, descending=False) if order is None else taken(given, dim, order)
    first = _firsts(x, dim)
    found = boolean_mask(x, first)
    made = [found]
    if order is not None:
        made.append(boolean_mask(order, first))
    if return_inverse:
        made.append(searchsorted(found, given))
    if return_counts:
        made.append(_counts(found, builders.compress(first.storage), shapes.dim(x.storage, 0)))
    return tuple(made) if len(made) > 1 else found


@operation("contains")
def contains(x: Tensor, elements: Tensor) -> Tensor:
    """Which of `elements`, a number for each component, [B], or any [B, ...], are among the elements of their component
    of lists of numbers `x`, or, a number or a list for each innermost list, among those of lists of lists: booleans.
    nan is no other nan. LayoutError for others.

    >>> rg.contains(rg.ragged([[1, 2], [], [5]]), rg.ragged([[2, 3], [1], [5]])).tolist()
    [[True, False], [False], [True]]
    """
    (x, dim), elements = lists(x, -1), contiguous(elements)
    are_few = str(elements.layout) == "d|d" and str(x.layout) == "dr" and _is_few(elements.extent(1))
    if not are_few and str(x.layout) != f"{elements.layout}r":
        return isin(elements, ordered(x, dim, descending=False))
    own = insert_ones(x, [2]) if are_few else x
    return REDUCTIONS["any"](UFUNCS["equal"](own, insert_ones(elements.strong, [dim])), axis=dim)


def _is_few(extent: Mixed) -> bool:
    return isinstance(extent, int) and extent <= _FEW


@operation("union")
def union(a: Tensor, b: Tensor) -> Tensor:
    """The distinct elements of both lists of each component, in ascending order, as `np.union1d` of each.

    >>> rg.union(rg.ragged([[3, 1], [2]]), rg.ragged([[3], []])).tolist()
    [[1, 3], [2]]
    """
    return unique(concat([a, b], axis=-1))


@operation("intersection")
def intersection(a: Tensor, b: Tensor) -> Tensor:
    """The distinct elements of the lists of `a` that are in those of `b` too, in ascending order, as `np.intersect1d`
    of each component.

    >>> rg.intersection(rg.ragged([[3, 1], [2]]), rg.ragged([[3], []])).tolist()
    [[3], []]
    """
    found = unique(a)
    return boolean_mask(found, contains(b, found))


@operation("difference")
def difference(a: Tensor, b: Tensor) -> Tensor:
    """The distinct elements of the lists of `a` that are not in those of `b`, in ascending order, as `np.setdiff1d` of
    each component.

    >>> rg.difference(rg.ragged([[3, 1], [2]]), rg.ragged([[3], []])).tolist()
    [[1], [2]]
    """
    found = unique(a)
    return boolean_mask(found, UFUNCS["logical_not"](contains(b, found)))


def lists(x: Tensor, axis: int) -> tuple[Tensor, int]:
    """Lists of numbers, and their last dim."""
    x = source(x)
    dim = dim_of(x, axis)
    if dim != x.ndim - 1 or len(x.axes) > 1 or x.layout.letter(dim) not in RAGGED:
        raise LayoutError(
            f'{x.trace.op}: expected the last dim of lists of numbers, got dim {dim} of layout "{x.layout}"'
        )
    return x, dim


def _firsts(x: Tensor, dim: int) -> Tensor:
    """Of elements in order, which are not what is before them in their component."""
    flat, storage = Tensor(x.trace, x.storage, x.dtype, (PlainAxis(None),)), x.storage

    def differs(given: list[ir.Value]) -> ir.Value:
        here = given[0]
        before = tensor.extract(storage, [build.value(build.maximum(build.sub(loop_index(0), 1), 0))])
        found = compare("ne", here, before)
        if kind(x.dtype) == "f":
            found = arith.andi(found, arith.ori(compare("eq", here, here), compare("eq", before, before)))
        return found

    other = x.trace.assembled(mapped(flat, [], BOOL, differs).storage, x.axes, BOOL)
    begins = UFUNCS["equal"](OPERATIONS["local_index"](x, axis=dim), 0)
    return UFUNCS["logical_or"](begins, other)


def _counts(found: Tensor, at: ir.Value, size: Mixed) -> Tensor:
    """How many elements each distinct one is, of where it begins and how many there are."""
    count = shapes.dim(at, 0)

    def run(k: ir.Value) -> ir.Value:
        following = build.value(build.add(k, 1))
        start = shapes.load(at, build.minimum(following, build.sub(count, 1)))
        end = arith.select(build.equal(following, count), size, start)
        return build.to_i64(build.sub(end, shapes.load(at, k)))

    return found.trace.assembled(vectors.generate(count, run), found.axes, INT64)
