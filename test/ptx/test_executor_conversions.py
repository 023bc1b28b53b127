"""What PTX instructions convert, and what of their texts is refused: against exact fractions, or NumPy.

The section numbers are those of the PTX ISA manual, version 8.7.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.ptx_numbers import floats, nearest, same, words, wrapped
from support.ptx_text import DTYPES, run

from ragged_dialect.emulator.ptx import PtxExecutor
from ragged_dialect.emulator.ptx.types import TYPES
from ragged_dialect.errors import EmulatorError

Reference = Callable[..., Any]


ROUNDINGS = [("rzi", np.trunc), ("rni", np.rint), ("rmi", np.floor), ("rpi", np.ceil)]


# 9.7.9.22: cvt
@pytest.mark.parametrize("target", ["f16", "bf16", "f32", "f64"])
@pytest.mark.parametrize("source", ["f16", "bf16", "f32", "f64"])
def test_conversions_of_floats(source: str, target: str) -> None:
    if source == target or {source, target} == {"f16", "bf16"}:
        return
    a = floats(source, 400)
    narrowing = TYPES[target].bits < TYPES[source].bits
    found = run(f"cvt{'.rn' if narrowing else ''}.{target}.{source} %d, %a", [source], target, a)
    fine = np.isfinite(a.astype(np.float64))
    want = np.array([nearest(Fraction(float(x)), target) if ok else 0 for x, ok in zip(a, fine, strict=True)])
    zero = a.astype(np.float64) == 0
    same(found[fine & ~zero], want.astype(DTYPES[target])[fine & ~zero])
    with np.errstate(all="ignore"):
        same(found[~fine | zero], a[~fine | zero].astype(DTYPES[target]))


@pytest.mark.parametrize("target", ["f16", "bf16", "f32", "f64"])
@pytest.mark.parametrize("source", ["s16", "u16", "s32", "u32", "s64", "u64"])
def test_integers_to_floats(source: str, target: str) -> None:
    halves = [257, 0x1010001, 0x1010000FF, 0x101000000000001, 0x1FEFFFFFFFFFFFFF]  # of bf16, or beside them
    fitting = [n for n in halves if n < 1 << TYPES[source].bits - 1]
    opposite = [-n for n in fitting] if TYPES[source].signed else []
    a = np.array([*words(source, np.random.default_rng(0), 100), *fitting, *opposite], object)
    found = run(f"cvt.rn.{target}.{source} %d, %a", [source], target, a)
    assert [float(x) for x in found] == [float(nearest(Fraction(int(x)), target)) for x in a]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("mode", "reference"), ROUNDINGS)
@pytest.mark.parametrize("target", ["s16", "u16", "s32", "u32", "s64", "u64"])
@pytest.mark.parametrize("source", ["f16", "bf16", "f32", "f64"])
def test_floats_to_integers(source: str, target: str, mode: str, reference: Reference) -> None:
    """Clamped; a NaN gives 0, or the highest bit where a side has 64 bits."""
    a = np.concatenate([floats(source), np.array([0.5, -0.5, 2.5, -2.5, 1e4, 3e4, -3e4], DTYPES[source])])
    found = run(f"cvt.{mode}.{target}.{source} %d, %a", [source], target, a)
    info = np.iinfo(DTYPES[target])
    for x, got in zip(a.astype(np.float64), found, strict=True):
        if np.isnan(x):
            highest = 1 << TYPES[target].bits - 1
            want = wrapped(highest, target) if source == "f64" or target.endswith("64") else 0
        elif np.isinf(x):
            want = info.max if x > 0 else info.min
        else:
            want = min(max(int(reference(x)), int(info.min)), int(info.max))
        assert int(got) == want, (x, mode)


@pytest.mark.parametrize(("mode", "reference"), ROUNDINGS)
def test_rounding_to_integral_numbers(mode: str, reference: Reference) -> None:
    for kind in ("f32", "f64"):
        a = floats(kind)
        same(run(f"cvt.{mode}.{kind}.{kind} %d, %a", [kind], kind, a), reference(a))


# 5.2: a register wider than the access
@pytest.mark.parametrize(("kind", "want"), [("u8", 0xFE), ("b8", 0xFE), ("s8", -2)])
def test_narrow_loads_fill_up(kind: str, want: int) -> None:
    text = f"st.global.b8 [%rd20], 254;\nld.global.{kind} %d, [%rd20]"
    assert int(run(text, ["b32"], "s32", [7])[0]) == want


# 4.5, 5.1: a scope may name what another one has
def test_registers_of_scopes() -> None:
    text = (
        "{ .reg .b16 tmp; mov.b32 {tmp, %rs18}, %a; }\n{ .reg .b32 tmp; cvt.u32.u16 tmp, %rs18; add.u32 %d, tmp, 1; }"
    )
    assert int(run(text, ["u32"], "u32", [0x70001])[0]) == 8


def test_unknown_instructions_are_refused() -> None:
    text = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\nwgmma.fence.sync.aligned;\nret;\n}\n"
    with pytest.raises(EmulatorError, match=r"line 6: expected a PTX instruction that the executor knows, got wgmma"):
        PtxExecutor(text).launch("k", (1, 1, 1), (1, 1, 1), [])


@pytest.mark.parametrize("text", ["add.sat.s32 %d, %a, %b", "setp.weird.s32 %d, %a, %b", "cvt.rz.f16.f32 %d, %a"])
def test_unknown_modifiers_are_refused(text: str) -> None:
    with pytest.raises(EmulatorError, match="expected"):
        run(text, ["b32", "b32"], "b32", [1], [1])
