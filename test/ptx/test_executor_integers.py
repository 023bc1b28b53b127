"""What PTX instructions compute of integers: against Python's.

The section numbers are those of the PTX ISA manual, version 8.7.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.ptx_numbers import words, wrapped
from support.ptx_text import run

from ragged_dialect.emulator.ptx.types import TYPES
from ragged_dialect.errors import EmulatorError

Reference = Callable[..., Any]


def shifted(a: int, n: int, kind: str) -> int:
    return a >> min(n, TYPES[kind].bits)


def extracted(a: int, start: int, length: int) -> int:
    """`a` has as many copies of its sign as are asked for."""
    start, length = start & 255, length & 255
    field = a >> start & (1 << length) - 1
    return field - (1 << length) if a < 0 and length and field >> length - 1 else field


def permuted(a: int, b: int, s: int) -> int:
    data, result = (b << 32 | a).to_bytes(8, "little"), 0
    for k in range(4):
        byte = data[s >> 4 * k & 7]
        result |= (255 * (byte >> 7) if s >> 4 * k & 8 else byte) << 8 * k
    return result


# 9.7.1 Integer arithmetic, 9.7.5 extended, 9.7.6 comparison and selection, 9.7.8 logic and shift
INTEGERS: list[tuple[str, str, str, Reference]] = []
for kind in ("s16", "u16", "s32", "u32", "s64", "u64"):
    wide, t2 = TYPES[kind].bits, f"{kind} {kind}"
    INTEGERS += [
        (f"add.{kind} %d, %a, %b", t2, kind, lambda a, b: a + b),
        (f"sub.{kind} %d, %a, %b", t2, kind, lambda a, b: a - b),
        (f"mul.lo.{kind} %d, %a, %b", t2, kind, lambda a, b: a * b),
        (f"mul.hi.{kind} %d, %a, %b", t2, kind, lambda a, b, n=wide: a * b >> n),
        (f"mad.lo.{kind} %d, %a, %b, %c", f"{t2} {kind}", kind, lambda a, b, c: a * b + c),
        (f"min.{kind} %d, %a, %b", t2, kind, min),
        (f"max.{kind} %d, %a, %b", t2, kind, max),
        (f"setp.lt.{kind} %d, %a, %b", t2, "pred", lambda a, b: a < b),
        (f"setp.le.{kind} %d, %a, %b", t2, "pred", lambda a, b: a <= b),
        (f"setp.gt.{kind} %d, %a, %b", t2, "pred", lambda a, b: a > b),
        (f"setp.ge.{kind} %d, %a, %b", t2, "pred", lambda a, b: a >= b),
        (f"setp.eq.{kind} %d, %a, %b", t2, "pred", lambda a, b: a == b),
        (f"setp.ne.{kind} %d, %a, %b", t2, "pred", lambda a, b: a != b),
        *([(f"bfe.{kind} %d, %a, %b, %c", f"{kind} u32 u32", kind, extracted)] if wide > 16 and kind[0] == "u" else []),
        (f"shr.{kind} %d, %a, %b", f"{kind} u32", kind, lambda a, n, k=kind: shifted(a, n, k)),
    ]
    if wide < 64:
        double = kind[0] + str(2 * wide)
        INTEGERS += [
            (f"mul.wide.{kind} %d, %a, %b", t2, double, lambda a, b: a * b),
            (f"mad.wide.{kind} %d, %a, %b, %c", f"{t2} {double}", double, lambda a, b, c: a * b + c),
        ]
for n in (16, 32, 64):
    bits = f"b{n}"
    INTEGERS += [
        (f"and.{bits} %d, %a, %b", f"{bits} {bits}", bits, lambda a, b: a & b),
        (f"or.{bits} %d, %a, %b", f"{bits} {bits}", bits, lambda a, b: a | b),
        (f"xor.{bits} %d, %a, %b", f"{bits} {bits}", bits, lambda a, b: a ^ b),
        (f"not.{bits} %d, %a", bits, bits, lambda a: ~a),
        (f"shl.{bits} %d, %a, %b", f"{bits} u32", bits, lambda a, k, w=n: a << min(k, w)),
        (f"neg.s{n} %d, %a", f"s{n}", f"s{n}", lambda a: -a),
        (f"abs.s{n} %d, %a", f"s{n}", f"s{n}", abs),
        (f"selp.{bits} %d, %a, %b, %c", f"{bits} {bits} pred", bits, lambda a, b, p: a if p else b),
        (f"@%b mov.{bits} %d, %a;\n@!%b mov.{bits} %d, 5", f"{bits} pred", bits, lambda a, p: a if p else 5),
    ]
INTEGERS += [
    ("max.relu.s32 %d, %a, %b", "s32 s32", "s32", lambda a, b: max(a, b, 0)),
    ("min.relu.s32 %d, %a, %b", "s32 s32", "s32", lambda a, b: max(min(a, b), 0)),
    ("prmt.b32 %d, %a, %b, %c", "b32 b32 b32", "b32", permuted),
    ("shf.l.wrap.b32 %d, %a, %b, %c", "b32 b32 u32", "b32", lambda a, b, n: (b << 32 | a) << (n & 31) >> 32),
    ("shf.l.clamp.b32 %d, %a, %b, %c", "b32 b32 u32", "b32", lambda a, b, n: (b << 32 | a) << min(n, 32) >> 32),
    ("shf.r.wrap.b32 %d, %a, %b, %c", "b32 b32 u32", "b32", lambda a, b, n: (b << 32 | a) >> (n & 31)),
    ("shf.r.clamp.b32 %d, %a, %b, %c", "b32 b32 u32", "b32", lambda a, b, n: (b << 32 | a) >> min(n, 32)),
    ("popc.b32 %d, %a", "b32", "u32", int.bit_count),
    ("popc.b64 %d, %a", "b64", "u32", int.bit_count),
    ("clz.b32 %d, %a", "b32", "u32", lambda a: 32 - a.bit_length()),
    ("clz.b64 %d, %a", "b64", "u32", lambda a: 64 - a.bit_length()),
    ("brev.b32 %d, %a", "b32", "b32", lambda a: int(f"{a:032b}"[::-1], 2)),
    ("brev.b64 %d, %a", "b64", "b64", lambda a: int(f"{a:064b}"[::-1], 2)),
    ("setp.lo.u32 %d, %a, %b", "u32 u32", "pred", lambda a, b: a < b),
    ("setp.hs.u64 %d, %a, %b", "u64 u64", "pred", lambda a, b: a >= b),
    ("setp.lt.and.s32 %d, %a, %b, %c", "s32 s32 pred", "pred", lambda a, b, p: a < b and p),
    ("setp.lt.or.s32 %d, %a, %b, !%c", "s32 s32 pred", "pred", lambda a, b, p: a < b or not p),
    ("setp.eq.s32 %p8|%d, %a, %b", "s32 s32", "pred", lambda a, b: a != b),
    ("and.pred %d, %a, %b", "pred pred", "pred", lambda a, b: a and b),
    ("xor.pred %d, %a, %b", "pred pred", "pred", lambda a, b: a != b),
    ("not.pred %d, %a", "pred", "pred", lambda a: not a),
    ("mov.b32 %d, {%a, %b}", "b16 b16", "b32", lambda a, b: a | b << 16),
    ("mov.b64 %d, {%a, %b}", "b32 b32", "b64", lambda a, b: a | b << 32),
    ("mov.b64 {%r8, %d}, %a", "b64", "b32", lambda a: a >> 32),
    ("mov.b32 {%d, %rs8}, %a", "b32", "b16", lambda a: a),
    ("{ .reg .pred __$t; setp.lt.s32 __$t, %a, %b; selp.s32 %d, %a, %b, __$t; }", "s32 s32", "s32", min),
]
# 9.7.2 Extended precision: the first instruction leaves a carry or borrow, which the last one takes
for kind in ("s32", "u32", "s64", "u64"):
    m, n, x = 1 << TYPES[kind].bits, TYPES[kind].bits, "%r8" if kind[1:] == "32" else "%rd8"

    def low(a: int, b: int, c: int, m: int = m) -> int:
        return (a * b % m + c % m) // m

    def upper(a: int, b: int, c: int, n: int = n, m: int = m) -> int:
        return ((a * b >> n) % m + c % m) // m

    def twice(a: int, b: int, m: int = m) -> int:
        return (a % m + b % m + (a % m + b % m) // m) // m

    def borrowed(a: int, b: int, m: int = m) -> bool:
        return a % m < b % m + (a % m < b % m)

    t4 = " ".join([kind] * 4)
    CARRIES: list[tuple[str, Reference]] = [
        (f"add.cc.{kind} {x}, %a, %b; addc.{kind} %d, %c, %e", lambda a, b, c, e, m=m: c + e + (a % m + b % m) // m),
        (f"sub.cc.{kind} {x}, %a, %b; subc.{kind} %d, %c, %e", lambda a, b, c, e, m=m: c - e - (a % m < b % m)),
        (
            f"add.cc.{kind} {x}, %a, %b; addc.cc.{kind} {x}, %a, %b; addc.{kind} %d, %c, %e",
            lambda a, b, c, e, f=twice: c + e + f(a, b),
        ),
        (
            f"sub.cc.{kind} {x}, %a, %b; subc.cc.{kind} {x}, %a, %b; subc.{kind} %d, %c, %e",
            lambda a, b, c, e, f=borrowed: c - e - f(a, b),
        ),
        (f"mad.lo.cc.{kind} {x}, %a, %b, %c; addc.{kind} %d, %e, 0", lambda a, b, c, e, f=low: e + f(a, b, c)),
        (f"mad.hi.cc.{kind} {x}, %a, %b, %c; addc.{kind} %d, %e, 0", lambda a, b, c, e, f=upper: e + f(a, b, c)),
        (
            f"mad.lo.cc.{kind} {x}, %a, %b, %c; madc.hi.{kind} %d, %a, %b, %e",
            lambda a, b, c, e, f=low, n=n: (a * b >> n) + e + f(a, b, c),
        ),
        (
            f"mad.lo.cc.{kind} {x}, %a, %b, %c; madc.lo.{kind} %d, %a, %b, %e",
            lambda a, b, c, e, f=low: a * b + e + f(a, b, c),
        ),
        (
            f"add.cc.{kind} {x}, 0, 0; madc.lo.cc.{kind} {x}, %a, %b, %c; addc.{kind} %d, %e, 0",
            lambda a, b, c, e, f=low: e + f(a, b, c),
        ),
        (
            f"add.cc.{kind} {x}, 0, 0; madc.hi.cc.{kind} {x}, %a, %b, %c; addc.{kind} %d, %e, 0",
            lambda a, b, c, e, f=upper: e + f(a, b, c),
        ),
    ]
    INTEGERS += [(text, t4, kind, reference) for text, reference in CARRIES]
# 9.7.9.22 cvt between integers: cut, or filled up as the source says
for source, target in itertools.product(("s16", "u16", "s32", "u32", "s64", "u64"), repeat=2):
    if source != target:
        INTEGERS.append((f"cvt.{target}.{source} %d, %a", source, target, lambda a: a))


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("text", "sources", "target", "reference"), INTEGERS, ids=[row[0] for row in INTEGERS])
def test_integers(text: str, sources: str, target: str, reference: Reference) -> None:
    rng, kinds = np.random.default_rng(0), sources.split()
    given = [rng.permutation(np.array(words(k, rng, 96) if k != "pred" else [0, 1] * 48, object)) for k in kinds]
    if "u32" in kinds[1:] and text.startswith(("sh", "shf")):
        given[-1][:64] = range(64)
    found = run(text, kinds, target, *given)
    for k, row in enumerate(zip(*given, strict=True)):
        want = reference(*map(int, row))
        want = bool(want) if target == "pred" else wrapped(int(want), target)
        assert int(found[k]) == want, (text, row)


@pytest.mark.parametrize("kind", ["s16", "u16", "s32", "u32", "s64", "u64"])
def test_division_rounds_to_zero(kind: str) -> None:
    rng = np.random.default_rng(1)
    a = np.array(words(kind, rng, 64), object)
    b = np.array([n or 3 for n in rng.permutation(np.array(words(kind, rng, 64), object))], object)
    quotient, rest = (run(f"{name}.{kind} %d, %a, %b", [kind, kind], kind, a, b) for name in ("div", "rem"))
    for k in range(len(a)):
        exact = abs(a[k]) // abs(b[k]) * (-1 if (a[k] < 0) != (b[k] < 0) else 1)
        assert int(quotient[k]) == wrapped(exact, kind)
        assert int(rest[k]) == a[k] - exact * b[k]


def test_division_by_zero_is_reported() -> None:
    with pytest.raises(EmulatorError, match="expected a divisor other than 0, got 0"):
        run("div.s32 %d, %a, %b", ["s32", "s32"], "s32", [1], [0])
