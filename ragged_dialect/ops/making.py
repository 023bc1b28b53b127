"""Ops that make ragged tensors, and ops that convert to and from padded ones."""

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from ragged_dialect._mlir import ir
from ragged_dialect.checking.checker import Checker, Extent, Q
from ragged_dialect.checking.structures import check_from_padded
from ragged_dialect.errors import LayoutError
from ragged_dialect.ir.kinds import KINDS
from ragged_dialect.layout import RAGGED
from ragged_dialect.ops.base import (
    Divides,
    Index,
    IntegerAttr,
    MixedOp,
    Operand,
    Pure,
    RaggedOp,
    Result,
    Scalar,
    StringAttr,
    Tensor,
    unchecked,
)
from ragged_dialect.shape import RaggedShape
from ragged_dialect.sources import Source, default_sources, empty_layout, parent_dims
from ragged_dialect.traits import (
    check_elements,
    check_scalar,
    check_size,
    check_type,
    check_vector,
    has_unit,
    int_attr,
    offsets_size,
    string_attr,
    tensor_shape,
)
from ragged_dialect.types import compatible, is_tensor, shape_of, tensor_type

_Conform: TypeAlias = "tuple[int, ir.Value, ir.Value, list[tuple[int, int]]]"


class EmptyOp(MixedOp, name="empty", traits=[Pure]):
    """An uninitialised ragged tensor with the structure of others; the `outs` of linalg ops.

    Result dim j has level i of like k for `from[j] = [k, i]`, and is dense for -1 (static in the
    type, or the next `extent` operand). The levels above a ragged one may be those of another like, with
    which it conforms there. Without `from`: the letters of the first like, with any
    element type and dense extents.

    ```mlir
    %1 = ragged.empty %q, %k {from = [[0, 0], [0, 1], [1, 1]]}
         : (tensor<3x?x8xf32, #ragged.layout<"dr|d">>, tensor<3x?x8xf32, #ragged.layout<"dr|d">>)
         -> tensor<3x?x?xf32, #ragged.layout<"drr">>
    ```
    """

    is_mapped = False

    apart = "always"
    res: Result[Tensor]
    optional = ("from",)

    @property
    def likes(self) -> list[ir.Value]:
        """The operands whose structure is taken."""
        return [v for v in self.operation.operands if is_tensor(v.type)]

    @property
    def extents(self) -> list[ir.Value]:
        """The operands that give dynamic dense extents, in the order of the dims."""
        return [v for v in self.operation.operands if not is_tensor(v.type)]

    def sources(self) -> list[Source | None]:
        """Per result dim the (like, level) it comes from, None for a dense dim of its own."""
        likes = [tensor_shape(v) for v in self.likes]
        result = tensor_shape(self.operation.results[0])
        if "from" not in self.operation.attributes:
            return default_sources(likes, result)
        return _parse_from(self.operation.attributes["from"])

    @property
    def like(self) -> ir.Value | None:
        """The tensor whose levels the result has, one by one; None where they come from several or in another order."""
        found = self.sources()
        if len(self.likes) != 1 or any(s is not None and s != Source(0, dim) for dim, s in enumerate(found)):
            return None
        return self.likes[0]

    def verify_invariants(self) -> None:
        values = list(self.operation.operands)
        split = len(self.likes)
        if split == 0:
            raise LayoutError("expected at least 1 tensor to take the structure from, got 0")
        if any(is_tensor(v.type) for v in values[split:]):
            raise LayoutError("expected tensors before extents, got a tensor after an extent")
        for value in values[split:]:
            check_scalar(value, "an extent")
        result = tensor_shape(self.operation.results[0])
        sources = self.sources()
        expected = empty_layout([tensor_shape(v) for v in self.likes], sources, result)
        if expected.layout != result.layout or not compatible(expected.shape, result.shape):
            wanted = tensor_type(expected, self.res.type.element_type)
            raise LayoutError(f"expected result type {wanted}, got {self.res.type}")
        count = sum(s is None and e is None for s, e in zip(sources, result.shape, strict=True))
        if count != len(self.extents):
            raise LayoutError(f"expected {count} extents for the dynamic dense dims, got {len(self.extents)}")
        list(self._foreign_parents())

    def checks(self, ask: Checker[Q]) -> None:
        likes, sources, result = self.likes, self.sources(), tensor_shape(self.res)
        given = iter(self.extents)
        sizes: list[Extent[Q]] = []
        for dim, source in enumerate(sources):
            static = result.shape[dim]
            if source is None:
                sizes.append(ask.number(next(given) if static is None else static))
                ask.valid("at_least", dim, sizes[-1], factor=0)
            elif static is not None and tensor_shape(likes[source.like]).layout.letter(source.level) == "d":
                ask.equal(dim, ask.extent(likes[source.like], source.level), static)
        for dim, a, b, pairs in self._foreign_parents():
            if result.layout.letter(dim) in RAGGED:
                ask.conform(a, b, pairs)
            else:
                ((expected, own),) = pairs
                ask.equal(dim, ask.extent(b, own), ask.extent(a, expected))
        axes = (axis for axis, letters in enumerate(result.layout.axes) if letters != "d")
        totals = [ask.sum(likes[s.like], s.level) for axis in axes if (s := _innermost(sources, result, axis))]
        if self.extents:
            ask.fits(0, [*sizes, *totals])

    def divisors(self, known: Divides) -> tuple[int, ...]:
        return tuple(1 if s is None else known.of(self.likes[s.like])[s.level] for s in self.sources())

    def _foreign_parents(self) -> Iterator[_Conform]:
        """The dims that come from another like than a level below them, with that like, the level's own like, and the
        dims of theirs that have to conform: two tensors and pairs in the order of `ragged.assert_conform`."""
        sources, result = self.sources(), tensor_shape(self.res)
        likes = self.likes
        shapes = [tensor_shape(like) for like in likes]
        for dim, source in enumerate(sources):
            if source is None or result.layout.letter(dim) not in RAGGED:
                continue
            own = parent_dims(shapes, sources, result, dim)
            for level, at in own.items():
                other = sources[at]
                if other is None or other == Source(source.like, level):
                    continue
                if result.layout.letter(at) not in RAGGED:
                    yield at, likes[other.like], likes[source.like], [(other.level, level)]
                    continue
                above = {d: k for k, d in parent_dims(shapes, sources, result, at).items()}
                below = {d: k for k, d in own.items() if k < level}
                pairs = [(k, below.get(d, -1)) for d, k in above.items()]
                if below.keys() <= above.keys():
                    yield at, likes[other.like], likes[source.like], [*pairs, (other.level, level)]
                elif above.keys() <= below.keys():
                    swapped = [(k, above.get(d, -1)) for d, k in below.items()]
                    yield at, likes[source.like], likes[other.like], [*swapped, (level, other.level)]
                else:
                    raise LayoutError(
                        f"expected dim {at}, which is level {other.level} of like {other.like}, below dims "
                        f"{sorted(below)} as level {level} of like {source.like} is, got it below {sorted(above)}"
                    )


def _innermost(sources: list[Source | None], result: RaggedShape, axis: int) -> Source | None:
    ragged = [d for d in result.layout.dims(axis) if result.layout.letter(d) in RAGGED]
    return sources[ragged[-1]] if ragged else None


def _parse_from(attr: ir.Attribute) -> list[Source | None]:
    if not isinstance(attr, ir.ArrayAttr):
        raise LayoutError(f"expected an array of [like, level] pairs and -1 for 'from', got {attr}")
    out: list[Source | None] = []
    for item in attr:
        if isinstance(item, ir.IntegerAttr) and item.value == -1:
            out.append(None)
        elif isinstance(item, ir.ArrayAttr) and len(item) == 2 and all(isinstance(i, ir.IntegerAttr) for i in item):
            out.append(Source(item[0].value, item[1].value))
        else:
            raise LayoutError(f"expected [like, level] or -1 in 'from', got {item}")
    return out


class ToPaddedOp(RaggedOp, name="to_padded", traits=[Pure]):
    """A dense tensor with every ragged dim padded to a maximum, one `index` per ragged dim, or to
    the longest length without them. Longer components are an error unless `truncate` is set.

    ```mlir
    %1 = ragged.to_padded %0, %zero, %max
         : (tensor<3x?x8xf32, #ragged.layout<"dr|d">>, f32, index) -> tensor<3x?x8xf32>
    ```
    """

    res: Result[Tensor]
    x: Operand[Tensor]
    pad: Operand[Scalar]
    maxima: Sequence[Operand[Index]]
    optional = ("truncate",)

    @staticmethod
    def infer(x: RaggedShape) -> RaggedShape:
        return x.padded()

    def check_operands(self) -> None:
        x, pad, maxima = self.operation.operands[0], self.operation.operands[1], list(self.operation.operands)[2:]
        shape = tensor_shape(x)
        has_unit(self, "truncate")
        if shape.layout.is_dense:
            raise LayoutError(f"expected a tensor with a layout, got {x.type}")
        if shape.layout.has_tiles:
            raise LayoutError(f'expected a layout without tiles, got "{shape.layout}" (merge it first)')
        if pad.type != x.type.element_type:
            raise LayoutError(f"expected a pad of type {x.type.element_type}, got {pad.type}")
        ragged = sum(c in RAGGED for c in shape.layout.letters)
        if len(maxima) not in (0, ragged):
            raise LayoutError(f"expected {ragged} maxima or none, got {len(maxima)}")
        if "truncate" in self.operation.attributes and not maxima:
            raise LayoutError(f"expected {ragged} maxima with 'truncate', got 0")

    def checks(self, ask: Checker[Q]) -> None:
        x, _, *maxima = self.operation.operands
        shape, result = tensor_shape(x), tensor_shape(self.res)
        levels = [d for d, letter in enumerate(shape.layout.letters) if letter in RAGGED]
        if not maxima:
            for level in levels:
                ask.equal(level, ask.longest(x, level), result.shape[level])
            return
        for level, size in zip(levels, maxima, strict=True):
            ask.valid("at_least", level, size, factor=0)
            ask.equal(level, size, result.shape[level])
            if not has_unit(self, "truncate"):
                ask.valid("covers", level, size, ask.lengths(x, level))
        ask.fits(levels[0], [*maxima, *(ask.extent(x, d) for d in range(shape.rank) if d not in levels)])


class FromPaddedOp(MixedOp, name="from_padded", traits=[Pure]):
    """A ragged tensor from a padded one and the offsets of every ragged level; copies.

    ```mlir
    %1 = ragged.from_padded %0, %offsets
         : (tensor<3x9x8xf32>, tensor<4xi64>) -> tensor<3x?x8xf32, #ragged.layout<"dr|d">>
    ```
    """

    res: Result[Tensor]

    def verify_invariants(self) -> None:
        if not self.operation.operands:
            raise LayoutError("expected a padded tensor and offsets, got no operand")
        dense, *vectors = self.operation.operands
        if not is_tensor(dense.type):
            raise LayoutError(f"expected a padded tensor, got {dense.type}")
        shape = tensor_shape(self.operation.results[0])
        if set(shape.layout.letters) - {"d", "r"} or shape.layout.is_dense:
            raise LayoutError(f"expected a result with a layout of 'd' and 'r', got {self.res.type}")
        levels = shape.layout.letters.count("r")
        if len(vectors) != levels:
            raise LayoutError(f"expected {levels} offsets, got {len(vectors)}")
        ragged = [dim for dim, letter in enumerate(shape.layout.letters) if letter == "r"]
        for value, dim in zip(vectors, ragged, strict=True):
            check_size(check_vector(value, "offsets"), offsets_size(shape.lead(dim)), f"offsets of dim {dim}")
        if dense.type.element_type != self.res.type.element_type:
            raise LayoutError(f"expected a result of {dense.type.element_type}, got {self.res.type.element_type}")
        padded = shape.padded()
        got = shape_of(dense.type)
        if not got.layout.is_dense or not compatible(got.shape, padded.shape):
            check_type(dense.type, padded, dense.type.element_type, "operand")

    def checks(self, ask: Checker[Q]) -> None:
        check_from_padded(ask, list(self.operation.operands), tensor_shape(self.res))


class ReduceAcrossOp(RaggedOp, name="reduce_across", traits=[Pure]):
    """Reduces over the components: element i of the result combines element i of every component
    that has one. `kind` is sum, prod, max or min (of booleans sum and max are or, prod and min and);
    rows that no component has hold its neutral element. `max` is the extent of the result and must
    reach the longest length.

    ```mlir
    %1 = ragged.reduce_across %0, %max {dim = 1, kind = "sum"}
         : (tensor<3x?x8xf32, #ragged.layout<"dr|d">>, index) -> tensor<?x8xf32>
    ```
    """

    res: Result[Tensor]
    x: Operand[Tensor]
    max: Operand[Scalar]
    dim: IntegerAttr
    kind: StringAttr
    reduces = True

    @staticmethod
    def infer(x: RaggedShape, *, dim: int) -> RaggedShape:
        return x.reduce_across(dim)

    def check_operands(self) -> None:
        check_scalar(self.max, "a maximum")
        _check_kind(self)

    def checks(self, ask: Checker[Q]) -> None:
        shape, dim = tensor_shape(self.x), int_attr(self, "dim")
        ask.valid("at_least", dim, self.max, factor=0)
        ask.valid("covers", dim, self.max, ask.lengths(self.x, dim))
        first = shape.layout.dims(shape.layout.locate(dim)[0])[0]
        ask.equal(dim, self.max, tensor_shape(self.res).shape[first])
        ask.fits(dim, [self.max, *(ask.extent(self.x, d) for d in range(shape.rank) if shape.layout.is_plain(d))])


class ScanOp(RaggedOp, name="scan", traits=[Pure]):
    """Combines every element with those before it, or with `reverse` with those behind it, along an innermost ragged
    dim, a tile or a dense dim. With `exclusive` each element itself is left out: what nothing is before is what changes
    nothing, 0, 1, or the least or largest number. `kind` is as for `ragged.reduce_across`. Results have the elements'
    type, and floats are rounded as they are combined, in an order that depends on the target; a NaN is in all that
    follows.

    ```mlir
    %1 = ragged.scan %0 {dim = 1, kind = "sum"}
         : (tensor<3x?x8xf32, #ragged.layout<"dr|d">>) -> tensor<3x?x8xf32, #ragged.layout<"dr|d">>
    ```
    """

    apart = "dim"
    res: Result[Tensor]
    x: Operand[Tensor]
    dim: IntegerAttr
    kind: StringAttr
    reduces = True
    optional = ("exclusive", "reverse")

    same_lengths = True
    checks = unchecked

    @staticmethod
    def infer(x: RaggedShape, *, dim: int) -> RaggedShape:
        x.layout.locate(dim)
        try:
            x.reduce(frozenset({dim}))
        except LayoutError:  # the next element has other ones below
            raise LayoutError(f'expected an innermost level, got dim {dim} of layout "{x.layout}"') from None
        return x.contiguous()

    def check_operands(self) -> None:
        _check_kind(self)
        _ = has_unit(self, "exclusive"), has_unit(self, "reverse")


class RecurrenceOp(RaggedOp, name="recurrence", traits=[Pure]):
    """What a linear recurrence has come to before each element along an innermost ragged dim, a tile or a dense dim: 0
    before the first one, and behind one its factor times what was before it plus its term. A factor of 0 forgets what
    was before, also where that is infinite or nan. With `reverse` it comes from the other end. Its transpose, as a
    function of the terms, is the same with the other direction.

    ```mlir
    %1 = ragged.recurrence %terms, %factors {dim = 1}
         : (tensor<3x?x8xf32, #ragged.layout<"dr|d">>, tensor<3x?x8xf32, #ragged.layout<"dr|d">>)
         -> tensor<3x?x8xf32, #ragged.layout<"dr|d">>
    ```
    """

    apart = "dim"
    res: Result[Tensor]
    x: Operand[Tensor]
    factors: Operand[Tensor]
    dim: IntegerAttr
    reduces = True
    optional = ("reverse",)

    same_lengths = True

    @staticmethod
    def infer(x: RaggedShape, factors: RaggedShape, *, dim: int) -> RaggedShape:
        pairs = zip(x.shape, factors.shape, strict=False)
        if x.layout != factors.layout or any(None not in pair and pair[0] != pair[1] for pair in pairs):
            raise LayoutError(f"expected factors of shape {x}, got {factors}")
        return ScanOp.infer(x, dim=dim)

    def check_operands(self) -> None:
        _ = tensor_shape(self.x), tensor_shape(self.factors), has_unit(self, "reverse")
        check_elements(self.x, integers=False)
        element, other = (x.type.element_type for x in (self.x, self.factors))
        if other != element:
            raise LayoutError(f"expected factors of {element}, got {other}")

    def checks(self, ask: Checker[Q]) -> None:
        shape = tensor_shape(self.x)
        for dim, letter in enumerate(shape.layout.letters):
            if letter in RAGGED:
                ask.conform(self.x, self.factors, [(k, k) for k in (*shape.layout.above(dim), dim)])
            elif None in (shape.shape[dim], tensor_shape(self.factors).shape[dim]):
                ask.equal(dim, ask.extent(self.factors, dim), ask.extent(self.x, dim))


def _check_kind(op: RaggedOp) -> None:
    kind = string_attr(op, "kind")
    if kind not in KINDS:
        raise LayoutError(f"expected kind among {', '.join(KINDS)}, got '{kind}'")
    tensor_shape(op.operation.operands[0])
    check_elements(op.operation.operands[0])
