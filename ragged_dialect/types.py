"""Between MLIR types and `RaggedShape`: reading, building, comparing."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import TypeGuard

from ragged_dialect._mlir import DYNAMIC, ir
from ragged_dialect.dialect import LayoutAttr
from ragged_dialect.errors import LayoutError
from ragged_dialect.layout import Layout, Shape
from ragged_dialect.shape import Part, RaggedShape


def is_tensor(type_: ir.Type) -> TypeGuard[ir.RankedTensorType]:
    """Whether a type is a ranked tensor."""
    return isinstance(type_, ir.RankedTensorType)


def layout_of(type_: ir.Type) -> Layout | None:
    """Layout of a tensor type; None without encoding or for other types. LayoutError when the
    encoding is not a ragged layout or its text is outside the grammar."""
    if not isinstance(type_, ir.RankedTensorType):
        return None
    encoding = type_.encoding
    if encoding is None:
        return None
    if not isinstance(encoding, LayoutAttr):
        raise LayoutError(f"expected a tensor with a #ragged.layout encoding or none, got {encoding}")
    return Layout.parse(text_of(ir.StringAttr(encoding.text)))


def text_of(attr: ir.StringAttr) -> str:
    """Text of a string attribute. LayoutError when it is not UTF-8, which MLIR does not ask for."""
    try:
        return attr.value
    except RuntimeError:
        raise LayoutError(f"expected text in UTF-8, got {attr}") from None


def is_ragged(type_: ir.Type) -> TypeGuard[ir.RankedTensorType]:
    """Whether a type is a tensor with a ragged layout."""
    return isinstance(type_, ir.RankedTensorType) and isinstance(type_.encoding, LayoutAttr)


def shape_of(type_: ir.Type) -> RaggedShape:
    """Shape and layout of a tensor type; a tensor without encoding is dense in every dim."""
    if not isinstance(type_, ir.RankedTensorType):
        raise LayoutError(f"expected a ranked tensor, got {type_}")
    shape: Shape = tuple(None if e == DYNAMIC else e for e in type_.shape)
    return _ragged_shape(layout_of(type_), shape)


@lru_cache(maxsize=4096)
def _ragged_shape(layout: Layout | None, shape: Shape) -> RaggedShape:
    """The same few shapes are asked for again and again."""
    return RaggedShape(Layout.dense(len(shape)) if layout is None else layout, shape)


def tensor_type(shape: RaggedShape, element: ir.Type) -> ir.RankedTensorType:
    """The tensor type of a shape; no encoding when it is dense."""
    encoding = None if shape.layout.is_dense else LayoutAttr.get(ir.StringAttr.get(str(shape.layout)))
    return dense_type(shape.shape, element, encoding)


def dense_type(shape: Shape, element: ir.Type, encoding: ir.Attribute | None = None) -> ir.RankedTensorType:
    """A ranked tensor type with `None` for dynamic extents."""
    return ir.RankedTensorType.get([DYNAMIC if e is None else e for e in shape], element, encoding=encoding)


def vector_type() -> ir.RankedTensorType:
    """`tensor<?xi64>`: the type of index vectors."""
    return dense_type((None,), ir.IntegerType.get_signless(64))


def storage_type(shape: RaggedShape, element: ir.Type) -> ir.RankedTensorType:
    """The dense tensor type that holds the values."""
    return dense_type(shape.storage_shape(), element)


def part_type(part: Part, shape: RaggedShape, element: ir.Type) -> ir.Type:
    """The type of one component of the 1:N form."""
    if part.kind == "values":
        return storage_type(shape, element)
    return ir.IndexType.get() if part.kind == "extent" else vector_type()


def flat_types(type_: ir.Type) -> list[ir.Type]:
    """The types a value of `type_` travels as: itself, or the 1:N form of a ragged tensor."""
    if not is_ragged(type_):
        return [type_]
    shape = shape_of(type_)
    return [part_type(part, shape, type_.element_type) for part in shape.parts()]


def elements_from(type_: ir.RankedTensorType, dim: int) -> int:
    """How many elements dims from one on have, 0 where they are not known."""
    sizes = list(type_.shape)[dim:]
    return 0 if DYNAMIC in sizes else prod(sizes)


def compatible(a: Shape, b: Shape) -> bool:
    """Whether two shapes agree wherever both are static."""
    return len(a) == len(b) and all(x is None or y is None or x == y for x, y in zip(a, b, strict=True))
