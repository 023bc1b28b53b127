"""What importers of models leave in a program: constants as resources, asserts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.structures import DTYPES
from support.targets import TARGETS, compile_for

from ragged_dialect.errors import CompileError, RuntimeCheckError


def _weights(element: str, data: bytes | None) -> str:
    """A function that returns what it is given, or a constant of these bytes."""
    type_ = f"tensor<4x{element}>"
    text = (
        f"func.func @f(%c: i1, %x: {type_}) -> {type_} {{\n  %0 = arith.constant dense_resource<w> : {type_}\n"
        f"  %1 = arith.select %c, %x, %0 : {type_}\n  return %1 : {type_}\n}}\n"
    )
    if data is None:
        return text
    return f'{text}{{-# dialect_resources: {{ builtin: {{ w: "0x04000000{data.hex()}" }} }} #-}}'


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("element", ["f32", "bf16", "i64", "i8"])
def test_resources(target: str, element: str) -> None:
    values = np.array([3, -1, 0, 2]).astype(DTYPES[element])
    function = compile_for(target)(_weights(element, values.tobytes()))
    np.testing.assert_array_equal(function(False, np.zeros(4, DTYPES[element])), values)


@pytest.mark.parametrize(
    ("target", "data", "text"),
    [
        ("cpu", None, "f: resource does not exist"),
        ("cpu", b"\0" * 15, "f: raw data size does not match"),
        ("emulator", None, "expected 16 bytes of data for dense_resource<w> : tensor<4xf32>, got none"),
        ("emulator", b"\0" * 15, "expected 16 bytes of data for dense_resource<w> : tensor<4xf32>, got 15"),
    ],
)
def test_resources_without_their_data(target: str, data: bytes | None, text: str) -> None:
    with pytest.raises(CompileError, match=text):
        compile_for(target)(_weights("f32", data))


ASSERT = """func.func @f(%x: tensor<?x?xf32, #ragged.layout<"dr">>, %n: index)
    -> tensor<?x?xf32, #ragged.layout<"dr">> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %d = tensor.dim %x, %c0 : tensor<?x?xf32, #ragged.layout<"dr">>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%y = %x) -> tensor<?x?xf32, #ragged.layout<"dr">> {
    %c = arith.cmpi slt, %i, %d : index
    cf.assert %c, "one step per component"
    %z = arith.addf %y, %y : tensor<?x?xf32, #ragged.layout<"dr">>
    scf.yield %z : tensor<?x?xf32, #ragged.layout<"dr">>
  }
  return %r : tensor<?x?xf32, #ragged.layout<"dr">>
}"""

EMBEDDING = """func.func @f(%ids: tensor<?x?xi64, #ragged.layout<"dr">>, %table: tensor<4xf32>)
    -> tensor<?x?xf32, #ragged.layout<"dr">> {
  %c4 = arith.constant 4 : i64
  %e = ragged.empty %ids : (tensor<?x?xi64, #ragged.layout<"dr">>) -> tensor<?x?xf32, #ragged.layout<"dr">>
  %r = linalg.generic {
    indexing_maps = [affine_map<(b, i) -> (b, i)>, affine_map<(b, i) -> (b, i)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%ids : tensor<?x?xi64, #ragged.layout<"dr">>) outs(%e : tensor<?x?xf32, #ragged.layout<"dr">>) {
  ^bb0(%id: i64, %o: f32):
    %low = arith.cmpi slt, %id, %c4 : i64
    cf.assert %low, "index out of bounds"
    %at = arith.index_cast %id : i64 to index
    %v = tensor.extract %table[%at] : tensor<4xf32>
    linalg.yield %v : f32
  } -> tensor<?x?xf32, #ragged.layout<"dr">>
  return %r : tensor<?x?xf32, #ragged.layout<"dr">>
}"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("target", TARGETS)
def test_an_assert_is_a_check(target: str) -> None:
    """It is raised, where MLIR's own lowering would end the process; without checks too."""
    x = (np.ones(3, np.float32), np.array([0, 1, 3], np.int64))
    for check in (True, False):
        function = compile_for(target)(ASSERT, check=check)
        np.testing.assert_array_equal(function(x, 2)[0], np.full(3, 4, np.float32))
        with pytest.raises(RuntimeCheckError, match=r"^cf\.assert: one step per component: expected true, got false$"):
            function(x, 3)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("target", TARGETS)
def test_an_assert_of_every_element(target: str) -> None:
    """One in the body of an op is made in front of it."""

    def ids(*values: int) -> Any:
        return np.array(values, np.int64), np.array([0, 1, len(values)], np.int64)

    table = np.arange(4, dtype=np.float32)
    function = compile_for(target)(EMBEDDING)
    np.testing.assert_array_equal(function(ids(3, 0, 1), table)[0], [3, 0, 1])
    with pytest.raises(RuntimeCheckError, match=r"^cf\.assert: index out of bounds: expected true, got false$"):
        function(ids(3, 0, 2**40), table)
    unchecked = compile_for(target)(EMBEDDING, check=False)
    np.testing.assert_array_equal(unchecked(ids(3, 0, 1), table)[0], [3, 0, 1])
