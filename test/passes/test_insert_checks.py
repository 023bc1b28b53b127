"""ragged-insert-checks: data that the ops refuse, and the exact errors of the checks in the IR."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.programs import Program, programs
from support.run_pass import count, outcome, program, t, transform
from support.structures import LAYOUTS, make, seeded
from support.targets import Compile

from ragged_dialect.errors import RuntimeCheckError
from ragged_dialect.passes.ragged_check_conform import RaggedCheckConform
from ragged_dialect.passes.ragged_insert_checks import RaggedInsertChecks
from ragged_dialect.reference import run


def i64(*values: Any) -> np.ndarray[Any, Any]:
    return np.array(values, dtype=np.int64)


def rows(*values: list[int]) -> np.ndarray[Any, Any]:
    return np.array(values, dtype=np.int64)


def f32(*shape: int) -> np.ndarray[Any, Any]:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


V, O3, OFF = "tensor<?xf32>", "tensor<4xi64>", "tensor<?xi64>"
DR, DR3, DRR = t("dr", "?x?"), t("dr", "3x?"), t("drr", "3x?x?")
PARTITION = program(f"%0 = ragged.partition %a0, %a1 {{dim = 0}} : ({V}, {OFF}) -> {DR}", V, OFF)
PARTITION3 = program(f"%0 = ragged.partition %a0, %a1 {{dim = 0}} : ({V}, {OFF}) -> {DR3}", V, OFF)
LENGTHS3 = program(f"%0 = ragged.partition %a0, %a1 {{dim = 0, lengths}} : ({V}, {OFF}) -> {DR3}", V, OFF)
OFFSETS = (f32(6), i64(0, 2, 2, 6))
MADE = f"%x = ragged.partition %a0, %a1 {{dim = 0}} : ({V}, {O3}) -> {DR3}\n"
ROWS = program(
    MADE + f"%0 = ragged.partition %x, %a2 {{dim = 1}} : ({DR3}, tensor<?x?xi64>) -> {t('ddr', '3x?x?')}",
    V,
    O3,
    "tensor<?x?xi64>",
)
ROW_LENGTHS = ROWS.replace("{dim = 1}", "{dim = 1, lengths}")
DENSE_ROWS = program(
    f"%0 = ragged.partition %a0, %a1 {{dim = 1}} : (tensor<?x?xf32>, tensor<?x?xi64>) -> {t('ddr', '?x?x?')}",
    "tensor<?x?xf32>",
    "tensor<?x?xi64>",
)
ASSEMBLE = program(f"%0 = ragged.assemble %a0, %a1, %a2 : ({V}, {O3}, {OFF}) -> {DRR}", V, O3, OFF)
WINDOWS = program(f"%0 = ragged.assemble %a0, %a1, %a2 : ({V}, {OFF}, {OFF}) -> {t('dw', '3x?')}", V, OFF, OFF)
BATCHES = program(
    f"%0 = ragged.assemble %a0, %a1, %a2, %a3 : ({V}, {OFF}, index, index) -> {t('ddr', '?x?x?')}",
    V,
    OFF,
    "index",
    "index",
)
TILES = program(f"%0 = ragged.assemble %a0, %a1 : ({V}, index) -> {t('dt', '?x4')}", V, "index")
SELECT = program(MADE + f"%0 = ragged.select %x, %a2 {{dim = 0}} : ({DR3}, index) -> {V}", V, O3, "index")
SELECT_ROW = program(MADE + f"%0 = ragged.select %x, %a2 {{dim = 1}} : ({DR3}, index) -> tensor<3xf32>", V, O3, "index")
SLICE = program(
    MADE + f"%0 = ragged.slice %x, %a2, %a3 {{dim = 1}} : ({DR3}, index, {OFF}) -> {t('dw', '3x?')}",
    V,
    O3,
    "index",
    OFF,
)
SUB_BATCH = program(
    MADE + f"%0 = ragged.slice %x, %a2, %a3 {{dim = 0}} : ({DR3}, index, index) -> {t('dr', '2x?')}",
    V,
    O3,
    "index",
    "index",
)
SPLIT = program(
    PARTITION.split("{\n")[1].split("\nreturn")[0]
    + f"\n%1 = ragged.split %0 {{dim = 0, factor = 2}} : ({DR}) -> {t('ddr', '?x2x?')}",
    V,
    OFF,
)
PADDED = program(
    MADE + f"%0 = ragged.to_padded %x, %a2, %a3 : ({DR3}, f32, index) -> tensor<3x?xf32>", V, O3, "f32", "index"
)
FROM_PADDED = program(f"%0 = ragged.from_padded %a0, %a1 : (tensor<?x?xf32>, {OFF}) -> {DR}", "tensor<?x?xf32>", OFF)
ACROSS = program(
    MADE + f'%0 = ragged.reduce_across %x, %a2 {{dim = 1, kind = "sum"}} : ({DR3}, index) -> {V}', V, O3, "index"
)
TWO = MADE + f"%y = ragged.partition %a0, %a2 {{dim = 0}} : ({V}, {O3}) -> {DR3}\n"
ADD = program(TWO + f"%0 = arith.addf %x, %y : {DR3}", V, O3, O3)
CONCAT = program(
    TWO + f"%p = ragged.assemble %a0, %a1, %a3 : ({V}, {O3}, {OFF}) -> {DRR}\n"
    f"%q = ragged.assemble %a0, %a2, %a3 : ({V}, {O3}, {OFF}) -> {DRR}\n"
    f"%0 = ragged.concat %p, %q {{dim = 2}} : ({DRR}, {DRR}) -> {DRR}",
    V,
    O3,
    O3,
    OFF,
)
ASSUME = program(
    MADE + f"%0 = ragged.assume %x {{level = 1, divisible_by = 2, min = 0, max = 4}} : ({DR3}) -> {DR3}", V, O3
)
CAST = program(
    f"%0 = ragged.partition %a0, %a1 {{dim = 0}} : ({V}, {OFF}) -> {DR}\n%1 = tensor.cast %0 : {DR} to {DR3}", V, OFF
)
POSITIONS = program(
    MADE + "%0 = linalg.generic {indexing_maps = [affine_map<(b, i) -> (i)>, affine_map<(b, i) -> (b, i)>], "
    f'iterator_types = ["parallel", "parallel"]}} ins(%a2 : {V}) outs(%x : {DR3}) {{\n'
    f"^bb0(%p: f32, %q: f32):\n linalg.yield %p : f32\n}} -> {DR3}",
    V,
    O3,
    V,
)


def indexed(expression: str) -> str:
    """Features of an element plus the elements of a vector at an expression of component, place, feature."""
    x, loops = t("dr|d", "3x?x?"), "affine_map<(b, i, k) -> "
    return program(
        f"%0 = linalg.generic {{indexing_maps = [{loops}({expression})>, {loops}(b, i, k)>], "
        f'iterator_types = ["parallel", "parallel", "parallel"]}} ins(%a1 : {V}) outs(%a0 : {x}) {{\n'
        f"^bb0(%p: f32, %q: f32):\n linalg.yield %p : f32\n}} -> {x}",
        x,
        V,
    )


def features(count: int) -> tuple[Any, Any]:
    """Three components of 2, 0 and 2 elements."""
    return f32(4, count), i64(0, 2, 2, 4)


BIG = 2**62

CASES: list[tuple[str, tuple[Any, ...], str]] = [
    (PARTITION, (f32(4), i64()), "ragged.partition: level 1: expected at least 1 offset, got 0"),
    (PARTITION3, (f32(4), i64(0, 4)), "ragged.partition: level 1: expected 4 offsets, got 2"),
    (PARTITION, (f32(4), i64(1, 4)), "ragged.partition: level 1, component 0: expected offsets[0] == 0, got 1"),
    (
        PARTITION,
        (f32(4), i64(0, 2, 4, 2)),
        "ragged.partition: level 1, component 2: expected offsets[3] >= offsets[2], got 2 < 4",
    ),
    (PARTITION, (f32(4), i64(0, 2, 5)), "ragged.partition: level 1, component 1: expected offsets[2] == 4, got 5"),
    (LENGTHS3, (f32(4), i64(4)), "ragged.partition: level 1: expected 3 lengths, got 1"),
    (LENGTHS3, (f32(4), i64(2, -1, 3)), "ragged.partition: level 1, component 1: expected lengths[1] >= 0, got -1"),
    (LENGTHS3, (f32(4), i64(2, 1, 2)), "ragged.partition: level 1: expected lengths to sum to 4, got 5"),
    (ROWS, (*OFFSETS, rows([0, 1, 2], [0, 0, 0])), "ragged.partition: level 2: expected 3 rows of offsets, got 2"),
    (
        ROWS,
        (*OFFSETS, np.zeros((3, 0), np.int64)),
        "ragged.partition: level 2: expected at least 1 offset per row, got 0",
    ),
    (
        ROWS,
        (*OFFSETS, rows([0, 1, 2], [0, 0, 0], [1, 2, 4])),
        "ragged.partition: level 2, component 2: expected the row of offsets to start at 0, got 1",
    ),
    (
        ROWS,
        (*OFFSETS, rows([0, 3, 2], [0, 0, 0], [0, 2, 4])),
        "ragged.partition: level 2, component 0: expected the row of offsets not to decrease, got 2 < 3",
    ),
    (
        ROWS,
        (*OFFSETS, rows([0, 1, 2], [0, 0, 1], [0, 2, 4])),
        "ragged.partition: level 2, component 1: expected the row of offsets to end at 0, got 1",
    ),
    (ROW_LENGTHS, (*OFFSETS, rows([1, 1], [0, 0])), "ragged.partition: level 2: expected 3 rows of lengths, got 2"),
    (
        ROW_LENGTHS,
        (*OFFSETS, rows([3, -1], [0, 0], [2, 2])),
        "ragged.partition: level 2, component 0: expected the row of lengths to be >= 0, got -1",
    ),
    (
        ROW_LENGTHS,
        (*OFFSETS, rows([1, 1], [0, 0], [2, 3])),
        "ragged.partition: level 2, component 2: expected the row of lengths to sum to 4, got 5",
    ),
    (DENSE_ROWS, (f32(2, 3), rows([0, 3])), "ragged.partition: level 2: expected 2 rows of offsets, got 1"),
    (
        DENSE_ROWS,
        (f32(2, 3), rows([0, 3], [0, 2])),
        "ragged.partition: level 2, component 1: expected the row of offsets to end at 3, got 2",
    ),
    (
        ASSEMBLE,
        (f32(4), i64(0, 1, 3, 2), i64(0, 2, 4)),
        "ragged.assemble: level 1, component 2: expected offsets[3] >= offsets[2], got 2 < 3",
    ),
    (ASSEMBLE, (f32(4), i64(0, 1, 3, 4), i64(0, 2, 4)), "ragged.assemble: level 2: expected 5 offsets, got 3"),
    (
        ASSEMBLE,
        (f32(5), i64(0, 1, 1, 2), i64(0, 2, 4)),
        "ragged.assemble: level 2, component 1: expected offsets[2] == 5, got 4",
    ),
    (
        WINDOWS,
        (f32(4), i64(0, 0, 0), i64(1, 1)),
        "ragged.assemble: level 1: expected starts and lengths of one size, got 3 and 2",
    ),
    (WINDOWS, (f32(4), i64(0, 0), i64(1, 1)), "ragged.assemble: level 1: expected 3 starts and lengths, got 2"),
    (
        WINDOWS,
        (f32(4), i64(0, 0, 0), i64(1, -1, 1)),
        "ragged.assemble: level 1, component 1: expected lengths[1] >= 0, got -1",
    ),
    (
        WINDOWS,
        (f32(4), i64(0, -2, 0), i64(1, 1, 1)),
        "ragged.assemble: level 1, component 1: expected starts[1] >= 0, got -2",
    ),
    (
        WINDOWS,
        (f32(4), i64(0, 3, 0), i64(4, 2, 1)),
        "ragged.assemble: level 1, component 1: expected starts[1] + lengths[1] <= 4, got 5",
    ),
    (BATCHES, (f32(4), i64(0, 2, 4), -1, 2), "ragged.assemble: level 0: expected at least 0, got -1"),
    (BATCHES, (f32(4), i64(0, 2, 4), 2, 2), "ragged.assemble: level 2: expected 5 offsets, got 3"),
    (BATCHES, (f32(4), i64(0, 4), BIG, 4), f"ragged.assemble: level 0: expected a size below 2**63, got {BIG} * 4"),
    (TILES, (f32(9), 2), "ragged.assemble: dim 0: expected extent 3, got 2"),
    (SELECT, (*OFFSETS, 3), "ragged.select: level 0: expected index in [0, 3), got 3"),
    (SELECT, (*OFFSETS, -1), "ragged.select: level 0: expected index in [0, 3), got -1"),
    (SELECT_ROW, (*OFFSETS, 0), "ragged.select: level 1, component 1: expected index in [0, 0), got 0"),
    (SLICE, (*OFFSETS, 0, i64(1, 0)), "ragged.slice: level 1: expected 3 ranges, got 2"),
    (SLICE, (*OFFSETS, -1, i64(1, 0, 1)), "ragged.slice: level 1, component 0: expected lo >= 0, got -1"),
    (SLICE, (*OFFSETS, 1, i64(2, 0, 1)), "ragged.slice: level 1, component 1: expected lo <= hi, got 1 > 0"),
    (SLICE, (*OFFSETS, 0, i64(2, 0, 5)), "ragged.slice: level 1, component 2: expected hi <= 4, got 5"),
    (SUB_BATCH, (*OFFSETS, 2, 4), "ragged.slice: level 0: expected hi <= 3, got 4"),
    (SUB_BATCH, (*OFFSETS, 2, 3), "ragged.slice: dim 0: expected extent 2, got 1"),
    (SPLIT, (f32(4), i64(0, 1, 2, 4)), "ragged.split: level 0: expected a multiple of 2, got 3"),
    (PADDED, (*OFFSETS, 0.0, -1), "ragged.to_padded: level 1: expected at least 0, got -1"),
    (PADDED, (*OFFSETS, 0.0, 3), "ragged.to_padded: level 1, component 2: expected extent >= length 4, got 3"),
    (FROM_PADDED, (f32(3, 2), i64(0, 2, 3)), "ragged.from_padded: level 1: expected 4 offsets, got 3"),
    (
        FROM_PADDED,
        (f32(2, 2), i64(0, 2, 5)),
        "ragged.from_padded: level 1, component 1: expected extent >= length 3, got 2",
    ),
    (ACROSS, (*OFFSETS, 3), "ragged.reduce_across: level 1, component 2: expected extent >= length 4, got 3"),
    (ADD, (*OFFSETS, i64(0, 2, 3, 6)), "arith.addf: level 1, component 1: expected length 0, got 1"),
    (ASSUME, (f32(6), i64(0, 2, 5, 6)), "ragged.assume: level 1, component 1: expected a multiple of 2, got 3"),
    (ASSUME, (f32(6), i64(0, 0, 6, 6)), "ragged.assume: level 1, component 1: expected at most 4, got 6"),
    (CAST, (f32(4), i64(0, 4)), "tensor.cast: dim 0: expected extent 3, got 1"),
    (POSITIONS, (*OFFSETS, f32(3)), "linalg.generic: level 0, component 2: expected extent >= length 4, got 3"),
    (indexed("k + 1"), (features(2), f32(2)), "linalg.generic: level 0: expected extent >= length 3, got 2"),
    (indexed("k - 1"), (features(2), f32(2)), "linalg.generic: level 0: expected at least 0, got -1"),
    (indexed("5"), (features(2), f32(5)), "linalg.generic: level 0: expected extent >= length 6, got 5"),
    *(
        (indexed(far), (features(5), f32(4)), f"linalg.generic: level 0: expected {text}")
        for far, text in (
            (f"k * {BIG}", f"extent >= length {2**56 + 1}, got 4"),
            (f"k + {2 * BIG - 1}", f"extent >= length {2**56 + 5}, got 4"),
            (f"k * {BIG} + b * {BIG} + {BIG}", f"extent >= length {3 * 2**56 + 1}, got 4"),
            (f"k * -{BIG}", f"at least 0, got {-(2**56)}"),
            (f"(k + {2 * BIG - 1}) floordiv {BIG} + 4", "extent >= length 6, got 4"),
        )
    ),
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("text", "args", "message"), CASES, ids=[case[2] for case in CASES])
def test_refused_data(text: str, args: tuple[Any, ...], message: str) -> None:
    assert outcome(transform(text, RaggedInsertChecks()), args) == message


@pytest.fixture(scope="module")
def compiled(compile: Compile) -> Compile:
    """Programs, each compiled once for a target."""
    return functools.cache(compile)


@pytest.mark.sampled(48)
@pytest.mark.parametrize(("text", "args", "message"), CASES, ids=[case[2] for case in CASES])
def test_compiled_programs_refuse_it_too(text: str, args: tuple[Any, ...], message: str, compiled: Compile) -> None:
    with pytest.raises(RuntimeCheckError) as error:
        compiled(text)(*args)
    assert str(error.value) == message


def test_a_level_above_the_concatenated_one_conforms() -> None:
    args = (f32(3), i64(0, 1, 2, 3), i64(0, 1, 1, 3), i64(0, 1, 2, 3))
    expected = "ragged.concat: level 1, component 1: expected length 1, got 0"
    assert outcome(transform(CONCAT, RaggedInsertChecks()), args) == expected


VALID = [
    (PARTITION, (f32(4), i64(0, 2, 2, 4))),
    (ROWS, (*OFFSETS, rows([0, 1, 2], [0, 0, 0], [0, 4, 4]))),
    (ASSEMBLE, (f32(4), i64(0, 1, 1, 2), i64(0, 2, 4))),
    (WINDOWS, (f32(4), i64(2, 0, 1), i64(2, 4, 0))),
    (BATCHES, (f32(4), i64(0, 2, 2, 3, 4), 2, 2)),
    (TILES, (f32(9), 3)),
    (SELECT, (*OFFSETS, 2)),
    (SLICE, (*OFFSETS, 0, i64(1, 0, 4))),
    (SPLIT, (f32(4), i64(0, 1, 4))),
    (PADDED, (*OFFSETS, 0.0, 4)),
    (FROM_PADDED, (f32(2, 3), i64(0, 2, 5))),
    (ACROSS, (*OFFSETS, 4)),
    (ADD, (*OFFSETS, i64(0, 2, 2, 6))),
    (ASSUME, (f32(6), i64(0, 2, 6, 6))),
    (CAST, (f32(4), i64(0, 1, 2, 4))),
    (POSITIONS, (*OFFSETS, f32(5))),
    (indexed("k + 1"), (features(2), f32(3))),
]


@pytest.mark.parametrize(("text", "args"), VALID)
def test_valid_data_passes(text: str, args: tuple[Any, ...]) -> None:
    assert outcome(transform(text, RaggedInsertChecks()), args) == []


@pytest.mark.parametrize("text", [case[0] for case in VALID])
def test_twice_is_once(text: str) -> None:
    once = transform(text, RaggedInsertChecks())
    assert str(transform(text, RaggedInsertChecks(), RaggedInsertChecks())) == str(once)


@given(st.lists(st.integers(-1, 5), max_size=5), st.integers(0, 5), st.sampled_from([PARTITION, LENGTHS3, PARTITION3]))
def test_offsets_are_refused_as_the_interpreter_refuses_them(values: list[int], size: int, text: str) -> None:
    args = (f32(size), i64(*values))
    got = outcome(transform(text, RaggedInsertChecks()), args)
    wanted = outcome(transform(text), args, check=True)
    if isinstance(got, str) and "expected 4 offsets" not in got and "expected 3 lengths" not in got:
        assert got == wanted
    else:
        counted = text == PARTITION or len(values) == (4 if text == PARTITION3 else 3)
        assert isinstance(got, list) == (isinstance(wanted, list) and counted)


EXPRESSIONS: dict[str, Callable[[int, int], int]] = {
    "2 * k": lambda b, k: 2 * k,
    "b + k": lambda b, k: b + k,
    "4 - b": lambda b, k: 4 - b,
    "k floordiv 2": lambda b, k: k // 2,
    "k ceildiv 2": lambda b, k: -(-k // 2),
    "k mod 2": lambda b, k: k % 2,
    "(k + 1) mod 3": lambda b, k: (k + 1) % 3,
    "b * 2 + k - 1": lambda b, k: b * 2 + k - 1,
    f"k * {BIG} + b * {BIG}": lambda b, k: (b + k) * BIG,
    f"k mod {BIG} - k ceildiv {BIG}": lambda b, k: k - (k > 0),
}


@pytest.mark.sampled(8)
@pytest.mark.parametrize("expression", EXPRESSIONS)
@pytest.mark.parametrize("count", [0, 1, 3])
def test_indices_are_refused_as_the_interpreter_refuses_them(expression: str, count: int) -> None:
    """And no index of those that pass is outside."""
    text = indexed(expression)
    module = transform(text, RaggedInsertChecks())
    used = {EXPRESSIONS[expression](b, k) for b in (0, 2) for k in range(count)}
    for size in range(7):
        args = (features(count), f32(size))
        got = outcome(module, args)
        assert got == outcome(transform(text), args, check=True)
        assert got != [] or used <= set(range(size))


@given(st.lists(st.integers(0, 3), min_size=3, max_size=3), st.lists(st.integers(0, 3), min_size=3, max_size=3))
def test_conformity_is_equality_of_lengths(a: list[int], b: list[int]) -> None:
    size = max(sum(a), sum(b))
    a, b = ([*lengths[:2], lengths[2] + size - sum(lengths)] for lengths in (a, b))
    first, second = (i64(0, *np.cumsum(lengths)) for lengths in (a, b))
    got = outcome(transform(ADD, RaggedInsertChecks()), (f32(size), first, second))
    if a == b:
        assert got == []
    else:
        k = next(k for k in range(3) if a[k] != b[k])
        assert got == f"arith.addf: level 1, component {k}: expected length {a[k]}, got {b[k]}"


def test_arguments_can_be_trusted() -> None:
    text = program("", DR3)
    assert count(transform(text, RaggedInsertChecks()), "ragged.assert_valid") == 1
    assert count(transform(text, RaggedInsertChecks(arguments=False)), "ragged.assert_valid") == 0


def test_unused_helpers_do_not_stay() -> None:
    text = program(f"%0 = arith.addf %a0, %a0 : {DR}\n%1 = arith.mulf %0, %a0 : {DR}", DR)
    module = transform(text, RaggedInsertChecks(arguments=False))
    assert count(module, "tensor.dim") == 0
    assert count(module, "ragged.assert_conform") == 0


NESTED = (f32(6), i64(0, 1, 1), i64(2, 1, 0), i64(2, 0, 3, 1), i64(3, 2, 0, 5))
"""Three windows on four windows, of which two are never shown and one twice."""

BELOW_WINDOWS = [
    (1, i64(0, 1, 5), "argument 0: level 1, component 2: expected starts[2] + lengths[2] <= 4, got 5"),
    (2, i64(2, 4, 0), "argument 0: level 1, component 1: expected starts[1] + lengths[1] <= 4, got 5"),
    (3, i64(2, 0, 4, 1), None),
    (3, i64(2, 0, 3, 2), "argument 0: level 2, component 3: expected starts[3] + lengths[3] <= 6, got 7"),
    (4, i64(3, -1, 0, 5), "argument 0: level 2, component 1: expected lengths[1] >= 0, got -1"),
    (4, i64(3, 2, 0), "argument 0: level 2: expected starts and lengths of one size, got 4 and 3"),
]


@pytest.fixture(scope="module")
def windows_on_windows(compile: Compile) -> Any:
    return compile(program("", t("dww", "?x?x?")))


def test_windows_on_windows_are_valid(windows_on_windows: Any) -> None:
    windows_on_windows(NESTED)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_valid_arguments_are_accepted(layout: str) -> None:
    for seed in range(5):
        case = make(seeded(seed), layout)
        assert outcome(transform(program("", case.type), RaggedInsertChecks()), (case.parts,)) == []


@pytest.mark.parametrize(("part", "vector", "message"), BELOW_WINDOWS)
def test_refused_windows_on_windows(
    windows_on_windows: Any, part: int, vector: np.ndarray[Any, Any], message: str | None
) -> None:
    args = (*NESTED[:part], vector, *NESTED[part + 1 :])
    if message is None:
        windows_on_windows(args)
        return
    with pytest.raises(RuntimeCheckError) as error:
        windows_on_windows(args)
    assert str(error.value) == message


@pytest.mark.sampled(6)
@pytest.mark.parametrize("letters", ["dr", "drt", "dww", "dwr", "dwt", "drw"])
def test_compiled_stored_lengths(letters: str, compile: Compile) -> None:
    level = max(k for k, letter in enumerate(letters) if letter in "rw")
    x = t(letters, "x".join("2" if letter == "t" else "?" for letter in letters))
    text = f"""
    func.func @f(%x: {x}) -> ({OFF}, {OFF}) {{
      %0 = ragged.lengths %x {{level = {level}, stored}} : ({x}) -> {OFF}
      %1 = ragged.lengths %x {{level = {level}}} : ({x}) -> {OFF}
      return %0, %1 : {OFF}, {OFF}
    }}"""
    function = compile(text)
    for seed in range(5):
        parts = make(seeded(seed), letters).parts
        for got, expected in zip(function(parts), run(text, "f", [parts]), strict=True):
            np.testing.assert_array_equal(got, expected)


@given(programs(), st.integers(0, 2**32))
def test_random_programs_fail_as_the_interpreter_says(made: Program, seed: int) -> None:
    module = transform(made.text, RaggedInsertChecks(), RaggedCheckConform())
    plain = transform(made.text)
    assert outcome(module, made.args) == outcome(plain, made.args, check=True)
    args = changed(made.args, random.Random(seed))
    wanted = outcome(plain, args, check=True)
    assert outcome(module, args) == wanted


def changed(args: list[Any], pick: random.Random) -> list[Any]:
    """The arguments with one entry of one index vector, or one index, off by a little."""
    args = list(args)
    numbers = [
        k for k, a in enumerate(args) if isinstance(a, int) or (isinstance(a, np.ndarray) and a.dtype == np.int64)
    ]
    if numbers:
        k = pick.choice(numbers)
        value = np.array(args[k])
        if value.size:
            value.flat[pick.randrange(value.size)] += pick.choice([-2, -1, 1, 2])
        args[k] = int(value) if value.ndim == 0 else value
    return args
