"""Ops on dense tensors alone: what reaches outside of a tensor is an error, what stays inside is computed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.targets import Compile

from ragged_dialect.errors import RuntimeCheckError

V, M = "tensor<?xf32>", "tensor<?x?xf32>"


def vector(*values: float) -> np.ndarray[Any, Any]:
    """As float32."""
    return np.array(values, np.float32)


def ones(*shape: int) -> np.ndarray[Any, Any]:
    """As float32."""
    return np.ones(shape, np.float32)


PROGRAMS = {
    "addf": (f"%a: {V}, %b: {V}) -> {V}", f"%0 = arith.addf %a, %b : {V}", V),
    "matmul": (
        f"%a: {M}, %b: {M}, %c: {M}) -> {M}",
        f"%0 = linalg.matmul ins(%a, %b : {M}, {M}) outs(%c : {M}) -> {M}", M,
    ),
    "conv_1d": (
        f"%a: {V}, %b: {V}, %c: {V}) -> {V}",
        f"%0 = linalg.conv_1d ins(%a, %b : {V}, {V}) outs(%c : {V}) -> {V}", V,
    ),
    "extract": (f"%a: {V}, %k: index) -> f32", f"%0 = tensor.extract %a[%k] : {V}", "f32"),
    "insert": (f"%a: {V}, %k: index, %v: f32) -> {V}", f"%0 = tensor.insert %v into %a[%k] : {V}", V),
    "extract_slice": (
        f"%a: {V}, %k: index, %n: index, %s: index) -> {V}",
        f"%0 = tensor.extract_slice %a[%k] [%n] [%s] : {V} to {V}", V,
    ),
    "insert_slice": (
        f"%a: {V}, %b: {M}, %k: index, %n: index) -> {M}",
        f"%0 = tensor.insert_slice %a into %b[%k, 0] [1, %n] [1, 1] : {V} into {M}", M,
    ),
    "expand_shape": (
        f"%a: {V}, %k: index, %n: index) -> {M}",
        f"%0 = tensor.expand_shape %a [[0, 1]] output_shape [%k, %n] : {V} into {M}", M,
    ),
    "concat": (f"%a: {M}, %b: {M}) -> {M}", f"%0 = tensor.concat dim(0) %a, %b : ({M}, {M}) -> {M}", M),
    "cast": (f"%a: {V}) -> tensor<3xf32>", f"%0 = tensor.cast %a : {V} to tensor<3xf32>", "tensor<3xf32>"),
    "dim": (f"%a: {M}, %k: index) -> index", f"%0 = tensor.dim %a, %k : {M}", "index"),
    "gather": (
        f"%a: {V}, %k: tensor<?xi64>, %o: {V}) -> {V}",
        f"""%0 = linalg.map ins(%k : tensor<?xi64>) outs(%o : {V}) (%i: i64, %u: f32) {{
          %j = arith.index_cast %i : i64 to index
          %v = tensor.extract %a[%j] : {V}
          linalg.yield %v : f32
        }}""", V,
    ),
}  # fmt: skip


def program(name: str) -> str:
    """A function `f` of one op."""
    signature, op, result = PROGRAMS[name]
    return f"func.func @f({signature} {{ {op} return %0 : {result} }}"


BIG = 10**7
REFUSED: list[tuple[str, list[Any], str]] = [
    ("addf", [ones(BIG), ones(2)], "arith.addf: dim 0: expected extent 10000000, got 2"),
    ("matmul", [ones(1, 100), ones(2, 1), ones(1, 1)], "linalg.matmul: dim 0: expected extent 100, got 2"),
    ("conv_1d", [ones(3), ones(2), ones(BIG)], "linalg.conv_1d: level 0: expected extent >= length 10000001, got 3"),
    ("extract", [ones(3), 10**12], "tensor.extract: level 0: expected index in [0, 3), got 1000000000000"),
    ("extract", [ones(3), -1], "tensor.extract: level 0: expected index in [0, 3), got -1"),
    ("insert", [ones(3), 3, 1.0], "tensor.insert: level 0: expected index in [0, 3), got 3"),
    ("extract_slice", [ones(3), 2, 2, 1], "tensor.extract_slice: level 0: expected hi <= 1, got 2"),
    ("extract_slice", [ones(3), 1, 2**63 - 1, 1], "tensor.extract_slice: level 0: expected hi <= 2, got 9223"),
    ("extract_slice", [ones(9), 0, 4, 3], "tensor.extract_slice: level 0: expected hi <= 3, got 4"),
    ("extract_slice", [ones(9), 0, 2, 0], "tensor.extract_slice: level 0: expected at least 1, got 0"),
    ("insert_slice", [ones(2), ones(2, 3), 2, 2], "tensor.insert_slice: level 0: expected index in [0, 2), got 2"),
    ("insert_slice", [ones(9), ones(2, 3), 0, 3], "tensor.insert_slice: dim 0: expected extent 3, got 9"),
    ("expand_shape", [ones(3), 10**5, 10**4], "tensor.expand_shape: dim 0: expected extent 3, got 1000000000"),
    ("expand_shape", [ones(3), 2**32, 2**32], "tensor.expand_shape: level 0: expected a size below 2**63"),
    ("concat", [ones(3, 10**6), ones(2, 1)], "tensor.concat: dim 1: expected extent 1000000, got 1"),
    ("cast", [ones(4)], "tensor.cast: dim 0: expected extent 3, got 4"),
    ("dim", [ones(1, 1), 10**11], "tensor.dim: level 0: expected index in [0, 2), got 100000000000"),
    (
        "gather",
        [ones(3), np.array([0, 10**12]), ones(2)],
        "tensor.extract: level 0: expected index in [0, 3), got 1000",
    ),
    ("gather", [ones(3), np.array([2, -1]), ones(2)], "tensor.extract: level 0: expected index in [0, 3), got -1"),
    ("gather", [ones(0), np.array([0]), ones(1)], "tensor.extract: level 0: expected index in [0, 0), got 0"),
]

ACCEPTED: list[tuple[str, list[Any], Any]] = [
    ("addf", [vector(1, 2), vector(3, 4)], [4, 6]),
    ("matmul", [ones(2, 3), ones(3, 1), ones(2, 1)], [[4], [4]]),
    ("conv_1d", [vector(1, 2, 3), vector(1, 10), vector(0, 0)], [21, 32]),
    ("extract", [vector(5, 6), 1], 6),
    ("insert", [vector(5, 6), 1, 7.0], [5, 7]),
    ("extract_slice", [vector(0, 1, 2, 3, 4), 1, 2, 3], [1, 4]),
    ("extract_slice", [vector(0, 1, 2), 3, 0, 1], []),
    ("extract_slice", [vector(0, 1, 2), 3, 0, 7], []),
    ("insert_slice", [vector(8, 9), ones(2, 2), 1, 2], [[1, 1], [8, 9]]),
    ("expand_shape", [vector(0, 1, 2, 3), 2, 2], [[0, 1], [2, 3]]),
    ("concat", [ones(1, 2), ones(0, 2)], [[1, 1]]),
    ("cast", [vector(1, 2, 3)], [1, 2, 3]),
    ("dim", [ones(2, 5), 1], 5),
    ("gather", [vector(7, 8, 9), np.array([2, 0]), ones(2)], [9, 7]),
    ("gather", [ones(0), np.array([], np.int64), ones(0)], []),
]


@pytest.fixture(scope="module")
def compiled(compile: Compile) -> dict[str, Any]:
    """The programs as functions, compiled once."""
    return {name: compile(program(name)) for name in PROGRAMS}


@pytest.mark.sampled(15)
@pytest.mark.parametrize(("name", "arguments", "message"), REFUSED)
def test_refused(name: str, arguments: list[Any], message: str, compiled: dict[str, Any]) -> None:
    with pytest.raises(RuntimeCheckError) as error:
        compiled[name](*arguments)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(("name", "arguments", "expected"), ACCEPTED)
def test_accepted(name: str, arguments: list[Any], expected: Any, compiled: dict[str, Any]) -> None:
    assert np.asarray(compiled[name](*arguments)).tolist() == expected
