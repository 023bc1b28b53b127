"""The reference interpreter on elementwise ops, control flow and dense tensor ops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.nested_lists import lists
from support.structures import LAYOUTS, make, seeded, text_of

from ragged_dialect.errors import RaggedError, RuntimeCheckError
from ragged_dialect.reference import RaggedValue, run

F32 = np.float32
OFFSETS = np.array([0, 3, 3, 5])
J, W = (f'#ragged.layout<"{letters}">' for letters in ("dr", "dw"))
X = f"tensor<3x?xf32, {J}>"
ROW = np.arange(5, dtype=F32)


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


@pytest.mark.sampled(3)
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
        "tensor.extract_slice: level 0: expected hi <= 3, got 4",
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
