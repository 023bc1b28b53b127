"""Integers divided by 0 and by -1: the same result on every target, in place of a dead process."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.cpu_features import mask
from support.targets import Compile

import ragged_dialect as rg
from ragged_dialect.reference import run

SIGNED = ("divsi", "ceildivsi", "floordivsi", "remsi")
UNSIGNED = ("divui", "ceildivui", "remui")
OFFSETS = np.array([0, 4, 4, 9])


def operands(dtype: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Nine pairs with every kind of divisor."""
    low = np.iinfo(dtype).min
    return (
        np.array([low, low, low, 7, 7, -7, 7, -7, 0], dtype),
        np.array([0, -1, low, 0, -1, 2, -2, 0, 0], dtype),
    )


def quotient(name: str, a: int, b: int, bits: int) -> int:
    """By Python's integers, as 64 bits; 0 for a divisor of 0."""
    if name.endswith("ui"):
        a, b = a % 2**bits, b % 2**bits
    if b == 0:
        return 0
    exact = {"divsi": a // b if a % b == 0 or (a < 0) == (b < 0) else a // b + 1, "divui": a // b}
    exact |= {"ceildivsi": -(-a // b), "ceildivui": -(-a // b), "floordivsi": a // b}
    exact |= {"remsi": a - b * exact["divsi"], "remui": a % b}
    return (exact[name] + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)


@pytest.mark.sampled(36)
@pytest.mark.parametrize("name", [*SIGNED, *UNSIGNED])
@pytest.mark.parametrize("dtype", ["i8", "i32", "i64"])
def test_tensors(name: str, dtype: str, compile: Compile) -> None:
    kind = f"tensor<?x?x{dtype}, #w>"
    text = f"""
      #w = #ragged.layout<"dr">
      func.func @f(%x: {kind}, %y: {kind}) -> {kind} {{
        %0 = arith.{name} %x, %y : {kind}
        return %0 : {kind}
      }}"""
    a, b = operands(dtype.replace("i", "int"))
    expected = [quotient(name, int(x), int(y), a.dtype.itemsize * 8) for x, y in zip(a, b, strict=True)]
    assert compile(text)((a, OFFSETS), (b, OFFSETS))[0].tolist() == expected
    assert run(text, "f", [(a, OFFSETS), (b, OFFSETS)])[0][0].tolist() == expected


@pytest.mark.parametrize("level", ["host", "no AVX-512", "SSE2"])
@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
@pytest.mark.sampled(4)
def test_vectors(dtype: str, level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many pairs, next to multiples and to the ends of the range, as NumPy divides them."""
    info, draw = np.iinfo(dtype), np.random.default_rng(0)
    ends = np.array([info.min, info.min + 1, -2, -1, 0, 1, 2, info.max // 2, info.max - 1, info.max], dtype)
    small = draw.integers(1, int(info.max**0.5), (2, 300)).astype(dtype)
    parts = [(np.repeat(ends, len(ends)), np.tile(ends, len(ends)))]
    parts += [(small[0] * small[1] + np.int8(k), small[1]) for k in (-1, 0, 1)]
    parts.append(tuple(draw.integers(info.min, info.max, (2, 2000), dtype, endpoint=True)))
    a, b = (np.concatenate(side) for side in zip(*parts, strict=True))
    mask(level, monkeypatch)
    f = rg.jit(lambda x, y: (x // y, x % y, np.fmod(x, y), x // 3, x % -7))
    lengths = [len(a) - 5, 0, 5]
    with np.errstate(divide="ignore", over="ignore"):
        wanted = (a // b, a % b, np.fmod(a, b), a // 3, a % -7)
    for got, want in zip(f(rg.from_lengths(a, lengths), rg.from_lengths(b, lengths)), wanted, strict=True):
        np.testing.assert_array_equal(got.values, want)


@pytest.mark.parametrize("name", [*SIGNED, *UNSIGNED])
def test_scalars(name: str, compile: Compile) -> None:
    text = f"func.func @f(%x: i64, %y: i64) -> i64 {{ %0 = arith.{name} %x, %y : i64 return %0 : i64 }}"
    function = compile(text)
    for a, b in zip(*operands("int64"), strict=True):
        assert function(int(a), int(b)) == quotient(name, int(a), int(b), 64)


def test_powers(compile: Compile) -> None:
    """MLIR expands a negative power of 0 to a division by 0."""
    text = """func.func @f(%x: tensor<?xi64>, %y: tensor<?xi64>) -> tensor<?xi64> {
      %0 = math.ipowi %x, %y : tensor<?xi64>
      return %0 : tensor<?xi64>
    }"""
    base, exponent = np.array([0, 0, 1, -1, -1, 2, 3]), np.array([-1, -2, -5, -5, -4, -1, 4])
    assert compile(text)(base, exponent).tolist()[1 * 2 :] == [1, -1, 1, 0, 81]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", [*SIGNED, *UNSIGNED])
@pytest.mark.parametrize("type_", ["tensor<?xi32>", "tensor<9xi32>", "tensor<?xi1>"])
def test_tensors_by_themselves(name: str, type_: str, compile: Compile) -> None:
    """What MLIR takes for 1 is 0 where there are zeros."""
    text = f"func.func @f(%x: {type_}) -> {type_} {{ %0 = arith.{name} %x, %x : {type_} return %0 : {type_} }}"
    _, x = operands(np.int32)
    x = x != 0 if "i1" in type_ else x
    expected = np.zeros_like(x) if "rem" in name else (x != 0).astype(x.dtype)
    np.testing.assert_array_equal(compile(text)(x), expected)
