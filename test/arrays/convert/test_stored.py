"""Files and pickles: everything comes back, and nothing damaged gets in."""

from __future__ import annotations

import copy
import io
import os
import pickle
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.components import NESTED, array, nested

import ragged_dialect as rg
from ragged_dialect.arrays.convert import npz
from ragged_dialect.arrays.convert.nesting import Offsets, Regular, from_levels
from ragged_dialect.arrays.convert.pickled import restore
from ragged_dialect.arrays.convert.stored import from_parts, to_parts

V = np.arange(15.0)


def two_dense_dims() -> rg.RaggedArray:
    """Layout `ddr`: a dense dim between the batch and the ragged one."""
    return from_levels("test", V, 2, [Regular(2, 2), Offsets(np.array([0, 1, 3, 3, 15]))])


ARRAYS: dict[str, Callable[[], rg.RaggedArray]] = {
    "dr|d": lambda: array((3, 0, 5)),
    "no component": lambda: array(()),
    "int8": lambda: array((1, 2), (), np.int8),
    "bool": lambda: array((1, 2), (), np.bool_),
    "bfloat16": lambda: array((1, 2), dtype=ml_dtypes.bfloat16),
    "drr|d": lambda: nested(NESTED[0], (2,)),
    "dw": lambda: rg.from_starts_lengths(V, [9, 2], [3, 5]),
    "dr|dr": lambda: rg.partition(rg.from_offsets(V.reshape(3, 5), [0, 1, 3]), np.array([0, 2, 5]), axis=2),
    "ddr": two_dense_dims,
    "a result": lambda: array((3, 0, 2)) + 1,
}


@pytest.fixture(params=ARRAYS)
def x(request: pytest.FixtureRequest) -> rg.RaggedArray:
    """Arrays of every kind of layout, and dtypes that NumPy's files do not know."""
    return ARRAYS[request.param]()


def assert_same(got: rg.RaggedArray, wanted: rg.RaggedArray) -> None:
    """Equal specs, shapes and elements; windows come back contiguous."""
    assert got.spec is wanted.compacted.spec
    assert (got.shape, got.tolist()) == (wanted.shape, wanted.tolist())


@pytest.mark.parametrize("compressed", [False, True])
def test_npz_by_path_and_by_file(x: rg.RaggedArray, compressed: bool, tmp_path: Path) -> None:
    for name in (tmp_path / "x.npz", str(tmp_path / "without_suffix")):
        rg.save_npz(name, x, compressed=compressed)
        assert_same(rg.load_npz(name), x)
    memory = io.BytesIO()
    rg.save_npz(memory, x, compressed=compressed)
    memory.seek(0)
    assert_same(rg.load_npz(memory), x)


def test_npz_is_read_by_numpy(tmp_path: Path) -> None:
    rg.save_npz(tmp_path / "x.npz", array((3, 0, 5)))
    with np.load(tmp_path / "x.npz") as parts:
        assert (str(parts["layout"]), int(parts["version"])) == ("dr|d", 1)
        assert parts["vector0"].tolist() == [0, 3, 3, 8]


@pytest.mark.parametrize("protocol", [2, pickle.HIGHEST_PROTOCOL])
def test_pickles_and_copies(x: rg.RaggedArray, protocol: int) -> None:
    assert_same(pickle.loads(pickle.dumps(x, protocol)), x)
    assert_same(copy.deepcopy(x), x)


def test_pickled_values_go_out_of_band() -> None:
    x = array((3000, 0, 5000))
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(x, 5, buffer_callback=buffers.append)
    assert len(data) < 2000
    back = pickle.loads(data, buffers=buffers)
    assert np.shares_memory(back.values, x.values)


def test_a_pickle_of_torch_comes_back_as_torch() -> None:
    torch = pytest.importorskip("torch", reason="no torch (pip install torch)")
    back = pickle.loads(pickle.dumps(rg.from_offsets(torch.arange(3.0), [0, 1, 3])))
    assert isinstance(back.values, torch.Tensor)


SAVED = io.BytesIO()
rg.save_npz(SAVED, rg.from_starts_lengths(V, [9, 2], [3, 5]), compressed=True)


@given(st.integers(0, len(SAVED.getvalue()) - 1), st.integers(1, 255))
def test_a_byte_of_a_file_that_changed(place: int, change: int) -> None:
    """Refused, or it was a byte that says nothing of the array."""
    data = bytearray(SAVED.getvalue())
    data[place] ^= change
    try:
        got = rg.load_npz(io.BytesIO(bytes(data)))
    except rg.RuntimeCheckError as error:
        assert "load_npz: expected" in str(error)
    else:
        assert got.tolist() == [[9.0, 10.0, 11.0], [2.0, 3.0, 4.0, 5.0, 6.0]]


@given(st.integers(0, len(SAVED.getvalue()) - 1))
def test_a_file_that_was_cut(size: int) -> None:
    with pytest.raises(rg.RuntimeCheckError, match="expected a file of save_npz, got a damaged or another one"):
        rg.load_npz(io.BytesIO(SAVED.getvalue()[:size]))


def damaged(given: Any, draw: Callable[[Any], Any]) -> Any:
    """Something else of the kind of a part of a pickle: another byte, number, or text."""
    if isinstance(given, bytes):
        data = bytearray(given)
        data[draw(st.integers(0, len(data) - 1))] ^= draw(st.integers(1, 255))
        return bytes(data)
    if isinstance(given, tuple):
        made = list(given)
        made[draw(st.integers(0, len(made) - 1))] = draw(st.integers(-(2**65), 2**65) | st.integers(-9, 9))
        return tuple(made)
    if isinstance(given, str):
        return draw(st.sampled_from(["", "drd", "dr|d", "dw", "float32", "int8", "bfloat16", "torch"]) | st.text())
    return draw(st.none() | st.integers(-(2**65), 2**65))


@given(st.data())
def test_a_part_of_a_pickle_that_changed(data: st.DataObject) -> None:
    """Refused, or an array that can be used: never a crash. What opcodes that changed do is up to Python."""
    arguments = list(nested(NESTED[0]).__reduce_ex__(4)[1])
    place = data.draw(st.integers(0, len(arguments) - 1).filter(lambda at: arguments[at] != "numpy"))
    arguments[place] = damaged(arguments[place], data.draw)
    try:
        got = restore(*arguments)
    except rg.RuntimeCheckError:
        return
    assert len(got.tolist()) == len(got)
    assert got.sum(axis=got.ndim - 1).lengths.tolist() == got.lengths.tolist()


def test_damaged_pickles_are_refused() -> None:
    _, arguments = array((3, 0, 5)).__reduce_ex__(4)
    restore(*arguments)
    whole = "unpickle: expected a whole array, got a damaged one: "
    for place, value, text in (
        (0, "x", "expected another array 'version', got one of rank 0 and <U1"),
        (1, 7, "expected another array 'layout', got one of rank 0 and int64"),
        (2, "float99", "data type 'float99' not understood"),
        (2, "object", "expected a dtype of arrays, got object"),
        (3, [3, -1, "x"], "invalid literal for int"),
        (3, [2**70, -1, 4], "too large to convert"),
        (4, (9, 4), "buffer is too small for requested array"),
        (4, (7, 4), "expected 112 bytes, got 128"),
        (4, (-8, -4), "negative dimensions"),
        (5, "os", "expected an array library, got os"),
        (6, "text", "a bytes-like object is required"),
    ):
        with pytest.raises(rg.RuntimeCheckError) as caught:
            restore(*arguments[:place], value, *arguments[place + 1 :])
        assert whole in str(caught.value)
        assert text in str(caught.value), place


PARTS = to_parts(nested(NESTED[0], (2,)), "test")
WINDOWS = to_parts(rg.from_offsets(V, [0, 15]), "test") | {
    "layout": np.array("dw"), "extents": np.array([2, -1]), "vector0": np.array([9, 2]), "vector1": np.array([3, 5])
}  # fmt: skip
DENSE = to_parts(two_dense_dims(), "test")

DAMAGES: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    (PARTS, {"format": np.array("other")}, "expected the format 'ragged-dialect array', got another"),
    (PARTS, {"format": None}, "expected an array 'format', got none"),
    (PARTS, {"format": np.array(1)}, "expected another array 'format', got one of rank 0 and int64"),
    (PARTS, {"version": np.array(2)}, "load: expected version 1, got 2 (written by another release)"),
    (PARTS, {"layout": np.array("dq|d")}, 'expected letters d, r, w, t in layout "dq|d"'),
    (PARTS, {"layout": np.array("dt|d|d")}, 'expected a layout without tiles, got "dt|d|d"'),
    (PARTS, {"layout": np.array("dr|d")}, 'expected the extents of layout "dr|d", got [3, -1, -1, 2]'),
    (PARTS, {"extents": np.array([3, 1, -1, 2])}, 'expected the extents of layout "drr|d", got [3, 1, -1, 2]'),
    (PARTS, {"extents": np.array([3, -1, -1, 9])}, "expected an extent of 2, got 9"),
    (PARTS, {"extents": np.array([7, -1, -1, 2])}, "expected 7 elements in level 0, got 3"),
    (PARTS, {"values": np.zeros(10)}, "expected another array 'values', got one of rank 1 and float64"),
    (PARTS, {"values": np.zeros((10, 2), object)}, "expected another array 'values', got one of rank 2 and object"),
    (PARTS, {"values": np.zeros((10, 2), np.int32)}, "expected values of dtype float64, got int32"),
    (PARTS, {"vector1": None}, "expected an array 'vector1', got none"),
    (PARTS, {"vector0": np.array([0, 2, 2, 4], np.int32)}, "expected int64 for vector0, got int32"),
    (PARTS, {"vector0": np.array([0, 5, 2, 4])}, "load: level 1, component 1: expected offsets[2] >= offsets[1]"),
    (PARTS, {"vector1": np.array([0, 3, 3, 8, 99])}, "load: level 2, component 3: expected offsets[4] == 10, got 99"),
    (WINDOWS, {"vector0": np.array([9, 14])}, "expected starts[1] + lengths[1] <= 15, got 19"),
    (WINDOWS, {"extents": np.array([5, -1])}, "expected 5 elements in level 0, got 2"),
    (DENSE, {"extents": np.array([2, 3, -1])}, "expected 2 elements in level 0, got 1"),
]  # fmt: skip


@pytest.mark.parametrize(("parts", "damage", "text"), DAMAGES)
def test_damaged_parts_are_refused(parts: dict[str, Any], damage: dict[str, Any], text: str) -> None:
    from_parts(parts, "load")
    with pytest.raises(rg.RuntimeCheckError) as caught:
        from_parts({**parts, **damage}, "load")
    assert text in str(caught.value)


def test_other_files_are_refused(tmp_path: Path) -> None:
    other = "load_npz: expected a file of save_npz, got a damaged or another one: "
    (tmp_path / "text").write_text("no archive")
    with pytest.raises(rg.RuntimeCheckError, match=other):
        rg.load_npz(tmp_path / "text")
    np.savez(tmp_path / "objects.npz", format=np.array([None]))
    with pytest.raises(rg.RuntimeCheckError, match=other + "expected an array of numbers, got one of object"):
        rg.load_npz(tmp_path / "objects.npz")
    np.savez(tmp_path / "other.npz", values=V)
    with pytest.raises(
        rg.RuntimeCheckError, match="expected a whole array, got a damaged one: expected an array 'format'"
    ):
        rg.load_npz(tmp_path / "other.npz")
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("format.npy", b"\x93NUMPY")
    with pytest.raises(rg.RuntimeCheckError, match=other):
        rg.load_npz(tmp_path / "x.zip")
    with pytest.raises(FileNotFoundError):
        rg.load_npz(tmp_path / "nothing")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(rg.ArgumentError, match=r"expected a file, got a pipe or a device: .*pipe"):
        rg.load_npz(tmp_path / "pipe")
    with pytest.raises(rg.ArgumentError, match="load_npz: expected a path or an opened file, got NoneType"):
        rg.load_npz(None)  # pyright: ignore[reportArgumentType]


def header(shape: str, descr: str = "'<f8'", size: int = 118) -> bytes:
    """NumPy's header of an array, as text that may be anything."""
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".ljust(size - 1) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


HEADERS = [
    (header("(4611686018427387904,)"), r"expected 36893488147419103232 bytes for extents .* of float64, got 8"),
    (header("(4611686018427387904, 0)"), "expected 0 bytes for extents"),
    (header("(-1,)"), "expected an array of numbers, got one of float64 and extents"),
    (header("(1,)", "'|O'"), "expected an array of numbers, got one of object"),
    *(
        (header(shape), "expected NumPy's header of an array, got a damaged one")
        for shape in ("(1", "(1e5,)", "'a'", "")
    ),
    (header("(" * 5000 + ")" * 5000, size=12000), "expected NumPy's header of an array, got a damaged one"),
    (header("(1,)", "'<x3'"), "expected NumPy's header of an array, got a damaged one"),
    (b"\x93NUMPY\x03\x00", "expected NumPy's header of an array, got a damaged one"),
]


@pytest.mark.parametrize(("data", "text"), HEADERS)
def test_damaged_headers_are_refused(data: bytes, text: str) -> None:
    """Without memory for what they ask for."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("values.npy", data + bytes(8))
    with pytest.raises(rg.RuntimeCheckError, match="load_npz: expected a file of save_npz.*" + text):
        rg.load_npz(file)


def test_a_file_that_ends_before_its_array() -> None:
    with pytest.raises(rg.ArgumentError, match="expected 5 more bytes, got the end of the file"):
        npz.read_npy(io.BytesIO(header("(1,)") + bytes(3)), 1000)


def test_what_inflates_to_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("values.npy", header("(1000000,)") + bytes(8_000_000))
    assert len(file.getvalue()) < 10_000
    monkeypatch.setattr(npz, "read_npy", pytest.fail)
    with pytest.raises(rg.RuntimeCheckError, match="load_npz: expected at most 8000000 bytes, got 8000128"):
        rg.load_npz(file, max_bytes=8_000_000)
    monkeypatch.setattr(npz, "total_memory", lambda: 100)
    with pytest.raises(rg.RuntimeCheckError, match=r"got 8000128 \(raise max_bytes to load it\)"):
        rg.load_npz(file)
    with zipfile.ZipFile(file := io.BytesIO(), "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("values.npy", header("(1,)") + bytes(8))
    with pytest.raises(rg.RuntimeCheckError, match=r"expected parts stored or deflated, got 'values.npy'"):
        rg.load_npz(file, max_bytes=1000)


def test_tiles_are_not_stored(tmp_path: Path) -> None:
    tiled = rg.split(array((3, 0, 5)), axis=1, factor=2)
    with pytest.raises(rg.LayoutError, match='save_npz: expected a layout without tiles, got "drt'):
        rg.save_npz(tmp_path / "x.npz", tiled)
    with pytest.raises(rg.LayoutError, match="pickle: expected a layout without tiles"):
        pickle.dumps(tiled)


def test_only_ragged_arrays_are_saved(tmp_path: Path) -> None:
    with pytest.raises(rg.ArgumentError, match="save_npz: expected a ragged array, got ndarray"):
        rg.save_npz(tmp_path / "x.npz", V)  # type: ignore[arg-type]
    assert not (tmp_path / "x.npz").exists()


FULL_DISK = """
import resource, signal, sys
import numpy as np
import ragged_dialect as rg
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    rg.save_npz(sys.argv[1], rg.from_lengths(np.ones(100_000), [100_000]))
except OSError as error:
    print(error.strerror)
"""


def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    rg.save_npz(path, rg.ragged([[1.0], [2.0, 3.0]]))
    done = subprocess.run([sys.executable, "-c", FULL_DISK, str(path)], check=True, capture_output=True, text=True)
    assert done.stdout == "File too large\n"
    assert rg.load_npz(path).tolist() == [[1.0], [2.0, 3.0]]
    assert os.listdir(tmp_path) == ["x.npz"]


@pytest.mark.parametrize("code", [0x7FFFFFFF, 0xD800, 0xE9])
def test_texts_of_no_characters(code: int) -> None:
    forged = np.frombuffer(code.to_bytes(4, "little"), "<U1").reshape(())
    texts = r"expected ASCII for '.*', got other bytes|expected another array '"
    for name in ("format", "layout", "dtype", "version", "values"):
        parts = {**to_parts(rg.ragged([[1.0]]), "test"), name: forged}
        with pytest.raises(rg.RuntimeCheckError, match=texts):
            from_parts(parts, "test")


def test_bounds_that_are_no_integers() -> None:
    with pytest.raises(rg.ArgumentError, match="load_npz: expected an integer for max_bytes, got str"):
        rg.load_npz(io.BytesIO(), max_bytes="a")  # pyright: ignore[reportArgumentType]
