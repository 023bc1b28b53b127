"""`ragged.concat` of operands with windows, one and several, beside NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import ragged_dialect as rg

VALUES = np.arange(8, dtype=np.float32)
STARTS, LENGTHS, OFFSETS = np.array([1, 0, 5]), np.array([2, 0, 3]), np.array([0, 1, 1, 4])
TYPES = {name: f'tensor<3x?xf32, #ragged.layout<"{layout}">>' for name, layout in {"x": "dw", "y": "dr"}.items()}
PARTS = {
    "x": [VALUES[start : start + length] for start, length in zip(STARTS, LENGTHS, strict=True)],
    "y": np.split(VALUES[:4] * 10, OFFSETS[1:-1]),
}


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("operands", ["x", "xy", "yx", "xx", "xyx"])
def test_windows(operands: str, dim: int) -> None:
    count = 3 if dim else 3 * len(operands)
    result = f'tensor<{count}x?xf32, #ragged.layout<"dr">>'
    values, offsets = rg.compile(
        f"func.func @f(%x: {TYPES['x']}, %y: {TYPES['y']}) -> {result} {{\n"
        f"  %0 = ragged.concat {', '.join(f'%{name}' for name in operands)} {{dim = {dim}}}"
        f" : ({', '.join(TYPES[name] for name in operands)}) -> {result}\n  return %0 : {result}\n}}"
    )((VALUES, STARTS, LENGTHS), (VALUES[:4] * 10, OFFSETS))
    parts = [PARTS[name] for name in operands]
    expected = [np.concatenate(some) for some in zip(*parts, strict=True)] if dim else [c for own in parts for c in own]
    assert offsets.tolist() == [0, *np.cumsum([len(c) for c in expected]).tolist()]
    np.testing.assert_array_equal(values, np.concatenate(expected))
