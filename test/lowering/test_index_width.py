"""Kernels with 32-bit indices: the same results, the same errors, chosen by extents."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ragged_dialect import compile
from ragged_dialect.asm.module import parse_module
from ragged_dialect.dialect import context
from ragged_dialect.errors import RuntimeCheckError
from ragged_dialect.lowering import pipelines
from ragged_dialect.lowering.gpu.nvvm.translate import narrow_names
from ragged_dialect.runtime.narrow import LIMIT, by_extent

SUM = """
func.func @sum(%x: tensor<?x?x8xf32, #ragged.layout<"dr|d">>, %init: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %y = linalg.reduce { arith.addf } ins(%x : tensor<?x?x8xf32, #ragged.layout<"dr|d">>)
       outs(%init : tensor<?x8xf32>) dimensions = [1]
  return %y : tensor<?x8xf32>
}
"""


def _arguments() -> tuple[Any, Any]:
    offsets = np.array([0, 3, 3, 90])
    values = np.random.default_rng(1).integers(-9, 9, (90, 8)).astype(np.float32)
    return (values, offsets), np.ones((3, 8), np.float32)


def test_same_results() -> None:
    results = [compile(SUM, target="emulator", index_bits=bits)(*_arguments()) for bits in (32, 64)]
    np.testing.assert_array_equal(*results)


def test_checks_see_all_bits() -> None:
    """The low halves of these offsets are valid."""
    (values, offsets), init = _arguments()
    function = compile(SUM, target="emulator", index_bits=32)
    with pytest.raises(
        RuntimeCheckError, match=r"component 1: expected offsets\[2\] >= offsets\[1\], got 3 < 4294967299"
    ):
        function((values, offsets + np.array([0, 2**32, 0, 0])), init)


def test_checking_kernels_are_wide() -> None:
    module = parse_module(SUM, context())
    for stage in pipelines.gpu_pipeline():
        stage.run(module)
    text = str(module)
    checking = {name for name in ("sum_0", "sum_1", "sum_2") if name not in narrow_names(module)}
    assert checking == {"sum_0", "sum_1"}
    assert text.count("ragged.wide") == len(checking)
    assert narrow_names(module)


class _Sized:
    """A buffer of a size, without the memory."""

    def __init__(self, size: int) -> None:
        self.size = size


@pytest.mark.parametrize(
    ("arguments", "narrow"),
    [
        ((_Sized(LIMIT - 1), 5, 2**40), True),
        ((_Sized(LIMIT), 5, 0), False),
        ((_Sized(1), LIMIT, 0), False),
        ((_Sized(1), -LIMIT, 0), False),
    ],
)
def test_choice(arguments: tuple[Any, ...], narrow: bool) -> None:
    taken: list[str] = []
    launch = by_extent("p index i64", lambda *_: taken.append("wide"), lambda *_: taken.append("narrow"))
    launch(1, 1, 1, *arguments)
    assert taken == ["narrow" if narrow else "wide"]


def test_large_grids_are_wide() -> None:
    taken: list[int] = []
    by_extent("", lambda *_: taken.append(64), lambda *_: taken.append(32))(LIMIT, 1, 1)
    assert taken == [64]


INDICES = """func.func @f(%x: X) -> (tensor<?xindex>, X) {
  %longest = arith.constant 3 : index
  %0 = ragged.reduce_across %x, %longest {dim = 1, kind = "KIND"} : (X, index) -> tensor<?xindex>
  %1 = ragged.scan %x {dim = 1, kind = "KIND"} : (X) -> X
  return %0, %1 : tensor<?xindex>, X
}""".replace("X", 'tensor<?x?xindex, #ragged.layout<"dr">>')


@pytest.mark.sampled(10)
@pytest.mark.parametrize("target", ["cpu", "emulator", "ptx-emulator"])
@pytest.mark.parametrize(
    ("kind", "across", "scanned"),
    [
        ("sum", [2**40 + 3, -2, 4], [2**40, 2**40 - 2, 2**40 + 2, 3]),
        ("max", [2**40, -2, 4], [2**40, 2**40, 2**40, 3]),
        ("min", [3, -2, 4], [2**40, -2, -2, 3]),
    ],
)
def test_elements_that_are_indices(target: str, kind: str, across: list[int], scanned: list[int]) -> None:
    """In memory they have 64 bits."""
    function = compile(INDICES.replace("KIND", kind), target=target)
    rows, (values, _) = function((np.array([2**40, -2, 4, 3]), np.array([0, 3, 4])))
    assert (rows.tolist(), values.tolist()) == (across, scanned)
