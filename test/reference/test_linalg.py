"""The reference interpreter's loops: the linalg ops on ragged tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.nested_lists import lists
from support.structures import text_of

from ragged_dialect.reference import run

F32 = np.float32
OFFSETS = np.array([0, 3, 3, 5])
J, JD, W = (f'#ragged.layout<"{letters}">' for letters in ("dr", "dr|d", "dw"))
X, XD = f"tensor<3x?xf32, {J}>", f"tensor<3x?x2xf32, {JD}>"
ROW = np.arange(5, dtype=F32)
ROWS = np.arange(10, dtype=F32).reshape(5, 2)


REDUCES = [
    ("[1]", "tensor<3x2xf32>", [[6 + 1, 9 + 1], [1, 1], [14 + 1, 16 + 1]]),
    ("[0, 1]", "tensor<2xf32>", [21, 26]),
    ("[0, 1, 2]", "tensor<f32>", 46),
]


@pytest.mark.parametrize(("dims", "result", "expected"), REDUCES)
def test_reduce_combines_outs(dims: str, result: str, expected: Any) -> None:
    """Outs plus the elements; an empty component gives outs."""
    line = f"%0 = linalg.reduce {{ arith.addf }} ins(%a0 : {XD}) outs(%a1 : {result}) dimensions = {dims}"
    init = np.ones(np.shape(expected), F32)
    (reduced,) = run(text_of([XD, result], [line], [("%0", result)]), "f", [(ROWS, OFFSETS), init])
    assert reduced.tolist() == expected
    np.testing.assert_array_equal(init, 1)


def test_reduce_to_ragged() -> None:
    """Reducing the features leaves the ragged dim."""
    lines = [
        f"%e = ragged.empty %a0 {{from = [[0, 0], [0, 1]]}} : ({XD}) -> {X}",
        "%c = arith.constant 0.5 : f32",
        f"%i = linalg.fill ins(%c : f32) outs(%e : {X}) -> {X}",
        f"%0 = linalg.reduce {{ arith.addf }} ins(%a0 : {XD}) outs(%i : {X}) dimensions = [2]",
    ]
    (parts,) = run(text_of([XD], lines, [("%0", X)]), "f", [(ROWS, OFFSETS)])
    assert lists(parts) == [[1.5, 5.5, 9.5, 13.5, 17.5], [0, 3, 3, 5]]


def test_reduce_of_tiles_keeps_init_in_holes() -> None:
    """Summing over components and tiles gives a dense tile; places without elements keep outs."""
    type_ = 'tensor<3x?x4xf32, #ragged.layout<"drt">>'
    line = f"%0 = linalg.reduce {{ arith.addf }} ins(%a0 : {type_}) outs(%a1 : tensor<4xf32>) dimensions = [0, 1]"
    text = text_of([type_, "tensor<4xf32>"], [line], [("%0", "tensor<4xf32>")])
    (reduced,) = run(text, "f", [(ROW, OFFSETS), np.full(4, 10, F32)])
    assert reduced.tolist() == [13, 15, 12, 10]


NARROW_SUMS = [
    ("f16", "arith.addf", np.array([2048, 1, 1, 1, 1], np.float16), 2052.0),
    ("bf16", "arith.addf", np.array([256, 1, 1, 1, 1], "bfloat16"), 260.0),
    ("f16", "arith.maximumf", np.array([1, 3, 2, 0, 1], np.float16), 3.0),
]


@pytest.mark.parametrize(("element", "op", "values", "expected"), NARROW_SUMS)
def test_narrow_floats_accumulate_in_f32(element: str, op: str, values: Any, expected: float) -> None:
    """One add, mul, max or min of f16 and bf16 rounds once, at the end."""
    x, out = f"tensor<1x?x{element}, {J}>", f"tensor<1x{element}>"
    line = f"%0 = linalg.reduce {{ {op} }} ins(%a0 : {x}) outs(%a1 : {out}) dimensions = [1]"
    init = np.zeros(1, values.dtype)
    (reduced,) = run(text_of([x, out], [line], [("%0", out)]), "f", [(values, np.array([0, 5])), init])
    assert reduced.dtype == values.dtype
    assert reduced.astype(F32).tolist() == [expected]


def test_broadcast_component_values_to_elements() -> None:
    """One value per component, to every element of it."""
    lines = [
        f"%e = ragged.empty %a1 : ({X}) -> {X}",
        f"%0 = linalg.broadcast ins(%a0 : tensor<3xf32>) outs(%e : {X}) dimensions = [1]",
    ]
    (parts,) = run(text_of(["tensor<3xf32>", X], lines, [("%0", X)]), "f", [np.array([7, 8, 9], F32), (ROW, OFFSETS)])
    assert lists(parts) == [[7, 7, 7, 9, 9], [0, 3, 3, 5]]


def test_dense_operand_on_a_ragged_loop() -> None:
    """Position embeddings: a dense operand as long as the longest component, or longer."""
    lines = [
        f"%e = ragged.empty %a0 : ({X}) -> {X}",
        "%0 = linalg.generic {indexing_maps = [affine_map<(b, i) -> (b, i)>, affine_map<(b, i) -> (i)>,"
        ' affine_map<(b, i) -> (b, i)>], iterator_types = ["parallel", "parallel"]}',
        f"ins(%a0, %a1 : {X}, tensor<?xf32>) outs(%e : {X}) {{",
        "^bb0(%x: f32, %p: f32, %o: f32):",
        "%i = linalg.index 1 : index",
        "%j = arith.index_cast %i : index to i32",
        "%k = arith.sitofp %j : i32 to f32",
        "%s = arith.addf %x, %p : f32",
        "%t = arith.addf %s, %k : f32",
        "linalg.yield %t : f32",
        f"}} -> {X}",
    ]
    text = text_of([X, "tensor<?xf32>"], lines, [("%0", X)])
    (parts,) = run(text, "f", [(ROW, OFFSETS), np.array([100, 200, 300, 400], F32)])
    assert lists(parts) == [[100, 202, 304, 103, 205], [0, 3, 3, 5]]


def test_transpose_of_axes() -> None:
    """Whole axes change places."""
    type_, out = 'tensor<?x?x2xf32, #ragged.layout<"dr|d">>', 'tensor<2x?x?xf32, #ragged.layout<"d|dr">>'
    lines = [
        f"%e = ragged.empty %a0 {{from = [-1, [0, 0], [0, 1]]}} : ({type_}) -> {out}",
        f"%0 = linalg.transpose ins(%a0 : {type_}) outs(%e : {out}) permutation = [2, 0, 1]",
    ]
    (parts,) = run(text_of([type_], lines, [("%0", out)]), "f", [(ROWS, OFFSETS)])
    assert lists(parts) == [ROWS.T.tolist(), [0, 3, 3, 5]]


def test_scores_of_two_lengths() -> None:
    """Attention scores: queries and keys of the same batch with lengths of their own."""
    out = 'tensor<?x?x?xf32, #ragged.layout<"drr">>'
    q = f"tensor<?x?x2xf32, {JD}>"
    lines = [
        f"%e = ragged.empty %a0, %a1 {{from = [[0, 0], [0, 1], [1, 1]]}} : ({q}, {q}) -> {out}",
        "%z = arith.constant 0.0 : f32",
        f"%i = linalg.fill ins(%z : f32) outs(%e : {out}) -> {out}",
        "%0 = linalg.contract indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>,"
        " affine_map<(b, m, n, k) -> (b, n, k)>, affine_map<(b, m, n, k) -> (b, m, n)>]",
        f"ins(%a0, %a1 : {q}, {q}) outs(%i : {out}) -> {out}",
    ]
    a, b = np.arange(6, dtype=F32).reshape(3, 2), np.arange(8, dtype=F32).reshape(4, 2)
    (parts,) = run(text_of([q, q], lines, [("%0", out)]), "f", [(a, np.array([0, 2, 3])), (b, np.array([0, 1, 4]))])
    assert lists(parts[1:]) == [[0, 2, 3], [0, 1, 2, 5]]
    assert parts[0].tolist() == [*(a[:2] @ b[:1].T).ravel(), *(a[2:] @ b[1:].T).ravel()]


def test_named_matmuls() -> None:
    """matmul, batch_matmul, batch_matvec, vecmat, dot on dense and ragged tensors."""
    text = f"""
    func.func @f(%x: {XD}, %w: tensor<3x2x2xf32>, %v: tensor<3x2xf32>, %d: tensor<2x2xf32>, %u: tensor<2xf32>,
                 %zm: {XD}, %zv: {X}, %zd: tensor<2x2xf32>, %z1: tensor<2xf32>, %z0: tensor<f32>)
        -> ({XD}, {X}, tensor<2x2xf32>, tensor<2xf32>, tensor<f32>) {{
      %0 = linalg.batch_matmul ins(%x, %w : {XD}, tensor<3x2x2xf32>) outs(%zm : {XD}) -> {XD}
      %1 = linalg.batch_matvec ins(%x, %v : {XD}, tensor<3x2xf32>) outs(%zv : {X}) -> {X}
      %2 = linalg.matmul ins(%d, %d : tensor<2x2xf32>, tensor<2x2xf32>) outs(%zd : tensor<2x2xf32>) -> tensor<2x2xf32>
      %3 = linalg.vecmat ins(%u, %d : tensor<2xf32>, tensor<2x2xf32>) outs(%z1 : tensor<2xf32>) -> tensor<2xf32>
      %4 = linalg.dot ins(%u, %u : tensor<2xf32>, tensor<2xf32>) outs(%z0 : tensor<f32>) -> tensor<f32>
      return %0, %1, %2, %3, %4 : {XD}, {X}, tensor<2x2xf32>, tensor<2xf32>, tensor<f32>
    }}"""
    rng = np.random.default_rng(0)
    w, v, d, u = (rng.integers(-3, 4, s).astype(F32) for s in ((3, 2, 2), (3, 2), (2, 2), (2,)))
    zeros = [
        (np.zeros_like(ROWS), OFFSETS),
        (np.zeros_like(ROW), OFFSETS),
        *(np.zeros(s, F32) for s in ((2, 2), 2, ())),
    ]
    mm, mv, dense, vec, dot = run(text, "f", [(ROWS, OFFSETS), w, v, d, u, *zeros])
    owner = [0, 0, 0, 2, 2]
    np.testing.assert_array_equal(mm[0], [ROWS[i] @ w[b] for i, b in enumerate(owner)])
    np.testing.assert_array_equal(mv[0], [ROWS[i] @ v[b] for i, b in enumerate(owner)])
    np.testing.assert_array_equal(dense, d @ d)
    np.testing.assert_array_equal(vec, u @ d)
    assert dot == u @ u


def test_softmax_per_component() -> None:
    """Every component sums to one; an empty one has nothing."""
    lines = [
        f"%e = ragged.empty %a0 : ({X}) -> {X}",
        f"%0 = linalg.softmax dimension(1) ins(%a0 : {X}) outs(%e : {X}) -> {X}",
    ]
    (parts,) = run(text_of([X], lines, [("%0", X)]), "f", [(ROW, OFFSETS)])
    powers = np.exp(ROW.astype(np.float64))
    expected = np.concatenate([powers[:3] / powers[:3].sum(), powers[3:] / powers[3:].sum()])
    np.testing.assert_allclose(parts[0], expected, rtol=1e-6)


NAMED = [
    ("linalg.add ins(%a0, %a0 : {x}, {x})", ROW + ROW),
    ("linalg.mul ins(%a0, %a0 : {x}, {x})", ROW * ROW),
    ("linalg.exp ins(%a0 : {x})", np.exp(ROW)),
    ("linalg.negf ins(%a0 : {x})", -ROW),
    ("linalg.copy ins(%a0 : {x})", ROW),
    ("linalg.elementwise kind=#linalg.elementwise_kind<sub> ins(%a0, %a0 : {x}, {x})", ROW * 0),
]


@pytest.mark.parametrize(("op", "expected"), NAMED, ids=[op.split(" ")[0] for op, _ in NAMED])
def test_named_elementwise(op: str, expected: Any) -> None:
    """The named ops run their own region."""
    lines = [f"%e = ragged.empty %a0 : ({X}) -> {X}", f"%0 = {op.format(x=X)} outs(%e : {X}) -> {X}"]
    (parts,) = run(text_of([X], lines, [("%0", X)]), "f", [(ROW, OFFSETS)])
    np.testing.assert_allclose(parts[0], expected, rtol=1e-6)


def test_map_on_tiles() -> None:
    """linalg.map leaves the holes of tiles alone."""
    type_ = 'tensor<3x?x2xf32, #ragged.layout<"drt">>'
    lines = [
        f"%e = ragged.empty %a0 : ({type_}) -> {type_}",
        f"%0 = linalg.map {{ arith.mulf }} ins(%a0, %a0 : {type_}, {type_}) outs(%e : {type_})",
    ]
    (parts,) = run(text_of([type_], lines, [("%0", type_)]), "f", [(ROW, OFFSETS)])
    assert lists(parts) == [[0, 1, 4, 9, 16], [0, 3, 3, 5]]


def test_generic_with_two_outs_and_windows() -> None:
    """Sum and maximum of windows at once, of which one result rounds in the narrow type."""
    x = f"tensor<?x?xf32, {W}>"
    lines = [
        "%0:2 = linalg.generic {indexing_maps = [affine_map<(b, i) -> (b, i)>, affine_map<(b, i) -> (b)>,"
        ' affine_map<(b, i) -> (b)>], iterator_types = ["parallel", "reduction"]}',
        f"ins(%a0 : {x}) outs(%a1, %a2 : tensor<?xf32>, tensor<?xf32>) {{",
        "^bb0(%v: f32, %s: f32, %m: f32):",
        "%t = arith.addf %v, %s : f32",
        "%u = arith.maximumf %v, %m : f32",
        "linalg.yield %t, %u : f32, f32",
        "} -> (tensor<?xf32>, tensor<?xf32>)",
    ]
    text = text_of([x, "tensor<?xf32>", "tensor<?xf32>"], lines, [("%0#0", "tensor<?xf32>"), ("%0#1", "tensor<?xf32>")])
    windows = (np.arange(8, dtype=F32), np.array([5, 4, 0]), np.array([2, 3, 0]))
    sums, maxima = run(text, "f", [windows, np.zeros(3, F32), np.full(3, -1, F32)])
    assert sums.tolist() == [11, 15, 0]
    assert maxima.tolist() == [6, 6, -1]


def test_windowed_index_expressions_on_dense_operands() -> None:
    """A dense operand indexed by a sum of loops, as in a convolution."""
    lines = [
        "%0 = linalg.generic {indexing_maps = [affine_map<(i, k) -> (i + k)>, affine_map<(i, k) -> (k)>,"
        ' affine_map<(i, k) -> (i)>], iterator_types = ["parallel", "reduction"]}',
        "ins(%a0, %a1 : tensor<5xf32>, tensor<3xf32>) outs(%a2 : tensor<3xf32>) {",
        "^bb0(%x: f32, %w: f32, %o: f32):",
        "%m = arith.mulf %x, %w : f32",
        "%s = arith.addf %o, %m : f32",
        "linalg.yield %s : f32",
        "} -> tensor<3xf32>",
    ]
    text = text_of(["tensor<5xf32>", "tensor<3xf32>", "tensor<3xf32>"], lines, [("%0", "tensor<3xf32>")])
    (out,) = run(text, "f", [ROW, np.array([1, 0, -1], F32), np.zeros(3, F32)])
    assert out.tolist() == [-2, -2, -2]


def test_matmul_of_bf16_keeps_the_sum_in_f32() -> None:
    """Products round to bf16, their sum does not until the end."""
    type_ = "tensor<1x3xbf16>"
    line = (
        f"%0 = linalg.matmul ins(%a0, %a1 : {type_}, tensor<3x1xbf16>) outs(%a2 : tensor<1x1xbf16>) -> tensor<1x1xbf16>"
    )
    text = text_of([type_, "tensor<3x1xbf16>", "tensor<1x1xbf16>"], [line], [("%0", "tensor<1x1xbf16>")])
    a, ones = np.array([[256, 1, 1]], "bfloat16"), np.ones((3, 1), "bfloat16")
    (out,) = run(text, "f", [a, ones, np.zeros((1, 1), "bfloat16")])
    assert out.astype(F32).tolist() == [[258.0]]
