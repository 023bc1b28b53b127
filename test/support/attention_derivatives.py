"""The derivatives of `ragged.attention` as programs, and what they give by loops in float64."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from support.attention import Score
from support.dtypes import FLOATS as DTYPES

from ragged_dialect.ops.attention import Keys

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


def attend(x: Arrays, keys: str, cap: float | None, score: Score | None = None) -> tuple[Arrays, list[tuple[Any, ...]]]:
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
            if score is not None:
                scores, rise = score(scores, b, h)
                slopes = slopes * rise
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
    element: str,
    heads: tuple[int, int],
    dims: tuple[int, int],
    keys: str,
    cap: float | None,
    score: Score | None = None,
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
    made, parts = attend(given, keys, cap, score)
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
