"""Random sequences of ops on the same rows, which run chunk by chunk in as few loops as they can, against NumPy.

They are not fused before: what `ragged-fuse` leaves apart is seldom of much variety.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from support import chunks

import ragged_dialect as rg
from ragged_dialect.lowering.rows import groups

ROWS = (0, 1, 7, 8, 9, 50)
QUICK, MANY = 12, 1000
OPS: dict[str, Callable[..., Any]] = {
    "addi": np.add, "subi": np.subtract, "muli": np.multiply, "maxsi": np.maximum, "xori": np.bitwise_xor,
}  # fmt: skip
REDUCTIONS: dict[str, tuple[np.ufunc, int]] = {
    "addi": (np.add, 0), "muli": (np.multiply, 1), "maxsi": (np.maximum, -(2**31)), "xori": (np.bitwise_xor, 0),
}  # fmt: skip
"""Ops that combine in any order, and what they start from."""

Arrays = dict[str, Any]
Compute = Callable[[Arrays], Any]


class Value(NamedTuple):
    """A value of a program: which of the loops over rows `r` and features `d` it has, and what it is."""

    name: str
    dims: str
    compute: Compute


class Sequence:
    """A function of a matrix, a vector of rows and one of features; all that its ops give is returned."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.width = self.random.choice((1, 3, 8))
        self.lines: list[str] = []
        self.values = [Value("%x", "rd", lambda a: a["x"]), Value("%y", "r", lambda a: a["y"])]
        self.values.append(Value("%z", "d", lambda a: a["z"]))
        given = len(self.values)
        for _ in range(self.random.randint(3, 9)):
            kind = self.random.choice((self.each, self.each, self.reduce, self.reduce, self.first))
            self.values.append(kind(f"%v{len(self.values)}"))
        self.results = self.values[given:]

    @property
    def source(self) -> str:
        """The function."""
        arguments = ", ".join(f"{v.name}: {self.type(v.dims)}" for v in self.values[:3])
        types = ", ".join(self.type(v.dims) for v in self.results)
        names = ", ".join(v.name for v in self.results)
        body = "\n".join(self.lines)
        return f"""func.func @f({arguments}) -> ({types}) {{
          %c0 = arith.constant 0 : index
          %n = tensor.dim %x, %c0 : {self.type("rd")}
          {body}
          return {names} : {types}
        }}"""

    def type(self, dims: str) -> str:
        """The type of a value."""
        return f"tensor<{''.join({'r': '?x', 'd': f'{self.width}x'}[d] for d in dims)}i32>"

    def generic(self, name: str, given: list[Value], dims: str, init: int, body: str, reduced: str = "") -> None:
        """An op over rows and features, of which it reduces some."""
        loops = "".join(d for d in "rd" if d in dims or d in reduced or any(d in v.dims for v in given))
        loops = loops[::-1] if self.random.random() < 0.3 else loops
        maps = [f"affine_map<({', '.join(loops)}) -> ({', '.join(v)})>" for v in (*(v.dims for v in given), dims)]
        kinds = ", ".join('"reduction"' if d in reduced else '"parallel"' for d in loops)
        type_ = self.type(dims)
        arguments = ", ".join([*(f"%a{k}: i32" for k in range(len(given))), "%out: i32"])
        ins = f"ins({', '.join(v.name for v in given)} : {', '.join(self.type(v.dims) for v in given)})"
        self.lines.append(f"""{name}_s = arith.constant {init} : i32
          {name}_e = tensor.empty({"%n" if "r" in dims else ""}) : {type_}
          {name}_f = linalg.fill ins({name}_s : i32) outs({name}_e : {type_}) -> {type_}
          {name} = linalg.generic {{indexing_maps = [{", ".join(maps)}], iterator_types = [{kinds}]}}
              {ins} outs({name}_f : {type_}) {{
          ^bb0({arguments}):
            {body}
            linalg.yield %result : i32
          }} -> {type_}""")

    def each(self, name: str) -> Value:
        """An element of two others; of rows, of the row's number too."""
        a, b = self.random.choices(self.values, k=2)
        op = self.random.choice(list(OPS))
        dims = "".join(d for d in "rd" if d in a.dims + b.dims)
        counts = "r" in dims and self.random.random() < 0.2
        row = "d" if len(dims) > 1 else ""
        place = "%r = linalg.index {} : index\n%i = arith.index_cast %r : index to i32\n%c = arith.addi %b, %i : i32"
        text = f"%b = arith.{op} %a0, %a1 : i32\n{place if counts else ''}\n"

        def compute(arrays: Arrays) -> Any:
            found = OPS[op](_spread(a, arrays, dims), _spread(b, arrays, dims))
            rows = np.arange(len(found) if dims else 0, dtype=np.int32)
            return found + (rows[:, None] if row else rows) if counts else found

        before = len(self.lines)
        self.generic(
            name, [a, b], dims, 7, text + "%result = arith.ori %{}, %{} : i32".format(*"cc" if counts else "bb")
        )
        if counts:  # rows are the first loop, or the second of two that were turned
            turned = f"affine_map<({', '.join(dims[::-1])})" in self.lines[before] and len(dims) > 1
            self.lines[before] = self.lines[before].replace("linalg.index {}", f"linalg.index {int(turned)}")
        return Value(name, dims, compute)

    def reduce(self, name: str) -> Value:
        """What a matrix or a vector comes to along rows, features or both."""
        x = self.random.choice([v for v in self.values if v.dims])
        reduced = self.random.choice([x.dims, *x.dims])
        dims = "".join(d for d in x.dims if d not in reduced)
        op = self.random.choice(list(REDUCTIONS))
        ufunc, init = REDUCTIONS[op]
        self.generic(name, [x], dims, init, f"%result = arith.{op} %a0, %out : i32", reduced)
        axes = tuple(k for k, d in enumerate(x.dims) if d in reduced)

        def compute(arrays: Arrays) -> Any:
            made = x.compute(arrays)
            for axis in axes[::-1]:
                made = ufunc.reduce(made, axis=axis, initial=np.int32(init), dtype=np.int32)
            return made

        return Value(name, dims, compute)

    def first(self, name: str) -> Value:
        """The feature that one of those of the features is, for all of them: a load between the ops."""
        found = [v for v in self.values if v.dims == "d"]
        x = self.random.choice(found)
        self.lines.append(f"""{name}_l = tensor.extract {x.name}[%c0] : {self.type("d")}
          {name}_e = tensor.empty() : {self.type("d")}
          {name} = linalg.fill ins({name}_l : i32) outs({name}_e : {self.type("d")}) -> {self.type("d")}""")
        return Value(name, "d", lambda a: np.full(self.width, x.compute(a)[0], np.int32))


def _spread(value: Value, arrays: Arrays, dims: str) -> Any:
    found = value.compute(arrays)
    return found[:, None] if (value.dims, dims) == ("r", "rd") else found


def check(seed: int) -> None:
    """Run one, in chunks of 8 elements."""
    made = Sequence(seed)
    rng = np.random.default_rng(seed)
    with chunks.of(8, without="ragged-fuse,"):
        compiled = rg.compile(made.source, "f", "cpu")
    for count in ROWS:
        arrays = {
            "x": rng.integers(-9, 9, (count, made.width), np.int32),
            "y": rng.integers(-9, 9, count, np.int32),
            "z": rng.integers(-9, 9, made.width, np.int32),
        }
        found = compiled(*arrays.values())
        with np.errstate(over="ignore"):
            for value, got in zip(made.results, found if len(made.results) > 1 else [found], strict=True):
                np.testing.assert_array_equal(got, value.compute(arrays), err_msg=f"{value.name}\n{made.source}")


@pytest.fixture(autouse=True)
def _nothing_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGGED_CACHE", "0")


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(QUICK))
def test_sequences(seed: int) -> None:
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(QUICK, MANY, 100))
def test_many_sequences(first: int) -> None:
    for seed in range(first, min(first + 100, MANY)):
        check(seed)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("most", [1, 2])
def test_sequences_in_loops_of_few_ops(most: int, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "_MOST", most)
    check(seed)


def test_a_long_chain_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """One loop of all layers would take LLVM longer than several of some."""
    x = rg.from_lengths(np.random.default_rng(0).standard_normal((50, 4)), [20, 0, 30])
    layers = [np.eye(4) * 0.5 + k / 100 for k in range(9)]

    @rg.jit
    def chain(x: Any, layers: list[Any]) -> Any:
        for weights in layers:
            x = x @ weights
        return x

    loops = {}
    for most in (4, 1000):
        monkeypatch.setattr(groups, "_MOST", most)
        loops[most] = str(chain.lower(x, layers).stages["loops"]).count("{ragged.kernel")
    assert min(loops.values()) < max(loops.values()) == loops[4]
    expected = np.asarray(x.values)
    for weights in layers:
        expected = expected @ weights
    np.testing.assert_allclose(chain(x, layers).values, expected)
