"""Sums of products of any layouts, against loops over the elements of nested lists."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from support.components import assert_components, components
from support.nested_lists import Index, by_index
from support.refusals import Refusal, refused

import ragged_dialect as rg
from ragged_dialect.arrays.core.structure import Structure

RNG = np.random.default_rng(0)


def made(shape: tuple[int, ...], letters: str, vectors: list[list[int]], extents: tuple[int | None, ...]) -> Any:
    """An array with one nested axis, and dense ones behind it."""
    axes = [Structure(letters, [np.array(v) for v in vectors], extents), *[None] * (len(shape) - 1)]
    return rg.RaggedArray.of(RNG.standard_normal(shape), axes, op="test")


X = rg.from_lengths(RNG.standard_normal((6, 2)), [3, 1, 2])
DDR = made((6,), "ddr", [[0, 1, 3, 3, 6]], (2, 2, None))
DRR = rg.from_lengths(RNG.standard_normal(7), [2, 1], [3, 0, 4])
OTHER = rg.from_lengths(RNG.standard_normal(6), [2, 1], [2, 0, 4])
DR = rg.from_lengths(RNG.standard_normal(3), [2, 1])
DDRR = made((3,), "ddrr", [[0, 1, 1, 2, 2], [0, 2, 3]], (2, 2, None, None))
FULL = made((8,), "ddr", [[0, 3, 3, 3, 7, 8, 8]], (2, 3, None))
"""The lists of DRR and more: of three each."""
NARROW = made((7,), "ddr", [[0, 3, 7]], (2, 1, None))
DRDR = made((7, 2), "drdr", [[0, 1, 2], [0, 1, 3, 3, 7]], (2, None, 2, None))


def dense(*shape: int) -> Any:
    return RNG.standard_normal(shape)


def sums(subscripts: str, operands: tuple[Any, ...]) -> dict[Index, float]:
    """What a product has at every index that some elements of all operands have."""
    inputs, _, result = subscripts.partition("->")
    terms: list[tuple[dict[str, int], float]] = [({}, 1.0)]
    for own, x in zip(inputs.split(","), operands, strict=True):
        found = [(dict(zip(own, index, strict=True)), number) for index, number in by_index(x).items()]
        terms = [
            ({**at, **more}, a * b)
            for at, a in terms
            for more, b in found
            if all(at.get(letter, place) == place for letter, place in more.items())
        ]
    total: dict[Index, float] = {}
    for at, number in terms:
        index = tuple(at[letter] for letter in result)
        total[index] = total.get(index, 0) + number
    return total


def assert_sums(subscripts: str, *operands: Any) -> None:
    """A product eagerly, and in jit, where an array that is given twice is one value."""
    expected = sums(subscripts, operands)
    once = list({id(x): x for x in operands}.values())
    at = [[id(x) for x in once].index(id(x)) for x in operands]
    for found in (
        rg.einsum(subscripts, *operands),
        rg.jit(lambda *given: rg.einsum(subscripts, *(given[k] for k in at)))(*once),
    ):
        got = by_index(found)
        assert got.keys() >= expected.keys()
        np.testing.assert_allclose([got[k] for k in got], [expected.get(k, 0) for k in got], rtol=1e-12, atol=1e-12)


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("subscripts", "operands"),
    [
        ("blk,cmk->blcm", (X, X)),
        ("blk,bmk->blm", (X, X)),
        ("blk,blk->bl", (X, X)),
        ("bij,bij->bi", (DRR, DRR)),
        ("bij,bik->bijk", (DRR, DRR)),
    ],
)
def test_an_array_twice(subscripts: str, operands: tuple[Any, ...]) -> None:
    """Which loops a ragged one hangs from tells the operand, not the array, which may be two."""
    assert_sums(subscripts, *operands)


@pytest.mark.sampled(9)
@pytest.mark.parametrize(
    ("subscripts", "operands"),
    [
        ("abcdk,abckn->abcdn", (DRDR, dense(2, 1, 2, 2, 3))),
        ("bcl,cz->bzcl", (DDR, dense(2, 3))),
        ("cz,bcl->bzcl", (dense(2, 3), DDR)),
        ("bcl,bcz->bzcl", (DDR, dense(2, 2, 3))),
        ("bcl,bclz->bzcl", (DDR, dense(2, 2, 3, 2))),
        ("bcl,bclz->cbl", (DDR, dense(2, 2, 3, 2))),
        ("bi,bij->bij", (DR, DRR)),
        ("bj,bij->bij", (rg.from_lengths(dense(4), [2, 2]), rg.from_lengths(dense(6), [2, 1], [2, 2, 2]))),
    ],
)
def test_levels_above_a_ragged_one_are_taken_from_where_it_is(subscripts: str, operands: tuple[Any, ...]) -> None:
    """Other operands that have them give neither the structure nor its batch."""
    assert_sums(subscripts, *operands)


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("subscripts", "operands"),
    [
        ("bij,bik->bijk", (DRR, OTHER)),
        ("bij,bik->bikj", (DRR, OTHER)),
        ("bij,bik,bil->bijkl", (DRR, OTHER, DRR)),
        ("bij,bikf->bijkf", (DRR, rg.from_lengths(dense(6, 2), [2, 1], [2, 0, 4]))),
        ("bij,bik->bijk", (DRR[:, 1:], OTHER[:, 1:])),
        ("bij,bik->bijk", (DRR[:, :, 1:], OTHER)),
    ],
)
def test_products_of_lists(subscripts: str, operands: tuple[Any, ...]) -> None:
    """Below the lists that two arrays have alike: those of one, and below its elements those of the other."""
    assert_sums(subscripts, *operands)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("subscripts", ["czb,czb->cz", "czb,czb->czb", "czb,czb->c", "czb,czb->"])
@pytest.mark.parametrize("operands", [(DRR, FULL), (FULL, DRR)], ids=["first", "last"])
def test_a_dim_of_a_batch_along_a_ragged_one(subscripts: str, operands: tuple[Any, ...]) -> None:
    """It reaches the longest component, and the lengths below are compared where there is one."""
    if subscripts.endswith(">"):
        got = rg.einsum(subscripts, *operands)
        np.testing.assert_allclose(got, DRR.values @ FULL.values[:7], rtol=1e-12)
        return
    assert_sums(subscripts, *operands)


@pytest.mark.parametrize(
    ("subscripts", "operands"),
    [
        ("blk,kn,kn->bln", (X, dense(2, 4), dense(2, 4))),
        ("blk,blk,blk->bk", (X, X, X)),
        ("bl,bij,l,ij->bi", (DR, DRR, dense(2), dense(2, 4))),
    ],
)
def test_more_than_two_operands(subscripts: str, operands: tuple[Any, ...]) -> None:
    assert_sums(subscripts, *operands)


@pytest.mark.parametrize("dtypes", ["f4 f4 f4", "i2 f4 f2", "i1 i2 ?", "f2 f2 f2", "i4 f4 i1"])
def test_dtypes_of_three_operands(dtypes: str) -> None:
    """As of products one after another."""
    a, b, c = dtypes.split()
    x = rg.from_lengths(np.arange(12).reshape(6, 2).astype(a), [3, 0, 3])
    w, v = np.arange(8).reshape(2, 4).astype(b), np.arange(4).astype(c)
    got = rg.einsum("blk,kn,n->bln", x, w, v)
    expected = [np.einsum("lk,kn,n->ln", part, w, v) for part in components(x)]
    assert got.dtype == expected[0].dtype
    assert_components(got, expected)


def test_gradients_of_products_of_more_uses() -> None:
    w, total = dense(2, 4), X.values.sum(0)
    twice = rg.grad(lambda x: rg.einsum("blk,cmk->blcm", x, x).sum())
    np.testing.assert_allclose(twice(X).values, np.broadcast_to(2 * total, (6, 2)), rtol=1e-12)
    three = rg.grad(lambda w: rg.einsum("blk,kn,kn->bln", X, w, w).sum())
    np.testing.assert_allclose(three(w), 2 * total[:, None] * w, rtol=1e-12)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("order", ["ohd", "odh", "doh", "hdo", "dho", "hod"])
@pytest.mark.parametrize("swapped", [False, True])
def test_weights_with_dims_in_any_order(order: str, swapped: bool) -> None:
    """Dims that are summed, one of them the first, whose extent only a call knows; with gradients of both."""
    extents = {"o": 5, "h": 4, "d": 3}
    x, w = rg.from_lengths(dense(6, 4, 3), [3, 0, 3]), dense(*(extents[c] for c in order))
    names = [f"{order},blhd->blo", f"{order},lhd->lo"] if swapped else [f"blhd,{order}->blo", f"lhd,{order}->lo"]

    def product(subscripts: str, x: Any, w: Any) -> Any:
        return np.einsum(subscripts, *((w, x) if swapped else (x, w)))

    made = rg.jit(lambda x, w: product(names[0], x, w))(x, w)
    wanted = product(names[1], np.asarray(x.values), w)
    np.testing.assert_allclose(made.values, wanted)
    np.testing.assert_allclose(product(names[0], x, w).values, wanted)
    of_x, of_w = rg.grad(lambda x, w: (product(names[0], x, w) ** 2).sum(), argnums=(0, 1))(x, w)
    np.testing.assert_allclose(of_w, np.einsum(f"lhd,lo->{order}", x.values, 2 * wanted))
    np.testing.assert_allclose(of_x.values, np.einsum(f"lo,{order}->lhd", 2 * wanted, w))
    program = str(rg.jit(lambda x, w: product(names[0], x, w)).lower(x, w).stages["ragged"])
    sums = [line for line in program.splitlines() if "linalg.generic" in line and '"reduction"' in line]
    assert order in ("ohd", "hdo") or [line.count('"reduction"') for line in sums] == [1]


def test_weights_of_other_extents_in_any_order() -> None:
    x = rg.from_lengths(dense(6, 4, 3), [3, 0, 3])
    with pytest.raises(rg.RuntimeCheckError, match=r"^einsum: dim 0: expected extent 3, got 2$"):
        rg.einsum("blhd,doh->blo", x, dense(2, 5, 4))
    with pytest.raises(rg.RuntimeCheckError, match=r"^einsum: dim 2: expected extent 4, got 1$"):
        rg.einsum("blhd,doh->blo", x, dense(3, 5, 1))


REFUSED: list[Refusal] = [
    (lambda: rg.einsum("blk,cmk->bmcl", X, X), rg.LayoutError,
     "einsum: expected the batch of ragged dim 'm' before it in the result, got none"),
    (lambda: rg.einsum("bcl,bclz->czbl", DRR, dense(2, 2, 4, 2)), rg.LayoutError,
     "einsum: expected the batch of ragged dim 'c' before it in the result, got none"),
    (lambda: rg.einsum("bclmk->bl", DRDR), rg.LayoutError,
     "einsum: expected a sum over 'l' too, below ragged dim 'c', got 'bl'"),
    (lambda: rg.einsum("czybk,czyb->c", DRDR, DDRR), rg.LayoutError,
     "einsum: expected one operand with all dims above ragged dim 'b' ragged that any one has ragged, "
     "got 'z' and 'y'"),
    (lambda: rg.einsum("bijk,bik->b", made((8,), "dddr", [[*range(9)]], (2, 2, 2, None)), DRR), rg.LayoutError,
     "einsum: expected one operand with all dims above ragged dim 'k' ragged that any one has ragged, got '' and 'i'"),
    (lambda: rg.einsum("bi,bij->bij", DR, DDR), rg.LayoutError,
     "einsum: expected dims 'bi' above ragged dim 'j' of the result, ragged as in its operand, got 'bij'"),
    (lambda: rg.einsum("bij,bik->bijk", DRR, rg.from_lengths(dense(4), [1, 2], [2, 0, 2])), rg.RuntimeCheckError,
     "einsum: level 1, component 0: expected length 2, got 1"),
    (lambda: rg.einsum("czb,czb->cz", DRR, NARROW), rg.RuntimeCheckError,
     "einsum: level 1, component 0: expected extent >= length 2, got 1"),
    (lambda: rg.einsum("bcl,cbm->bclm", DDR, made((6,), "ddr", [[0, 1, 3, 3, 6]], (2, 2, None))), rg.LayoutError,
     "einsum: expected dims 'cb' above ragged dim 'm' of the result, ragged as in its operand, got 'bclm'"),
    (lambda: rg.einsum("blk,cmk->bclm", X, X), rg.LayoutError,
     "einsum: expected dims 'c' above ragged dim 'm' of the result, ragged as in its operand, got 'bclm'"),
    (lambda: rg.einsum("blk,clk->bl", X, X), rg.LayoutError,
     "einsum: expected ragged dim 'l' below 'b' in every operand, got it below 'c'"),
    (lambda: rg.einsum("bl,lb->b", DR, DR), rg.LayoutError,
     "einsum: expected ragged dims in one order in all operands, got 'b', 'l' below each other"),
    (lambda: rg.einsum("bbk->bk", X), TypeError,
     "einsum: expected no letter twice in an operand, got 'bbk' in 'bbk->bk'"),
    (lambda: rg.einsum("...k,kn->...n", X, dense(2, 2)), TypeError,
     "einsum: expected letters for an operand, of rank 1 or more, and no ellipsis, got '...k' in '...k,kn->...n'"),
    (lambda: rg.einsum("blk,->blk", X, 2.0), TypeError,
     "einsum: expected letters for an operand, of rank 1 or more, and no ellipsis, got '' in 'blk,->blk'"),
    (lambda: rg.einsum("blk,kn->bln", X), TypeError,
     "einsum: expected subscripts of 1 operands, got 'blk,kn->bln'"),
]  # fmt: skip


test_refused = refused(REFUSED)


@pytest.mark.parametrize("names", ["bik,kn->bni", "bik,nk->bin", "bik,kn->nbi"])
def test_no_columns(names: str) -> None:
    """Rows of nothing, whatever their place: a static extent of 0 times others is known, too."""
    x, w = rg.from_lengths(np.ones((5, 3)), [2, 0, 3]), np.ones((0, 3) if "nk" in names else (3, 0))
    made = rg.jit(partial(rg.einsum, names))(x, w)
    assert made.values.size == 0
    assert made.shape == tuple({"b": 3, "i": None, "n": 0}[c] for c in names[-3:])
