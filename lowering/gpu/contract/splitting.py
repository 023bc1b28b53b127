"""Numbers as tensor cores take them: those of f16 and bf16 as they are, those of f32 as sums of three of bf16.

Three times eight bits are the 24 of an f32, so the parts add up to it exactly. The second and the third are 2**8 and
2**16 times as large as what they stand for: a bf16 has no bits below 2**-133, where small numbers have some. Of the
nine products of the parts of two numbers the six large ones are made; what is left out is less than 2**-22 of the
product (Henry, Tang, Heinecke: Leveraging the bfloat16 Artificial Intelligence Datatype For Higher-Precision
Computations, ARITH 2019). A number that is infinite, or that rounds to infinity as a bf16, becomes NaN: so does what
is made of its parts.
"""

from __future__ import annotations

from collections.abc import Sequence

from ragged_dialect._mlir import arith, ir, llvm
from ragged_dialect.ir import build
from ragged_dialect.lowering.gpu.contract import fragments

_PAIRS = (((1, 1), (2, 0), (0, 2)), ((1, 0), (0, 1)), ((0, 0),))
"""Parts that are multiplied, small products first, by how often these are `_SCALE` times too large."""

_SCALE = 256.0

_HIGH = -(1 << 16)
"""The bits of an f32 that a bf16 has."""


def is_split(element: ir.Type) -> bool:
    """Whether numbers have parts."""
    return isinstance(element, ir.F32Type)


def short(element: ir.Type) -> ir.Type:
    """The type of a part."""
    return ir.BF16Type.get() if is_split(element) else element


def count_of(element: ir.Type) -> int:
    """How many parts a number has."""
    return 3 if is_split(element) else 1


def registers(pair: Sequence[ir.Value], element: ir.Type) -> list[ir.Value]:
    """A register of a fragment for each part of two numbers of f32, which are rounded to `element`. The last part of a
    NaN is one: rounding its bits may lose it before."""
    if not is_split(element):
        return [fragments.pack(pair, element)]
    found: list[ir.Value] = []
    left = list(pair)
    for part in range(3):
        words = [arith.bitcast(ir.IntegerType.get_signless(32), x) for x in left]
        if part < 2:
            words = [arith.addi(word, build.constant(word.type, 1 << 15)) for word in words]
        high = [arith.andi(word, build.constant(word.type, _HIGH)) for word in words]
        found.append(arith.ori(high[1], arith.shrui(words[0], build.constant(words[0].type, 16))))
        if part < 2:
            rest = [arith.subf(x, arith.bitcast(x.type, bits)) for x, bits in zip(left, high, strict=True)]
            left = [arith.mulf(x, build.constant(x.type, _SCALE)) for x in rest]
    return found


def parts(pair: Sequence[ir.Value], element: ir.Type) -> list[ir.Value]:
    """A word for each part of two numbers of the type."""
    if is_split(element):
        return registers(pair, element)
    word = ir.IntegerType.get_signless(32)
    return [llvm.bitcast(word, fragments.vector_of(pair))]


def multiply(
    a: Sequence[Sequence[ir.Value]], b: Sequence[Sequence[ir.Value]], sums: Sequence[ir.Value], element: ir.Type
) -> list[ir.Value]:
    """Sums of a 16 x 8 fragment and the product of fragments, each of whose parts is given.

    Tensor cores cut off what is below the last bit of a sum, where f32 rounds (Fasi, Higham, Mikaitis, Pranesh:
    Numerical behavior of NVIDIA tensor cores, 2021), which adds up: those of f32 are made from 0 on, and added apart.
    """
    if not is_split(element):
        return fragments.multiply(a[0], b[0], sums, element)
    made: Sequence[ir.Value] = [build.constant(element, 0.0)] * len(sums)
    for step, pairs in enumerate(_PAIRS):
        if step:
            made = [arith.mulf(x, build.constant(element, 1 / _SCALE)) for x in made]
        for i, j in pairs:
            made = fragments.multiply(a[i], b[j], made, short(element))
    return [arith.addf(x, more) for x, more in zip(sums, made, strict=True)]
