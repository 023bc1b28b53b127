"""Programs whose loops run on several threads, and their data."""

from __future__ import annotations

import numpy as np
from support.structures import offsets_of

J, S = '#ragged.layout<"dr|d">', '#ragged.layout<"dr">'
X, SCORES = f"tensor<?x?x8xf32, {J}>", f"tensor<?x?xf32, {S}>"
RNG = np.random.default_rng(7)
LENGTHS = np.where(RNG.random(700) < 0.1, 0, RNG.lognormal(3.5, 1, 700)).astype(np.int64)
OFFSETS = offsets_of(LENGTHS.tolist())
VALUES = RNG.standard_normal((int(OFFSETS[-1]), 8), np.float32)
ZERO = "%zero = arith.constant 0.0 : f32"
SOFTMAX = [
    f"%e = ragged.empty %a0 : ({X}) -> {X}",
    f"%0 = linalg.softmax dimension(1) ins(%a0 : {X}) outs(%e : {X}) -> {X}",
]
SUM = [
    ZERO,
    "%c0 = arith.constant 0 : index",
    f"%n = tensor.dim %a0, %c0 : {X}",
    "%e = tensor.empty(%n) : tensor<?x8xf32>",
    "%i = linalg.fill ins(%zero : f32) outs(%e : tensor<?x8xf32>) -> tensor<?x8xf32>",
    f"%0 = linalg.reduce {{ arith.addf }} ins(%a0 : {X}) outs(%i : tensor<?x8xf32>) dimensions = [1]",
]
WEIGHTED = [
    f"%w = ragged.empty %a0 : ({X}) -> {X}",
    f"%s = linalg.softmax dimension(1) ins(%a0 : {X}) outs(%w : {X}) -> {X}",
    f"%y = arith.mulf %s, %a0 : {X}",
    *SUM[:-1],
    SUM[-1].replace("%a0", "%y"),
]
TOTAL = [
    ZERO,
    "%e = tensor.empty() : tensor<f32>",
    "%i = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>",
    f"%0 = linalg.reduce {{ arith.addf }} ins(%a0 : {X}) outs(%i : tensor<f32>) dimensions = [0, 1, 2]",
]
PADDED = [ZERO, f"%0 = ragged.to_padded %a0, %zero : ({X}, f32) -> tensor<?x?x8xf32>"]
ROWS = [
    ZERO,
    f"%e = ragged.empty %a0 {{from = [[0, 0], [0, 1]]}} : ({X}) -> {SCORES}",
    f"%i = linalg.fill ins(%zero : f32) outs(%e : {SCORES}) -> {SCORES}",
    f"%0 = linalg.reduce {{ arith.addf }} ins(%a0 : {X}) outs(%i : {SCORES}) dimensions = [2]",
]
PROGRAMS = {
    "elementwise": ([f"%y = math.exp %a0 : {X}", f"%0 = arith.mulf %y, %a0 : {X}"], X),
    "softmax": (SOFTMAX, X),
    "sum by softmax": (WEIGHTED, "tensor<?x8xf32>"),
    "sum of components": (SUM, "tensor<?x8xf32>"),
    "sum of everything": (TOTAL, "tensor<f32>"),
    "sum of rows": (ROWS, SCORES),
    "to padded": (PADDED, "tensor<?x?x8xf32>"),
}
