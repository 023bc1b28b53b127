"""A program with two equal ops and a merge, and `ragged-opt` on it."""

from __future__ import annotations

from typing import Any

from ragged_dialect.tools import ragged_opt

MERGE = """func.func @f(%x: tensor<?xf32>, %o: tensor<4xi64>) -> tensor<?xf32> {
  %r = ragged.partition %x, %o {dim = 0} : (tensor<?xf32>, tensor<4xi64>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  %s = ragged.partition %x, %o {dim = 0} : (tensor<?xf32>, tensor<4xi64>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  %m = ragged.merge %r {dim = 0} : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<?xf32>
  return %m : tensor<?xf32>
}
"""


def tool(*argv: Any) -> int:
    """Exit code of the tool."""
    return ragged_opt.main([str(arg) for arg in argv])
