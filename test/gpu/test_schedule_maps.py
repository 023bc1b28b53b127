"""The balanced schedule of elementwise work on the rows of components: what fits it, and its results for
components of all shapes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from support.schedules import schedules_in, schedules_of
from support.structures import offsets_of

import ragged_dialect
from ragged_dialect.asm.module import load_module
from ragged_dialect.dialect import context
from ragged_dialect.lowering.gpu.passes.ragged_map_parallel import RaggedMapParallel
from ragged_dialect.lowering.gpu.passes.version_ragged_components import VersionRaggedComponents

NUMPY = {"f16": np.float16, "f32": np.float32, "f64": np.float64, "i8": np.int8, "i64": np.int64}

_NAMES = """
#l = #ragged.layout<"{layout}">
#x = affine_map<({loops}) -> ({loops})>
#b = affine_map<({loops}) -> ({row})>
!x = tensor<?x?{d}x{t}, #l>
!b = tensor<?{d}x{t}>
"""

# One row per component, and the number of the row in its component.
_BIAS = """
func.func @f(%x: !x, %b: !b) -> !x {{
  %y = linalg.generic {{indexing_maps = [#x, #b, #x], iterator_types = [{kinds}]}} ins(%x, %b : !x, !b) outs(%x : !x) {{
  ^bb0(%a: {t}, %c: {t}, %o: {t}):
    %i = linalg.index 1 : index
    %k = arith.index_cast %i : index to i64
    %n = {cast} %k : i64 to {t}
    %s = arith.add{kind} %a, %c : {t}
    %r = arith.add{kind} %s, %n : {t}
    linalg.yield %r : {t}
  }} -> !x
  return %y : !x
}}
"""

# A table that is read at a place that the data tells.
_LOOKED_UP = """
func.func @f(%x: tensor<?x?xi64, #ragged.layout<"dr">>, %table: tensor<?xf32>, %b: tensor<?xf32>)
    -> tensor<?x?xf32, #ragged.layout<"dr">> {
  %e = ragged.empty %x : (tensor<?x?xi64, #ragged.layout<"dr">>) -> tensor<?x?xf32, #ragged.layout<"dr">>
  %y = linalg.generic {indexing_maps = [affine_map<(b, i) -> (b, i)>, affine_map<(b, i) -> (b)>,
      affine_map<(b, i) -> (b, i)>], iterator_types = ["parallel", "parallel"]}
      ins(%x, %b : tensor<?x?xi64, #ragged.layout<"dr">>, tensor<?xf32>)
      outs(%e : tensor<?x?xf32, #ragged.layout<"dr">>) {
  ^bb0(%a: i64, %c: f32, %o: f32):
    %i = arith.index_cast %a : i64 to index
    %v = tensor.extract %table[%i] : tensor<?xf32>
    %r = arith.mulf %v, %c : f32
    linalg.yield %r : f32
  } -> tensor<?x?xf32, #ragged.layout<"dr">>
  return %y : tensor<?x?xf32, #ragged.layout<"dr">>
}
"""
_UNPADDED = """
func.func @f(%padded: tensor<?x?x6xf32>, %offsets: tensor<?xi64>) -> tensor<?x?x6xf32, #ragged.layout<"dr|d">> {
  %x = ragged.from_padded %padded, %offsets
      : (tensor<?x?x6xf32>, tensor<?xi64>) -> tensor<?x?x6xf32, #ragged.layout<"dr|d">>
  return %x : tensor<?x?x6xf32, #ragged.layout<"dr|d">>
}
"""
_JOINED = """
#l = #ragged.layout<"dr|d">
func.func @f(%x: tensor<?x?x4xf32, #l>, %y: tensor<?x?x4xf32, #l>) -> tensor<?x?x4xf32, #l> {
  %z = ragged.concat %x, %y, %x {dim = 1}
      : (tensor<?x?x4xf32, #l>, tensor<?x?x4xf32, #l>, tensor<?x?x4xf32, #l>) -> tensor<?x?x4xf32, #l>
  return %z : tensor<?x?x4xf32, #l>
}
"""
_ROW_IDS = """
func.func @f(%x: tensor<?x?x4xf32, #ragged.layout<"dr|d">>) -> tensor<?xi64> {
  %ids = ragged.row_ids %x {level = 1} : (tensor<?x?x4xf32, #ragged.layout<"dr|d">>) -> tensor<?xi64>
  return %ids : tensor<?xi64>
}
"""

LENGTHS: tuple[Sequence[int], ...] = ((), (0,), (0, 0, 0), (5,), (1,) * 70, (0, 300, 0, 0, 3, 0), (33, 0, 31, 32, 1))


def bias_text(dtype: str, features: int | tuple[()] | None) -> str:
    """`_BIAS` for an element type; `features` None for a dynamic number, () for rows that are scalars."""
    scalars = features == ()
    names = {
        "layout": "dr" if scalars else "dr|d",
        "loops": "b, i" if scalars else "b, i, d",
        "row": "b" if scalars else "b, d",
        "d": "" if scalars else f"x{features or '?'}",
        "t": dtype,
    }
    kind = dtype[0]
    kinds = ", ".join(['"parallel"'] * (2 if scalars else 3))
    cast = {"i8": "arith.trunci", "i64": "arith.bitcast"}.get(dtype, "arith.sitofp")
    return (_NAMES + _BIAS).format(kind=kind, kinds=kinds, cast=cast, **names)


@cache
def compiled(text: str) -> Callable[..., Any]:
    """A program, its kernels run by the emulator."""
    return ragged_dialect.compile(text, target="emulator")


CASES = [
    ("f32", 64),
    ("f32", 4),
    ("f32", 3),
    ("f32", 1),
    ("f32", None),
    ("f32", ()),
    ("f32", 2048),
    ("f16", 24),
    ("f64", 6),
    ("i8", 16),
    ("i64", ()),
]


@pytest.mark.sampled(12)
@pytest.mark.parametrize(("dtype", "features"), CASES)
def test_a_row_per_component(dtype: str, features: Any) -> None:
    text = bias_text(dtype, features)
    assert schedules_of(text)[-1] == "balanced"
    rng = np.random.default_rng(17)
    size = () if features == () else (features or 5,)
    for lengths in (*LENGTHS, list(rng.integers(0, 9, 40))):
        if size and size[0] > 1000 and sum(lengths) > 100:
            continue
        offsets = offsets_of(lengths)
        x = rng.integers(-20, 20, (offsets[-1], *size)).astype(NUMPY[dtype])
        b = rng.integers(-20, 20, (len(lengths), *size)).astype(NUMPY[dtype])
        expected = x.copy()
        for k, (low, high) in enumerate(pairwise(offsets)):
            for row in range(low, high):
                expected[row] = x[row] + b[k] + NUMPY[dtype](row - low)
        y = compiled(text)((x, offsets), b)[0]
        np.testing.assert_array_equal(np.asarray(y), expected)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("lengths", LENGTHS)
def test_a_table(lengths: Sequence[int]) -> None:
    assert schedules_of(_LOOKED_UP)[-1] == "balanced"
    rng = np.random.default_rng(3)
    offsets = offsets_of(lengths)
    x, table = rng.integers(0, 11, offsets[-1]), rng.normal(size=11).astype(np.float32)
    b = rng.normal(size=len(lengths)).astype(np.float32)
    y = compiled(_LOOKED_UP)((x, offsets), table, b)[0]
    expected = [table[v] * b[k] for k in range(len(lengths)) for v in x[offsets[k] : offsets[k + 1]]]
    np.testing.assert_array_equal(np.asarray(y), np.array(expected, np.float32))


@pytest.mark.parametrize("lengths", [x for x in LENGTHS if x])
def test_from_padded(lengths: Sequence[int]) -> None:
    assert schedules_of(_UNPADDED)[-1] == "balanced"
    rng = np.random.default_rng(5)
    padded = rng.normal(size=(len(lengths), max(lengths) + 2, 6)).astype(np.float32)
    y = compiled(_UNPADDED)(padded, offsets_of(lengths))[0]
    expected = np.concatenate([padded[k, :n] for k, n in enumerate(lengths)])
    np.testing.assert_array_equal(np.asarray(y), expected)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("lengths", LENGTHS)
def test_concat_of_rows(lengths: Sequence[int]) -> None:
    assert schedules_of(_JOINED)[-3:] == ["balanced"] * 3
    rng = np.random.default_rng(7)
    offsets, others = offsets_of(lengths), offsets_of(lengths[::-1])
    x, y = (rng.normal(size=(offsets[-1], 4)).astype(np.float32) for _ in range(2))
    z, joined = compiled(_JOINED)((x, offsets), (y, others))
    parts: list[Any] = [np.zeros((0, 4), np.float32)]
    for k in range(len(lengths)):
        own = x[offsets[k] : offsets[k + 1]]
        parts += [own, y[others[k] : others[k + 1]], own]
    np.testing.assert_array_equal(np.asarray(z), np.concatenate(parts))
    np.testing.assert_array_equal(np.asarray(joined), 2 * offsets + others)


@pytest.mark.parametrize("lengths", LENGTHS)
def test_row_ids(lengths: Sequence[int]) -> None:
    assert schedules_of(_ROW_IDS)[-1] == "balanced"
    offsets = offsets_of(lengths)
    ids = compiled(_ROW_IDS)((np.zeros((offsets[-1], 4), np.float32), offsets))
    np.testing.assert_array_equal(np.asarray(ids), np.repeat(np.arange(len(lengths)), np.diff(offsets)))


_FORALL = """
#v = affine_map<(i) -> (i)>
!part = memref<?xf32, strided<[1], offset: ?>>
func.func @f(%x: memref<?xf32>, %offsets: memref<?xi64>, %y: memref<?xf32>, %z: memref<?xf32>, %n: index) {
  %c1 = arith.constant 1 : index
  scf.forall (%b) in (%n) {
    %lo = memref.load %offsets[%b] : memref<?xi64>
    %low = arith.index_cast %lo : i64 to index
    %next = arith.addi %b, %c1 : index
    %hi = memref.load %offsets[%next] : memref<?xi64>
    %high = arith.index_cast %hi : i64 to index
    %size = arith.subi %high, %low : index
    %xs = memref.subview %x[%low] [%size] [1] : memref<?xf32> to !part
    %ys = memref.subview %y[%low] [%size] [1] : memref<?xf32> to !part
    %zs = memref.subview %z[%low] [%size] [1] : memref<?xf32> to !part
    linalg.generic {indexing_maps = [#v, #v], iterator_types = ["parallel"]} ins(%xs : !part) outs(%ys : !part) {
    ^bb0(%a: f32, %o: f32):
      %r = arith.addf %a, %FIRST : f32
      linalg.yield %r : f32
    }
    linalg.generic {indexing_maps = [#v, #v], iterator_types = ["parallel"]} ins(%SOURCE : !part) outs(%zs : !part) {
    ^bb0(%a: f32, %o: f32):
      %r = arith.mulf %a, %SECOND : f32
      linalg.yield %r : f32
    }
  }
  return
}
"""


@pytest.mark.parametrize(
    ("source", "first", "second", "expected"),
    [
        ("xs", "a", "a", ["balanced"]),
        # reads what the first one writes: one after the other only
        ("ys", "a", "a", ["general", "segment", "balanced", "balanced"]),
        # adds to what is there
        ("xs", "o", "a", ["segment"]),
        ("xs", "a", "o", ["segment"]),
    ],
)
def test_maps_are_independent(source: str, first: str, second: str, expected: list[str]) -> None:
    text = _FORALL.replace("%SOURCE", f"%{source}").replace("%FIRST", f"%{first}").replace("%SECOND", f"%{second}")
    with context() as made:
        module = load_module(text, made, "p")
        VersionRaggedComponents().run(module.operation)
        RaggedMapParallel().run(module.operation)
    assert schedules_in(str(module)) == expected
