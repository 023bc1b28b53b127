"""As many components as 64 bits do not count, which other offsets would seem to fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.on_targets import TARGETS, called

from ragged_dialect.errors import RuntimeCheckError

EMPTY, NONE = np.zeros(0, np.float32), np.array([0])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("extent", "parts", "product"),
    [
        ("?", (EMPTY, np.array([0, 2, 8]), NONE, 2**61), f"8 * {2**61}"),
        ("4", (EMPTY, np.array([0, 0, 2**62]), NONE), f"{2**62} * 4"),
    ],
)
def test_counts(extent: str, parts: tuple[Any, ...], product: str, target: str) -> None:
    type_ = f'tensor<2x?x{extent}x?xf32, #ragged.layout<"drdr">>'
    text = (
        f"func.func @f(%x: {type_}, %init: tensor<2xf32>) -> tensor<2xf32> {{\n"
        f"  %y = linalg.reduce {{ arith.addf }} ins(%x : {type_}) outs(%init : tensor<2xf32>) dimensions = [1, 2, 3]\n"
        "  return %y : tensor<2xf32>\n}"
    )
    with pytest.raises(RuntimeCheckError) as error:
        called(text, "f", [parts, np.zeros(2, np.float32)], target)
    assert str(error.value) == f"argument 0: level 2: expected a size below 2**63, got {product}"
