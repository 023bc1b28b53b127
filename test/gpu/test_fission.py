"""Bodies that a schedule takes in pieces only: which pieces, when they are used, and their results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from support.schedules import schedules_of

import ragged_dialect
from ragged_dialect.lowering import pipelines
from ragged_dialect.runtime.emulated import EmulatedDevice
from ragged_dialect.symbols import mangle

_SOFTMAX = """
#l = #ragged.layout<"dr|d">
func.func @f(%x: tensor<?x?x8x{t}, #l>) -> tensor<?x?x8x{t}, #l> {{
  %y = linalg.softmax dimension(1) ins(%x : tensor<?x?x8x{t}, #l>) outs(%x : tensor<?x?x8x{t}, #l>)
      -> tensor<?x?x8x{t}, #l>
  return %y : tensor<?x?x8x{t}, #l>
}}
"""

# The sum and the number of elements, their quotient by way of another type, and the difference from it.
_CENTERED = """
#l = #ragged.layout<"dr|d">
#x = affine_map<(b, i, d) -> (b, i, d)>
#s = affine_map<(b, i, d) -> (b, d)>
#v = affine_map<(b, d) -> (b, d)>
func.func @f(%x: tensor<?x?x6xf32, #l>) -> (tensor<?x?x6xf32, #l>, tensor<?x6xf32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %n = tensor.dim %x, %c0 : tensor<?x?x6xf32, #l>
  %e = tensor.empty(%n) : tensor<?x6xf32>
  %k = tensor.empty(%n) : tensor<?x6xi64>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<?x6xf32>) -> tensor<?x6xf32>
  %j = linalg.fill ins(%none : i64) outs(%k : tensor<?x6xi64>) -> tensor<?x6xi64>
  %r:2 = linalg.generic {indexing_maps = [#x, #s, #s], iterator_types = ["parallel", "reduction", "parallel"]}
      ins(%x : tensor<?x?x6xf32, #l>) outs(%i, %j : tensor<?x6xf32>, tensor<?x6xi64>) {
  ^bb0(%a: f32, %s: f32, %c: i64):
    %t = arith.addf %s, %a : f32
    %d = arith.addi %c, %one : i64
    linalg.yield %t, %d : f32, i64
  } -> (tensor<?x6xf32>, tensor<?x6xi64>)
  %f = linalg.generic {indexing_maps = [#v, #v], iterator_types = ["parallel", "parallel"]}
      ins(%r#1 : tensor<?x6xi64>) outs(%e : tensor<?x6xf32>) {
  ^bb0(%c: i64, %o: f32):
    %t = arith.sitofp %c : i64 to f32
    linalg.yield %t : f32
  } -> tensor<?x6xf32>
  %m = linalg.generic {indexing_maps = [#v, #v, #v], iterator_types = ["parallel", "parallel"]}
      ins(%r#0, %f : tensor<?x6xf32>, tensor<?x6xf32>) outs(%e : tensor<?x6xf32>) {
  ^bb0(%s: f32, %c: f32, %o: f32):
    %t = arith.divf %s, %c : f32
    linalg.yield %t : f32
  } -> tensor<?x6xf32>
  %y = linalg.generic {indexing_maps = [#x, #s, #x], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %m : tensor<?x?x6xf32, #l>, tensor<?x6xf32>) outs(%x : tensor<?x?x6xf32, #l>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %t = arith.subf %a, %c : f32
    linalg.yield %t : f32
  } -> tensor<?x?x6xf32, #l>
  return %y, %m : tensor<?x?x6xf32, #l>, tensor<?x6xf32>
}
"""

# A running product of a component's elements is no reduction of rows, nor a map of them.
_RUNNING = """
#l = #ragged.layout<"dr">
func.func @f(%x: tensor<?x?xf32, #l>) -> tensor<?x?xf32, #l> {
  %y = linalg.generic {indexing_maps = [affine_map<(b, i, j) -> (b, j)>, affine_map<(b, i, j) -> (b, i)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x : tensor<?x?xf32, #l>) outs(%x : tensor<?x?xf32, #l>) {
  ^bb0(%a: f32, %o: f32):
    %t = arith.mulf %a, %o : f32
    linalg.yield %t : f32
  } -> tensor<?x?xf32, #l>
  return %y : tensor<?x?xf32, #l>
}
"""

LENGTHS: tuple[Sequence[int], ...] = ((), (0, 0), (1,) * 40, (0, 1100, 0, 3, 0, 0, 41), (33, 31, 32, 1, 0))


@cache
def compiled(text: str, schedule: str) -> Callable[..., Any]:
    """A program, its kernels run by the emulator."""
    return ragged_dialect.compile(text, target="emulator", schedule=schedule)


def problem(lengths: Sequence[int], width: int, dtype: Any) -> tuple[Any, Any]:
    """Values and offsets."""
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return np.random.default_rng(23).normal(size=(offsets[-1], width)).astype(dtype), offsets


def softmaxes(x: Any, offsets: Any) -> Any:
    """The softmax of every column of every component, in f64."""
    found = np.zeros(x.shape)
    for low, high in pairwise(offsets):
        powers = np.exp(x[low:high].astype(np.float64) - x[low:high].max(0, initial=-np.inf))
        found[low:high] = powers / powers.sum(0)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize(("dtype", "tolerance"), [("f32", 1e-6), ("f16", 2e-3)])
def test_softmax(lengths: Sequence[int], dtype: str, tolerance: float) -> None:
    """Maximum; sum and inverse; quotients: none of them cares how long components are."""
    text = _SOFTMAX.format(t=dtype)
    assert schedules_of(text, "auto") == ["general", "segment", *["balanced"] * 3]
    assert schedules_of(text, "segment") == ["segment"]
    assert schedules_of(text, "balanced") == ["balanced"] * 3
    x, offsets = problem(lengths, 8, {"f32": np.float32, "f16": np.float16}[dtype])
    x[:, ::2] *= 500 if dtype == "f32" else 50
    expected = softmaxes(x, offsets)
    for schedule in ("auto", "segment", "balanced"):
        y, _ = compiled(text, schedule)((x, offsets))
        np.testing.assert_allclose(np.asarray(y).astype(np.float64), expected, rtol=20 * tolerance, atol=tolerance)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("lengths", LENGTHS)
def test_center(lengths: Sequence[int]) -> None:
    """What follows a reduction may follow something that follows it."""
    assert schedules_of(_CENTERED, "auto")[-4:] == ["general", "segment", "balanced", "balanced"]
    assert schedules_of(_CENTERED, "balanced")[-2:] == ["balanced"] * 2
    x, offsets = problem(lengths, 6, np.float32)
    means = np.full((len(lengths), 6), np.nan)
    for k, (low, high) in enumerate(pairwise(offsets)):
        means[k] = x[low:high].sum(0, dtype=np.float64) / (high - low) if high > low else np.nan
    expected = x - np.repeat(means, np.diff(offsets), axis=0)
    for schedule in ("auto", "segment", "balanced"):
        (y, _), m = compiled(_CENTERED, schedule)((x, offsets))
        np.testing.assert_allclose(np.asarray(m), means, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(np.asarray(y), expected, rtol=1e-5, atol=1e-5)


def test_what_has_no_pieces_that_fit_stays_whole() -> None:
    assert "balanced" not in schedules_of(_RUNNING, "balanced")


def recorded_gates(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The gates of the programs that are compiled from now on, as they get memory."""
    gates: list[Any] = []
    empty = EmulatedDevice.empty

    def recorded(self: EmulatedDevice, shape: tuple[int, ...], dtype: Any) -> Any:
        made = empty(self, shape, dtype)
        if shape == (1,) and made.dtype == np.int64:
            gates.append(made)
        return made

    monkeypatch.setattr(EmulatedDevice, "empty", recorded)
    return gates


def recorded_grids(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """The blocks of every kernel, by its name, that are launched from now on."""
    grids: dict[str, int] = {}
    launch = EmulatedDevice._launch

    def recorded(self: EmulatedDevice, emulator: Any, name: str, *rest: Any) -> Callable[..., None]:
        call = launch(self, emulator, name, *rest)

        def counted(x: int, y: int, z: int, *arguments: Any) -> None:
            grids[name] = x * y * z
            call(x, y, z, *arguments)

        return counted

    monkeypatch.setattr(EmulatedDevice, "_launch", recorded)
    return grids


@pytest.mark.sampled(2)
@pytest.mark.parametrize("check", [True, False])
def test_kernels_behind_closed_gates_do_nothing(check: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is found out, both gates are closed before the next kernel starts."""
    gates = recorded_gates(monkeypatch)
    launch = EmulatedDevice._launch

    def closing(self: EmulatedDevice, *arguments: Any) -> Callable[..., None]:
        call = launch(self, *arguments)

        def closed(*given: Any) -> None:
            call(*given)
            for gate in gates:
                gate[0] = 1

        return closed

    monkeypatch.setattr(EmulatedDevice, "_launch", closing)
    monkeypatch.setattr(pipelines, "VERSIONS", f"{pipelines.VERSIONS}{{long={1 << 15}}}")
    x, offsets = problem((1100, 3), 8, np.float32)
    y, _ = ragged_dialect.compile(_SOFTMAX.format(t="f32"), target="emulator", check=check)((x, offsets))
    assert len(np.unique(np.asarray(y).view(np.uint32))) == 1  # what fresh memory is full of


@pytest.mark.sampled(16)
@pytest.mark.parametrize(
    ("lengths", "pieces", "blocks"),
    [
        ((1025,), True, 1),
        ((0, 1025, 0, 3), True, 4),
        ((0, 0, 0, 1025), True, 4),
        ((1024, 1), False, 2),  # no component is long
        ((1030, *[64] * 1050), False, 1051),  # a long one that is a small part
        ((1030, *[64] * 1000, 1050), True, 1002),
        ((*[64] * 500, 1050, *[64] * 500), True, 1001),
        ((16,) * 100, False, 100),
        ((31,) * 4097, True, 0),  # 992 bytes each: too short for blocks, of which none starts
        ((33,) * 4097, False, 4097),
        ((0,) * 5000, True, 0),
        ((1,) * 4096, False, 4096),  # short, but all at once
        ((), False, 0),
    ],
)
def test_the_data_picks(lengths: Sequence[int], pieces: bool, blocks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One gate is open, of a block per component or of the pieces."""
    monkeypatch.setattr(pipelines, "VERSIONS", f"{pipelines.VERSIONS}{{long={1 << 15}}}")  # 1024 rows
    gates, grids = recorded_gates(monkeypatch), recorded_grids(monkeypatch)
    x, offsets = problem(lengths, 8, np.float32)
    y, _ = ragged_dialect.compile(_SOFTMAX.format(t="f32"), target="emulator")((x, offsets))
    assert [int(gate[0]) for gate in gates] == ([1, 0] if pieces else [0, 1])
    assert sum(grid for name, grid in grids.items() if name.startswith(mangle("f_3"))) == blocks
    np.testing.assert_allclose(np.asarray(y), softmaxes(x, offsets), rtol=2e-5, atol=1e-6)
