"""Loops of vectors: rows of any width, components of any length, on every kind of processor."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.cpu_features import levels, mask

import ragged_dialect as rg

LENGTHS = [0, 1, 33, 3, 0, 64, 65, 7, 130]
WIDTHS = (None, 1, 3, 7, 10, 16, 33, 64, 65)
DTYPES = ("float32", "float64", "int64", "int16", "float16", "bool")


def values(width: int | None, dtype: str) -> Any:
    """Numbers, nan and several equal ones among them, from -0.0 on."""
    shape = (sum(LENGTHS),) if width is None else (sum(LENGTHS), width)
    made = np.random.default_rng(0).integers(-9, 9, shape).astype(np.float64)
    if np.dtype(dtype).kind == "f":
        made.reshape(-1)[::97] = np.nan
        made.reshape(-1)[3::97] = -0.0
    return made.astype(dtype)


def each(x: Any, f: Any) -> list[Any]:
    """A function of every component that is not empty."""
    return [f(part) for part in np.split(x, np.cumsum(LENGTHS)[:-1]) if len(part)]


def folds(x: Any) -> list[Any]:
    """Folds over components, and along rows where there are any."""
    some = x[np.flatnonzero(LENGTHS)]
    found = [some.max(1), some.min(1), some.sum(1), some.argmax(1), some.argmin(1), (x != x).sum(1)]
    if x.ndim > 2:
        found += [x.max(2), x.argmin(2), x.sum(2), some.argmax((1, 2)), (x * x + x.max(2, keepdims=True)).max(2)]
    return found


def expected(x: Any) -> list[Any]:
    parts: list[Any] = [each(x, lambda p, f=f: f(p, 0)) for f in (np.max, np.min, np.sum, np.argmax, np.argmin)]
    parts.append([np.not_equal(p, p).sum(0) for p in np.split(x, np.cumsum(LENGTHS)[:-1])])
    if x.ndim > 1:
        squares = np.max(x * x + x.max(1, keepdims=True), 1)
        parts += [x.max(1), x.argmin(1), x.sum(1), each(x, np.argmax), squares]
    return [np.stack(part) if isinstance(part, list) else part for part in parts]


def levels_apart(f: Any, level: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A function compiled anew for a kind of processor."""
    mask(level, monkeypatch)
    return rg.jit(lambda x: f(x))


@pytest.mark.parametrize("level", ["host", "no AVX-512", "SSE2"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.sampled(228)
def test_folds(level: str, dtype: str, width: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    x = values(width, dtype)
    f = levels_apart(folds, level, monkeypatch)
    for number, (got, want) in enumerate(zip(f(rg.from_lengths(x, LENGTHS)), expected(x), strict=True)):
        found = got.values if isinstance(got, rg.RaggedArray) else np.asarray(got)
        np.testing.assert_array_equal(found, want, err_msg=f"number {number}")


SCANS = (np.add, np.multiply, np.maximum, np.minimum, np.logical_or)


def scans(x: Any) -> list[Any]:
    """What there is so far, alone and with what is made of it in the same loop."""
    found = [f.accumulate(x, axis=1) for f in SCANS]
    made = x + 0  # bool has no difference
    return [*found, x.cumsum(1) * 2 - made, (x.sum(1, keepdims=True) - made).cumsum(1)]


@pytest.mark.parametrize("level", ["host", "no AVX-512", "SSE2"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int16", "bool"])
@pytest.mark.sampled(6)
def test_scans(level: str, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scans of numbers, in registers, from one register to the next, and of what a mask leaves out."""
    x = values(None, dtype)
    x = np.where(abs(x + 0) > 2, np.ones_like(x), x)  # what is computed of them is exact
    found = levels_apart(scans, level, monkeypatch)(rg.from_lengths(x, LENGTHS))
    parts = np.split(x, np.cumsum(LENGTHS)[:-1])
    wants: list[Any] = [[f.accumulate(p) for p in parts] for f in SCANS]
    wants += [[p.cumsum() * 2 - (p + 0) for p in parts], [(p.sum() - (p + 0)).cumsum() for p in parts]]
    for number, (got, want) in enumerate(zip(found, wants, strict=True)):
        np.testing.assert_array_equal(got.values, np.concatenate(want), err_msg=f"number {number}")


BOTH = """#m = affine_map<(b, i) -> (b, i)>
#r = affine_map<(b, i) -> (b)>
!x = tensor<?x?xf32, #ragged.layout<"dr">>
func.func @f(%v: tensor<?xf32>, %offsets: tensor<?xi64>, %init: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>) {
  %x = ragged.assemble %v, %offsets : (tensor<?xf32>, tensor<?xi64>) -> !x
  %e = ragged.empty %x {from = [[0, 0], [0, 1]]} : (!x) -> !x
  %last, %y = linalg.generic {indexing_maps = [#m, #r, #m], iterator_types = ["parallel", "reduction"]}
      ins(%x : !x) outs(%init, %e : tensor<?xf32>, !x) {
  ^bb0(%in: f32, %so_far: f32, %out: f32):
    %m = arith.maximumf %so_far, %in : f32
    linalg.yield %m, %m : f32, f32
  } -> (tensor<?xf32>, !x)
  %r = ragged.values %y : (!x) -> tensor<?xf32>
  return %last, %r : tensor<?xf32>, tensor<?xf32>
}"""


@pytest.mark.parametrize("level", ["host", "no AVX-512", "SSE2"])
def test_what_a_scan_comes_to(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It goes on from what there was, and what a mask leaves out is no element."""
    mask(level, monkeypatch)
    x = -1 - np.abs(np.random.default_rng(0).standard_normal(sum(LENGTHS))).astype(np.float32)
    offsets, before = np.cumsum([0, *LENGTHS]), np.linspace(-1, -3, len(LENGTHS)).astype(np.float32)
    last, found = rg.compile(BOTH)(x, offsets, before)
    parts = [np.maximum.accumulate([b, *part])[1:] for b, part in zip(before, np.split(x, offsets[1:-1]), strict=True)]
    np.testing.assert_array_equal(found, np.concatenate(parts))
    np.testing.assert_array_equal(last, [p[-1] if len(p) else b for p, b in zip(parts, before, strict=True)])


def test_products_are_in_order() -> None:
    """Those of a few factors may be infinite where all before them are 0."""
    for numbers, want in (([0, 1e30, 1e30], [0, 0, 0]), ([1e-30, 1e-30, 1e30, 1e30], [1e-30, 0, 0, 0])):
        x = rg.from_lengths(np.array(numbers, np.float32), [len(numbers)])
        np.testing.assert_array_equal(np.cumprod(x, axis=1).values, np.array(want, np.float32))


@pytest.mark.parametrize("level", ["host", "no AVX-512", "SSE2"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "bool"])
@pytest.mark.parametrize("width", [None, 3])
@pytest.mark.sampled(24)
def test_slices_in_steps(level: str, dtype: str, width: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is read from the end on, in steps, and beside what is read in order."""
    x = values(width, dtype)
    slices = [slice(None, None, -1), slice(-2, None, -1), slice(None, 1, -1), slice(1, None, 2), slice(None, None, -3)]
    found = levels_apart(lambda x: [*(x[:, s] for s in slices), x[:, ::-1] + x, x[:, 1:][:, ::-1]], level, monkeypatch)
    parts = np.split(x, np.cumsum(LENGTHS)[:-1])
    wants = [*([part[s] for part in parts] for s in slices), [p[::-1] + p for p in parts], [p[:0:-1] for p in parts]]
    for number, (got, want) in enumerate(zip(found(rg.from_lengths(x, LENGTHS)), wants, strict=True)):
        np.testing.assert_array_equal(got.values, np.concatenate(want), err_msg=f"number {number}")


def rows(x: Any) -> Any:
    return rg.softmax(x, axis=2), rg.layer_norm(x), x.cumsum(2), (x / 9).cumprod(2) - x.max(2, keepdims=True)


@pytest.mark.parametrize("level", ["host", "no AVX-512", "SSE2"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("width", WIDTHS[1:])
@pytest.mark.sampled(33)
def test_rows(level: str, dtype: str, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folds and what is made of them again."""
    x = np.nan_to_num(values(width, dtype))
    soft, normal, sums, products = levels_apart(rows, level, monkeypatch)(rg.from_lengths(x, LENGTHS))
    weights = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(soft.values, weights / weights.sum(1, keepdims=True), 1e-5)
    apart = x - x.mean(1, keepdims=True)
    want = apart / np.sqrt((apart * apart).mean(1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(normal.values, want, 1e-4, 1e-4)
    np.testing.assert_allclose(sums.values, x.cumsum(1), 1e-5)
    np.testing.assert_allclose(products.values, (x / 9).cumprod(1) - x.max(1, keepdims=True), 1e-5, 1e-6)


@pytest.mark.parametrize("level", ["host", "no AVX-512", "SSE2"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("width", [1, 2, 3, 4, 5, 6, 7, 8, 12, 20])
@pytest.mark.sampled(132)
def test_few_features(level: str, dtype: str, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written of rows that are folded, several of them in a vector."""
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else np.dtype(dtype)
    x = np.random.default_rng(0).standard_normal((sum(LENGTHS), width)).astype(kind)
    f = levels_apart(lambda x: (rg.softmax(x, axis=1), rg.log_softmax(x, axis=1)), level, monkeypatch)
    soft, logs = f(rg.from_lengths(x, LENGTHS))
    weights = each(x.astype(np.float64), lambda part: np.exp(part - part.max(0)))
    want = np.concatenate([part / part.sum(0) for part in weights])
    error = {"float16": 2e-3, "bfloat16": 2e-2}.get(dtype, 2e-6)
    np.testing.assert_allclose(soft.values.astype(np.float64), want, error, error)
    np.testing.assert_allclose(logs.values.astype(np.float64), np.log(want), 2 * error, 2 * error)


def rows_of_their_own(x: Any) -> Any:
    high = x + x.prod(2, keepdims=True)
    return rg.softmax(x, axis=2), rg.layer_norm(x), x.cumsum(2), x.sum(2), high - high.mean(2, keepdims=True)


@pytest.mark.parametrize("level", ["host", "no AVX-512", "SSE2"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("width", [3, 4, 6, 8, 12])
@pytest.mark.sampled(30)
def test_rows_do_not_depend_on_how_many_there_are(
    dtype: str, width: int, level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that fill vectors, and those that are left over."""
    x = np.random.default_rng(0).standard_normal((53, width)).astype(dtype)
    f = levels_apart(rows_of_their_own, level, monkeypatch)
    whole = [np.asarray(y.values) for y in f(rg.from_lengths(x, [53]))]
    for row in (0, 31, 48, 52):
        for got, want in zip(f(rg.from_lengths(x[row : row + 1], [1])), whole, strict=True):
            assert got.values[0].tobytes() == want[row].tobytes()


@pytest.mark.sampled(4)
@pytest.mark.parametrize("width", [4, 8, 12])
def test_functions_of_elements_next_to_rows(width: int) -> None:
    """Sizes, signs and roots have flags as sums have."""
    x = np.random.default_rng(0).standard_normal((53, width))
    for dtype in ("float32", "float64"):
        got = rg.jit(lambda x: np.copysign(np.sqrt(abs(x - x.mean(-1, keepdims=True))), x))(
            rg.from_lengths(x.astype(dtype), [50, 0, 3])
        )
        want = np.copysign(np.sqrt(abs(x - x.mean(1, keepdims=True))), x)
        np.testing.assert_allclose(got.values, want, 1e-3, 1e-4)


def test_rows_of_many_chunks() -> None:
    """Ops over the same rows share a loop."""
    data = np.random.default_rng(0).standard_normal((9_000, 5)).astype("float32")

    def program(x: Any) -> Any:
        high = x.max(2, keepdims=True)
        scaled = (x - high) * x + x.sum(2, keepdims=True)
        return scaled, rg.softmax(scaled, axis=2), (scaled * high)[np.array([2, 0])], x.cumsum(2) * high

    high = data.max(1, keepdims=True)
    scaled = (data - high) * data + data.sum(1, keepdims=True)
    weights = np.exp(scaled - scaled.max(1, keepdims=True))
    taken = np.concatenate([(scaled * high)[8_000:], (scaled * high)[:8_000]])
    wanted = scaled, weights / weights.sum(1, keepdims=True), taken, data.cumsum(1) * high
    for got, want in zip(rg.jit(program)(rg.from_lengths(data, [8_000, 0, 1_000])), wanted, strict=True):
        np.testing.assert_allclose(got.values, want, 1e-4, 1e-4)


EXP_LESS_ITS_TRANSPOSE = """
func.func @f(%x: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %e = tensor.empty() : tensor<512x512xf32>
  %y = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<512x512xf32>) outs(%e : tensor<512x512xf32>) {
    ^bb0(%a: f32, %o: f32):
      %p = math.exp %a : f32
      linalg.yield %p : f32
  } -> tensor<512x512xf32>
  %t = tensor.empty() : tensor<512x512xf32>
  %z = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%y, %y : tensor<512x512xf32>, tensor<512x512xf32>) outs(%t : tensor<512x512xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %d = arith.subf %a, %b : f32
      linalg.yield %d : f32
  } -> tensor<512x512xf32>
  return %z : tensor<512x512xf32>
}
"""


def test_rows_that_see_what_is_left_for_other_rows() -> None:
    """They are no chunk of the loop that leaves it."""
    x = np.random.default_rng(0).standard_normal((512, 512)).astype("f4")
    y = np.exp(x)
    np.testing.assert_allclose(rg.compile(EXP_LESS_ITS_TRANSPOSE)(x), y - y.T, 1e-4, 1e-4)


def test_threads_give_equal_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    data = np.random.default_rng(0).standard_normal((60_000, 7)).astype("float32")
    x = rg.from_lengths(data, [50_000, 0, 9_900, 100])
    found: list[list[bytes]] = []
    for threads in (1, 2, 3):
        monkeypatch.setenv("RAGGED_NUM_THREADS", str(threads))
        normal, soft, total = rg.jit(lambda x: (rg.layer_norm(x), rg.softmax(x, axis=1), x.sum((1, 2))))(x)
        found.append([y.tobytes() for y in (normal.values, soft.values, np.asarray(total))])
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("level", ["host", "SSE2"])
@pytest.mark.parametrize("kept", ["none", "all", "some", "few"])
@pytest.mark.sampled(3)
def test_masks(level: str, kept: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a mask keeps is stored side by side, whole vectors of it and what is left over."""
    data = np.random.default_rng(0).standard_normal(sum(LENGTHS))
    keep = {"none": data > 9, "all": data < 9, "some": data > 0, "few": data > 1.5}[kept]
    x, chosen = rg.from_lengths(data, LENGTHS), rg.from_lengths(keep, LENGTHS)
    mask(level, monkeypatch)
    got = rg.jit(lambda x, chosen: x[chosen])(x, chosen)
    np.testing.assert_array_equal(got.values, data[keep])
    np.testing.assert_array_equal(got.lengths, [part.sum() for part in np.split(keep, np.cumsum(LENGTHS)[:-1])])


@pytest.mark.parametrize("level", ["host", "SSE2"])
def test_row_ids_of_runs(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors of short runs beside such with long ones."""
    lengths = [*[0, 1, 1, 0] * 5, *LENGTHS, *[1] * 17, 2, *[0] * 9]
    x = rg.from_lengths(np.arange(float(sum(lengths))), lengths)
    mask(level, monkeypatch)
    index = rg.from_lengths(np.zeros(sum(lengths), np.int64), lengths)
    got = rg.jit(lambda x, index: x[index])(x, index)
    starts = np.cumsum([0, *lengths])[:-1]
    np.testing.assert_array_equal(got.values, np.repeat(starts, lengths).astype(float))


@pytest.mark.parametrize("shape", [(3, 2), (1, 70), (70, 1), (5, 33)])
def test_scans_of_static_extents(shape: tuple[int, int]) -> None:
    """One value that is stored into views of static extents, which are no runs."""
    type_ = f"tensor<{shape[0]}x{shape[1]}xi32>"
    program = rg.compile(f"""func.func @f(%x: {type_}) -> ({type_}, {type_}) {{
      %y = arith.subi %x, %x : {type_}
      %a = ragged.scan %y {{dim = 0, kind = "prod", reverse}} : ({type_}) -> {type_}
      %b = ragged.scan %x {{dim = 1, kind = "sum"}} : ({type_}) -> {type_}
      return %a, %b : {type_}, {type_}
    }}""")
    x = np.random.default_rng(0).integers(-1, 2, shape, dtype=np.int32)
    a, b = program(x)
    np.testing.assert_array_equal(a, np.zeros(shape))
    np.testing.assert_array_equal(b, np.cumsum(x, 1))


@pytest.mark.sampled(16)
@pytest.mark.parametrize("level", ["host", "no AVX-512", "SSE2"])
@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize("width", [1, 2, 3, 4, 6, 12, 24])
def test_numbers_of_rows_and_columns(width: int, rows: bool, level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a vector has several rows; `mean` is the same for all rows of a component."""
    mask(level, monkeypatch)
    x, row = f'tensor<?x?x{width}xi64, #ragged.layout<"dr|d">>', f"tensor<?x{width}xi64>"
    number = "linalg.index 1" if rows else "arith.constant 5"
    f = rg.compile(f"""
    #all = affine_map<(b, i, f) -> (b, i, f)>
    #row = affine_map<(b, i, f) -> (b, f)>
    func.func @f(%x: {x}, %mean: {row}, %least: {row}) -> {row} {{
      %y = linalg.generic {{indexing_maps = [#all, #row, #row], iterator_types = ["parallel", "reduction", "parallel"]}}
          ins(%x, %mean : {x}, {row}) outs(%least : {row}) {{
      ^bb0(%a: i64, %m: i64, %o: i64):
        %f = linalg.index 2 : index
        %i = {number} : index
        %c = arith.index_cast %f : index to i64
        %r = arith.index_cast %i : index to i64
        %d = arith.subi %a, %m : i64
        %p = arith.muli %d, %c : i64
        %q = arith.addi %p, %r : i64
        %s = arith.maxsi %o, %q : i64
        linalg.yield %s : i64
      }} -> {row}
      return %y : {row}
    }}""")
    given = values(width, "int64")
    offsets, mean = np.cumsum([0, *LENGTHS]), np.arange(len(LENGTHS) * width).reshape(-1, width)
    least = np.full(mean.shape, -(10**6))
    found = f((given, offsets), mean, least)
    for b, part in enumerate(np.split(given, offsets[1:-1])):
        made = (part - mean[b]) * np.arange(width) + (np.arange(len(part))[:, None] if rows else 5)
        np.testing.assert_array_equal(found[b], np.max([least[b], *made], axis=0))


@pytest.mark.sampled(8)
@pytest.mark.parametrize("level", levels("host", "no AVX-512", "SSE2"))
@pytest.mark.parametrize("columns", [None, 1, 5, 16, 64, 1024])
def test_folds_that_end_early(columns: int | None, level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mask(level, monkeypatch)
    rng, lengths = np.random.default_rng(0), [0, 1, 7, 64, 500, 3000, 9, 700]
    rows = (sum(lengths),) if columns is None else (sum(lengths), columns)
    fold = rg.jit(lambda x: ((x > 0).any(1), (x > 0).all(1), x.any(1), (x <= 0).all(1)))
    for values in (np.zeros(rows), np.ones(rows), rng.standard_normal(rows), rng.random(rows) - 0.999):
        values = values.astype(np.float32)
        x = rg.from_lengths(values, lengths)
        parts = np.split(values, np.cumsum(lengths)[:-1])
        wanted = [(p > 0).any(0) for p in parts], [(p > 0).all(0) for p in parts], [p.any(0) for p in parts]
        for found, own in zip(fold(x), (*wanted, [(p <= 0).all(0) for p in parts]), strict=True):
            np.testing.assert_array_equal(found, own)
        for k in range(4):  # one that is at the end of a component decides
            last = values.copy()
            last[np.cumsum(lengths)[k + 3] - 1] = 1 - 2 * values.max()
            changed = np.split(last, np.cumsum(lengths)[:-1])
            found = fold(rg.from_lengths(last, lengths))
            np.testing.assert_array_equal(found[0], [(p > 0).any(0) for p in changed])
            np.testing.assert_array_equal(found[1], [(p > 0).all(0) for p in changed])
