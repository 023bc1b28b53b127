"""Spellings of PTX instructions, far more than there are, and which of them ptxas assembles.

A row: opcodes; modifiers in the order of the manual, those with `?` may be missing; operands. Of operands `T` is a
register of the last type, `S` of the type before it, `W` one of twice the bits, `V` as many registers as `.v` says.
Of `STATEMENTS` each operand is replaced by all `LOOKS`.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

from ragged_dialect.ptx.tools import require_tool

INTEGERS = "b8|b16|b32|b64|u8|u16|u32|u64|s8|s16|s32|s64"
FLOATS = "f16|bf16|f32|f64|f16x2|bf16x2|f32x2"
TYPES = f"pred|{INTEGERS}|{FLOATS}|u16x2|s16x2"
SOME = "b8|u16|b32|s32|u64|b64|f16|bf16|f32|f64|f16x2|f32x2|pred"
ORDER = "?weak|volatile|relaxed.cta|relaxed.gpu|acquire.gpu|acquire.sys|release.gpu|release.cta|relaxed|gpu"
SPACE = "?global|shared|shared::cta|const|local|param"
SEMANTICS, SCOPE = "?relaxed|acquire|release|acq_rel|volatile", "?cta|gpu|sys"
ATOMICS = "?add|and|or|xor|exch|min|max|inc"
ROUND = "?rn|rz|rm|rp|rni|rzi|rmi|rpi|approx|full"
COMPARE = "?eq|ne|lt|le|gt|ge|lo|ls|hi|hs|equ|neu|ltu|leu|gtu|geu|num|nan"
ROWS = (
    ("add sub mul div rem min max and or xor", (ROUND, "?ftz", "?sat", TYPES), "T T T"),
    ("mul", ("?hi|lo|wide", "?sat", TYPES), "T T T"),
    ("mul", ("wide|rn.wide", "?sat", TYPES), "W T T"),
    ("mad", ("?hi|lo", "?sat", TYPES), "T T T T"),
    ("mad", ("wide", "?sat", TYPES), "W T T W"),
    ("add addc sub subc", ("?cc", TYPES), "T T T"),
    ("mad madc", ("?hi|lo", "?cc", TYPES), "T T T T"),
    ("min max", ("?ftz", "?NaN", "?xorsign.abs", "?relu", TYPES), "T T T"),
    ("fma mad", (ROUND, "?ftz", "?sat", "?relu", TYPES), "T T T T"),
    ("add sub mul", ("?rn|rz", "?ftz", "?sat", FLOATS, FLOATS), "S T S"),
    ("fma", ("?rn|rz", "?ftz", "?sat", FLOATS, FLOATS), "S T T S"),
    ("neg abs not copysign cnot", ("?rn|approx", "?ftz", "?sat", TYPES), "T T"),
    ("copysign", ("?ftz", TYPES), "T T T"),
    ("rcp sqrt rsqrt ex2 lg2 sin cos tanh", (ROUND, "?ftz", "?sat", TYPES), "T T"),
    ("testp", ("?finite|infinite|number|notanumber|normal", "?ftz", TYPES), "%p1 T"),
    ("shl shr", ("?wrap|clamp", TYPES), "T T %r1"),
    ("shf", ("?l|r", "?wrap|clamp", TYPES), "T T T %r1"),
    ("bfe", (TYPES,), "T T %r1 %r2"),
    ("popc clz", (TYPES,), "%r1 T"),
    ("brev", (TYPES,), "T T"),
    ("prmt", ("?f4e|b4e|rc8", TYPES), "T T %r1 %r2"),
    ("setp", (COMPARE, "?ftz", TYPES), "%p1 T T"),
    ("setp", ("eq|lo|leu|num", "?and|or|xor|not", "?ftz", TYPES), "%p1|%p2 T T !%p3"),
    ("selp", ("?ftz", TYPES), "T T T %p1"),
    ("mov", ("?ftz", TYPES), "T T"),
    ("mov", (TYPES,), "T %tid.x"),
    ("mov", (TYPES,), "T variable"),
    ("mov", (TYPES,), "T {%rb1,%rb2}"),
    ("mov", (TYPES,), "T {%rs1,%rs2}"),
    ("mov", (TYPES,), "{%rs1,%rs2,%rs3,_} T"),
    ("mov", (TYPES,), "{_,%r2} T"),
    ("cvt", (ROUND, "?relu", "?ftz", "?sat", f"{INTEGERS}|{FLOATS}", f"{INTEGERS}|{FLOATS}"), "S T"),
    ("cvt", ("?rn|rz|rna|rni", "?relu", "?ftz", "?sat", FLOATS, FLOATS), "S T T"),
    ("ld", (ORDER, SPACE, "?nc", "?v2|v4|v8|v3", TYPES), "V [%rd9]"),
    ("ld", ("?volatile|relaxed.gpu", SPACE, "?ca|cg|cs|lu|cv|wb|wt", "?nc", SOME), "T [%rd9]"),
    ("ld", ("?weak", SPACE, "?nc", "?L1::evict_normal|L1::evict_first|L1::evict_last|L1::no_allocate|L2::evict_last",
            "?L2::64B|L2::128B|L2::256B|L3::64B", SOME), "T [%rd9]"),
    ("ld", ("param", TYPES), "T [k_param_64]"),
    ("st", (ORDER, SPACE, "?nc", "?v2|v4|v8|v3", TYPES), "[%rd9] V"),
    ("st", ("?volatile|relaxed.gpu", SPACE, "?wb|cg|cs|wt|ca|cv", SOME), "[%rd9] T"),
    ("st", ("?weak", SPACE, "?L1::evict_normal|L1::evict_first|L1::evict_last|L1::no_allocate|L2::128B", SOME),
     "[%rd9] T"),
    ("atom red", (SEMANTICS, SCOPE, "?global|shared|const", "?add|exch|min", SOME), "[%rd9] T"),
    ("atom red", ("?relaxed", "?gpu", "?global|shared", ATOMICS, "?noftz", TYPES), "[%rd9] T"),
    ("atom", (SEMANTICS, SCOPE, "?global|shared|const", "?add|exch|min", SOME), "T [%rd9] T"),
    ("atom", ("?relaxed", "?gpu", "?global|shared", ATOMICS, "?noftz", TYPES), "T [%rd9] T"),
    ("atom", (SEMANTICS, SCOPE, "?global|shared|const", "cas", SOME), "T [%rd9] T T"),
    ("membar", ("?cta|gl|sys|gpu",), ""),
    ("fence", ("?sc|acq_rel|acquire|release|proxy|mbarrier_init", "?cta|gpu|sys|gl|alias|async"), ""),
    ("cvta", ("?to", "?global|shared|shared::cta|local|const|param", "u32|u64|s64|b64"), "%rd1 %rd2"),
    ("bra", ("?uni|sync",), "L0"),
    ("ret exit", ("?uni",), ""),
    ("bar barrier", ("?sync|arrive|cta", "?aligned|sync"), "0"),
    ("bar barrier", ("red", "?aligned", "?popc|and|or|xor", TYPES), "T 0 %p1"),
    ("bar barrier", ("warp", "?sync|arrive"), "-1"),
    ("shfl", ("?sync", "?up|down|bfly|idx", TYPES), "T|%p1 T 1 31 -1"),
    ("vote", ("?sync", "?all|any|uni|ballot", TYPES), "T %p1 -1"),
    ("redux", ("?sync", "?add|min|max|and|or|xor", "?abs", "?NaN", TYPES), "T T -1"),
    ("activemask", (TYPES,), "T"),
    ("mma", ("?sync", "?aligned", "?m16n8k16|m16n8k8", "row|col", "row|col", "?f16|f32|bf16", "f16|bf16|tf32",
             "f16|bf16", "f16|f32"), "{%r1,%r2,%r3,%r4} {%r5,%r6,%r7,%r8} {%r9,%r1} {%r2,%r3,%r4,%r5}"),
    ("ldmatrix", ("?sync", "?aligned", "?m8n8|m16n16", "?x1|x2|x4", "?trans", "?shared|global", "b16|b8|b32"),
     "{%r1,%r2,%r3,%r4} [%rd9]"),
    ("cp", ("?async", "?ca|cg|cv", "?shared", "?global"), "[%rd8] [%rd9] 16"),
    ("cp", ("async", "ca|cg", "shared|global", "global"), "[%rd8] [%rd9] 8 %r1"),
    ("cp", ("async", "?commit_group|wait_group|wait_all|wait"), "3"),
    ("cp", ("async", "?commit_group|wait_group|wait_all|wait"), ""),
)  # fmt: skip
STATEMENTS = (
    "add.s32 %r1, %r2, %r3;",
    "add.f32 %r1, %r2, %r3;",
    "add.rn.f16 %rs1, %rs2, %rs3;",
    "add.bf16x2 %r1, %r2, %r3;",
    "add.f64 %rd1, %rd2, %rd3;",
    "and.b32 %r1, %r2, %r3;",
    "and.pred %p1, %p2, %p3;",
    "mul.wide.u16 %r1, %rs2, %rs3;",
    "shl.b64 %rd1, %rd2, %r3;",
    "setp.lt.or.s64 %p1|%p2, %rd1, %rd2, %p3;",
    "setp.gtu.bf16 %p1, %rs1, %rs2;",
    "selp.f32 %r1, %r2, %r3, %p1;",
    "mov.b16 %rs1, %rs2;",
    "mov.u32 %r1, %r2;",
    "mov.b64 %rd1, %rd2;",
    "mov.f64 %rd1, %rd2;",
    "mov.pred %p1, %p2;",
    "cvt.u8.u32 %rs1, %r2;",
    "cvt.rn.f32.u16 %r1, %rs2;",
    "cvt.f64.f32 %rd1, %r2;",
    "cvta.to.global.u64 %rd1, %rd2;",
    "ld.global.b8 %rs1, [%rd2];",
    "ld.global.f32 %r1, [%rd2];",
    "st.global.u16 [%rd2], %rs1;",
    "st.global.f64 [%rd2], %rd1;",
    "atom.global.add.u32 %r1, [%rd2], %r3;",
    "red.shared.add.f32 [%rd2], %r3;",
    "shfl.sync.idx.b32 %r1|%p1, %r2, %r3, 31, -1;",
    "vote.sync.ballot.b32 %r1, %p1, -1;",
    "bar.red.popc.u32 %r1, 0, %p1;",
    "redux.sync.add.s32 %r1, %r2, %r3;",
    "bar.sync 0;",
    "bra L0;",
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r1,%r2,%r3,%r4}, {%r5,%r6,%r7,%r8}, {%r9,%r1}, "
    "{%r2,%r3,%r4,%r5};",
    "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1,%r2,%r3,%r4}, [%rd9];",
    "cp.async.cg.shared.global [%rd8], [%rd9], 16, %r1;",
    "cp.async.wait_group 3;",
)
LOOKS = (
    *(f"%{kind}4" for kind in ("rb", "rs", "r", "rd", "si", "ud", "hf", "f", "fd", "hh")),
    *("%p4", "!%p4", "%p4|%p5", "%p4|_", "_", "plain", "%none1", "0", "7", "-1", "5U", "0x10", "2147483648"),
    *("0f3F800000", "0d3FF0000000000000", "%tid.x", "%laneid", "variable", "k_param_64", "L0", "{%rs4,%rs5}"),
    *("{%r4,%r5}", "{%r4,%rd5}", "{%r4}", "[%rd4]", "[%rd4+8]", "[%rd4+-8]", "[%r4]"),
    *("[%fd4]", "[variable]", "[variable+4]", "[16]", "[%tid.x]", "[L0]"),
)
AT_ONCE = 2000
"""Statements per kernel."""
HEADER = """.version {version}
.target {target}
.address_size 64
.visible .entry k(
.param .b8 k_param_8,
.param .b16 k_param_16,
.param .b32 k_param_32,
.param .b64 k_param_64
)
{{
.reg .pred %p<10>;
.reg .b16 %rb<10>;
.reg .b16 %rs<10>;
.reg .b32 %r<10>;
.reg .b64 %rd<10>;
.reg .s32 %si<10>;
.reg .u64 %ud<10>;
.reg .f16 %hf<10>;
.reg .f32 %f<10>;
.reg .f64 %fd<10>;
.reg .f16x2 %hh<10>;
.reg .b32 plain;
.shared .align 8 .b8 variable[8];
.local .align 16 .b8 spot[16];
L0:
"""


def spellings() -> list[str]:
    """Statements, each once."""
    return list(dict.fromkeys([*(made for row in ROWS for made in _row(*row)), *_replaced()]))


def _replaced() -> Iterator[str]:
    for statement in STATEMENTS:
        name, _, text = statement.rstrip(";").partition(" ")
        operands = text.split(", ")
        yield f"{name} {', '.join(operands[:-1])};"
        yield f"{name} {', '.join([*operands, operands[-1]])};"
        for position, look in product(range(len(operands)), LOOKS):
            yield f"{name} {', '.join([*operands[:position], look, *operands[position + 1 :]])};"


def _row(opcodes: str, modifiers: Sequence[str], operands: str) -> Iterator[str]:
    axes = [("", *axis[1:].split("|")) if axis[0] == "?" else axis.split("|") for axis in modifiers]
    for opcode, *chosen in product(opcodes.split(), *axes):
        names = [part for part in chosen if part]
        yield f"{'.'.join([opcode, *names])} {', '.join(_operands(operands, names))};"


def _operands(operands: str, names: Sequence[str]) -> Iterator[str]:
    for number, operand in enumerate(operands.split(), 1):
        if operand[0] in "TSW":
            kind = names[-2 if operand[0] == "S" else -1]
            yield register(kind, number, 2 if operand[0] == "W" else 1) + operand[1:]
        elif operand == "V":
            count = next((int(name[1:]) for name in names if re.fullmatch(r"v\d", name)), 1)
            registers = [register(names[-1], k + 1) for k in range(count)]
            yield f"{{{','.join(registers)}}}" if count > 1 else registers[0]
        else:
            yield operand


def register(kind: str, number: int, times: int = 1) -> str:
    """A register of as many bits as a type has."""
    if kind == "pred":
        return f"%p{number}"
    bits = {"f16x2": 32, "bf16x2": 32, "u16x2": 32, "s16x2": 32, "f32x2": 64}.get(kind) or int(kind.lstrip("busf"))
    return f"%{ {8: 'rb', 16: 'rs', 32: 'r', 64: 'rd'}.get(bits * times, 'none') }{number}"


def module(statements: Sequence[str], target: str, version: str) -> str:
    """A kernel of some statements, each on its line."""
    return HEADER.format(target=target, version=version) + "\n".join([*statements, "ret;\n}\n"])


def refused(statements: Sequence[str], target: str, version: str, folder: Path) -> dict[str, str]:
    """What ptxas says of those statements that it refuses. It finds faults in several steps, so it is asked until it
    has none."""
    found = dict[str, str]()
    for start in range(0, len(statements), AT_ONCE):
        left = statements[start : start + AT_ONCE]
        while wrong := _complaints(left, target, version, folder):
            found |= wrong
            left = [statement for statement in left if statement not in wrong]
    return found


def _complaints(statements: Sequence[str], target: str, version: str, folder: Path) -> dict[str, str]:
    source = folder / "spellings.ptx"
    source.write_text(module(statements, target, version))
    command = [require_tool("ptxas"), "-O0", f"-arch={target}", source, "-o", folder / "spellings.cubin"]
    done = subprocess.run(command, capture_output=True, text=True)
    first = HEADER.count("\n") + 1
    said = re.findall(r"line (\d+); (?:error|fatal) +: (.*)", done.stderr)
    assert bool(said) == bool(done.returncode), done.stderr[:2000]
    assert all(int(line) >= first for line, _ in said), done.stderr[:2000]
    return {statements[int(line) - first]: text for line, text in said}
