"""A component that is much longer than the others: what threads share, and programs that are compiled again for it."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.processes import python

import ragged_dialect as rg
from ragged_dialect.asm.module import load_module, print_module
from ragged_dialect.compiler import cpu
from ragged_dialect.dialect import context
from ragged_dialect.lowering.skew.share_long_components import ShareLongComponents
from ragged_dialect.lowering.stage import Stage

LEAST = ShareLongComponents.elements
STRUCTURES = {
    "alone": [LEAST + 1],
    "between": [3, 0, LEAST + 70, 5, 0, 7],
    "first and last": [LEAST + 5, 0, 0, 1, LEAST + 9],
    "side by side": [1, LEAST + 1, LEAST + 1, LEAST + 1, 0],
    "at the limit": [LEAST, 0, 1, LEAST, 2],
    "among many": [*[40] * 3000, LEAST + 1000, *[0, 3] * 500],
    "a share of all": [*[LEAST // 4] * 40, LEAST + LEAST // 2],
    "none": [*[20] * 8000],
}
FUNCTIONS: dict[str, Any] = {
    "sum": lambda x: x.sum(1),
    "prod": lambda x: x.prod(1),
    "max": lambda x: x.max(1),
    "any": lambda x: (x > 1).any(1),
    "mean": lambda x: x.mean(1),
    "var": lambda x: x.var(1),
    "softmax": lambda x: rg.softmax(x, 1),
    "centred": lambda x: x - x.mean(1)[:, None],
    "argmax": lambda x: x.argmax(1),
    "cumsum": lambda x: rg.cumsum(x, 1),
    "running maximum": lambda x: np.maximum.accumulate(x, 1),
}
OF_ROWS = ("softmax", "centred", "cumsum", "running maximum")
"""Functions that have something for every row."""


def loop(name: str, values: np.ndarray, lengths: list[int]) -> np.ndarray:
    """A plain loop over the components, in float64."""
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    empty = {"sum": 0.0, "prod": 1.0, "max": -np.inf, "any": 0.0, "argmax": -1.0}
    found: list[np.ndarray] = []
    for start, stop in pairwise(offsets):
        x = values[start:stop].astype(np.float64)
        if not len(x):
            rows = name in OF_ROWS
            found.append(np.zeros((0, *x.shape[1:])) if rows else np.full(x.shape[1:], empty.get(name, np.nan)))
        elif name == "softmax":
            exponents = np.exp(x - x.max(0))
            found.append(exponents / exponents.sum(0))
        elif name == "centred":
            found.append(x - x.mean(0))
        elif name == "running maximum":
            found.append(np.maximum.accumulate(x, 0))
        elif name == "any":
            found.append((x > 1).any(0))
        else:
            found.append(getattr(np, name)(x, axis=0))
    return np.concatenate(found) if name in OF_ROWS else np.stack(found)


def values_of(lengths: list[int], inner: tuple[int, ...], name: str) -> np.ndarray:
    """Numbers whose sum does not vanish, and whose product, in float64, stays in range."""
    values = np.random.default_rng(7).uniform(0.5, 1.5, (sum(lengths), *inner))
    return np.where(values > 1.0, 1.0 + 1e-6, 1.0) if name == "prod" else values.astype(np.float32)


@pytest.mark.sampled(288)
@pytest.mark.parametrize("inner", [(), (3,), (64,)], ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("structure", STRUCTURES)
def test_equal_to_a_loop(structure: str, name: str, inner: tuple[int, ...]) -> None:
    lengths = [length // 8 if len(inner) and inner[0] == 64 else length for length in STRUCTURES[structure]]
    if name in ("max", "argmax"):
        lengths = [max(length, 1) for length in lengths]
    values = values_of(lengths, inner, name)
    got = FUNCTIONS[name](rg.from_lengths(values, np.array(lengths)))
    found = got.values if isinstance(got, rg.RaggedArray) else got
    np.testing.assert_allclose(found, loop(name, values, lengths), rtol=2e-5, atol=2e-6)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("inner", [(), (3,)], ids=str)
def test_squares_of_parts_with_means_far_apart(inner: tuple[int, ...], dtype: str) -> None:
    """Each part is centered by itself, and its mean may be far from that of all."""
    lengths = [5, 2 * LEAST, 0, LEAST + 3]
    rows = sum(lengths)
    values = (np.linspace(900.0, 1100.0, rows) + np.random.default_rng(3).standard_normal(rows)).astype(dtype)
    values = np.ascontiguousarray(np.broadcast_to(values[(...,) + (None,) * len(inner)], (rows, *inner)))
    got = rg.from_lengths(values, np.array(lengths)).var(1)
    expected = loop("var", values, lengths)
    np.testing.assert_allclose(got, expected, rtol={"float16": 2e-3, "float32": 1e-5, "float64": 1e-12}[dtype])


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_squares_of_what_is_no_number(value: float) -> None:
    values = np.ones((LEAST + 5, 2), np.float32)
    values[LEAST // 2, 1] = value
    with np.errstate(invalid="ignore"):
        found = rg.from_lengths(values, np.array([LEAST + 5])).var(1)
    np.testing.assert_array_equal(found, [[0.0, np.nan]])


@pytest.mark.sampled(18)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("case", ["drift", "a part of -inf", "all -inf", "inf", "nan", "a part far below"])
def test_exponentials_of_parts_with_maxima_of_their_own(case: str, dtype: str) -> None:
    """They are corrected where they are read, also where a part has nothing above -inf."""
    rows = 2 * LEAST // 8 + 77
    x = np.random.default_rng(0).standard_normal((rows, 64)) * 3
    if case == "drift":
        x += np.linspace(-300, 300, rows)[:, None]
    elif case in ("a part of -inf", "all -inf"):
        x[: rows // 2 if "part" in case else rows] = -np.inf
    elif case == "a part far below":
        x[: rows // 2] -= 30000
    else:
        x[rows // 3, 5] = float(case)
    x = x.astype(dtype)
    with np.errstate(invalid="ignore"):
        found = rg.softmax(rg.from_lengths(x, np.array([2, rows - 2])), 1)
        expected = loop("softmax", x, [2, rows - 2])
    tolerance = {"float16": (3e-3, 1e-7), "float32": (3e-5, 1e-30), "float64": (1e-12, 0.0)}[dtype]
    np.testing.assert_allclose(found.values, expected, *tolerance, equal_nan=True)


def test_running_products_stay_in_order() -> None:
    """A product of some rows alone may be infinite where that with those before it is zero."""
    values = np.full((LEAST + 9, 2), 10.0, np.float32)
    values[5] = 0.0
    found = np.cumprod(rg.from_lengths(values, np.array([LEAST + 9])), axis=1)
    np.testing.assert_array_equal(found.values, np.cumprod(values, 0))


SHARED = Stage("shared", "convert-ragged-copies-to-linalg,reuse-ragged-outs,share-long-components")


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "function",
    [lambda x: rg.softmax(x, 1), lambda x: rg.softmax(x * 2.0, 1) * x, lambda x: (rg.softmax(x, 1) * x).sum(1)],
    ids=["in place", "read twice", "summed"],
)
def test_where_exponentials_of_parts_are_made(function: Any) -> None:
    """Where something is stored in their place, too: those of short components, of parts, and of their factors."""
    x = rg.from_lengths(np.zeros((3, 64), np.float32), np.array([1, 2]))
    program = load_module(rg.jit(function).lower(x).stages["bufferize"], context())
    SHARED.run(program)
    assert print_module(program).count("math.exp") == 3


def test_weights_that_are_not_divided_by_their_sum() -> None:
    """One infinite element makes itself no number and not the others of its part, one that is no number all of them."""
    type_, bits = 'tensor<?x?xf32, #ragged.layout<"dr">>', 'tensor<?x?xi8, #ragged.layout<"dr">>'
    maps = "#id = affine_map<(b, i) -> (b, i)>\n#row = affine_map<(b, i) -> (b)>"
    text = f"""{maps}
    func.func @f(%x: {type_}) -> ({bits}, tensor<?xf32>) {{
      %zero = arith.constant 0.0 : f32
      %lowest = arith.constant 0xFF800000 : f32
      %c0 = arith.constant 0 : index
      %n = tensor.dim %x, %c0 : {type_}
      %o = tensor.empty(%n) : tensor<?xf32>
      %e = ragged.empty %x : ({type_}) -> {type_}
      %b = ragged.empty %x : ({type_}) -> {bits}
      %tops = linalg.fill ins(%lowest : f32) outs(%o : tensor<?xf32>) -> tensor<?xf32>
      %sums = linalg.fill ins(%zero : f32) outs(%o : tensor<?xf32>) -> tensor<?xf32>
      %m = linalg.generic {{indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}}
          ins(%x : {type_}) outs(%tops : tensor<?xf32>) {{
      ^bb0(%a: f32, %s: f32):
        %r = arith.maximumf %s, %a : f32
        linalg.yield %r : f32
      }} -> tensor<?xf32>
      %w:2 = linalg.generic {{indexing_maps = [#id, #row, #id, #row], iterator_types = ["parallel", "reduction"]}}
          ins(%x, %m : {type_}, tensor<?xf32>) outs(%e, %sums : {type_}, tensor<?xf32>) {{
      ^bb0(%a: f32, %t: f32, %u: f32, %s: f32):
        %d = arith.subf %a, %t : f32
        %q = math.exp %d : f32
        %r = arith.addf %s, %q : f32
        linalg.yield %q, %r : f32, f32
      }} -> ({type_}, tensor<?xf32>)
      %y = linalg.generic {{indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}}
          ins(%w#0 : {type_}) outs(%b : {bits}) {{
      ^bb0(%a: f32, %u: i8):
        %c = arith.cmpf uno, %a, %zero : f32
        %q = arith.extui %c : i1 to i8
        linalg.yield %q : i8
      }} -> {bits}
      return %y, %w#1 : {bits}, tensor<?xf32>
    }}"""
    function = rg.compile(text)
    for rows in (100, LEAST + 8):
        x = np.linspace(-1, 1, rows, dtype=np.float32)
        x[5] = np.inf
        (found, _), _ = function((x, np.array([0, rows])))
        assert np.flatnonzero(found).tolist() == [5]
        x[-5] = np.nan
        (found, _), _ = function((x, np.array([0, rows])))
        assert found.all()


BITS = """
import hashlib
from test_long_components import FUNCTIONS, STRUCTURES, values_of
import numpy as np
import ragged_dialect as rg
for structure in ("between", "side by side"):
    for name, function in FUNCTIONS.items():
        x = rg.from_lengths(values_of(STRUCTURES[structure], (3,), "sum"), np.array(STRUCTURES[structure]))
        got = function(x)
        values = np.asarray(got.values if isinstance(got, rg.RaggedArray) else got)
        print(structure, name, hashlib.sha256(values.tobytes()).hexdigest())
"""


def test_equal_bits_for_any_number_of_threads(tmp_path: Path) -> None:
    cache = {"RAGGED_CACHE_DIR": str(tmp_path), "RAGGED_CACHE": "1"}
    threads = ("1", "2", "5")
    (text,) = {python("-c", BITS, folder="test/lowering", RAGGED_NUM_THREADS=n, **cache).stdout for n in threads}
    assert text.count("\n") == 2 * len(FUNCTIONS)


PROGRAM = """
#j = #ragged.layout<"dr">
func.func @f(%x: tensor<?x?xf32, #j>) -> tensor<?xf32> {
  PRINT
  %z = arith.constant 0.0 : f32
  %e = ragged.empty %x : (tensor<?x?xf32, #j>) -> tensor<?x?xf32, #j>
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x?xf32, #j>
  %o = tensor.empty(%n) : tensor<?xf32>
  %i = linalg.fill ins(%z : f32) outs(%o : tensor<?xf32>) -> tensor<?xf32>
  %s = linalg.reduce { arith.addf } ins(%x : tensor<?x?xf32, #j>) outs(%i : tensor<?xf32>) dimensions = [1]
  return %s : tensor<?xf32>
}
"""


def skewed() -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
    """An argument with a long component, and the sums of its components."""
    offsets = np.array([0, 3, LEAST + 50, LEAST + 50, LEAST + 52])
    return (np.ones(offsets[-1], np.float32), offsets), np.diff(offsets).astype(np.float32)


def test_a_program_is_compiled_again_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    lower = cpu.lower_for_cpu

    def note(*given: Any, **named: Any) -> Any:
        made.append(named.get("skew", "share"))
        return lower(*given, **named)

    monkeypatch.setattr(cpu, "lower_for_cpu", note)
    monkeypatch.setenv("RAGGED_CACHE", "0")
    function = rg.compile(PROGRAM.replace("PRINT", ""))
    assert made == ["refuse"]
    for _ in range(2):
        assert function((np.ones(4, np.float32), np.array([0, 1, 4]))).tolist() == [1, 3]
    assert made == ["refuse"]
    argument, expected = skewed()
    for _ in range(2):
        np.testing.assert_array_equal(function(argument), expected)
    assert made == ["refuse", "share"]


CACHED = """
import sys
import numpy as np
import ragged_dialect as rg
print(rg.from_lengths(np.ones({rows}, np.float32), np.array([{rows} - 1, 1])).sum(1).tolist())
print([name for name in sys.modules if name.startswith("ragged_dialect.compiler.cpu")], file=sys.stderr)
"""


def test_another_process_compiles_nothing(tmp_path: Path) -> None:
    cache = {"RAGGED_CACHE_DIR": str(tmp_path), "RAGGED_CACHE": "1"}
    found = [python("-c", CACHED.format(rows=2 * LEAST), **cache) for _ in range(2)]
    assert found[0].stdout == found[1].stdout == f"{[2.0 * LEAST - 1, 1.0]}\n"
    assert "compiler.cpu" in found[0].stderr
    assert found[1].stderr == "[]\n"


def test_what_is_printed_is_printed_once(capfd: pytest.CaptureFixture[str]) -> None:
    """A program that calls others' functions is not run twice: it shares long components at once."""
    number = "%nine = arith.constant dense<9> : tensor<1xi32>"
    text = PROGRAM.replace("PRINT", f"{number}\n  ragged.print %nine : (tensor<1xi32>) -> ()")
    argument, expected = skewed()
    np.testing.assert_array_equal(rg.compile(text)(argument), expected)
    assert capfd.readouterr().out.count("9") == 1


def test_memory_of_a_call_with_a_long_component() -> None:
    x = rg.from_lengths(np.ones((LEAST, 2), np.float32), np.array([LEAST - 4, 4]))
    function = rg.jit(lambda x: rg.softmax(x, 1))
    assert function(x).values.shape == (LEAST, 2)
    used = function.memory(x)
    assert used.peak < 1.1 * x.values.nbytes


@pytest.mark.parametrize(("skew", "calls"), [("share", 0), ("refuse", 1), ("none", 0)])
def test_who_shares_and_who_refuses(skew: str, calls: int) -> None:
    """Nobody compiles a library again: it shares."""
    lowered = cpu.lower_for_cpu(PROGRAM.replace("PRINT", ""), skew=skew)
    assert str(lowered.module).count("call @ragged_refuse_skew") == calls
    assert ("ragged.refuses_skew" in lowered.module.operation.attributes) == (calls > 0)


def test_another_skew() -> None:
    with pytest.raises(rg.RaggedError, match="expected skew among share, refuse, none, got some"):
        cpu.lower_for_cpu(PROGRAM.replace("PRINT", ""), skew="some")
