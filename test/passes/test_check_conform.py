"""ragged-check-conform: what is proven, what is not, and that no needed check is lost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.run_pass import count, outcome, program, t, transform

from ragged_dialect.passes.ragged_check_conform import RaggedCheckConform
from ragged_dialect.passes.ragged_insert_checks import RaggedInsertChecks

V, OFF = "tensor<?xf32>", "tensor<?xi64>"
DR, DRR, DDR, DRT = t("dr", "?x?"), t("drr", "?x?x?"), t("ddr", "?x?x?"), t("drt", "?x?x4")
DWR, DWW = t("dwr", "?x?x?"), t("dww", "?x?x?")


def conform(a: str, b: str, type_: str, lhs: str, rhs: str | None = None, other: str | None = None) -> str:
    return (
        f'ragged.assert_conform {a}, {b} {{lhs = array<i64: {lhs}>, rhs = array<i64: {rhs or lhs}>, op = "x"}} '
        f": ({type_}, {other or type_}) -> ()\n"
    )


def kept(body: str, *arguments: str) -> int:
    """How many conformity checks of a program are not proven."""
    return count(transform(program(body, *arguments), RaggedCheckConform()), "ragged.assert_conform")


def part(name: str, source: str, vector: str, result: str = DR, operand: str = V, more: str = "dim = 0") -> str:
    return f"{name} = ragged.partition {source}, {vector} {{{more}}} : ({operand}, {OFF}) -> {result}\n"


PROVEN = [
    # stored lengths read twice, and those that windows were assembled with
    (
        f"%w = ragged.assemble %a0, %a1, %a2, %a1, %a3 : ({V}, {OFF}, {OFF}, {OFF}, {OFF}) -> {DWW}\n"
        f"%l = ragged.lengths %w {{level = 2, stored}} : ({DWW}) -> {OFF}\n"
        + part("%x", "%a0", "%l", more="dim = 0, lengths")
        + part("%y", "%a0", "%a3", more="dim = 0, lengths")
        + conform("%x", "%y", DR, "0, 1"),
        (V, OFF, OFF, OFF),
    ),
    # two levels by two vectors, made by partitions and assembled
    (
        part("%i", "%a0", "%a3")
        + part("%x", "%i", "%a2", DRR, DR)
        + f"%y = ragged.assemble %a1, %a2, %a3 : ({V}, {OFF}, {OFF}) -> {DRR}\n"
        + conform("%x", "%y", DRR, "0, 1")
        + conform("%x", "%y", DRR, "0, 1, 2"),
        (V, V, OFF, OFF),
    ),
    # offsets and lengths read back
    (
        f"%o = ragged.offsets %a0 {{level = 1}} : ({DR}) -> {OFF}\n"
        + part("%x", "%a1", "%o")
        + conform("%a0", "%x", DR, "0, 1"),
        (DR, V),
    ),
    (
        f"%l = ragged.lengths %a0 {{level = 1}} : ({DR}) -> {OFF}\n"
        + part("%x", "%a1", "%l", more="dim = 0, lengths")
        + conform("%a0", "%x", DR, "0, 1"),
        (DR, V),
    ),
    # the structure of an empty, through a linalg op
    (
        f"%e = ragged.empty %a0 : ({DR}) -> {DR}\n"
        f"%x = linalg.exp ins(%a0 : {DR}) outs(%e : {DR}) -> {DR}\n" + conform("%a0", "%x", DR, "0, 1"),
        (DR,),
    ),
    # levels of two likes: each is its own
    (
        f"%s = ragged.empty %a0, %a1 {{from = [[0, 0], [0, 1], [1, 1]]}} : ({DR}, {DR}) -> {DRR}\n"
        f"%u = ragged.empty %a0, %a1 {{from = [[0, 0], [0, 1], [1, 1]]}} : ({DR}, {DR}) -> {DRR}\n"
        + conform("%s", "%u", DRR, "0, 1, 2")
        + conform("%a0", "%s", DR, "0, 1", other=DRR),
        (DR, DR),
    ),
    # casts, assumes, windows made contiguous
    (
        f"%c = tensor.cast %a0 : {DR} to {t('dr', '3x?')}\n%d = tensor.cast %c : {t('dr', '3x?')} to {DR}\n"
        f"%x = ragged.assume %d {{level = 1, max = 9}} : ({DR}) -> {DR}\n" + conform("%a0", "%x", DR, "0, 1"),
        (DR,),
    ),
    (
        f"%x = ragged.compact %a0 : ({t('dw', '?x?')}) -> {DR}\n"
        + conform("%a0", "%x", t("dw", "?x?"), "0, 1", other=DR),
        (t("dw", "?x?"),),
    ),
    # slices by the same range
    (
        f"%x = ragged.slice %a0, %a1, %a2 {{dim = 0}} : ({DR}, index, index) -> {DR}\n"
        f"%y = ragged.slice %a0, %a1, %a2 {{dim = 0}} : ({DR}, index, index) -> {DR}\n"
        + conform("%x", "%y", DR, "0, 1"),
        (DR, "index", "index"),
    ),
    # tiles
    (
        f"%e = math.exp %a0 : {DR}\n"
        f"%x = ragged.split %a0 {{dim = 1, factor = 4}} : ({DR}) -> {DRT}\n"
        f"%y = ragged.split %e {{dim = 1, factor = 4}} : ({DR}) -> {DRT}\n" + conform("%x", "%y", DRT, "0, 1, 2"),
        (DR,),
    ),
]


@pytest.mark.parametrize(("body", "arguments"), PROVEN)
def test_proven(body: str, arguments: tuple[str, ...]) -> None:
    assert kept(body, *arguments) == 0


NOT_PROVEN = [
    # another vector, other bounds, another factor
    (part("%x", "%a0", "%a1") + part("%y", "%a0", "%a2") + conform("%x", "%y", DR, "0, 1"), (V, OFF, OFF)),
    (
        f"%x = ragged.slice %a0, %a1, %a2 {{dim = 0}} : ({DR}, index, index) -> {DR}\n"
        f"%y = ragged.slice %a0, %a1, %a3 {{dim = 0}} : ({DR}, index, index) -> {DR}\n"
        + conform("%x", "%y", DR, "0, 1"),
        (DR, "index", "index", "index"),
    ),
    # the same vector as offsets and as lengths
    (
        part("%x", "%a0", "%a1") + part("%y", "%a0", "%a1", more="dim = 0, lengths") + conform("%x", "%y", DR, "0, 1"),
        (V, OFF),
    ),
    # the same inner level below different outer ones
    (
        f"%x = ragged.assemble %a0, %a1, %a3 : ({V}, {OFF}, {OFF}) -> {DRR}\n"
        f"%y = ragged.assemble %a0, %a2, %a3 : ({V}, {OFF}, {OFF}) -> {DRR}\n" + conform("%x", "%y", DRR, "0, 1, 2"),
        (V, OFF, OFF, OFF),
    ),
    # one batch transposed: the same lengths for other parents
    (
        f"%x = ragged.empty %a0 {{from = [[0, 0], [0, 1], [0, 2]]}} : ({DDR}) -> {DDR}\n"
        f"%y = ragged.empty %a0 {{from = [[0, 1], [0, 0], [0, 2]]}} : ({DDR}) -> {DDR}\n"
        + conform("%x", "%y", DDR, "0, 1, 2"),
        (DDR,),
    ),
    # the rows of one tensor are not the columns of the other
    (
        f"%s = ragged.empty %a0, %a1 {{from = [[0, 0], [0, 1], [1, 1]]}} : ({DR}, {DR}) -> {DRR}\n"
        f"%u = ragged.empty %a0, %a1 {{from = [[0, 0], [1, 1], [0, 1]]}} : ({DR}, {DR}) -> {DRR}\n"
        + conform("%s", "%u", DRR, "0, 1"),
        (DR, DR),
    ),
    # one vector of lengths below different windows
    (
        f"%x = ragged.assemble %a0, %a1, %a2, %a4 : ({V}, {OFF}, {OFF}, {OFF}) -> {DWR}\n"
        f"%y = ragged.assemble %a0, %a3, %a2, %a4 : ({V}, {OFF}, {OFF}, {OFF}) -> {DWR}\n"
        + conform("%x", "%y", DWR, "0, 1, 2"),
        (V, OFF, OFF, OFF, OFF),
    ),
    # the lengths that a level below a window is stored with, and those its windows show
    (
        f"%l = ragged.lengths %a0 {{level = 2, stored}} : ({DWW}) -> {OFF}\n"
        f"%m = ragged.lengths %a0 {{level = 2}} : ({DWW}) -> {OFF}\n"
        + part("%x", "%a1", "%l", more="dim = 0, lengths")
        + part("%y", "%a1", "%m", more="dim = 0, lengths")
        + conform("%x", "%y", DR, "0, 1"),
        (DWW, V),
    ),
    # a scalar select is either of the two
    (f"%x = arith.select %a0, %a1, %a2 : {DR}\n" + conform("%x", "%a1", DR, "0, 1"), ("i1", DR, DR)),
    # a loop changes what it carries
    (
        "%c0 = arith.constant 0 : index\n%c1 = arith.constant 1 : index\n"
        f"%x = scf.for %i = %c0 to %c1 step %c1 iter_args(%y = %a0) -> {DR} {{\n scf.yield %a1 : {DR}\n}}\n"
        + conform("%x", "%a0", DR, "0, 1"),
        (DR, DR),
    ),
]


@pytest.mark.parametrize(("body", "arguments"), NOT_PROVEN)
def test_not_proven(body: str, arguments: tuple[str, ...]) -> None:
    assert kept(body, *arguments) == 1


def test_transposing_twice_pairs_the_batches_again() -> None:
    body = f"%x = ragged.empty %a0 {{from = [[0, 1], [0, 0], [0, 2]]}} : ({DDR}) -> {DDR}\n" + conform(
        "%a0", "%x", DDR, "0, 1, 2", "1, 0, 2"
    )
    assert kept(body, DDR) == 0


def test_the_counts_are_left_when_asked_for() -> None:
    text = program(conform("%a0", "%a1", DR, "0, 1") + conform("%a1", "%a0", DR, "0, 1"), DR, DR)
    attributes = transform(text, RaggedCheckConform(report=True)).operation.attributes
    assert (attributes["ragged.checks_dropped"].value, attributes["ragged.checks_kept"].value) == (1, 1)
    assert "ragged.checks_kept" not in transform(text, RaggedCheckConform()).operation.attributes


MANY = program(
    part("%x", "%a0", "%a1")
    + part("%y", "%a0", "%a2")
    + part("%z", "%a0", "%a3")
    + f"%p = arith.addf %x, %y : {DR}\n%q = arith.mulf %p, %z : {DR}\n%r = arith.subf %y, %z : {DR}\n"
    f"%s = arith.addf %q, %r : {DR}\n"
    f"%b = ragged.select %s, %a4 {{dim = 0}} : ({DR}, index) -> {V}\n"
    f"%c = ragged.select %x, %a4 {{dim = 0}} : ({DR}, index) -> {V}\n",
    V,
    OFF,
    OFF,
    OFF,
    "index",
)


@given(st.lists(st.sampled_from([(0, 1, 3), (0, 2, 3), (0, 3), (0, 4, 3)]), min_size=3, max_size=3), st.integers(-1, 2))
def test_dropping_checks_loses_no_error(vectors: list[tuple[int, ...]], index: int) -> None:
    args = (np.ones(3, np.float32), *(np.array(v, np.int64) for v in vectors), index)
    checked = transform(MANY, RaggedInsertChecks())
    proven = transform(MANY, RaggedInsertChecks(), RaggedCheckConform())
    assert outcome(proven, args) == outcome(checked, args)
    assert count(proven, "ragged.assert_conform") == 2


def test_twice_is_once() -> None:
    once: Any = transform(MANY, RaggedInsertChecks(), RaggedCheckConform())
    assert str(transform(MANY, RaggedInsertChecks(), RaggedCheckConform(), RaggedCheckConform())) == str(once)


def test_a_chain_of_slices_to_its_own_lengths() -> None:
    """Keys do not double with every op: this took forever."""
    dw = t("dw", "?x?")
    body = "%c1 = arith.constant 1 : index\n"
    for side in ("x", "y"):
        above, type_ = "%a0", DR
        for k in range(40):
            body += f"%n{side}{k} = ragged.lengths {above} {{level = 1}} : ({type_}) -> {OFF}\n"
            body += (
                f"%{side}{k} = ragged.slice {above}, %c1, %n{side}{k} {{dim = 1}} : ({type_}, index, {OFF}) -> {dw}\n"
            )
            above, type_ = f"%{side}{k}", dw
    assert kept(body + conform("%x39", "%y39", dw, "0, 1"), DR) == 0
    assert kept(body + conform("%x39", "%y38", dw, "0, 1"), DR) == 1
