"""A score of its own in programs of attention: a softcap, elements of a table, the component's number, hidden keys."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

TABLE = np.random.default_rng(7).standard_normal((4, 210, 210)).astype(np.float32)
"""By heads, queries and keys; the first argument of programs."""

CAP = 1.5


def scored(text: str) -> str:
    """A program of one op of attention with a score of its own, which reads a table."""
    wide, slopes = ("f64" if "xf64" in text else "f32"), "ragged.attention_" in text
    more = "%m = arith.extf %t : f32 to f64" if wide == "f64" else "%m = arith.negf %n : f32"
    region = f"""({{
      ^bb0(%s: {wide}, %b: index, %h: index, %i: index, %j: index):
        %cap = arith.constant {CAP} : {wide}
        %low = arith.constant {"0xFFF0000000000000" if wide == "f64" else "0xFF800000"} : {wide}
        %c0 = arith.constant 0 : index
        %c2 = arith.constant 2 : index
        %c5 = arith.constant 5 : index
        %zero = arith.constant 0.0 : {wide}
        %one = arith.constant 1.0 : {wide}
        %part = arith.divf %s, %cap : {wide}
        %tanh = math.tanh %part : {wide}
        %capped = arith.mulf %tanh, %cap : {wide}
        %t = tensor.extract %table[%h, %i, %j] : tensor<4x210x210xf32>
        %n = arith.negf %t : f32
        {more}
        %with = arith.addf %capped, %m : {wide}
        %whole = arith.index_cast %b : index to i64
        %number = arith.sitofp %whole : i64 to {wide}
        %sum = arith.addf %with, %number : {wide}
        %twice = arith.muli %j, %c2 : index
        %place = arith.addi %i, %twice : index
        %rest = arith.remui %place, %c5 : index
        %shown = arith.cmpi ne, %rest, %c0 : index
        %score = arith.select %shown, %sum, %low : {wide}
        %square = arith.mulf %tanh, %tanh : {wide}
        %rise = arith.subf %one, %square : {wide}
        %slope = arith.select %shown, %rise, %zero : {wide}
        ragged.yield {f"%score, %slope : ({wide}, {wide})" if slopes else f"%score : ({wide})"} -> ()
      }}) {{"""
    text = text.replace("@f(", "@f(%table: tensor<4x210x210xf32>, ", 1)
    return re.sub(r"\{(?=scale)", lambda _: region, text, count=1)


def made(scores: Any, component: int, head: int) -> tuple[Any, Any]:
    """What it makes of the scores of a component and head, and what these grow by, in float64."""
    i, j = np.ogrid[: scores.shape[0], : scores.shape[1]]
    parts, shown = np.tanh(scores / CAP), (i + 2 * j) % 5 != 0
    table = TABLE[head, : scores.shape[0], : scores.shape[1]].astype(np.float64)
    found = CAP * parts + table + component
    return np.where(shown, found, -np.inf), np.where(shown, 1 - parts**2, 0)
