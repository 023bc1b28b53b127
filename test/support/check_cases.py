"""Checks that fail, with their texts: by kind, and by op."""

from __future__ import annotations

from typing import Any

import numpy as np

EMPTY = "of what is empty (x[x.lengths > 0] leaves out empty components, rg.to_padded fills them)"
KINDS = [
    ("offsets", [[], 0], 0, "expected at least 1 offset, got 0"),
    ("offsets", [[0, 1], 1, 3], 0, "expected 4 offsets, got 2"),
    ("offsets", [[1, 2], 2], 0, ", component 0: expected offsets[0] == 0, got 1"),
    ("offsets", [[0, 3, 4, 2, 1], 1], 0, ", component 2: expected offsets[3] >= offsets[2], got 2 < 4"),
    ("offsets", [[0, 3, 4], 5], 0, ", component 1: expected offsets[2] == 5, got 4"),
    ("offsets", [[0], 5], 0, "expected offsets[0] == 5, got 0"),
    ("offsets", [[0, 1], 1, 2**63 - 1], 0, f"expected {2**63 - 1} offsets, got 2"),
    ("rows", [[[], []], [1, 2]], 0, "expected at least 1 offset per row, got 0"),
    ("rows", [[[0, 1]], [1, 2]], 0, "expected 2 rows of offsets, got 1"),
    ("rows", [[[0, 1]], 1, 2], 0, "expected 2 rows of offsets, got 1"),
    ("rows", [[[0, 1], [1, 1]], [1, 1]], 0, ", component 1: expected the row of offsets to start at 0, got 1"),
    ("rows", [[[0, 2, 1]], [1]], 0, ", component 0: expected the row of offsets not to decrease, got 1 < 2"),
    ("rows", [[[0, 2], [0, 2]], [2, 3]], 0, ", component 1: expected the row of offsets to end at 3, got 2"),
    ("lengths", [[1, 2], 3, 3], 0, "expected 3 lengths, got 2"),
    ("lengths", [[1, -2], -1], 0, ", component 1: expected lengths[1] >= 0, got -2"),
    ("lengths", [[1, 2], 4], 0, "expected lengths to sum to 4, got 3"),
    ("lengths", [[2**62] * 4, 0], 0, f"expected lengths to sum to 0, got {2**63 - 1}"),
    ("lengths", [[2**62, *[0] * 300, 2**62, 2**62, 5, 2**62], 5], 0, f"expected lengths to sum to 5, got {2**63 - 1}"),
    ("lengths", [[2**63 - 1] * 3, 2**63 - 3], 0, f"expected lengths to sum to {2**63 - 3}, got {2**63 - 1}"),
    ("lengths", [[2**63 - 1, 1], 2**63 - 1], 0, f"expected lengths to sum to {2**63 - 1}, got {2**63 - 1}"),
    ("row_lengths", [[[1, 2]], [3, 4]], 0, "expected 2 rows of lengths, got 1"),
    ("row_lengths", [[[1, -1]], [0]], 0, ", component 0: expected the row of lengths to be >= 0, got -1"),
    ("row_lengths", [[[1, 2]], 4, 1], 0, ", component 0: expected the row of lengths to sum to 4, got 3"),
    (
        "row_lengths",
        [[[4] + [0] * 4, [2**62] * 4 + [4]], 4, 2],
        0,
        f", component 1: expected the row of lengths to sum to 4, got {2**63 - 1}",
    ),
    ("windows", [[0], [1, 2], 3], 0, "expected starts and lengths of one size, got 1 and 2"),
    ("windows", [[0], [1], 3, 2], 0, "expected 2 starts and lengths, got 1"),
    ("windows", [[0, 0], [1, -2], 3], 0, ", component 1: expected lengths[1] >= 0, got -2"),
    ("windows", [[0, -1], [1, 2], 3], 0, ", component 1: expected starts[1] >= 0, got -1"),
    ("windows", [[0, 2], [1, 2], 3], 0, ", component 1: expected starts[1] + lengths[1] <= 3, got 4"),
    ("windows", [[2**62], [2**62], 3], 0, f", component 0: expected starts[0] + lengths[0] <= 3, got {2**63 - 1}"),
    ("windows", [[0] * 4, [2**61] * 4, 2**61], 0, "expected lengths to sum to less than 2**63, got more"),
    ("index", [3, 3], 0, "expected index in [0, 3), got 3"),
    ("index", [1, [2, 1]], 0, ", component 1: expected index in [0, 1), got 1"),
    ("position", [-2, 3], 0, "expected index in [-3, 3), got -5"),
    ("position", [[0, 1], [2, 1]], 0, ", component 1: expected index in [-1, 1), got 1"),
    ("position", [0, 0], 0, f"expected an index of what has elements, got 0 {EMPTY}"),
    ("position", [[0, -1], [2, 0]], 0, f", component 1: expected an index of what has elements, got -1 {EMPTY}"),
    ("range", [[0], [1], [1, 2]], 0, "expected 2 ranges, got 1"),
    ("range", [-1, 0, 2], 0, "expected lo >= 0, got -1"),
    ("range", [2, 1, 2], 0, "expected lo <= hi, got 2 > 1"),
    ("range", [0, 2, [2, 1]], 0, ", component 1: expected hi <= 1, got 2"),
    ("divides", [[4, 6]], 4, ", component 1: expected a multiple of 4, got 6"),
    ("equal", [3, 4], 0, "expected extent 4, got 3"),
    ("at_least", [-1], 0, "expected at least 0, got -1"),
    ("at_most", [[1, 9]], 8, ", component 1: expected at most 8, got 9"),
    ("covers", [3, [1, 4]], 0, ", component 1: expected extent >= length 4, got 3"),
    ("conform", [[1, 2], [1]], 0, "expected 2 components, got 1"),
    ("conform", [2, 3], 0, "expected 2 components, got 3"),
    ("conform", [[1, 2], [1, 3]], 0, ", component 1: expected length 2, got 3"),
    ("fits", [2**32, 2**31, 2], 0, f"expected a size below 2**63, got {2**32} * {2**31}"),
]
J, JD, W = '#ragged.layout<"dr">', '#ragged.layout<"dr|d">', '#ragged.layout<"dw">'
X = f"tensor<?x?xf32, {J}>"
XX = 'tensor<?x?x?xf32, #ragged.layout<"drr">>'
VECTOR = "tensor<?xi64>"
F32 = np.float32
HEADS, SUMS = 'tensor<?x?x1x2xf32, #ragged.layout<"dr|d|d">>', 'tensor<?x?x1xf32, #ragged.layout<"dr|d">>'
ROWS = (np.zeros((5, 1, 2), F32), np.array([0, 3, 3, 5]))
GOOD = (np.arange(5, dtype=F32), np.array([0, 3, 3, 5]))


def at(kind: str, message: str) -> str:
    """The text of a failure at level 1 (dim 1 for extents) of ragged.x."""
    where = f"ragged.x: {'dim' if kind == 'equal' else 'level'} 1"
    return where + (message if message.startswith(",") else f": {message}")


def vector(*numbers: int) -> Any:
    """An index vector."""
    return np.array(numbers, np.int64)


def named(op: str) -> str:
    """The names of an op's results, of which the first is `%0`."""
    two = ("ragged.attention ", "ragged.attention_jvp ", "ragged.attention_vjp_kv ")
    return "%0, %1" if op.startswith(two) else "%0"


OPS = [
    (
        f"ragged.partition %a0, %a1 {{dim = 0}} : (tensor<?xf32>, {VECTOR}) -> {X}",
        ["tensor<?xf32>", VECTOR],
        X,
        [np.zeros(3, F32), vector(0, 3, 4, 2)],
        "ragged.partition: level 1, component 2: expected offsets[3] >= offsets[2], got 2 < 4",
    ),
    (
        f"ragged.partition %a0, %a1 {{dim = 0, lengths}} : (tensor<?xf32>, {VECTOR}) -> {X}",
        ["tensor<?xf32>", VECTOR],
        X,
        [np.zeros(3, F32), vector(1, 1)],
        "ragged.partition: level 1: expected lengths to sum to 3, got 2",
    ),
    (
        f"ragged.assemble %a0, %a1, %a2 : (tensor<?xf32>, {VECTOR}, {VECTOR}) -> tensor<2x?xf32, {W}>",
        ["tensor<?xf32>", VECTOR, VECTOR],
        f"tensor<2x?xf32, {W}>",
        [np.zeros(3, F32), vector(0, 2), vector(1, 2)],
        "ragged.assemble: level 1, component 1: expected starts[1] + lengths[1] <= 3, got 4",
    ),
    (
        f"ragged.assemble %a0, %a1 : (tensor<?xf32>, {VECTOR}) -> tensor<2x?xf32, {J}>",
        ["tensor<?xf32>", VECTOR],
        f"tensor<2x?xf32, {J}>",
        [np.zeros(3, F32), vector(0, 3)],
        "ragged.assemble: level 1: expected 3 offsets, got 2",
    ),
    (
        f"ragged.assemble %a0, %a1, %a2 : (tensor<?xf32>, {VECTOR}, {VECTOR}) -> {XX}",
        ["tensor<?xf32>", VECTOR, VECTOR],
        XX,
        [np.zeros(3, F32), vector(0, 1, 2), vector(0, 3)],
        "ragged.assemble: level 2: expected 3 offsets, got 2",
    ),
    (
        f'ragged.split %a0 {{dim = 0, factor = 2}} : ({X}) -> tensor<?x2x?xf32, #ragged.layout<"ddr">>',
        [X],
        'tensor<?x2x?xf32, #ragged.layout<"ddr">>',
        [GOOD],
        "ragged.split: level 0: expected a multiple of 2, got 3",
    ),
    (
        f"ragged.select %a0, %a1 {{dim = 0}} : ({X}, index) -> tensor<?xf32>",
        [X, "index"],
        "tensor<?xf32>",
        [GOOD, 3],
        "ragged.select: level 0: expected index in [0, 3), got 3",
    ),
    (
        f"ragged.select %a0, %a1 {{dim = 1}} : ({X}, index) -> tensor<?xf32>",
        [X, "index"],
        "tensor<?xf32>",
        [GOOD, 0],
        "ragged.select: level 1, component 1: expected index in [0, 0), got 0",
    ),
    (
        f"ragged.slice %a0, %a1, %a2 {{dim = 1}} : ({X}, index, {VECTOR}) -> tensor<?x?xf32, {W}>",
        [X, "index", VECTOR],
        f"tensor<?x?xf32, {W}>",
        [GOOD, 0, vector(3, 1, 2)],
        "ragged.slice: level 1, component 1: expected hi <= 0, got 1",
    ),
    (
        f"ragged.concat %a0, %a1 {{dim = 1}} : ({X}, {X}) -> {X}",
        [X, X],
        X,
        [GOOD, (np.zeros(1, F32), vector(0, 1))],
        "ragged.concat: dim 0: expected extent 3, got 1",
    ),
    (
        f"ragged.to_padded %a0, %a1, %a2 : ({X}, f32, index) -> tensor<?x?xf32>",
        [X, "f32", "index"],
        "tensor<?x?xf32>",
        [GOOD, 0.0, 2],
        "ragged.to_padded: level 1, component 0: expected extent >= length 3, got 2",
    ),
    (
        f"ragged.to_padded %a0, %a1, %a2 {{truncate}} : ({X}, f32, index) -> tensor<?x?xf32>",
        [X, "f32", "index"],
        "tensor<?x?xf32>",
        [GOOD, 0.0, -1],
        "ragged.to_padded: level 1: expected at least 0, got -1",
    ),
    (
        f"ragged.from_padded %a0, %a1 : (tensor<?x?xf32>, {VECTOR}) -> {X}",
        ["tensor<?x?xf32>", VECTOR],
        X,
        [np.zeros((2, 2), F32), vector(0, 3, 3)],
        "ragged.from_padded: level 1, component 0: expected extent >= length 3, got 2",
    ),
    (
        f'ragged.reduce_across %a0, %a1 {{dim = 1, kind = "sum"}} : ({X}, index) -> tensor<?xf32>',
        [X, "index"],
        "tensor<?xf32>",
        [GOOD, 2],
        "ragged.reduce_across: level 1, component 0: expected extent >= length 3, got 2",
    ),
    (
        f"ragged.attention %a0, %a1, %a2 {{scale = 1.0}} : ({HEADS}, {HEADS}, {HEADS}) -> ({HEADS}, {SUMS})",
        [HEADS, HEADS, HEADS],
        HEADS,
        [ROWS, ROWS, (np.zeros((4, 1, 2), F32), np.array([0, 2, 2, 4]))],
        "ragged.attention: level 1, component 0: expected length 3, got 2",
    ),
    (
        "ragged.attention_jvp %a0, %a0, %a0, %a0, %a1, %a0, %a0, %a2 {scale = 1.0} : "
        f"({', '.join([HEADS] * 4)}, {SUMS}, {', '.join([HEADS] * 3)}) -> ({HEADS}, {SUMS})",
        [HEADS, SUMS, HEADS],
        HEADS,
        [ROWS, (np.zeros((5, 1), F32), ROWS[1]), (np.zeros((4, 1, 2), F32), np.array([0, 3, 3, 4]))],
        "ragged.attention_jvp: level 1, component 2: expected length 2, got 1",
    ),
    (
        "ragged.attention_vjp_q %a0, %a0, %a0, %a1, %a0, %a2 {scale = 1.0} : "
        f"({', '.join([HEADS] * 3)}, {SUMS}, {HEADS}, {SUMS}) -> {HEADS}",
        [HEADS, SUMS, SUMS],
        HEADS,
        [ROWS, (np.zeros((5, 1), F32), ROWS[1]), (np.zeros((4, 1), F32), np.array([0, 2, 2, 4]))],
        "ragged.attention_vjp_q: level 1, component 0: expected length 3, got 2",
    ),
    (
        "ragged.attention_vjp_kv %a0, %a0, %a0, %a1, %a2, %a1 {scale = 1.0} : "
        f"({', '.join([HEADS] * 3)}, {SUMS}, {HEADS}, {SUMS}) -> ({HEADS}, {HEADS})",
        [HEADS, SUMS, HEADS],
        HEADS,
        [ROWS, (np.zeros((5, 1), F32), ROWS[1]), (np.zeros((4, 1, 2), F32), np.array([0, 2, 2, 4]))],
        "ragged.attention_vjp_kv: level 1, component 0: expected length 3, got 2",
    ),
    (
        f"ragged.assume %a0 {{level = 1, divisible_by = 2}} : ({X}) -> {X}",
        [X],
        X,
        [GOOD],
        "ragged.assume: level 1, component 0: expected a multiple of 2, got 3",
    ),
    (
        f"arith.addf %a0, %a1 : {X}",
        [X, X],
        X,
        [GOOD, (np.zeros(5, F32), vector(0, 3, 4, 5))],
        "arith.addf: level 1, component 1: expected length 0, got 1",
    ),
    (
        f"arith.addf %a0, %a1 : {X}",
        [X, X],
        X,
        [GOOD, (np.zeros(3, F32), vector(0, 3))],
        "arith.addf: level 1: expected 3 components, got 1",
    ),
    (
        f'ragged.partition %a0, %a1 {{dim = 1}} : ({X}, tensor<?x?xi64>) -> tensor<?x3x?xf32, #ragged.layout<"ddr">>',
        [X, "tensor<?x?xi64>"],
        'tensor<?x3x?xf32, #ragged.layout<"ddr">>',
        [GOOD, np.array([[0, 1, 3], [0, 0, 0], [0, 2, 2]])],
        "ragged.partition: dim 2: expected extent 4, got 3",
    ),
    (
        "tensor.cast %a0 : tensor<?xf32> to tensor<4xf32>",
        ["tensor<?xf32>"],
        "tensor<4xf32>",
        [np.zeros(3, F32)],
        "tensor.cast: dim 0: expected extent 4, got 3",
    ),
    (
        f"arith.negf %a0 : {X}",
        [X],
        X,
        [(np.zeros(3, F32), vector(0, 2))],
        "argument 0: level 1, component 0: expected offsets[1] == 3, got 2",
    ),
    (
        f"arith.negf %a0 : {X}",
        [f"{X} {{ragged.max_length = 2 : i64}}"],
        X,
        [GOOD],
        "argument 0: level 1, component 0: expected at most 2, got 3",
    ),
    (
        f"linalg.broadcast ins(%a0 : tensor<?xf32>) outs(%a1 : {X}) dimensions = [1]",
        ["tensor<?xf32>", X],
        X,
        [np.zeros(2, F32), GOOD],
        "linalg.broadcast: dim 0: expected extent 2, got 3",
    ),
]
