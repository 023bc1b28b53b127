"""Checks, totals and running sums of long index vectors: by many blocks, with the results and errors of one."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.schedules import lowered
from support.structures import offsets_of

import ragged_dialect
from ragged_dialect.errors import RuntimeCheckError
from ragged_dialect.lowering import pipelines
from ragged_dialect.runtime.emulated import EmulatedDevice

_LENGTHS = """
func.func @f(%v: tensor<?x1xf32>, %n: tensor<?xi64>) -> tensor<?x?x1xf32, #ragged.layout<"dr|d">> {
  %x = ragged.partition %v, %n {dim = 0, lengths}
      : (tensor<?x1xf32>, tensor<?xi64>) -> tensor<?x?x1xf32, #ragged.layout<"dr|d">>
  return %x : tensor<?x?x1xf32, #ragged.layout<"dr|d">>
}
"""

_OFFSETS = _LENGTHS.replace(", lengths", "")

_WINDOWS = """
#w = #ragged.layout<"dw">
func.func @f(%x: tensor<?x?xf32, #w>, %init: tensor<?xf32>) -> tensor<?xf32> {
  %y = linalg.reduce { arith.addf } ins(%x : tensor<?x?xf32, #w>) outs(%init : tensor<?xf32>) dimensions = [1]
  return %y : tensor<?xf32>
}
"""


def running(text: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Callable[..., Any], list[int]]:
    """A program whose loops are split from 65 entries on, in tiles of 16, and the blocks that its kernels get."""
    tiled = re.sub(r"split-long-(scans|folds)", r"split-long-\1{long=64 tile=16}", pipelines.TILES)
    monkeypatch.setattr(pipelines, "TILES", tiled)
    grids: list[int] = []
    launch = EmulatedDevice._launch

    def recorded(self: EmulatedDevice, *arguments: Any) -> Callable[..., None]:
        call = launch(self, *arguments)

        def counted(x: int, *rest: Any) -> None:
            grids.append(x)
            call(x, *rest)

        return counted

    monkeypatch.setattr(EmulatedDevice, "_launch", recorded)
    return ragged_dialect.compile(text, target="emulator"), grids


def lengths_of(count: int) -> Any:
    return np.random.default_rng(count).integers(0, 4, count)


def zeros(rows: int) -> Any:
    return np.zeros((rows, 1), np.float32)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("count", [0, 1, 64, 65, 79, 80, 81, 300, 4500])
def test_running_sums(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    function, grids = running(_LENGTHS, monkeypatch)
    lengths = lengths_of(count)
    _, offsets = function(zeros(lengths.sum()), lengths)
    np.testing.assert_array_equal(offsets, offsets_of(lengths))
    tiles = -(-count // 16)
    assert grids == ([tiles, 1, 1, tiles, 1, tiles] if count > 64 else [1, 1, 1])


@pytest.mark.parametrize("count", [16384, 16385, 18433, 70000])
def test_as_compiled_for_users(count: int) -> None:
    lengths = lengths_of(count)
    _, offsets = ragged_dialect.compile(_LENGTHS, target="emulator")(zeros(lengths.sum()), lengths)
    np.testing.assert_array_equal(offsets, offsets_of(lengths))


@pytest.mark.parametrize("count", [10, 64, 65, 200])
def test_the_first_offence_is_reported(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever tiles have others."""
    function, grids = running(_OFFSETS, monkeypatch)
    rng = np.random.default_rng(count)
    for _ in range(8):
        offsets = offsets_of(rng.integers(1, 4, count))
        worst = np.sort(rng.choice(np.arange(1, count), 3, replace=False))
        offsets[worst] = offsets[worst - 1] - 1
        first, before = (int(offsets[worst[0] - k]) for k in (0, 1))
        place = rf"component {worst[0] - 1}: expected offsets\[{worst[0]}\] >= offsets\[{worst[0] - 1}\]"
        with pytest.raises(RuntimeCheckError, match=rf"{place}, got {first} < {before}"):
            function(zeros(int(offsets[-1])), offsets)
    assert max(grids) == (1 if count <= 64 else -(-count // 16))


@pytest.mark.parametrize("count", [50, 90])
@pytest.mark.parametrize(
    ("at", "value", "message"),
    [
        (0, 3, r"component 0: expected offsets\[0\] == 0, got 3"),
        (-1, 10**6, r"component {last}: expected offsets\[{count}\] == {rows}, got 1000000"),
        (-1, 2**40, r"component {last}: expected offsets\[{count}\] == {rows}, got 1099511627776"),
    ],
)
def test_other_offences(count: int, at: int, value: int, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function, _ = running(_OFFSETS, monkeypatch)
    offsets = offsets_of(lengths_of(count) + 1)
    rows = int(offsets[-1])
    offsets[at] = value
    with pytest.raises(RuntimeCheckError, match=message.format(count=count, last=count - 1, rows=rows)):
        function(zeros(rows), offsets)


@pytest.mark.parametrize("count", [40, 70, 1000])
def test_sums_of_lengths(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """An offence of a length is found before that of the sum, which is taken in tiles too."""
    function, _ = running(_LENGTHS, monkeypatch)
    lengths = lengths_of(count)
    with pytest.raises(RuntimeCheckError, match=rf"to sum to {lengths.sum() + 1}, got {lengths.sum()}"):
        function(zeros(lengths.sum() + 1), lengths)
    lengths[[5, 33]] = -1
    with pytest.raises(RuntimeCheckError, match=r"component 5: expected lengths\[5\] >= 0, got -1"):
        function(zeros(10), lengths)


@pytest.mark.parametrize("count", [40, 70, 1000])
def test_sums_that_a_signed_index_does_not_hold(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether they wrap in a tile or across tiles, to what is expected or not."""
    function, _ = running(_LENGTHS, monkeypatch)
    for places in ([0, 1, 2, 3], [0, 20, 25, count - 1], [5, count - 3, count - 2, count - 1]):
        lengths = lengths_of(count)
        lengths[places] = 2**62
        rows = int(lengths.sum())
        assert 0 <= rows < 2 * count
        with pytest.raises(RuntimeCheckError, match=rf"to sum to {rows}, got {2**63 - 1}"):
            function(zeros(rows), lengths)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("count", [0, 64, 65, 500])
def test_windows(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the host sees that one vector is shorter, nothing reads past its end."""
    function, _ = running(_WINDOWS, monkeypatch)
    rng = np.random.default_rng(count)
    x = rng.integers(-9, 9, 1000).astype(np.float32)
    starts, lengths = rng.integers(0, 990, count), rng.integers(0, 10, count)
    sums = [x[low : low + n].sum() for low, n in zip(starts, lengths, strict=True)]
    zero = np.zeros(count, np.float32)
    np.testing.assert_array_equal(function((x, starts, lengths), zero), np.array(sums, np.float32))
    if count:
        for starts_, lengths_ in ((starts, lengths[:2]), (starts[:2], lengths)):
            text = f"expected starts and lengths of one size, got {len(starts_)} and {len(lengths_)}"
            with pytest.raises(RuntimeCheckError, match=text):
                function((x, starts_, lengths_), zero)
        lengths[-1] = 1001
        with pytest.raises(RuntimeCheckError, match=rf"component {count - 1}: expected .* got {starts[-1] + 1001}"):
            function((x, starts, lengths), zero)


def test_short_vectors_have_no_tiles() -> None:
    """Where the host knows so when it compiles."""
    text = _OFFSETS.replace("%n: tensor<?xi64>", "%n: tensor<16385xi64>").replace(
        "(tensor<?x1xf32>, tensor<?xi64>)", "(tensor<?x1xf32>, tensor<16385xi64>)"
    )
    text = text.replace("tensor<?x?x1", "tensor<16384x?x1")
    assert "{few" not in lowered(text, "map", True)
    assert "{few" in lowered(text.replace("16385", "16386").replace("16384", "16385"), "map", True)


def test_what_depends_on_the_data_stays_whole() -> None:
    """The place in a row of offsets that decreases is looked for where an earlier loop has found the row."""
    rows = """
func.func @f(%v: tensor<?x100xf32>, %n: tensor<?x20001xi64>) -> tensor<?x20000x?xf32, #ragged.layout<"ddr">> {
  %x = ragged.partition %v, %n {dim = 1}
      : (tensor<?x100xf32>, tensor<?x20001xi64>) -> tensor<?x20000x?xf32, #ragged.layout<"ddr">>
  return %x : tensor<?x20000x?xf32, #ragged.layout<"ddr">>
}
"""
    tiled, whole = lowered(rows, "map", True).split('schedule = "general"', 2)[:2]
    assert len(re.findall(r"ragged\.fold = \{few", tiled)) == 3
    assert re.search(r"memref.load %arg1\[%\d+, %arg\d+\]", whole)
