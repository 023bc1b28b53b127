"""`ragged-drop-unit-dims`: programs of one feature compute what those of none do, by the same loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.targets import Compile

import ragged_dialect as rg
from ragged_dialect.reference.interpreter import run

LENGTHS = [3, 1, 17, 70, 2]
PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "sums": lambda x: x.sum(axis=1),
    "chain": lambda x: np.exp(x * 2).sum(axis=1, keepdims=True),
    "normalised": lambda x: (x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, keepdims=True),
    "softmax": lambda x: rg.softmax(np.where(x > 0, x, 0), axis=1),
    "where the largest are": lambda x: x.argmax(axis=1),
    "running sums": lambda x: np.cumsum(x, axis=1),
    "from the end": lambda x: np.cumsum(x[:, ::-1], axis=1)[:, ::-1],
    "windows": lambda x: x[:, 1:] - x[:, :-1],
    "turned": lambda x: x[:, ::-1] * 2,
    "of all": lambda x: (x * x).sum(),
}
SHAPES = {"one": (-1, 1), "one of one": (-1, 1, 1)}


def _values() -> np.ndarray:
    return np.random.default_rng(0).standard_normal(sum(LENGTHS)).astype(np.float32)


def _close(found: Any, without: Any) -> None:
    if isinstance(without, rg.RaggedArray):
        assert np.array_equal(found.lengths, without.lengths)
        found, without = rg.compact(found).values, rg.compact(without).values
    np.testing.assert_allclose(np.ravel(found), np.ravel(without), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("target", ["cpu", "emulator"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str, shape: str, target: str) -> None:
    program = rg.jit(PROGRAMS[name], target=target)
    without = program(rg.from_lengths(_values(), LENGTHS))
    _close(program(rg.from_lengths(_values().reshape(SHAPES[shape]), LENGTHS)), without)


@pytest.mark.parametrize("name", ["softmax", "normalised", "running sums", "windows"])
def test_gradients(name: str) -> None:
    gradient = rg.grad(lambda x: (PROGRAMS[name](x) ** 2).sum())
    without = gradient(rg.from_lengths(_values(), LENGTHS))
    _close(gradient(rg.from_lengths(_values()[:, None], LENGTHS)), without)


@pytest.mark.parametrize("name", ["sums", "chain", "softmax", "where the largest are", "windows"])
def test_same_loops(name: str) -> None:
    """Nothing of the dim is left where loops are made."""
    program = rg.jit(PROGRAMS[name])
    one, none = (
        program.lower(rg.from_lengths(_values().reshape(shape), LENGTHS)).stages["scf"].count("scf.for")
        for shape in ((-1, 1), (-1,))
    )
    assert one == none > 0


NESTED = """#whole = affine_map<(i, j, k) -> (i, j, k)>
func.func @f(%x: tensor<?x?x1xf32, #ragged.layout<"dr|d">>, %t: tensor<1x1xf32>)
    -> tensor<?x?x1xf32, #ragged.layout<"dr|d">> {
  %c0 = arith.constant 0 : index
  %e = ragged.empty %x : (tensor<?x?x1xf32, #ragged.layout<"dr|d">>) -> tensor<?x?x1xf32, #ragged.layout<"dr|d">>
  %0 = linalg.generic {indexing_maps = [#whole, #whole], iterator_types = ["parallel", "parallel", "parallel"]}
    ins(%x : tensor<?x?x1xf32, #ragged.layout<"dr|d">>) outs(%e : tensor<?x?x1xf32, #ragged.layout<"dr|d">>) {
  ^bb0(%a: f32, %b: f32):
    %1 = linalg.exp ins(%t : tensor<1x1xf32>) outs(%t : tensor<1x1xf32>) -> tensor<1x1xf32>
    %2 = tensor.extract %1[%c0, %c0] : tensor<1x1xf32>
    %3 = arith.addf %a, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<?x?x1xf32, #ragged.layout<"dr|d">>
  return %0 : tensor<?x?x1xf32, #ragged.layout<"dr|d">>
}"""
DYNAMIC_OUT = """func.func @f(%x: tensor<?x?x1xf32, #ragged.layout<"dr|d">>)
    -> tensor<?x?x?xf32, #ragged.layout<"dr|d">> {
  %c1 = arith.constant 1 : index
  %e = ragged.empty %x, %c1 : (tensor<?x?x1xf32, #ragged.layout<"dr|d">>, index)
    -> tensor<?x?x?xf32, #ragged.layout<"dr|d">>
  %0 = linalg.softmax dimension(1) ins(%x : tensor<?x?x1xf32, #ragged.layout<"dr|d">>)
    outs(%e : tensor<?x?x?xf32, #ragged.layout<"dr|d">>) -> tensor<?x?x?xf32, #ragged.layout<"dr|d">>
  return %0 : tensor<?x?x?xf32, #ragged.layout<"dr|d">>
}"""
TEXTS: dict[str, tuple[str, list[np.ndarray]]] = {
    "loops in a body": (NESTED, [np.full((1, 1), 2, np.float32)]),
    "a softmax whose out has an unknown extent": (DYNAMIC_OUT, []),
}


@pytest.mark.parametrize("name", TEXTS)
def test_texts(compile: Compile, name: str) -> None:
    text, others = TEXTS[name]
    arguments: list[Any] = [(_values()[:, None], np.cumsum([0, *LENGTHS])), *others]
    (found, _), ((expected, _),) = compile(text)(*arguments), run(text, "f", arguments)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
