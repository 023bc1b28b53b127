"""Bodies of dense ops that read ragged tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.targets import Compile

TEXT = """
!x = tensor<?x?xf32, #ragged.layout<"{layout}">>
func.func @f(%x: !x, %o: tensor<?xf32>) -> tensor<?xf32> {{
  %c1 = arith.constant 1 : index
  %y = linalg.generic {{indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]}}
      outs(%o : tensor<?xf32>) {{
  ^bb0(%b: f32):
    %k = linalg.index 0 : index
    %e = tensor.extract %x[%k, %c1] : !x
    linalg.yield %e : f32
  }} -> tensor<?xf32>
  return %y : tensor<?xf32>
}}"""


@pytest.mark.parametrize(("layout", "structure"), [("dr", [[0, 3, 8]]), ("dw", [[1, 5], [2, 3]])])
def test_elements_by_computed_indices(layout: str, structure: list[Any], compile: Compile) -> None:
    x = np.arange(8, dtype=np.float32)
    found = compile(TEXT.format(layout=layout))((x, *map(np.array, structure)), np.zeros(2, np.float32))
    assert found.tolist() == [x[structure[0][0] + 1], x[structure[0][1] + 1]]


SHIFTED = """
#d = #ragged.layout<"dr">
func.func @f(%a: tensor<?x?xf64>, %w: tensor<2xf64>, %u: tensor<?x?x1xf64, #ragged.layout<"dr|d">>,
             %p: tensor<?x?xf64, #d>) -> tensor<?x?xf64, #d> {
  %x = linalg.generic {indexing_maps = [affine_map<(b, i, j) -> (i, i)>, affine_map<(b, i, j) -> (b + j)>,
                                        affine_map<(b, i, j) -> (b, i, j)>, affine_map<(b, i, j) -> (b, i)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %w, %u : tensor<?x?xf64>, tensor<2xf64>, tensor<?x?x1xf64, #ragged.layout<"dr|d">>)
      outs(%p : tensor<?x?xf64, #d>) {
  ^bb0(%z: f64, %b: f64, %c: f64, %o: f64):
    %m = arith.mulf %c, %b : f64
    %s = arith.addf %o, %m : f64
    linalg.yield %s : f64
  } -> tensor<?x?xf64, #d>
  return %x : tensor<?x?xf64, #d>
}"""


def test_a_loop_has_its_own_extent_where_it_is_shifted(compile: Compile) -> None:
    """Not that of what is left of a vector which is read from the component's number on."""
    offsets = np.array([0, 1, 5])
    rows, sums = (np.arange(1.0, 6.0)[:, None], offsets), (np.zeros(5), offsets)
    found = compile(SHIFTED)(np.ones((4, 4)), np.array([1.0, 10.0]), rows, sums)[0]
    assert found.tolist() == [1, 20, 30, 40, 50]
