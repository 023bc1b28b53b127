"""Tiles that are known to have no holes: static loops, the same sums, and facts that are checked before."""

from __future__ import annotations

import numpy as np
import pytest
from support.targets import Compile

from ragged_dialect.errors import RuntimeCheckError

TEXT = """
#dr = #ragged.layout<"dr">
#drtt = #ragged.layout<"drtt">
func.func @f(%x: tensor<?x?xf32, #dr>, %e: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %0 = ragged.assume %x {level = 1, divisible_by = FACT} : (tensor<?x?xf32, #dr>) -> tensor<?x?xf32, #dr>
  %1 = ragged.split %0 {dim = 1, factor = 6} : (tensor<?x?xf32, #dr>) -> tensor<?x?x6xf32, #ragged.layout<"drt">>
  %2 = ragged.split %1 {dim = 2, factor = 2} : (tensor<?x?x6xf32, #ragged.layout<"drt">>) -> tensor<?x?x3x2xf32, #drtt>
  %3 = linalg.reduce { arith.addf } ins(%2 : tensor<?x?x3x2xf32, #drtt>) outs(%e : tensor<3x2xf32>) dimensions = [0, 1]
  return %3 : tensor<3x2xf32>
}"""


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    ("fact", "lengths"), [(12, [24, 0, 12]), (6, [6, 18]), (6, []), (2, [4, 10, 2]), (1, [5, 0, 7])]
)
def test_sums(fact: int, lengths: list[int], compile: Compile) -> None:
    x = np.arange(sum(lengths), dtype=np.float32)
    expected = np.zeros((3, 2))
    for component in np.split(x, np.cumsum(lengths)[:-1]) if lengths else []:
        expected += np.pad(component, (0, -len(component) % 6)).reshape(-1, 3, 2).sum(0)
    offsets = np.cumsum([0, *lengths])
    assert (
        compile(TEXT.replace("FACT", str(fact)))((x, offsets), np.zeros((3, 2), np.float32)).tolist()
        == expected.tolist()
    )


def test_wrong_facts_are_refused(compile: Compile) -> None:
    with pytest.raises(RuntimeCheckError, match="level 1, component 1: expected a multiple of 12, got 10"):
        compile(TEXT.replace("FACT", "12"))(
            (np.zeros(22, np.float32), np.array([0, 12, 22])), np.zeros((3, 2), np.float32)
        )
