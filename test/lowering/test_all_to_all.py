"""`ragged.all_to_all` of ranks that are threads, against lists, on CPU and emulator, compiled and interpreted."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ragged_dialect as rg
from ragged_dialect.artifacts import cpu_library, gpu_module
from ragged_dialect.errors import CompileError
from ragged_dialect.layout import Layout
from ragged_dialect.ranks import Group
from ragged_dialect.reference.interpreter import run
from ragged_dialect.shape import RaggedShape

TYPES = {
    "d|d": 'tensor<?x2xKIND, #ragged.layout<"d|d">>',
    "dr|d": 'tensor<?x?x2xKIND, #ragged.layout<"dr|d">>',
    "drr|d": 'tensor<?x?x?x2xKIND, #ragged.layout<"drr|d">>',
    "ddr|d": 'tensor<?x?x?x2xKIND, #ragged.layout<"ddr|d">>',
    "drdr|d": 'tensor<?x?x?x?x2xKIND, #ragged.layout<"drdr|d">>',
}
KINDS = {"f32": "float32", "f64": "float64", "i8": "int8", "i64": "int64", "i1": "bool"}


def type_of(layout: str, kind: str) -> str:
    return TYPES[layout].replace("KIND", kind) if "r" in layout else f"tensor<?x2x{kind}>"


def begun(layout: str, kind: str) -> str:
    """Two exchanges are under way, of which the second one is waited for first."""
    type_ = type_of(layout, kind)
    return f"""func.func @f(%x: {type_}) -> {type_} {{
      %0 = ragged.all_to_all_start %x : ({type_}) -> index
      %1 = ragged.all_to_all_start %x : ({type_}) -> index
      %2 = ragged.all_to_all_wait %x, %1 : ({type_}, index) -> {type_}
      %3 = ragged.all_to_all_wait %x, %0 : ({type_}, index) -> {type_}
      %4 = ragged.all_to_all %2 : ({type_}) -> {type_}
      %5 = ragged.all_to_all %3 : ({type_}) -> {type_}
      %6 = ragged.all_to_all %4 : ({type_}) -> {type_}
      return %6 : {type_}
    }}"""


def program(layout: str, kind: str) -> str:
    type_ = type_of(layout, kind)
    return f"""func.func @f(%x: {type_}) -> {type_} {{
      %0 = ragged.all_to_all %x : ({type_}) -> {type_}
      return %0 : {type_}
    }}"""


def block(rng: np.random.Generator, letters: str, extent: int) -> Any:
    """Nested lists of rows; extents of dense dims are the same everywhere."""
    if not letters:
        return rng.integers(0, 100, 2).tolist()
    size = {"d": extent, "r": int(rng.integers(0, 4))}[letters[0]]
    return [block(rng, letters[1:], extent) for _ in range(size)]


def parts(blocks: list[Any], layout: str, dtype: str, extent: int) -> tuple[Any, ...]:
    """The 1:N form of blocks."""
    levels = [blocks]
    for _ in layout.split("|")[0][1:]:
        levels.append([inner for outer in levels[-1] for inner in outer])
    found: list[Any] = [np.array(levels[-1], "int64").reshape(-1, 2).astype(dtype)]
    parsed = Layout(tuple(layout.split("|")))
    for part in RaggedShape(parsed, (None,) * (parsed.rank - 1) + (2,)).parts()[1:]:
        offsets = np.cumsum([0, *map(len, levels[part.dim - 1])]) if part.dim else None
        found.append(offsets if part.kind == "offsets" else extent if part.dim else len(blocks))
    return tuple(found)


CASES = [
    ("d|d", "f32"),
    ("dr|d", "f64"),
    ("dr|d", "i1"),
    ("drr|d", "f32"),
    ("drr|d", "i8"),
    ("ddr|d", "f32"),
    ("drdr|d", "i64"),
]


@pytest.mark.sampled(24)
@pytest.mark.parametrize(("target", "made"), [("cpu", program), ("emulator", program), ("cpu", begun)])
@pytest.mark.parametrize(("layout", "kind"), CASES)
def test_blocks_change_places(target: str, made: Callable[[str, str], str], layout: str, kind: str) -> None:
    text, letters, dtype = made(layout, kind), layout.split("|")[0], KINDS[kind]
    compiled, rng, extent = rg.compile(text, target=target), np.random.default_rng(0), 3
    for size in (1, 2, 3):
        blocks = [[block(rng, letters[1:], extent) for _ in range(size)] for _ in range(size)]
        turned = zip(*blocks, strict=True)
        expected = [parts(list(own), layout, dtype, extent) for own in turned]
        given = [parts(own, layout, dtype, extent) for own in blocks]

        def call(group: Group, given: list[Any] = given) -> Any:
            own = given[group.rank]
            return compiled(own if "r" in letters else own[0])

        def interpret(group: Group, given: list[Any] = given) -> Any:
            own = given[group.rank]
            return run(text, "f", [own if "r" in letters else own[0]])[0]

        works: list[Callable[[Group], Any]] = [call, interpret]
        for work in works:
            results: list[Any] = rg.ranks.run(size, work)
            for found, wanted in zip(results, expected, strict=True):
                for a, b in zip(found if "r" in letters else [found], wanted, strict=True):
                    np.testing.assert_array_equal(a, b)


def test_on_the_executor_of_ptx_text_one_rank_gets_its_own() -> None:
    given = parts([[[1, 2], [3, 4]]], "dr|d", "float32", 0)
    for found, wanted in zip(rg.compile(program("dr|d", "f32"), target="ptx-emulator")(given), given, strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_the_executor_of_ptx_text_is_one_rank() -> None:
    compiled = rg.compile(program("dr|d", "f32"), target="ptx-emulator")
    with Group() as group, pytest.MonkeyPatch.context() as patch:
        patch.setattr(group, "size", 2)
        with pytest.raises(rg.ArgumentError, match="expected one rank for target ptx-emulator, got 2"):
            compiled(parts([[[1, 2]], []], "dr|d", "float32", 0))


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("target", "made"), [("cpu", program), ("emulator", program), ("cpu", begun)])
def test_another_number_of_components_than_ranks(target: str, made: Callable[[str, str], str]) -> None:
    compiled = rg.compile(made("dr|d", "f32"), target=target)
    with pytest.raises(rg.ArgumentError) as caught:
        compiled(parts([[[1, 2]], []], "dr|d", "float32", 0))
    assert str(caught.value) == "all_to_all: expected a leading extent of 1, the number of ranks, got 2"
    compiled(parts([[[1, 2]]], "dr|d", "float32", 0))  # and the next call works


def test_what_a_callback_raises_leaves_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = rg.compile(program("dr|d", "f32"))

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Group, "exchange", interrupted)
    with pytest.raises(KeyboardInterrupt):
        compiled(parts([[[1, 2]]], "dr|d", "float32", 0))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["libf.so", "f.py"])
def test_files_are_programs_of_one_rank(tmp_path: Path, name: str) -> None:
    text, output = program("dr|d", "f32"), tmp_path / name
    write = partial(cpu_library.write if name == "libf.so" else gpu_module.write, text, None, output)
    with pytest.raises(CompileError) as caught:
        write() if name == "libf.so" else write(arch="sm_90")
    assert str(caught.value) == "f: expected a program of one rank for a file, got one with ragged.all_to_all"
    assert not list(tmp_path.iterdir())


def test_a_check_that_fails_while_an_exchange_is_under_way() -> None:
    """The rank that fails takes part to the end in what it began, and tells the others then."""
    compiled = rg.compile("""func.func @f(%x: tensor<?x2xf32>, %offsets: tensor<?xi64>)
        -> (tensor<?x2xf32>, tensor<?x2xf32>) {
      %zero = arith.constant 0 : index
      %t = ragged.all_to_all_start %x : (tensor<?x2xf32>) -> index
      %n = tensor.dim %x, %zero : tensor<?x2xf32>
      ragged.assert_valid %offsets, %n {kind = "offsets", op = "f", level = 1} : (tensor<?xi64>, index) -> ()
      %0 = ragged.all_to_all_wait %x, %t : (tensor<?x2xf32>, index) -> tensor<?x2xf32>
      %1 = ragged.all_to_all %0 : (tensor<?x2xf32>) -> tensor<?x2xf32>
      return %0, %1 : tensor<?x2xf32>, tensor<?x2xf32>
    }""")
    x = np.ones((3, 2), np.float32)
    told: list[str] = []

    def work(group: Group) -> Any:
        try:
            return compiled(x, np.array([0, 3 + group.rank // 2]))
        except rg.RankError as error:
            told.append(str(error))
            raise

    with pytest.raises(rg.RuntimeCheckError):
        rg.ranks.run(3, work, timeout=20)
    assert len(told) == 2
    assert all(text.startswith("rank 2 failed: ") for text in told)


def test_what_is_begun_on_a_gpu_is_refused() -> None:
    with pytest.raises(rg.CompileError, match="got a call of 'ragged_exchange_start'"):
        rg.compile(begun("dr|d", "f32"), target="emulator")
