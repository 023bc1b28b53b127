"""Arrays own their structure: nobody who has a vector that went in or came out can change it."""

from __future__ import annotations

import gc
import io
import pickle
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.components import NESTED, array, nested

import ragged_dialect as rg
from ragged_dialect.arrays.convert.nesting import Regular, Windows, from_levels
from ragged_dialect.arrays.core.structure import Structure
from ragged_dialect.compat import fvdb, torch_nested
from ragged_dialect.compat.nvfuser import as_nested

V = np.arange(8.0)


def offsets() -> Any:
    """Offsets that somebody goes on to write, 4 components of V."""
    return np.array([0, 3, 3, 5, 8])


def lengths() -> Any:
    """The same components by lengths."""
    return np.array([3, 0, 2, 3])


def starts() -> Any:
    """The same components by starts."""
    return np.array([0, 3, 3, 5])


def out_of_band(*memory: Any) -> Any:
    """An array from a pickle whose memory is the caller's."""
    data = pickle.dumps(rg.from_offsets(V, offsets()), 5, buffer_callback=lambda _: False)
    return pickle.loads(data, buffers=memory)


class Exports:
    """An array of another library."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self.__dlpack_device__ = array.__dlpack_device__

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)


WAYS: dict[str, tuple[Callable[..., rg.RaggedArray], Callable[[], tuple[Any, ...]]]] = {
    "from_offsets": (lambda o: rg.from_offsets(V, o), lambda: (offsets(),)),
    "two levels": (lambda o, p: rg.from_offsets(V, o, p), lambda: (np.array([0, 1, 4]), offsets())),
    "assume_valid": (lambda o: rg.assume_valid(V, o), lambda: (offsets(),)),
    "from_lengths": (lambda n: rg.from_lengths(V, n), lambda: (lengths(),)),
    "from_starts_lengths": (lambda s, n: rg.from_starts_lengths(V, s, n), lambda: (starts(), lengths())),
    "from_row_ids": (lambda i: rg.from_row_ids(V, i), lambda: (np.array([0, 0, 0, 2, 2, 3, 3, 3]),)),
    "narrow": (lambda s, n: rg.narrow(V.reshape(2, 4), s, n), lambda: (np.array([1, 0]), np.array([2, 4]))),
    "partition": (lambda o: rg.partition(V, o), lambda: (offsets(),)),
    "from_dlpack": (lambda o: rg.from_dlpack(V, Exports(o)), lambda: (offsets(),)),
    "from_padded": (lambda n: rg.from_padded(V.reshape(2, 4), n), lambda: (np.array([1, 4]),)),
    "structure": (lambda o: rg.RaggedArray.of(V, [Structure.of_offsets(o)], op="test"), lambda: (offsets(),)),
    "windows in lists": (
        lambda s, n: from_levels("test", V, 2, [Regular(2, 2), Windows(s, n)]), lambda: (starts(), lengths())
    ),
    "pickle": (out_of_band, lambda: (V.copy(), offsets())),
    "fvdb": (lambda o: fvdb.JaggedTensor.from_data_and_offsets(V, o).array, lambda: (offsets(),)),
    "nvfuser": (lambda o: as_nested(V, o), lambda: (offsets(),)),
    "torch_nested": (
        lambda o: torch_nested.nested_tensor_from_jagged(V, o).array, lambda: (offsets(),)
    ),
    "torch_nested with holes": (
        lambda o, n: torch_nested.nested_tensor_from_jagged(V, o, n).array, lambda: (offsets(), lengths())
    ),
}  # fmt: skip


@pytest.mark.sampled(2)
@pytest.mark.parametrize("way", WAYS)
def test_vectors_that_came_in_are_not_looked_at_again(way: str) -> None:
    make, given = WAYS[way]
    vectors = given()
    x = make(*vectors)
    before = x.tolist()
    for vector in vectors:
        assert not any(np.shares_memory(vector, own) for own in x.axes[0].vectors)  # type: ignore[union-attr]
        if vector.dtype.kind == "i":
            vector[...] = 2**40
    assert x.tolist() == before
    assert (x + 0).tolist() == before


def shown(x: rg.RaggedArray) -> list[Any]:
    """Everything that tells of the structure."""
    found: list[Any] = [x.offsets, x.starts, x.lengths, x.row_ids, *x.stored.vectors]
    for dim in x.ragged_dims:
        found += [x.offsets_of(dim), x.starts_of(dim), x.lengths_of(dim), x.row_ids_of(dim)]
    return found


ARRAYS: dict[str, Callable[[], rg.RaggedArray]] = {
    "dr|d": lambda: array((3, 0, 5)),
    "drr": lambda: nested(NESTED[0]),
    "dw": lambda: rg.from_starts_lengths(V, starts(), lengths()),
    "a result": lambda: rg.jit(lambda x, n: rg.partition(x + 1, n * 1, lengths=True))(V, lengths()),
    "a view": lambda: array((3, 0, 5))[:, 1:],
}


@pytest.mark.parametrize("name", ARRAYS)
def test_vectors_that_go_out_are_copies_and_read_only(name: str) -> None:
    x = ARRAYS[name]()
    before = x.tolist()
    for vector in shown(x):
        assert not vector.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            vector[-1] = 2**40
        np.ndarray(vector.shape, np.int64, _Memory(vector))[...] = 2**40  # as PyTorch does with DLPack's
    assert x.tolist() == before
    assert (x + 0).tolist() == (np.asarray(1) * (x + 0)).tolist()


class _Memory:
    """Memory of a read-only array as somebody takes it who does not ask."""

    def __new__(cls, vector: Any) -> Any:
        import ctypes

        return (ctypes.c_char * vector.nbytes).from_address(vector.ctypes.data)


def test_torch_gets_copies() -> None:
    torch = pytest.importorskip("torch", reason="no torch (pip install torch)")
    given = torch.tensor([0, 3, 3, 5, 8])
    x = rg.from_offsets(torch.arange(8.0), given)
    windows = rg.from_starts_lengths(torch.arange(8.0), torch.tensor([5, 0]), torch.tensor([3, 2]))
    given[1] = 2**40
    for y, before in ((x, x.tolist()), (windows, windows.tolist()), (x + 1, (x + 1).tolist())):
        for vector in [*shown(y), y.to_torch_nested().offsets(), torch.from_dlpack(array((2, 1)).offsets)]:
            vector[...] = 2**40
        for read_only in (array((2, 1)),):
            torch.from_dlpack(read_only.offsets)[...] = 2**40
            assert read_only.sum(1).shape == (2, 4)
        assert y.tolist() == before
        assert (y * 1).tolist() == before


def test_other_libraries_share_no_structure() -> None:
    ak = pytest.importorskip("awkward", reason="no awkward (pip install awkward)")
    pa = pytest.importorskip("pyarrow", reason="no pyarrow (pip install pyarrow)")
    own = offsets()
    lists = ak.Array(ak.contents.ListOffsetArray(ak.index.Index64(own), ak.to_layout(V)))
    arrow = pa.LargeListArray.from_arrays(pa.array(own), pa.array(V))
    made = [rg.from_awkward(lists), rg.from_arrow(arrow)]
    own[...] = 2**40
    for x in made:
        assert x.lengths.tolist() == [3, 0, 2, 3]
        assert not ak.to_layout(x.to_awkward()).offsets.data.flags.writeable


def test_memory_that_never_changes_is_shared() -> None:
    vector = np.frombuffer(offsets().tobytes(), np.int64)
    assert np.shares_memory(rg.from_offsets(V, vector).axes[0].vectors[0], vector)  # type: ignore[union-attr]
    behind = bytearray(offsets().tobytes())
    read_only = np.frombuffer(memoryview(behind).toreadonly(), np.int64)
    assert not np.shares_memory(rg.from_offsets(V, read_only).axes[0].vectors[0], read_only)  # type: ignore[union-attr]


@pytest.mark.parametrize("target", ["cpu", "emulator"])
def test_results_share_no_memory_with_each_other(target: str) -> None:
    def twice(x: Any, n: Any) -> Any:
        y, v = x + 1, n * 2
        return rg.partition(y, v), v, v, y, y

    made = rg.jit(twice, target=target)(V, np.array([0, 2, 4]))
    ragged, *dense = made
    parts = [ragged.buffer.array, *ragged.axes[0].vectors, *dense]
    assert not any(np.shares_memory(a, b) for k, a in enumerate(parts) for b in parts[:k])
    before = ragged.tolist()
    for part in dense:
        part[...] = 99
    assert ragged.tolist() == before == [[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]


# What values, offsets, starts and lengths of a view describe ----------------------------------------

VIEWS: dict[str, Callable[[], rg.RaggedArray]] = {
    "slice": lambda: array((3, 0, 5))[:, :2],
    "components": lambda: array((3, 0, 5))[[2, 0]],
    "starts": lambda: rg.from_starts_lengths(V, [5, 0, 2], [3, 0, 4]),
    "none": lambda: rg.from_starts_lengths(V, np.zeros(0, int), np.zeros(0, int)),
    "narrow": lambda: rg.narrow(V.reshape(2, 4), [1, 0], [2, 3]),
    "lists": lambda: nested(((3, 0), (), (5, 2, 1)))[[2, 0]],
    "a dense level": lambda: from_levels("test", V, 2, [Windows(np.array([2, 0]), np.array([1, 2])), Regular(2, 4)]),
    "two axes": lambda: rg.partition(
        rg.from_starts_lengths(np.arange(15.0).reshape(3, 5), [1, 0], [2, 1]), [0, 2, 5], axis=2
    ),
    "bfloat16": lambda: array((3, 0, 5)).astype("bfloat16")[:, 1:],
}


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_shows_what_it_selects(name: str) -> None:
    x = VIEWS[name]()
    flat = x.values
    assert flat.__array_interface__ == x.values.__array_interface__  # the copy is made once
    assert x.offsets[-1] == x.total == x.lengths.sum()
    assert [x.offsets[:-1].tolist(), x.offsets[1:].tolist()] == [x.starts.tolist(), (x.starts + x.lengths).tolist()]
    assert rg.like(x, flat).tolist() == x.tolist() == rg.compact(x).tolist()
    assert rg.empty_like(x).values.shape == flat.shape
    assert flat.size == sum(np.size(part.values if isinstance(part, rg.RaggedArray) else part) for part in x)
    stored = io.BytesIO()
    rg.save_npz(stored, x)
    stored.seek(0)
    for back in (rg.load_npz(stored), pickle.loads(pickle.dumps(x))):
        assert (back.tolist(), back.stored.values.shape) == (x.tolist(), flat.shape)


def test_stored_shows_what_there_is() -> None:
    x = rg.from_starts_lengths(V, [5, 0], [3, 2])
    assert x.stored.values.__array_interface__ == V.__array_interface__
    assert [vector.tolist() for vector in x.stored.vectors] == [[5, 0], [3, 2]]
    assert x.values.tolist() == [5.0, 6.0, 7.0, 0.0, 1.0]
    assert (x.offsets.tolist(), x.starts.tolist(), x.row_ids.tolist()) == ([0, 3, 5], [0, 3], [0, 0, 0, 1, 1])
    values, (vector,) = array((1, 2)).stored
    assert (values.shape, vector.tolist()) == ((3, 4), [0, 1, 3])


def test_weak_references() -> None:
    """Caches of arrays do not keep them."""
    x = rg.from_lengths(np.ones(3), [1, 2])
    kept = weakref.WeakValueDictionary({"x": x})
    assert kept["x"] is x
    del x
    gc.collect()
    assert not kept


def test_slices_of_lists_are_measured_by_their_lengths(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where each begins is looked at where there are levels below."""
    looked_at: list[int] = []
    starts = Structure.starts

    def looked(structure: Structure, level: int) -> Any:
        looked_at.append(level)
        return starts(structure, level)

    monkeypatch.setattr(Structure, "starts", looked)
    list_of_lists = rg.from_lengths(V, [2, 1], [1, 4, 3])
    for x, count in ((rg.from_lengths(V, [3, 0, 5])[:, :2], 4), (list_of_lists[:, :1], 4)):
        axis = x.axes[0]
        assert axis is not None
        looked_at.clear()
        assert axis.shown == count
        assert bool(looked_at) == (axis.letters[-1] != "w")


def test_threads_have_one_structure(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that one of them runs reads the vectors of what it found, which live as long as the array."""
    x = rg.from_starts_lengths(V, starts(), lengths())
    axis, both, found = x.structure(0), threading.Barrier(2), list[Structure]()
    known = Structure.trusted

    def trusted(*given: Any) -> Structure:
        both.wait(10)
        return known(*given)

    monkeypatch.setattr(Structure, "trusted", trusted)
    threads = [threading.Thread(target=lambda: found.append(axis.contiguous)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found[0] is found[1] is axis.contiguous
