"""Functions of rows along components against loops over the elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.components import components, rows
from support.refusals import refused

import ragged_dialect as rg
from ragged_dialect import compile
from ragged_dialect.reference.interpreter import run

LENGTHS = (3, 0, 5, 1, 40, 5)


def elements(*shape: int, dtype: Any = np.float64, lengths: tuple[int, ...] = LENGTHS, seed: int = 1) -> Any:
    return rg.from_lengths(rows(sum(lengths), *shape, dtype=dtype, seed=seed), lengths)


def mapped(f: Callable[[Any], Any], x: Any) -> Any:
    if isinstance(x, (tuple, list)):
        return type(x)(mapped(f, one) for one in x)
    if isinstance(x, dict):
        return {key: mapped(f, one) for key, one in x.items()}
    return None if x is None else f(x)


def leaves(x: Any) -> list[Any]:
    found: list[Any] = []
    mapped(found.append, x)
    return found


def loop(function: Any, init: Any, xs: Any, reverse: bool = False) -> tuple[Any, Any]:
    """The carries in the end, and for each result a list of components."""
    whole = leaves(xs)
    ends: list[list[Any]] = []
    made: list[list[Any]] = []
    for b, n in enumerate(whole[0].lengths.tolist()):
        carry, found = mapped(lambda s, b=b: np.asarray(s)[b : b + 1], init), []
        for t in reversed(range(n)) if reverse else range(n):
            carry, y = function(carry, mapped(lambda x, b=b, t=t: np.asarray(x[b])[t : t + 1], xs))
            found.append(leaves(y))
        ends.append([s[0] for s in leaves(carry)])
        made.append(found[::-1] if reverse else found)
    return [np.stack(s) for s in zip(*ends, strict=True)], made


def assert_scans(function: Any, init: Any, xs: Any, reverse: bool = False, target: str | None = None) -> None:
    scan = rg.jit(lambda init, xs: rg.scan(function, init, xs, reverse=reverse), target=target)
    end, ys = scan(init, xs) if target else rg.scan(function, init, xs, reverse=reverse)
    ends, made = loop(function, init, xs, reverse)
    for found, wanted in zip(leaves(end), ends, strict=True):
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    for k, y in enumerate(leaves(ys)):
        assert y.lengths.tolist() == leaves(xs)[0].lengths.tolist()
        for found, wanted in zip(components(y), made, strict=True):
            wanted = [row[k][0] for row in wanted]
            np.testing.assert_allclose(found, np.reshape(wanted, np.shape(found)), rtol=1e-5, atol=1e-6)


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def network(h: Any, x: Any) -> Any:
    h = np.tanh(x @ WX + h @ WH)
    return h, (h, x[:, :2])


def gated(state: Any, x: Any) -> Any:
    z = x @ WG + state["h"] @ WS
    c = sigmoid(z[:, :5]) * state["c"] + sigmoid(z[:, 5:10]) * np.tanh(z[:, 10:15])
    h = sigmoid(z[:, 15:]) * np.tanh(c)
    return {"h": h, "c": c}, h


def viterbi(best: Any, x: Any) -> Any:
    score, count = best
    ways = score[:, :, None] + TRANSITIONS
    return (ways.max(axis=1) + x[:, :4], count + 1), (np.argmax(ways, axis=1), count)


def forwards(alpha: Any, x: Any) -> Any:
    alpha = np.logaddexp.reduce(alpha[:, :, None] + TRANSITIONS, axis=1) + x[:, :4]
    return alpha, None


WX, WH, WG, WS, TRANSITIONS = (0.3 * rows(*s, seed=7) for s in ((4, 6), (6, 6), (4, 20), (5, 20), (4, 4)))

CASES: dict[str, tuple[Any, Any]] = {
    "network": (network, rows(6, 6)),
    "gated": (gated, {"h": rows(6, 5), "c": rows(6, 5)}),
    "viterbi": (viterbi, (rows(6, 4), np.zeros(6, np.int32))),
    "by rank": (lambda h, x: (h + rg.sort(x, axis=1), rg.argsort(x - h, axis=1, descending=True)), rows(6, 4)),
    "forwards": (forwards, rows(6, 4)),
}


@pytest.mark.sampled(8)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_steps(name: str, reverse: bool) -> None:
    function, init = CASES[name]
    assert_scans(function, init, elements(4), reverse)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_on_a_gpu(name: str, reverse: bool) -> None:
    function, init = CASES[name]
    lengths = (3, 0, 5, 1, 4, 5)
    assert_scans(function, init, elements(4, lengths=lengths), reverse, target="emulator")


@pytest.mark.sampled(6)
@pytest.mark.parametrize("lengths", [(), (0,), (0, 0, 0), (1, 1), (7,), (2, 0, 0, 9)])
def test_few_components(lengths: tuple[int, ...]) -> None:
    x, count = elements(4, lengths=lengths), len(lengths)
    end, (h, _) = rg.scan(network, np.ones((count, 6)), x)
    assert end.shape == (count, 6)
    assert h.lengths.tolist() == list(lengths)
    if count:
        assert_scans(network, np.ones((count, 6)), x)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int8, np.int64, np.bool_])
def test_dtypes(dtype: Any) -> None:
    x = rg.from_lengths(np.arange(sum(LENGTHS)).astype(dtype), LENGTHS)
    start = np.zeros(len(LENGTHS), dtype)
    assert_scans(lambda s, x: (np.maximum(s, x), s), start, x)
    end, _ = rg.scan(lambda s, x: (s + x, None), 0, x.astype(np.float32))  # as NumPy has 0 beside float32
    assert end.dtype == np.float32


def test_several_elements_and_states_that_change_places() -> None:
    x, y = elements(3), elements(seed=2)
    assert_scans(lambda s, xs: ((s[1], s[0] + xs["y"]), s[0]), (rows(6), rows(6, seed=3)), {"x": x, "y": y})
    _, (same, again) = rg.scan(lambda s, x: (s, (x, x)), 0.0, x)
    np.testing.assert_array_equal(same.values, x.values)
    np.testing.assert_array_equal(again.values, x.values)
    _, ones = rg.scan(lambda s, x: (s, 1.5), 0.0, x)
    assert ones.tolist() == [[1.5] * n for n in LENGTHS]
    doubled = rg.scan(lambda s, x: (s, 2 * x), (), x)[1]
    np.testing.assert_array_equal(doubled.values, 2 * x.values)


def test_windows_in_other_functions() -> None:
    """Elements that are parts of others, and two scans one after the other."""

    def last(x: Any) -> Any:
        _, y = rg.scan(lambda s, x: (s + x, s), 0.0, x[:, 1:])
        return rg.scan(lambda s, x: (s + x, None), 1.0, y)[0]

    x = elements()
    wanted = [1 + np.cumsum([0, *c[1:-1]])[: len(c[1:])].sum() for c in map(np.asarray, components(x))]
    np.testing.assert_allclose(rg.jit(last)(x), wanted)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("shape", [(3, 5), (0, 5), (3, 0), (1, 1)])
def test_dense_elements(shape: tuple[int, int]) -> None:
    x, start = rows(*shape, 4), rows(shape[0], 6)
    end, (h, first) = rg.scan(network, start, x)
    for t in range(shape[1]):
        start, (wanted, _) = network(start, x[:, t])
        np.testing.assert_allclose(h[:, t], wanted)
    np.testing.assert_allclose(end, start)
    np.testing.assert_array_equal(first, x[:, :, :2])


def loss(x: Any, init: Any, wx: Any, wh: Any) -> Any:
    def step(h: Any, x: Any) -> Any:
        h = np.tanh(x @ wx + h @ wh)
        return h, h * x[:, :1]

    end, y = rg.scan(step, init, x)
    return (end**2).sum() + (y**3).sum()


def ends_only(x: Any, init: Any, wx: Any, wh: Any) -> Any:
    return (rg.scan(lambda h, x: (x @ wx + np.sin(h) @ wh, None), init, x, reverse=True)[0] ** 2).sum()


def products(x: Any, init: Any, wx: Any, wh: Any) -> Any:
    """The derivative by one argument as a function of all."""
    return (rg.grad(loss, argnums=3)(x, init, wx, wh) ** 2).sum()


@pytest.mark.sampled(4)
@pytest.mark.parametrize("function", [loss, ends_only, pytest.param(products, marks=pytest.mark.slow)])
def test_gradients(function: Any) -> None:
    arrays: list[Any] = [elements(4, lengths=(3, 0, 5, 1, 4, 5)), rows(6, 6), WX, WH]
    found, rng = rg.grad(function, argnums=(0, 1, 2, 3))(*arrays), np.random.default_rng(5)
    compiled = rg.jit(function)
    for k, x in enumerate(arrays):
        by = rng.standard_normal(getattr(x, "values", x).shape)
        ends: list[float] = []
        for step in (1e-6, -1e-6):
            moved = x + step * by if k else rg.from_lengths(x.values + step * by, x.lengths)
            ends.append(float(compiled(*arrays[:k], moved, *arrays[k + 1 :])))
        slope = (np.asarray(getattr(found[k], "values", found[k])) * by).sum()
        np.testing.assert_allclose(slope, (ends[0] - ends[1]) / 2e-6, rtol=1e-5)


TABLE = rows(7, 4, seed=12)


def chosen(h: Any, x: Any) -> Any:
    """Conditions, elements at computed places, softmax and parts of features; a state of one feature beside."""
    a, b = h
    a = np.where(x > a, x * b, a * x) + rg.take(TABLE, np.argmax(x, axis=1))
    both = np.concatenate([rg.softmax(a, axis=1), np.cumsum(x, axis=1)[:, 1:]], axis=1)
    best = np.take_along_axis(a * x, np.argmax(x, axis=1)[:, None], axis=1)
    return (both[:, 1:5] * 0.5, b * 0.5 + a.sum(axis=1)[:, None] * 0.1), (best[:, 0], np.maximum(x, a))


STEPS: dict[str, tuple[Any, Any]] = {
    "chosen": (chosen, (rows(6, 4), rows(6, 1))),
    "stateless": (lambda h, x: (h, x * x), ()),
    "a number": (
        lambda h, x: ((h[0] * 0.5 + x * h[1][:, None], h[1] + (x * 2).sum(axis=1)), h[1]),
        (rows(6, 4), rows(6)),
    ),
    "the largest": (lambda h, x: (h * 0.5 + x, rg.top_k(h * x, 2, axis=1)[0]), rows(6, 4)),
    "in order": (lambda h, x: (h * 0.5 + rg.sort(x * h, axis=1), rg.median(h * x, axis=1)), rows(6, 4)),
    "filled": (lambda h, x: (h * rg.full((x.shape[0], 1), 0.5) + x, x * rg.ones(4)), rows(6, 4)),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", STEPS)
def test_values_and_gradients(name: str) -> None:
    function, init = STEPS[name]
    x = elements(4, lengths=(3, 0, 5, 1, 4, 5))
    assert_scans(function, init, x)

    def loss(x: Any, init: Any) -> Any:
        end, ys = rg.scan(function, init, x)
        return sum((y**2).sum() for y in (*leaves(end), *leaves(ys)))

    by, *of_init = rg.grad(loss, argnums=(0, 1) if leaves(init) else (0,))(x, init)
    rng = np.random.default_rng(5)
    along = rg.from_lengths(rng.standard_normal(x.values.shape), x.lengths)
    ends = [float(loss(x + step * along, init)) for step in (1e-6, -1e-6)]
    np.testing.assert_allclose((by * along).sum(), (ends[0] - ends[1]) / 2e-6, rtol=1e-5)
    if of_init:
        found = leaves(of_init[0])
        along = mapped(lambda s: rng.standard_normal(s.shape), init)
        moved = [list(map(np.add, leaves(init), (step * a for a in leaves(along)))) for step in (1e-6, -1e-6)]
        ends = [float(loss(x, tuple(m) if isinstance(init, tuple) else m[0])) for m in moved]
        slope = sum((a * b).sum() for a, b in zip(found, leaves(along), strict=True))
        np.testing.assert_allclose(slope, (ends[0] - ends[1]) / 2e-6, rtol=1e-5)


def test_beams() -> None:
    """The best of all ways so far, as a search by beams keeps them: sorted by scores, with where they come from."""
    width, words = 3, 5
    x = elements(words, lengths=(4, 0, 6))

    def step(scores: Any, x: Any) -> Any:
        ways = (scores[:, :, None] + x[:, None, :]).reshape(-1, width * words)
        best, at = rg.top_k(ways, width, axis=1)
        return best, (at // words, at % words)

    start = np.array([[0.0, -1e9, -1e9]] * 3)
    end, (come, word) = rg.scan(step, start, x)
    for b, n in enumerate((4, 0, 6)):
        scores = start[b]
        for t in range(n):
            ways = (scores[:, None] + x[b][t][None]).ravel()
            at = np.argsort(-ways, kind="stable")[:width]
            scores = ways[at]
            np.testing.assert_array_equal(come[b][t], at // words)
            np.testing.assert_array_equal(word[b][t], at % words)
        np.testing.assert_allclose(end[b], scores)


def picked(rows: Any, at: Any) -> Any:
    return np.take_along_axis(rows, at[:, None], axis=1)[:, 0]


NUMBERS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "lookups": (lambda s, x: ((picked(x[1], s[0]),), (picked(x[2], s[0]), s[0])), (np.zeros(6, np.int64),)),
    "packing": (
        lambda s, x: ((np.where(s[0] + x[0] < 2, s[0] + x[0], x[0]), s[1] + (s[0] + x[0] >= 2)), s[1]),
        (np.zeros(6), np.zeros(6, np.int32)),
    ),
    "of features": (lambda s, x: ((s[1], s[0] * 0.5 - x[2][:, 1]), None), (rows(6), rows(6, seed=2))),
}


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("name", NUMBERS)
def test_states_that_are_numbers(name: str, reverse: bool) -> None:
    """One loop along each component: no rows are gathered."""
    (step, init), x = NUMBERS[name], elements(4)
    xs = (elements(), rg.like(x, np.arange(4 * x.total).reshape(-1, 4) * 7 % 4), x)
    assert_scans(step, init, xs, reverse)
    program = rg.jit(lambda init, xs: rg.scan(step, init, xs, reverse=reverse)).lower(init, xs)
    assert "ragged.group_by" not in program.stages["ragged"]


@pytest.mark.parametrize("reverse", [False, True])
def test_places_of_states_that_are_numbers(reverse: bool) -> None:
    """What a step reads next is not there: nothing is read, and the number is named. Without steps nothing is read."""
    scan = rg.jit(lambda s, x: rg.scan(lambda s, x: (picked(x, s), s), s, x, reverse=reverse))
    for bad in (4, -5, 2**40, -(2**63)):
        x = rg.from_lengths(np.full((6, 4), 3), [2, 0, 4])
        x.stored.values[3] = bad
        with pytest.raises(rg.RangeError, match=rf"expected index in \[-4, 4\), got {bad}"):
            scan(np.zeros(3, np.int64), x)
        assert scan(np.full(1, bad), x[1:2])[0].tolist() == [bad]


def test_many_states_of_other_types() -> None:
    """Types take turns; of more than there are groups for is said what to do."""
    x, count = elements(), 11
    init = tuple(np.zeros(6, (np.float64, np.int64)[k % 2]) for k in range(count))
    end, _ = rg.scan(lambda s, x: (tuple(one + 1 for one in s), None), init, x)
    assert all(one.tolist() == list(LENGTHS) for one in end)
    wide = tuple(np.zeros((6, 1 + k)) for k in range(8))
    with pytest.raises(rg.ArgumentError, match=r"scan: .*, got 16 \(concatenate some of those that have one dtype\)"):
        rg.scan(lambda s, x: (s, None), wide, x)


def test_tangents() -> None:
    arrays = [elements(4), rows(6, 6), WX, WH]
    tangents = [elements(4, seed=8), rows(6, 6, seed=9), rows(4, 6, seed=10), rows(6, 6, seed=11)]
    _, tangent = rg.jvp(loss, arrays, tangents)
    gradients = rg.grad(loss, argnums=(0, 1, 2, 3))(*arrays)
    both = zip(gradients, tangents, strict=True)
    wanted = sum((np.asarray(getattr(g, "values", g)) * getattr(t, "values", t)).sum() for g, t in both)
    np.testing.assert_allclose(tangent, wanted)


def test_numbers_that_have_no_gradient() -> None:
    """States of integers go along, and are read where those of floats are differentiated."""

    def counted(x: Any, w: Any) -> Any:
        (_, s), _ = rg.scan(lambda s, x: ((s[0] + 1, s[1] * w + x * s[0]), None), (0, 1.0), x)
        return s.sum()

    x, w = elements(lengths=(3, 0, 4)), 0.9
    gx, gw = rg.grad(counted, argnums=(0, 1))(x, w)
    wanted = [[t * w ** (n - 1 - t) for t in range(n)] for n in (3, 0, 4)]
    for found, own in zip(components(gx), wanted, strict=True):
        np.testing.assert_allclose(found, own)
    moved = [float(counted(x, w + e)) for e in (1e-6, -1e-6)]
    np.testing.assert_allclose(gw, (moved[0] - moved[1]) / 2e-6, rtol=1e-6)


def kept_rows(init: Any, x: Any) -> Any:
    """A row of one scan in another one."""
    kept: list[Any] = []
    rg.scan(lambda h, x: (kept.append(h), (h + x, None))[1], init, x)
    return rg.scan(lambda h, x: (h + x, None), init, x)[0] + kept[0].sum()


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda h, x: (h + x.mean(axis=0), None), "expected steps that treat rows apart from each other, got mean"),
        (lambda h, x: (h + x[::-1], None), "expected steps that treat rows apart from each other, got getitem"),
        (lambda h, x: (h + rg.softmax(x, axis=0), None), "treat rows apart from each other, got softmax"),
        (lambda h, x: (h @ x.T @ x, None), "treat rows apart from each other, got matmul"),
        (
            lambda h, x: (h, np.zeros(3)),
            r"scan: expected rows as y, got the same for all \(np.zeros_like\(x\) has rows\)",
        ),
        (lambda h, x: (np.ones((6, 4)), x), "scan: expected rows as carry, got the same for all"),
        (lambda h, x: (h + np.ones((6, 4)), x), "what there is of each component goes into init or xs; w"),
        (lambda h, x: (h + rg.take(x, np.argmax(x, axis=1)), None), "treat rows apart from each other, got take"),
        (lambda h, x: (h, x[0]), "scan: expected rows as y, got the same for all"),
        (
            lambda h, x: (h + x[rg.arange(x.shape[0]), np.argmax(x, axis=1)][:, None], None),
            r"np.take_along_axis\(x, i\[:, None\], 1\) takes one element of each row",
        ),
        (lambda h, x: (h.astype(np.float32), None), "expected a carry as in init, float64 of rank 2, got float32"),
        (lambda h, x: (h.astype(np.float32), None), r"\(init as float32, or the carry as float64\)"),
        (lambda h, x: (h[:, :2], None), r"scan: expected a carry of shape \(n, 4\), got \(n, 2\)"),
        (lambda h, x: ((h, h), None), "scan: expected a carry of the containers of init from the function, got others"),
        (lambda h, x: h, "scan: expected a carry and rows from the function, got Tensor"),
        (3, "scan: expected a function, got int"),
    ],
)
def test_functions_that_are_none_of_rows(function: Any, text: str) -> None:
    with pytest.raises(rg.ArgumentError, match=text):
        rg.scan(function, np.zeros((6, 4)), elements(4))


KEPT: list[Any] = []


def leaking(h: Any, x: Any) -> Any:
    KEPT.append(2 * h)
    return h, None


test_refusals = refused(
    [
        (lambda: rg.scan(network, np.zeros((5, 6)), elements(4)), rg.RuntimeCheckError, "dim 0: expected extent 6"),
        (
            lambda: rg.scan(network, elements(4), elements(4)),
            rg.LayoutError,
            'scan: expected a dense init, got layout "dr|d"',
        ),
        (
            lambda: rg.scan(network, 0.0, np.ones(6)),
            rg.LayoutError,
            'scan: expected xs of layout "dr" or "dr|d", got "d"',
        ),
        (
            lambda: rg.jit(kept_rows)(np.zeros(6), elements()),
            rg.TraceError,
            "scan: expected what is made of rows in the function, got it outside of that",
        ),
        (lambda: rg.scan(network, 0.0, 3.0), rg.LayoutError, 'scan: expected xs of layout "dr" or "dr|d", got ""'),
        (lambda: rg.scan(network, 0.0, ()), rg.ArgumentError, "scan: expected arrays as xs, got none"),
        (
            lambda: rg.scan(lambda s, x: (s, x[0] + x[1]), 0.0, (elements(), elements(lengths=(3, 0, 5, 1, 40, 4)))),
            rg.RuntimeCheckError,
            "level 1, component 5: expected length 5, got 4",
        ),
        (
            lambda: rg.jit(lambda x: (rg.scan(leaking, 0.0, x)[0], KEPT.pop()))(elements()),
            rg.TraceError,
            "scan: expected what is made of rows in the function, got it outside of that",
        ),
    ]
)


def test_init_of_one_row_is_that_of_all() -> None:
    def step(h: Any, x: Any) -> Any:
        return h + x, h

    of_one, w = rg.jit(lambda x, w: rg.scan(step, w, x)), rows(1, 3)
    for lengths in ((3, 0, 5), (2,), ()):
        x = elements(3, lengths=lengths)
        last, states = of_one(x, w)
        wanted, before = rg.scan(step, np.repeat(w, len(lengths), 0), x)
        assert last.tolist() == wanted.tolist()
        assert states.tolist() == before.tolist()
    assert of_one.compilations == 1


TEXT = """func.func @f(%x: !x, %s: tensor<?x2xf32>) -> (!x, !x, tensor<?x2xf32>) {
  %before, %y, %end = ragged.steps %x, %s ({
  ^bb0(%row: tensor<?x2xf32>, %state: tensor<?x2xf32>):
    %next = arith.addf %row, %state : tensor<?x2xf32>
    %y = arith.mulf %row, %state : tensor<?x2xf32>
    ragged.yield %next, %y : (tensor<?x2xf32>, tensor<?x2xf32>) -> ()
  })REVERSE : (!x, tensor<?x2xf32>) -> (!x, !x, tensor<?x2xf32>)
  return %before, %y, %end : !x, !x, tensor<?x2xf32>
}"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("reverse", [False, True])
def test_meaning(reverse: bool) -> None:
    x, start = elements(2, dtype=np.float32), rows(6, 2, dtype=np.float32)
    text = TEXT.replace("!x", 'tensor<?x?x2xf32, #ragged.layout<"dr|d">>').replace("REVERSE", " {reverse}" * reverse)
    arguments = [(x.values, x.offsets), start]
    for found, meant in zip(compile(text)(*arguments), run(text, "f", arguments), strict=True):
        for a, b in zip(*(y if isinstance(y, tuple) else (y,) for y in (found, meant)), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("reverse", [False, True])
def test_the_place_that_is_named_is_one_that_a_step_has(reverse: bool) -> None:
    """What steps after a bad place would look up is not what they have."""
    table, other = np.array([6, 1, 2, 3]), np.array([9, 1, 2, 3])
    xs = rg.from_lengths(np.zeros(3, int), [3])
    with pytest.raises(rg.RangeError, match=r"got 9$"):
        rg.scan(lambda s, x: (rg.take(table, s) + x, s), np.array([9]), xs, reverse=reverse)

    def two(s: Any, x: Any) -> Any:
        first, second = rg.take(table, s[0]), rg.take(other, s[1])
        return (second + x * 0, s[1] * 0 + 1), first

    with pytest.raises(rg.RangeError, match=r"got 5$"):
        rg.scan(two, (np.array([0]), np.array([5])), xs, reverse=reverse)


def test_lookups_without_a_state() -> None:
    table, xs = np.array([6, 1, 2, 3]), rg.from_lengths(np.array([0, 1, 2, 3, 1]), [3, 2])
    assert rg.scan(lambda s, x: (s, rg.take(table, x)), (), xs)[1].tolist() == [[6, 1, 2], [3, 1]]
    wrong = rg.from_lengths(np.array([0, 1, 2, 7, 1]), [3, 2])
    with pytest.raises(rg.RangeError, match=r"got 7$"):
        rg.scan(lambda s, x: (s, rg.take(table, x)), (), wrong)
