"""The reference interpreter's loops: elementwise ops, linalg and control flow on ragged tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.structures import LAYOUTS, make, seeded, text_of

from ragged_dialect.errors import RaggedError, RuntimeCheckError
from ragged_dialect.reference import RaggedValue, run

F32 = np.float32
OFFSETS = np.array([0, 3, 3, 5])
J, JD, W = (f'#ragged.layout<"{letters}">' for letters in ("dr", "dr|d", "dw"))
X, XD = f"tensor<3x?xf32, {J}>", f"tensor<3x?x2xf32, {JD}>"
ROW = np.arange(5, dtype=F32)
ROWS = np.arange(10, dtype=F32).reshape(5, 2)


def lists(x: Any) -> Any:
    """Arrays and tuples of them as lists."""
    return [lists(p) for p in x] if isinstance(x, tuple) else x.tolist()


def test_elementwise_takes_elements_in_windows_only() -> None:
    """A result of windows has contiguous storage of its own, also of overlapping ones."""
    type_ = f"tensor<?x?xf32, {W}>"
    text = text_of([type_], [f"%0 = arith.mulf %a0, %a0 : {type_}"], [("%0", type_)])
    (parts,) = run(text, "f", [(np.arange(8, dtype=F32), np.array([5, 4, 0]), np.array([2, 2, 0]))])
    assert lists(parts) == [[25, 36, 16, 25], [0, 2, 4], [2, 2, 0]]


def test_windows_conform_by_lengths() -> None:
    """Starts are storage, not structure."""
    type_ = f"tensor<?x?xf32, {W}>"
    text = text_of([type_, type_], [f"%0 = arith.addf %a0, %a1 : {type_}"], [("%0", type_)])
    x = np.arange(8, dtype=F32)
    lengths = np.array([2, 1])
    (parts,) = run(text, "f", [(x, np.array([6, 0]), lengths), (x, np.array([0, 5]), lengths)])
    assert parts[0].tolist() == [6, 8, 5]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_elementwise_on_every_layout(layout: str) -> None:
    """x + x, cast and compared, element by element."""
    for seed in range(4):
        case = make(seeded(seed), layout)
        other = case.type.replace("f32", "i8")
        lines = [f"%0 = arith.addf %a0, %a0 : {case.type}", f"%1 = arith.fptosi %0 : {case.type} to {other}"]
        added, cast = run(text_of([case.type], lines, [("%0", case.type), ("%1", other)]), "f", [case.parts])
        wanted = RaggedValue.from_parts(case.shape, case.parts).gather() * 2
        np.testing.assert_array_equal(added[0], wanted)
        np.testing.assert_array_equal(cast[0], wanted)
        assert cast[0].dtype == np.int8


def test_scalar_select_passes_whole_values() -> None:
    """The condition picks one of two values that need not conform."""
    text = text_of(["i1", X, X], [f"%0 = arith.select %a0, %a1, %a2 : {X}"], [("%0", X)])
    a, b = (ROW, OFFSETS), (ROW[:1], np.array([0, 0, 0, 1]))
    assert lists(run(text, "f", [True, a, b])[0]) == lists(a)
    assert lists(run(text, "f", [False, a, b])[0]) == lists(b)


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


CONTROL = f"""
func.func @twice(%x: {X}) -> {X} {{
  %0 = arith.addf %x, %x : {X}
  return %0 : {X}
}}
func.func @f(%x: {X}, %n: index, %c: i1) -> ({X}, index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c100 = arith.constant 100 : index
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%y = %x) -> ({X}) {{
    %z = func.call @twice(%y) : ({X}) -> {X}
    scf.yield %z : {X}
  }}
  %1 = scf.if %c -> ({X}) {{
    scf.yield %0 : {X}
  }} else {{
    scf.yield %x : {X}
  }}
  %2 = scf.while (%k = %c1) : (index) -> index {{
    %go = arith.cmpi slt, %k, %c100 : index
    scf.condition(%go) %k : index
  }} do {{
  ^bb0(%k: index):
    %d = arith.addi %k, %k : index
    scf.yield %d : index
  }}
  return %1, %2 : {X}, index
}}
"""


@pytest.mark.parametrize(("condition", "factor"), [(True, 8), (False, 1)])
def test_calls_and_loops(condition: bool, factor: int) -> None:
    """Ragged values through func.call, scf.for, scf.if; scf.while."""
    parts, count = run(CONTROL, "f", [(ROW, OFFSETS), 3, condition])
    assert lists(parts) == [(ROW * factor).tolist(), [0, 3, 3, 5]]
    assert count == 128


def test_dense_tensor_ops() -> None:
    """The tensor ops that programs on dense tensors use."""
    text = """
    func.func @f(%x: tensor<2x3xi32>, %n: index) -> (tensor<1x2xi32>, tensor<2x3xi32>, tensor<3x2xi32>,
                                                    tensor<?xindex>, tensor<2xi32>, tensor<3x3xi32>, i32) {
      %c1 = arith.constant 1 : index
      %v = arith.constant 7 : i32
      %s = tensor.extract_slice %x[1, 0] [1, 2] [1, 1] : tensor<2x3xi32> to tensor<1x2xi32>
      %i = tensor.insert %v into %x[%c1, %c1] : tensor<2x3xi32>
      %sh = arith.constant dense<[3, 2]> : tensor<2xindex>
      %r = tensor.reshape %x(%sh) : (tensor<2x3xi32>, tensor<2xindex>) -> tensor<3x2xi32>
      %g = tensor.generate %n {
      ^bb0(%k: index):
        %q = arith.muli %k, %k : index
        tensor.yield %q : index
      } : tensor<?xindex>
      %fe = tensor.from_elements %v, %v : tensor<2xi32>
      %sp = tensor.splat %v : tensor<3x3xi32>
      %in = tensor.insert_slice %s into %sp[0, 1] [1, 2] [1, 1] : tensor<1x2xi32> into tensor<3x3xi32>
      %e = tensor.extract %i[%c1, %c1] : tensor<2x3xi32>
      return %s, %i, %r, %g, %fe, %in, %e : tensor<1x2xi32>, tensor<2x3xi32>, tensor<3x2xi32>, tensor<?xindex>,
                                            tensor<2xi32>, tensor<3x3xi32>, i32
    }"""
    x = np.arange(6, dtype=np.int32).reshape(2, 3)
    results = run(text, "f", [x, 3])
    assert [r.tolist() if isinstance(r, np.ndarray) else r for r in results] == [
        [[3, 4]],
        [[0, 1, 2], [3, 7, 5]],
        [[0, 1], [2, 3], [4, 5]],
        [0, 1, 4],
        [7, 7],
        [[7, 3, 4], [7, 7, 7], [7, 7, 7]],
        7,
    ]
    np.testing.assert_array_equal(x, np.arange(6).reshape(2, 3))


def test_pad_and_concat_of_dense_tensors() -> None:
    """tensor.pad with its region, and tensor.concat."""
    text = """
    func.func @f(%x: tensor<2xi32>, %n: index) -> (tensor<?xi32>, tensor<4xi32>) {
      %v = arith.constant 9 : i32
      %p = tensor.pad %x low[1] high[%n] {
      ^bb0(%i: index):
        tensor.yield %v : i32
      } : tensor<2xi32> to tensor<?xi32>
      %c = tensor.concat dim(0) %x, %x : (tensor<2xi32>, tensor<2xi32>) -> tensor<4xi32>
      return %p, %c : tensor<?xi32>, tensor<4xi32>
    }"""
    padded, joined = run(text, "f", [np.array([1, 2], np.int32), 2])
    assert padded.tolist() == [9, 1, 2, 9, 9]
    assert joined.tolist() == [1, 2, 1, 2]


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


REFUSED = [
    (
        f"%0 = tensor.extract %a0[%a1, %a1] : {X}",
        "f32",
        [(ROW, OFFSETS), 1],
        RuntimeCheckError,
        "tensor.extract: level 1: expected index in [0, 0), got 1",
        True,
    ),
    (
        f"%0 = tensor.extract %a0[%a1, %a1] : {X}",
        "f32",
        [(ROW, OFFSETS), 3],
        RaggedError,
        "expected index in [0, 3), got 3",
        False,
    ),
    (
        f"%0 = ragged.annotate %a0 : ({X}) -> tensor<3x?xf32>",
        "tensor<3x?xf32>",
        [(ROW, OFFSETS), 0],
        RaggedError,
        f"expected an annotate of one layout (run ragged-infer-layouts), got {X} to tensor<3x?xf32>",
        True,
    ),
]


@pytest.mark.parametrize(("line", "result", "args", "kind", "message", "check"), REFUSED)
def test_refused(line: str, result: str, args: Any, kind: type[RaggedError], message: str, check: bool) -> None:
    """An index outside its component, with and without checks; an annotate that is left."""
    with pytest.raises(kind) as error:
        run(text_of([X, "index"], [line], [("%0", result)]), "f", args, check)
    assert str(error.value) == message


REFUSED_DENSE = [
    (
        ["%0 = tensor.extract_slice %a0[%a1] [2] [1] : tensor<3xi32> to tensor<2xi32>"],
        "tensor<2xi32>",
        "'tensor.extract_slice' expected a slice inside dim 0 of extent 3, got 2 to 3",
    ),
    (
        ["%0 = linalg.softmax dimension(0) ins(%a0 : tensor<3xi32>) outs(%a0 : tensor<3xi32>) -> tensor<3xi32>"],
        "tensor<3xi32>",
        "expected a softmax of floats, got int32",
    ),
    (
        ["%0 = arith.constant dense<1> : tensor<3xi4>"],
        "tensor<3xi4>",
        "expected an element type among i1, i8 to i64, index, f16, bf16, f32, f64, got i4",
    ),
]


@pytest.mark.parametrize(("lines", "result", "message"), REFUSED_DENSE)
def test_refused_dense(lines: list[str], result: str, message: str) -> None:
    """What has no meaning on the given data or types."""
    with pytest.raises(RaggedError) as error:
        run(text_of(["tensor<3xi32>", "index"], lines, [("%0", result)]), "f", [np.zeros(3, np.int32), 2])
    assert str(error.value) == message
