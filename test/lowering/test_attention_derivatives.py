"""The derivatives of `ragged.attention`, by kernels and by what they decompose to, against loops in float64."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.cpu_features import levels, mask

from ragged_dialect import compile
from ragged_dialect.asm.module import load_module
from ragged_dialect.dialect import context
from ragged_dialect.lowering import pipelines
from ragged_dialect.ops.attention import Keys
from ragged_dialect.reference.interpreter import run

DTYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64}
TOLERANCES = {"f16": 4e-3, "bf16": 4e-2, "f32": 1e-5, "f64": 3e-14}
"""Of the largest entry."""
QUERIES = np.array([3, 0, 70, 1, 33, 5, 0])
KEYS = np.array([5, 4, 66, 0, 9, 41, 0])
VISIBLE = ("all", "causal", "causal_end", "window<3, 2>", "window<7, -1>", "window_end<-1, 4>", "window_end<2, 0>")
SCALE = 0.25
Arrays = dict[str, Any]


def text_of(
    op: str,
    element: str,
    heads: tuple[int, int],
    dims: tuple[int, int],
    keys: str,
    cap: float | None,
    loose: str | None = None,
) -> str:
    """A function of the operands of an op of derivatives, of which one is `loose`: it has no static extents."""
    wide = "f64" if element == "f64" else "f32"
    (h, g), (d, e) = heads, dims
    types = {name: f'tensor<?x?x{n}x{m}x{element}, #ragged.layout<"dr|d|d">>' for name, n, m in
             (("q", h, d), ("k", g, d), ("v", g, e), ("o", h, e))}  # fmt: skip
    types["lse"] = f'tensor<?x?x{h}x{wide}, #ragged.layout<"dr|d">>'
    takes, gives = OPS[op]
    typed = {name: types[LIKE[name]] for name in (*takes, *gives)}
    if loose is not None:
        typed[loose] = re.sub(r"x\d+(?=x)", "x?", typed[loose])
    args = [typed[name] for name in takes]
    results = ", ".join(typed[name] for name in gives)
    made = [f"%r#{k}" for k in range(len(gives))] if len(gives) > 1 else ["%r"]
    attributes = f'scale = {SCALE}, keys = "{keys}"' + ("" if cap is None else f", softcap = {cap}")
    return f"""func.func @f({", ".join(f"%a{k}: {t}" for k, t in enumerate(args))}) -> ({results}) {{
      %r{f":{len(gives)}" if len(gives) > 1 else ""} = ragged.{op} {", ".join(f"%a{k}" for k in range(len(args)))}
        {{{attributes}}} : ({", ".join(args)}) -> ({results})
      return {", ".join(made)} : {results}
    }}"""


OPS = {
    "attention_jvp": ("q k v o lse tq tk tv".split(), "to tlse".split()),
    "attention_vjp_q": ("q k v lse upstream delta".split(), ["dq"]),
    "attention_vjp_kv": ("k v q lse upstream delta".split(), "dk dv".split()),
}
LIKE = {
    **{name: name for name in ("q", "k", "v", "o", "lse")},
    **{"tq": "q", "tk": "k", "tv": "v", "to": "o", "tlse": "lse"},
    **{"upstream": "o", "delta": "lse", "dq": "q", "dk": "k", "dv": "v"},
}


def attend(x: Arrays, keys: str, cap: float | None) -> tuple[Arrays, list[tuple[Any, ...]]]:
    """`o` and `lse` in float64, and for each component and head its rows, weights and slopes of scores."""
    q, k, v = (x[name].astype(np.float64) for name in "qkv")
    left, right, end = Keys.parse(keys)
    made, parts = {"o": np.zeros((*q.shape[:2], v.shape[2])), "lse": np.full(q.shape[:2], -np.inf)}, []
    for b in range(len(QUERIES)):
        rows = slice(QUERIES[:b].sum(), QUERIES[: b + 1].sum())
        others = slice(KEYS[:b].sum(), KEYS[: b + 1].sum())
        ahead = np.arange(KEYS[b])[None] - np.arange(QUERIES[b])[:, None] - (KEYS[b] - QUERIES[b] if end else 0)
        seen = (ahead <= (999 if right is None else right)) & (-ahead <= (999 if left is None else left))
        for h in range(q.shape[1]):
            g = h * k.shape[1] // q.shape[1]
            scores = q[rows, h] @ k[others, g].T * SCALE
            slopes = np.full_like(scores, SCALE)
            if cap is not None:
                slopes, scores = SCALE * (1 - np.tanh(scores / cap) ** 2), cap * np.tanh(scores / cap)
            with np.errstate(divide="ignore"):
                lse = np.log(np.where(seen, np.exp(scores), 0).sum(1))
            weights = np.where(seen, np.exp(scores - np.where(np.isinf(lse), 0, lse)[:, None]), 0)
            made["o"][rows, h], made["lse"][rows, h] = weights @ v[others, g], lse
            parts.append((rows, others, h, g, weights, slopes))
    return made, parts


def derivatives(x: Arrays, parts: list[tuple[Any, ...]]) -> Arrays:
    """What all three ops give, in float64."""
    x = {name: value.astype(np.float64) for name, value in x.items()}
    made = {name: np.zeros(x[like].shape) for name, like in (("dq", "q"), ("dk", "k"), ("dv", "v"), ("to", "o"))}
    made["tlse"] = np.zeros(x["lse"].shape)
    for rows, others, h, g, weights, slopes in parts:
        up, v = x["upstream"][rows, h], x["v"][others, g]
        back = weights * slopes * (up @ v.T - x["delta"][rows, h][:, None])
        made["dq"][rows, h] = back @ x["k"][others, g]
        made["dk"][others, g] += back.T @ x["q"][rows, h]
        made["dv"][others, g] += weights.T @ up
        moved = weights * slopes * (x["tq"][rows, h] @ x["k"][others, g].T + x["q"][rows, h] @ x["tk"][others, g].T)
        made["tlse"][rows, h] = moved.sum(1)
        made["to"][rows, h] = moved @ v + weights @ x["tv"][others, g] - moved.sum(1)[:, None] * x["o"][rows, h]
    return made


def arguments(
    element: str, heads: tuple[int, int], dims: tuple[int, int], keys: str, cap: float | None
) -> tuple[Arrays, Arrays]:
    """Operands by name, and what is expected of them."""
    rng = np.random.default_rng(0)
    (h, g), (d, e) = heads, dims
    extents = {"q": (QUERIES, h, d), "k": (KEYS, g, d), "v": (KEYS, g, e), "o": (QUERIES, h, e)}
    given = {
        name: rng.standard_normal((extents[like][0].sum(), *extents[like][1:])).astype(DTYPES[element])
        for name, like in LIKE.items()
        if like in extents and not (name.startswith("d") or name == "to")
    }
    made, parts = attend(given, keys, cap)
    wide = np.float64 if element == "f64" else np.float32
    given |= {"o": made["o"].astype(DTYPES[element]), "lse": made["lse"].astype(wide)}
    given["delta"] = rng.standard_normal(made["lse"].shape).astype(wide)
    return given, derivatives(given, parts)


def operands(op: str, given: Arrays) -> list[tuple[Any, Any]]:
    """The operands of an op, with offsets."""
    offsets = {True: np.concatenate([[0], KEYS.cumsum()]), False: np.concatenate([[0], QUERIES.cumsum()])}
    return [(given[name], offsets[LIKE[name] in "kv"]) for name in OPS[op][0]]


def assert_near(op: str, found: Any, expected: Arrays, element: str) -> None:
    """All results of an op."""
    for name, (values, _) in zip(OPS[op][1], found if len(OPS[op][1]) > 1 else [found], strict=True):
        assert values.dtype == (DTYPES[element] if name != "tlse" else np.float64 if element == "f64" else np.float32)
        atol = TOLERANCES[element] * max(1.0, np.abs(expected[name]).max())
        np.testing.assert_allclose(values.astype(np.float64), expected[name], rtol=0, atol=atol, err_msg=name)


def check(
    op: str, element: str, heads: tuple[int, int], dims: tuple[int, int], keys: str, cap: float | None = None
) -> None:
    """A compiled op against loops."""
    given, expected = arguments(element, heads, dims, keys, cap)
    assert_near(op, compile(text_of(op, element, heads, dims, keys, cap))(*operands(op, given)), expected, element)


LOOSE = [(op, name) for op, (takes, gives) in OPS.items() for name in takes + gives]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("op", "loose"), LOOSE)
def test_extents_of_one_are_those_of_all(op: str, loose: str) -> None:
    """What calls alone know of an operand or result is static in the others."""
    given, expected = arguments("f32", (4, 4), (16, 3), "causal", None)
    text = text_of(op, "f32", (4, 4), (16, 3), "causal", None, loose)
    assert_near(op, compile(text)(*operands(op, given)), expected, "f32")


@pytest.mark.sampled(14)
@pytest.mark.parametrize("keys", VISIBLE)
@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.parametrize("op", OPS)
def test_keys(op: str, element: str, keys: str) -> None:
    check(op, element, (4, 2), (16, 3), keys)


@pytest.mark.parametrize(
    "dim", [1, pytest.param(3, marks=pytest.mark.slow), pytest.param(64, marks=pytest.mark.slow), 128]
)
@pytest.mark.parametrize("op", ["attention_vjp_q", "attention_vjp_kv"])
def test_head_dims(op: str, dim: int) -> None:
    check(op, "f32", (2, 2), (dim, dim), "causal_end")


@pytest.mark.parametrize("element", ["f32", pytest.param("bf16", marks=pytest.mark.slow), "f64"])
@pytest.mark.parametrize("op", OPS)
def test_softcap(op: str, element: str) -> None:
    check(op, element, (2, 1), (4, 4), "causal", 1.5)


@pytest.mark.parametrize("level", levels("SSE2", "no AVX-512"))
@pytest.mark.parametrize("op", ["attention_vjp_q", "attention_vjp_kv"])
def test_processors(op: str, level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mask(level, monkeypatch)
    for element in ("f32", "bf16"):
        check(op, element, (2, 1), (5, 8), "window<9, 2>")


@pytest.mark.sampled(7)
@pytest.mark.parametrize("keys", VISIBLE)
@pytest.mark.parametrize("op", ["attention_vjp_q", "attention_vjp_kv"])
def test_decomposed(op: str, keys: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipelines, "HEAD_DIMS", 0)
    check(op, "f32", (4, 2), (16, 5), keys, 3.0)  # dims of no other test: programs are kept by their text


@pytest.mark.sampled(7)
@pytest.mark.parametrize("keys", VISIBLE)
@pytest.mark.parametrize("op", OPS)
def test_meaning(op: str, keys: str) -> None:
    given, expected = arguments("f32", (2, 1), (2, 3), keys, 2.0)
    found = run(text_of(op, "f32", (2, 1), (2, 3), keys, 2.0), "f", operands(op, given))
    assert_near(op, found if len(found) > 1 else found[0], expected, "f32")


@pytest.mark.parametrize("op", ["attention_vjp_q", "attention_vjp_kv"])
def test_on_a_gpu(op: str) -> None:
    """What stands for the ops there runs in the emulator."""
    given, expected = arguments("f32", (2, 1), (2, 3), "causal", None)
    found = compile(text_of(op, "f32", (2, 1), (2, 3), "causal", None), "f", "emulator")(*operands(op, given))
    assert_near(op, found, expected, "f32")


@pytest.mark.parametrize("op", ["attention_vjp_q", "attention_vjp_kv"])
def test_threads_share_a_sequence_and_bits_are_equal(op: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng, offsets = np.random.default_rng(1), np.array([0, 1, 1300, 1300])
    given = [
        (rng.standard_normal((1300, 4) if LIKE[name] == "lse" else (1300, 4, 16)).astype(np.float32), offsets)
        for name in OPS[op][0]
    ]
    made = []
    for threads in (1, 3):
        monkeypatch.setenv("RAGGED_NUM_THREADS", str(threads))
        found = compile(text_of(op, "f32", (4, 4), (16, 16), "causal", None))(*given)
        made.append([values.tobytes() for values, _ in (found if len(OPS[op][1]) > 1 else [found])])
    assert made[0] == made[1]


@pytest.mark.parametrize("op", ["attention_vjp_q", "attention_vjp_kv"])
def test_no_scores_are_stored(op: str) -> None:
    """What is allocated has the size of the results."""
    made = context()
    with made:
        module = load_module(text_of(op, "f32", (4, 2), (16, 16), "causal", None), made)
        for stage in pipelines.cpu_pipeline():
            if stage.name == "llvm":
                break
            stage.run(module)
        text = str(module)
    heads = 4 if op == "attention_vjp_q" else 2
    assert set(re.findall(r"memref\.alloc\(.*: (memref<.*f32>)", text)) == {f"memref<?x{heads}x16xf32>"}
    assert "linalg." not in text


def test_rows_that_see_nothing_have_no_part() -> None:
    """Keys without a query and queries without a key have gradients of zero, and so has what is masked."""
    given, _ = arguments("f32", (2, 2), (16, 16), "window_end<2, 0>", None)
    found = compile(text_of("attention_vjp_kv", "f32", (2, 2), (16, 16), "window_end<2, 0>", None))
    (dk, offsets), (dv, _) = found(*operands("attention_vjp_kv", given))
    assert not dk[offsets[1] : offsets[2]].any()  # four keys of no query
    assert not dv[offsets[1] : offsets[2]].any()
    assert not dk[offsets[5] : offsets[6] - 7].any()  # five queries see the last seven keys of 41
    assert dk[offsets[6] - 7 : offsets[6]].any((1, 2)).all()
