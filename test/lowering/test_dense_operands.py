"""Sums of components that are read by ops that take dense tensors: the loop over components is done by then."""

from __future__ import annotations

import numpy as np
import pytest
from support.targets import Compile

TEXT = """!vector = tensor<?xi64>
!lists = tensor<?x?xi64, #ragged.layout<"dr">>
!windows = tensor<?x?xi64, #ragged.layout<"dw">>
func.func @f(%x: !lists, %zeros: !vector, %p: !vector, %q: !vector, %count: index) -> RESULT {
  %s = linalg.reduce { arith.addi } ins(%x : !lists) outs(%zeros : !vector) dimensions = [1]
  BODY
  return %0 : RESULT
}"""
BODIES = {
    "scatter_add": ("!vector", "%0 = ragged.scatter_add %s, %p, %count : (!vector, !vector, index) -> !vector"),
    "group_by": ("!lists", "%0 = ragged.group_by %s, %count : (!vector, index) -> !lists"),
    "assemble": (
        "!lists",
        f"""%w = "ragged.assemble"(%s, %p, %q) {{operandSegmentSizes = array<i32: 1, 2{", 0" * 10}>}}
              : (!vector, !vector, !vector) -> !windows
            %0 = "ragged.compact"(%w) : (!windows) -> !lists""",
    ),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("name", "count", "expected"),
    [("scatter_add", 2, [2, 6]), ("group_by", 7, [1, 0, 2]), ("assemble", 0, [2, 0, 6, 0])],
)
def test_sums_of_components(compile: Compile, name: str, count: int, expected: list[int]) -> None:
    result, body = BODIES[name]
    x = (np.array([1, 1, 2, 4]), np.array([0, 2, 2, 4]))
    function = compile(TEXT.replace("RESULT", result).replace("BODY", body))
    found = function(x, np.zeros(3, np.int64), np.array([0, 1, 1]), np.array([1, 2, 1]), count)
    assert (found[0] if isinstance(found, tuple) else found).tolist() == expected
