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
