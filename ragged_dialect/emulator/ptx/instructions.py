"""What PTX has of the instructions that the executor knows: by section of the PTX ISA manual 8.7, what translates them,
and their forms in the notation of `forms.py`, from a `.target` and a `.version` on.

What is not here is refused, be it that PTX has none such or that the executor does not know it. Some forms that do not
differ to the executor are not here either: cache operators and eviction priorities of vectors, say.
"""

from __future__ import annotations

from ragged_dialect.emulator.ptx import conversions, floats, integers, matrices, memory
from ragged_dialect.emulator.ptx.forms import by_opcode, forms

_BITS = "b16|b32|b64"
_INTEGERS = "u16|u32|u64|s16|s32|s64"
_WORDS = "u32|u64|s32|s64"
_BYTES = f"u8|s8|{_INTEGERS}"
_ORDERED = "eq|ne|lt|le|gt|ge"
_FLOAT_TESTS = f"{_ORDERED}|equ|neu|ltu|leu|gtu|geu|num|nan"
_WITH = ".and|or|xor"
_INTEGRAL = "rni|rzi|rmi|rpi"

_HALF_WORDS = "b8|b16|b32|u8|u16|u32|s8|s16|s32|f32"
_DOUBLE_WORDS = "b64|u64|s64|f64"
_ANY = f"{_HALF_WORDS}|{_DOUBLE_WORDS}"
_EVICT = "{.L1::evict_normal|L1::evict_first|L1::evict_last|L1::no_allocate}"
_FETCH = "{.L2::64B|L2::128B}"
_LOADS = (
    "ld{.weak}{.global|shared|const|local}",
    "ld.volatile{.global|shared}",
    "ld.relaxed|acquire.gpu|sys{.global|shared}",
    "ld.relaxed|acquire.cta.shared",
    "ld.global.nc",
)
_STORES = (
    "st{.weak}{.global|shared|local}",
    "st.volatile{.global|shared}",
    "st.relaxed|release.gpu|sys{.global|shared}",
    "st.relaxed|release.cta.shared",
)
_WIDE_LOADS = ("ld{.weak|volatile}{.global}", "ld.relaxed|acquire.gpu|sys{.global}", "ld.global.nc")
_WIDE_STORES = ("st{.weak|volatile}{.global}", "st.relaxed|release.gpu|sys{.global}")
_WHERE = ("{.gpu|sys}{.global|shared}", ".cta.shared")
"""Scopes: that of a block only for memory that no other one has."""
_ATOMS = tuple(f"atom{{.relaxed|acquire|release|acq_rel}}{where}" for where in _WHERE)
_REDS = tuple(f"red{{.relaxed|release}}{where}" for where in _WHERE)
_SUMMANDS = "u32|u64|s32|f32|f64"

FORMS = by_opcode([
    *forms("9.7.1.1", integers.binary, f"add|sub.{_INTEGERS} d, a, b"),
    *forms("9.7.1.3", integers.binary, f"mul.lo.{_INTEGERS} d, a, b"),
    *forms("9.7.1.3", integers.high, f"mul.hi.{_INTEGERS} d, a, b"),
    *forms("9.7.1.3", integers.wide, "mul.wide.u16|u32|s16|s32 d:wide, a, b"),
    *forms("9.7.1.4", integers.multiply_add, f"mad.lo.{_INTEGERS} d, a, b, c"),
    *forms("9.7.1.4", integers.wide, "mad.wide.u16|u32|s16|s32 d:wide, a, b, c:wide"),
    *forms("9.7.1.8", integers.division, f"div|rem.{_INTEGERS} d, a, b"),
    *forms("9.7.1.10", integers.unary, "abs|neg.s16|s32|s64 d, a"),
    *forms("9.7.1.12", integers.minimum, f"min|max.{_INTEGERS} d, a, b"),
    *forms("9.7.1.12", integers.minimum, "min|max.relu.s32 d, a, b", target=90, version=80),
    *forms("9.7.1.14", integers.count, "popc|clz.b32|b64 d:u32, a"),
    *forms("9.7.1.18", integers.count, "brev.b32|b64 d, a"),
    *forms("9.7.1.19", integers.extract, f"bfe.{_WORDS} d, a, b:u32, c:u32"),
    *forms("9.7.2.1", integers.carried, f"add.cc.{_WORDS} d, a, b"),
    *forms("9.7.2.2", integers.carried, f"addc{{.cc}}.{_WORDS} d, a, b"),
    *forms("9.7.2.3", integers.carried, f"sub.cc.{_WORDS} d, a, b"),
    *forms("9.7.2.4", integers.carried, f"subc{{.cc}}.{_WORDS} d, a, b"),
    *forms("9.7.2.5", integers.carried, f"mad.lo|hi.cc.{_WORDS} d, a, b, c"),
    *forms("9.7.2.6", integers.carried, f"madc.lo|hi{{.cc}}.{_WORDS} d, a, b, c"),
    *forms("9.7.3.1", floats.test, "testp.finite|infinite|number|notanumber.f32|f64 d:pred, a"),
    *forms("9.7.3.2", floats.copysign, "copysign.f32|f64 d, a, b"),
    *forms("9.7.3.3", floats.binary, "add|sub|mul{.rn}{.ftz}{.sat}.f32 d, a, b", "add|sub|mul{.rn}.f64 d, a, b"),
    *forms("9.7.3.3", floats.truncated, "add|sub|mul.rz{.ftz}{.sat}.f32 d, a, b"),
    *forms("9.7.3.3", floats.binary, "add|sub|mul{.rn}{.ftz}.f32x2 d, a, b", target=100),
    *forms("9.7.3.6", floats.fma, "fma.rn{.ftz}{.sat}.f32 d, a, b, c", "fma.rn.f64 d, a, b, c"),
    *forms("9.7.3.6", floats.truncated, "fma.rz{.ftz}{.sat}.f32 d, a, b, c"),
    *forms("9.7.3.6", floats.fma, "fma.rn{.ftz}.f32x2 d, a, b, c", target=100),
    *forms("9.7.3.8", floats.binary, "div.rn|approx|full{.ftz}.f32 d, a, b", "div.rn.f64 d, a, b"),
    *forms("9.7.3.9", floats.unary, "abs|neg{.ftz}.f32 d, a", "abs|neg.f64 d, a"),
    *forms("9.7.3.11", floats.extremum, "min|max{.ftz}{.NaN}.f32 d, a, b", "min|max.f64 d, a, b"),
    *forms("9.7.3.13", floats.unary, "rcp|sqrt.rn|approx{.ftz}.f32 d, a", "rcp|sqrt.rn.f64 d, a"),
    *forms("9.7.3.14", floats.high_half, "rcp.approx.ftz.f64 d, a"),
    *forms("9.7.3.16", floats.unary, "rsqrt.approx{.ftz}.f32 d, a", "rsqrt.approx.f64 d, a"),
    *forms("9.7.3.17", floats.high_half, "rsqrt.approx.ftz.f64 d, a"),
    *forms("9.7.3.18", floats.unary, "sin|cos|lg2|ex2.approx{.ftz}.f32 d, a"),
    *forms("9.7.3.22", floats.unary, "tanh.approx.f32 d, a"),
    *forms("9.7.4.1", floats.binary, "add|sub|mul{.rn}{.ftz}{.sat}.f16|f16x2 d, a, b"),
    *forms("9.7.4.1", floats.binary, "add|sub|mul{.rn}.bf16|bf16x2 d, a, b", target=90),
    *forms("9.7.4.4", floats.fma, "fma.rn{.ftz}{.sat}.f16|f16x2 d, a, b, c"),
    *forms("9.7.4.4", floats.fma, "fma.rn{.ftz}.relu.f16|f16x2 d, a, b, c", "fma.rn{.relu}.bf16|bf16x2 d, a, b, c"),
    *forms("9.7.4.5", floats.unary, "neg|abs{.ftz}.f16|f16x2 d, a", "neg|abs.bf16|bf16x2 d, a"),
    *forms("9.7.4.7", floats.extremum, "min|max{.ftz}{.NaN}.f16|f16x2 d, a, b", "min|max{.NaN}.bf16|bf16x2 d, a, b"),
    *forms("9.7.5.1", floats.mixed, "add|sub{.rn}{.sat}.f32.f16|bf16 d:f32, a, c:f32", target=100),
    *forms("9.7.5.3", floats.mixed, "fma.rn{.sat}.f32.f16|bf16 d:f32, a, b, c:f32", target=100),
    *forms(
        "9.7.6.2",
        integers.compare,
        f"setp.eq|ne.{_BITS} d{{|q}}:pred, a, b",
        f"setp.eq|ne{_WITH}.{_BITS} d{{|q}}:pred, a, b, c:pred",
        f"setp.{_ORDERED}.{_INTEGERS} d{{|q}}:pred, a, b",
        f"setp.{_ORDERED}{_WITH}.{_INTEGERS} d{{|q}}:pred, a, b, c:pred",
        "setp.lo|ls|hi|hs.u16|u32|u64 d{|q}:pred, a, b",
        f"setp.lo|ls|hi|hs{_WITH}.u16|u32|u64 d{{|q}}:pred, a, b, c:pred",
        f"setp.{_FLOAT_TESTS}.f32|f64 d{{|q}}:pred, a, b",
        f"setp.{_FLOAT_TESTS}{_WITH}.f32|f64 d{{|q}}:pred, a, b, c:pred",
    ),
    *forms("9.7.6.3", integers.select, f"selp.{_BITS}|{_INTEGERS}|f32|f64 d, a, b, c:pred"),
    *forms(
        "9.7.7.2",
        integers.compare,
        f"setp.{_FLOAT_TESTS}.f16 d:pred, a, b",
        f"setp.{_FLOAT_TESTS}{_WITH}.f16 d:pred, a, b, c:pred",
    ),
    *forms(
        "9.7.7.2",
        integers.compare,
        f"setp.{_FLOAT_TESTS}.bf16 d:pred, a, b",
        f"setp.{_FLOAT_TESTS}{_WITH}.bf16 d:pred, a, b, c:pred",
        target=90,
    ),
    *forms("9.7.8.1", integers.binary, f"and|or|xor.pred|{_BITS} d, a, b"),
    *forms("9.7.8.4", integers.unary, f"not.pred|{_BITS} d, a"),
    *forms("9.7.8.7", integers.funnel, "shf.l|r.wrap|clamp.b32 d, a, b, c:u32"),
    *forms("9.7.8.8", integers.shift, f"shl.{_BITS} d, a, b:u32", f"shr.{_BITS}|{_INTEGERS} d, a, b:u32"),
    *forms("9.7.9.3", integers.unary, f"mov.pred|{_BITS}|{_INTEGERS}|f32|f64 d, a"),
    *forms("9.7.9.3", integers.special, "mov.b32|u32|s32 d, sreg"),
    *forms("9.7.9.3", integers.address_of, "mov.b64|u64|s64 d, avar"),
    *forms("9.7.9.4", integers.pack, "mov.b32|b64 d, {a}:b16", "mov.b64 d, {a}:b32"),
    *forms("9.7.9.4", integers.unpack, "mov.b32|b64 {d}:b16, a", "mov.b64 {d}:b32, a"),
    *forms("9.7.9.6", memory.shuffle, "shfl.sync.up|down|bfly|idx.b32 d{|p}, a, b, c, e:u32"),
    *forms("9.7.9.7", integers.permute, "prmt.b32 d, a, b, c"),
    *forms("9.7.9.8", memory.parameter, f"ld.param.{_ANY} d, [a]"),
    *forms("9.7.9.8", memory.load, *(f"{head}.{_ANY} d, [a]" for head in _LOADS)),
    *forms("9.7.9.8", memory.load, *(f"{head}.v2.{_ANY} {{d}}, [a]" for head in _LOADS)),
    *forms("9.7.9.8", memory.load, *(f"{head}.v4.{_HALF_WORDS} {{d}}, [a]" for head in _LOADS)),
    *forms(
        "9.7.9.8",
        memory.load,
        *(f"{head}.v4.{_DOUBLE_WORDS} {{d}}, [a]" for head in _WIDE_LOADS),
        *(f"{head}.v8.b32|u32|s32|f32 {{d}}, [a]" for head in _WIDE_LOADS),
        target=100,
        version=88,
    ),
    *forms("9.7.9.8", memory.load, f"ld{{.global|shared|const}}.ca|cg|cs|lu|cv.{_ANY} d, [a]"),
    *forms(
        "9.7.9.8", memory.load, f"ld{{.weak}}{{.global}}{_EVICT}{_FETCH}.{_ANY} d, [a]",
        f"ld.global.nc{_EVICT}{_FETCH}.{_ANY} d, [a]", version=74,
    ),
    *forms("9.7.9.11", memory.store, *(f"{head}.{_ANY} [a], b" for head in _STORES)),
    *forms("9.7.9.11", memory.store, *(f"{head}.v2.{_ANY} [a], {{b}}" for head in _STORES)),
    *forms("9.7.9.11", memory.store, *(f"{head}.v4.{_HALF_WORDS} [a], {{b}}" for head in _STORES)),
    *forms(
        "9.7.9.11",
        memory.store,
        *(f"{head}.v4.{_DOUBLE_WORDS} [a], {{b}}" for head in _WIDE_STORES),
        *(f"{head}.v8.b32|u32|s32|f32 [a], {{b}}" for head in _WIDE_STORES),
        target=100,
        version=88,
    ),
    *forms("9.7.9.11", memory.store, f"st{{.global|shared}}.wb|cg|cs|wt.{_ANY} [a], b"),
    *forms("9.7.9.11", memory.store, f"st{{.weak}}{{.global}}{_EVICT}.{_ANY} [a], b", version=74),
    *forms("9.7.9.20", memory.convert_address, "cvta{.to}.global|shared.u64 d, a"),
    *forms("9.7.9.21", conversions.integers, f"cvt.{_BYTES}.{_BYTES} d:to, a"),
    *forms("9.7.9.21", conversions.to_float, f"cvt.rn.f16|f32|f64.{_BYTES} d:to, a"),
    *forms("9.7.9.21", conversions.to_float, f"cvt.rn.bf16.{_INTEGERS} d:to, a", target=90),
    *forms(
        "9.7.9.21",
        conversions.to_integer,
        f"cvt.{_INTEGRAL}.{_BYTES}.f16|f64 d:to, a",
        f"cvt.{_INTEGRAL}{{.ftz}}.{_BYTES}.f32 d:to, a",
    ),
    *forms("9.7.9.21", conversions.to_integer, f"cvt.{_INTEGRAL}.{_INTEGERS}.bf16 d:to, a", target=90),
    *forms(
        "9.7.9.21",
        conversions.floats,
        f"cvt{{.{_INTEGRAL}}}{{.sat}}.f16.f16 d:to, a",
        f"cvt{{.{_INTEGRAL}}}{{.ftz}}{{.sat}}.f32.f32 d:to, a",
        f"cvt{{.{_INTEGRAL}}}{{.sat}}.f64.f64 d:to, a",
        "cvt{.ftz}{.sat}.f32.f16 d:to, a",
        "cvt{.ftz}{.sat}.f64.f32 d:to, a",
        "cvt{.sat}.f64.f16 d:to, a",
        "cvt.rn{.sat}.f16.f64 d:to, a",
        "cvt.rn{.ftz}{.sat}.f16.f32 d:to, a",
        "cvt.rn{.ftz}{.sat}.f32.f64 d:to, a",
        "cvt.rn{.relu}.f16|bf16.f32 d:to, a",
    ),
    *forms("9.7.9.21", conversions.floats, "cvt.f32.bf16 d:to, a", version=71),
    *forms(
        "9.7.9.21",
        conversions.floats,
        f"cvt{{.{_INTEGRAL}}}.bf16.bf16 d:to, a",
        "cvt.ftz.f32.bf16 d:to, a",
        "cvt.f64.bf16 d:to, a",
        "cvt.rn.bf16.f64 d:to, a",
        target=90,
    ),
    *forms("9.7.9.21", conversions.pack, "cvt.rn{.relu}.f16x2|bf16x2.f32 d:to, a, b"),
    *forms(
        "9.7.9.25.3.1",
        matrices.copy,
        *(f"cp.async.ca.shared.global [d], [a], {size}" for size in (4, 8, 16)),
        *(f"cp.async.ca.shared.global [d], [a], {size}, {n}" for size in (4, 8, 16) for n in ("r:u32", 0, size)),
        "cp.async.cg.shared.global [d], [a], 16",
        *(f"cp.async.cg.shared.global [d], [a], 16, {n}" for n in ("r:u32", 0, 16)),
    ),
    *forms("9.7.9.25.3.2", matrices.end_group, "cp.async.commit_group"),
    *forms("9.7.9.25.3.3", matrices.wait_group, "cp.async.wait_group n"),
    *forms("9.7.9.25.3.3", matrices.wait_all, "cp.async.wait_all"),
    *forms("9.7.12.3", memory.branch, "bra{.uni} label"),
    *forms("9.7.12.6", memory.leave, "ret|exit"),
    *forms("9.7.13.1", memory.barrier, "bar.sync 0", "barrier.sync{.aligned} 0"),
    *forms("9.7.13.1", memory.barrier_reduction, "bar.red.popc.u32 d, 0, p:pred", "bar.red.and|or.pred d, 0, p"),
    *forms("9.7.13.2", memory.warp_barrier, "bar.warp.sync a:u32"),
    *forms("9.7.13.4", memory.nothing, "membar.cta|gl|sys", "fence{.sc|acq_rel}.cta|gpu|sys"),
    *forms(
        "9.7.13.5",
        memory.atomic,
        *(f"{atom}.add.{_SUMMANDS} d_, [a], b" for atom in _ATOMS),
        *(f"{atom}.min|max.{_WORDS} d_, [a], b" for atom in _ATOMS),
        *(f"{atom}.and|or|xor|exch.b32|b64 d_, [a], b" for atom in _ATOMS),
    ),
    *forms("9.7.13.5", memory.swap, *(f"{atom}.cas.b32|b64 d_, [a], b, c" for atom in _ATOMS)),
    *forms(
        "9.7.13.6",
        memory.atomic,
        *(f"{red}.add.{_SUMMANDS} [a], b" for red in _REDS),
        *(f"{red}.min|max.{_WORDS} [a], b" for red in _REDS),
        *(f"{red}.and|or|xor.b32|b64 [a], b" for red in _REDS),
    ),
    *forms("9.7.13.9", memory.vote, "vote.sync.all|any|uni.pred d, a, b:u32", "vote.sync.ballot.b32 d, a:pred, b:u32"),
    *forms("9.7.13.11", memory.active, "activemask.b32 d"),
    *forms("9.7.13.12", memory.reduction, "redux.sync.add|min|max.u32|s32 d, a, b:u32"),
    *forms("9.7.13.12", memory.reduction, "redux.sync.and|or|xor.b32 d, a, b:u32"),
    *forms(
        "9.7.14.5.14",
        matrices.multiply,
        *(f"mma.sync.aligned.m16n8k16.row.col.f32.{t}.{t}.f32 {{d*4}}, {{a*4}}:b32, {{b*2}}:b32, {{c*4}}"
          for t in ("f16", "bf16")),
    ),
    *forms("9.7.14.5.15", matrices.load_matrices, "ldmatrix.sync.aligned.m8n8.x4{.trans}{.shared}.b16 {d*4}:b32, [a]"),
])  # fmt: skip
"""By opcode."""
