"""Which flat ops one kernel does tile by tile."""

from __future__ import annotations

from typing import Any

import pytest

from ragged_dialect._mlir import ir
from ragged_dialect.lowering.gpu.passes.flat_runs import Cut, joins

ID, ROW, COLUMN = "(i, j) -> (i, j)", "(i, j) -> (i)", "(i, j) -> (j)"


def op(inputs: dict[str, str], out: str, map_: str, kinds: str = "pp", payload: str = "") -> str:
    """A linalg.generic on `%inputs` by their maps into `%out`; loops are `p` or `r`."""
    types = {"x": "?x8", "y": "?x8", "z": "?x8", "s": "?", "t": "?", "q": "8", "o": "?x8"}
    used = [*inputs.items(), (out, map_)]
    maps = ", ".join(f"affine_map<{map_}>" for _, map_ in used)
    iterators = ", ".join({"p": '"parallel"', "r": '"reduction"'}[k] for k in kinds)
    ins = ", ".join(f"%{n}" for n in inputs)
    arguments = ", ".join(f"%v{k}: f32" for k in range(len(used)))
    return f"""
      linalg.generic {{indexing_maps = [{maps}], iterator_types = [{iterators}]}}
          ins({ins} : {", ".join(f"memref<{types[n]}xf32>" for n in inputs)}) outs(%{out} : memref<{types[out]}xf32>) {{
        ^bb0({arguments}):
          {payload}
          linalg.yield %v0 : f32
      }}"""


HEAD = """
func.func @f(%n: index, %m: index, %x: memref<?x8xf32>) {
  %y = memref.alloc(%n) : memref<?x8xf32>
  %z = memref.alloc(%n) : memref<?x8xf32>
  %o = memref.alloc(%m) : memref<?x8xf32>
  %s = memref.alloc(%n) : memref<?xf32>
  %t = memref.alloc(%n) : memref<?xf32>
  %q = memref.alloc() : memref<8xf32>
  %c0 = arith.constant 0 : index
"""
SUM = {"kinds": "pr"}
PAIRS = [
    # what the second reads lies in the first's tile
    (op({"z": ID}, "y", ID), op({"y": ID}, "z", ID), True),
    (op({"z": ID}, "s", ROW, **SUM), op({"s": ROW}, "y", ID), True),
    # columns of rows that other tiles make
    (op({"z": ID}, "q", COLUMN, kinds="rp"), op({"q": COLUMN}, "y", ID), False),
    # other extents
    (op({"z": ID}, "y", ID), op({"o": ID}, "o", ID), False),
    # nothing in common: alike in extent
    (op({"z": ID}, "y", ID), op({"z": ID}, "t", ROW, **SUM), True),
    # the second loads from anywhere in what the first writes
    (op({"z": ID}, "s", ROW, **SUM), op({"z": ID}, "y", ID, payload="%l = memref.load %s[%c0] : memref<?xf32>"), False),
    # the second writes where the first loads from
    (op({"z": ID}, "y", ID, payload="%l = memref.load %s[%c0] : memref<?xf32>"), op({"z": ID}, "s", ROW, **SUM), False),
]


@pytest.mark.parametrize(("first", "second", "together"), PAIRS)
def test_pairs(first: str, second: str, together: bool, mlir_context: Any) -> None:
    module = ir.Module.parse(f"{HEAD}{first}{second}\nreturn\n}}")
    ops = [o.operation for o in module.body.operations[0].regions[0].blocks[0].operations]
    one, two = (Cut.of(o) for o in ops if o.name == "linalg.generic")
    assert joins([one], two) == together
