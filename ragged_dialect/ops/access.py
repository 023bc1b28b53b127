"""Ops between a ragged tensor and its parts: values, index vectors, facts of the structure."""

from ragged_dialect._mlir import ir
from ragged_dialect.checking.checker import Checker, Q
from ragged_dialect.checking.structures import check_assembled
from ragged_dialect.errors import LayoutError
from ragged_dialect.layout import RAGGED
from ragged_dialect.ops.base import (
    Index,
    IntegerAttr,
    MixedOp,
    Operand,
    Pure,
    RaggedOp,
    Result,
    Tensor,
    UnmappedOp,
    unchecked,
)
from ragged_dialect.shape import RaggedShape
from ragged_dialect.traits import (
    check_elements,
    check_scalar,
    check_size,
    check_type,
    check_vector,
    has_unit,
    int_attr,
    offsets_size,
    tensor_shape,
)
from ragged_dialect.types import is_ragged, text_of, vector_type


def _check_parts(shape: RaggedShape, element: ir.Type, operands: list[ir.Value]) -> None:
    """Operands against the 1:N form of a shape: values, vectors, extents."""
    parts = shape.parts()
    if len(operands) != len(parts):
        wanted = ", ".join(f"{p.kind} of dim {p.dim}" if p.kind != "values" else "values" for p in parts)
        raise LayoutError(f"expected {len(parts)} operands ({wanted}), got {len(operands)}")
    for part, operand in zip(parts, operands, strict=True):
        if part.kind == "values":
            check_type(operand.type, shape.stored(), element, "values")
        elif part.kind == "extent":
            check_scalar(operand, f"the extent of dim {part.dim}")
        else:
            what, components = f"{part.kind} of dim {part.dim}", shape.lead(part.dim)
            size = offsets_size(components) if part.kind == "offsets" else components
            check_size(check_vector(operand, what), size, what)


class AssembleOp(MixedOp, name="assemble", traits=[Pure]):
    """A ragged tensor from its parts: values, then per level offsets, or starts and lengths, then
    the dynamic extents that no vector gives. A view.

    ```mlir
    %0 = ragged.assemble %values, %starts, %lengths
         : (tensor<?x64xf32>, tensor<3xi64>, tensor<3xi64>) -> tensor<3x?x64xf32, #ragged.layout<"dw|d">>
    ```
    """

    is_mapped = False

    res: Result[Tensor]

    def verify_invariants(self) -> None:
        shape = tensor_shape(self.operation.results[0])
        if shape.layout.is_dense:
            raise LayoutError(f"expected a result with a layout, got {self.res.type}")
        _check_parts(shape, self.res.type.element_type, list(self.operation.operands))

    def checks(self, ask: Checker[Q]) -> None:
        check_assembled(ask, tensor_shape(self.res), list(self.operation.operands))


def _check_ragged(value: ir.Value) -> RaggedShape:
    shape = tensor_shape(value)
    if not is_ragged(value.type):
        raise LayoutError(f"expected a tensor with a layout, got {value.type}")
    return shape


class ValuesOp(UnmappedOp, name="values", traits=[Pure]):
    """The dense tensor that holds the values, windows' gaps included. A view.

    ```mlir
    %1 = ragged.values %0 : (tensor<3x?x64xf32, #ragged.layout<"dr|d">>) -> tensor<?x64xf32>
    ```
    """

    res: Result[Tensor]
    x: Operand[Tensor]

    @staticmethod
    def infer(x: RaggedShape) -> RaggedShape:
        return x.stored()

    def check_operands(self) -> None:
        _check_ragged(self.x)

    checks = unchecked


def _check_level(op: RaggedOp, letters: str) -> None:
    shape = _check_ragged(op.x)
    level = int_attr(op, "level")
    letter = shape.layout.letter(level)
    if letter not in letters:
        wanted = " or ".join(f"'{c}'" for c in letters)
        raise LayoutError(
            f"expected a level of kind {wanted}, got '{letter}' at dim {level} of layout \"{shape.layout}\""
        )


class LevelVectorOp(UnmappedOp):
    """An op that gives an index vector of a level; `letters` are the levels that have it."""

    res: Result[Tensor]
    x: Operand[Tensor]
    level: IntegerAttr
    letters = RAGGED
    checks = unchecked

    def verify_invariants(self) -> None:
        _check_level(self, self.letters)
        if self.res.type != vector_type():
            raise LayoutError(f"expected result type {vector_type()}, got {self.res.type}")


class OffsetsOp(LevelVectorOp, name="offsets", traits=[Pure]):
    """The element offsets of a ragged level (of the elements also where the level is split).

    ```mlir
    %1 = ragged.offsets %0 {level = 1} : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<?xi64>
    ```
    """

    letters = "r"


class StartsOp(LevelVectorOp, name="starts", traits=[Pure]):
    """The start of every component of a ragged level.

    ```mlir
    %1 = ragged.starts %0 {level = 1} : (tensor<3x?xf32, #ragged.layout<"dw">>) -> tensor<?xi64>
    ```
    """


class LengthsOp(LevelVectorOp, name="lengths", traits=[Pure]):
    """The logical lengths of a level, one per index tuple of the levels above: of the outer part of
    a split the number of tiles, of a tile its number of elements. With `stored` the lengths that a
    ragged level is stored with: elements also where it is split, one per parent position also where
    windows above show a component never or often.

    ```mlir
    %1 = ragged.lengths %0 {level = 1} : (tensor<3x?x2xf32, #ragged.layout<"drt">>) -> tensor<?xi64>
    %3 = ragged.lengths %2 {level = 2, stored} : (tensor<3x?x?xf32, #ragged.layout<"dww">>) -> tensor<?xi64>
    ```
    """

    apart = "level"
    optional = ("stored",)

    @property
    def letters(self) -> str:
        """The levels that have it."""
        return RAGGED if has_unit(self, "stored") else RAGGED + "t"


class RowIdsOp(LevelVectorOp, name="row_ids", traits=[Pure]):
    """For every element of a ragged level the component it belongs to, counted over all parents.

    ```mlir
    %1 = ragged.row_ids %0 {level = 1} : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<?xi64>
    ```
    """

    is_mapped = True


class LevelSizeOp(UnmappedOp):
    """An op that gives a number of a level: ragged, the outer part of a split, or a tile."""

    res: Result[Index]
    x: Operand[Tensor]
    level: IntegerAttr
    checks = unchecked

    def verify_invariants(self) -> None:
        _check_level(self, RAGGED + "t")


class TotalOp(LevelSizeOp, name="total", traits=[Pure]):
    """The sum of the logical lengths of a level.

    ```mlir
    %1 = ragged.total %0 {level = 1} : (tensor<3x?xf32, #ragged.layout<"dr">>) -> index
    ```
    """


class MaxLengthOp(LevelSizeOp, name="max_length", traits=[Pure]):
    """The largest logical length of a level, 0 without components.

    ```mlir
    %1 = ragged.max_length %0 {level = 1} : (tensor<3x?xf32, #ragged.layout<"dr">>) -> index
    ```
    """


class PrintOp(UnmappedOp, name="print"):
    """Prints a tensor as nested lists to standard output; a debug aid.

    ```mlir
    ragged.print %0 {label = "x"} : (tensor<3x?xf32, #ragged.layout<"dr">>) -> ()
    ```
    """

    x: Operand[Tensor]
    optional = ("label",)
    checks = unchecked

    def verify_invariants(self) -> None:
        _ = tensor_shape(self.x)
        check_elements(self.x)
        label = self.operation.attributes["label"] if "label" in self.operation.attributes else None
        if label is not None and not isinstance(label, ir.StringAttr):
            raise LayoutError(f"expected a string for 'label', got {label}")
        if label is not None:
            text_of(label)
