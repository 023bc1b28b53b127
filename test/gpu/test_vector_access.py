"""What is known of where a view starts, which wide accesses rest on."""

from __future__ import annotations

from typing import Any

import pytest

from ragged_dialect._mlir import ir
from ragged_dialect.lowering.gpu.kernel.vector_access import multiple_of, offset_multiple

HEAD = """
func.func @f(%p: memref<f32>, %x: memref<?x8xf32>, %b: index, %n: index) {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %c12 = arith.constant 12 : index
  %c64 = arith.constant 64 : index
"""


def last(line: str) -> tuple[Any, Any]:
    """The value of the last of some lines, with its module."""
    module = ir.Module.parse(f"{HEAD}{line}\nreturn\n}}")
    ops = list(module.body.operations[0].regions[0].blocks[0].operations)
    return module, ops[-2].operation.results[0]


NUMBERS = [
    ("%r = arith.constant 0 : index", 0),
    ("%r = arith.constant -12 : index", 12),
    ("%r = arith.muli %b, %c64 : index", 64),
    ("%0 = arith.muli %b, %c3 : index\n%r = arith.muli %0, %c64 : index", 192),
    ("%0 = arith.muli %b, %c64 : index\n%r = arith.addi %0, %c12 : index", 4),
    ("%0 = arith.muli %b, %c64 : index\n%r = arith.addi %0, %c0 : index", 64),
    ("%0 = arith.muli %b, %c64 : index\n%r = arith.addi %0, %n : index", 1),
    ("%0 = arith.muli %b, %c64 : index\n%r = arith.minsi %0, %c12 : index", 4),
    ("%r = arith.divui %c64, %c12 : index", 1),
    ("%r = arith.addi %b, %n : index", 1),
]


@pytest.mark.parametrize(("lines", "multiple"), NUMBERS)
def test_multiples(lines: str, multiple: int, mlir_context: Any) -> None:
    _, value = last(lines)
    assert multiple_of(value) == multiple


D = "strided<[8, 1], offset: ?>"
VIEWS = [
    # rows of 8 elements, from any row on
    (f"%r = memref.subview %x[%b, 0] [4, 8] [1, 1] : memref<?x8xf32> to memref<4x8xf32, {D}>", 8),
    (f"%r = memref.subview %x[%b, 4] [4, 4] [1, 1] : memref<?x8xf32> to memref<4x4xf32, {D}>", 4),
    (f"%r = memref.subview %x[%b, 3] [4, 4] [1, 1] : memref<?x8xf32> to memref<4x4xf32, {D}>", 1),
    (f"%r = memref.subview %x[%c3, %n] [4, 4] [1, 1] : memref<?x8xf32> to memref<4x4xf32, {D}>", 1),
    (
        f"%0 = memref.subview %x[%b, 0] [4, 8] [1, 1] : memref<?x8xf32> to memref<4x8xf32, {D}>\n"
        f"%r = memref.subview %0[0, 2] [4, 4] [1, 1] : memref<4x8xf32, {D}> to memref<4x4xf32, {D}>",
        2,
    ),
    # only powers of two count
    (
        "%0 = memref.collapse_shape %x [[0, 1]] : memref<?x8xf32> into memref<?xf32>\n"
        "%1 = arith.muli %b, %c12 : index\n"
        "%r = memref.subview %0[%1] [4] [1] : memref<?xf32> to memref<4xf32, strided<[1], offset: ?>>",
        4,
    ),
    # rows of an extent that is not known start anywhere
    (
        "%0 = memref.reinterpret_cast %p to offset: [0], sizes: [%n, %n], strides: [%n, 1] "
        ": memref<f32> to memref<?x?xf32, strided<[?, 1]>>\n"
        "%r = memref.subview %0[%b, 0] [4, 4] [1, 1] : memref<?x?xf32, strided<[?, 1]>> "
        "to memref<4x4xf32, strided<[?, 1], offset: ?>>",
        1,
    ),
]


@pytest.mark.parametrize(("lines", "multiple"), VIEWS)
def test_offsets_of_views(lines: str, multiple: int, mlir_context: Any) -> None:
    _, value = last(lines)
    assert offset_multiple(value) == multiple


def test_whole_buffers_start_at_their_pointer(mlir_context: Any) -> None:
    lines = "%r = memref.reinterpret_cast %p to offset: [0], sizes: [%n], strides: [1] : memref<f32> to memref<?xf32>"
    _, value = last(lines)
    assert offset_multiple(value) % 16 == 0
