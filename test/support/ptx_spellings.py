"""Spellings of PTX instructions, far more than there are, and which of them ptxas assembles.

A row: opcodes; modifiers in the order of the manual, those with `?` may be missing; operands. Of operands `T` is a
register of the last type, `S` of the type before it, `W` one of twice the bits, `V` as many registers as `.v` says.
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
ROUND = "?rn|rz|rm|rp|rni|rzi|rmi|rpi|approx|full"
COMPARE = "?eq|ne|lt|le|gt|ge|lo|ls|hi|hs|equ|neu|ltu|leu|gtu|geu|num|nan"
ROWS = (
    ("add sub mul div rem min max and or xor", (ROUND, "?ftz", "?sat", TYPES), "T T T"),
    ("mul", ("?hi|lo|wide", "?sat", TYPES), "T T T"),
    ("mul", ("wide|rn.wide", "?sat", TYPES), "W T T"),
    ("mad", ("?hi|lo", "?sat", TYPES), "T T T T"),
    ("mad", ("wide", "?sat", TYPES), "W T T W"),
    ("min max", ("?ftz", "?NaN", "?xorsign.abs", "?relu", TYPES), "T T T"),
    ("fma mad", (ROUND, "?ftz", "?sat", "?relu", TYPES), "T T T T"),
    ("add sub mul", ("?rn|rz", "?ftz", "?sat", FLOATS, FLOATS), "S T S"),
    ("fma", ("?rn|rz", "?ftz", "?sat", FLOATS, FLOATS), "S T T S"),
    ("neg abs not copysign cnot", ("?rn|approx", "?ftz", "?sat", TYPES), "T T"),
    ("copysign", ("?ftz", TYPES), "T T T"),
    ("rcp sqrt rsqrt ex2 lg2 sin cos tanh", (ROUND, "?ftz", "?sat", TYPES), "T T"),
    ("testp", ("?finite|infinite|number|notanumber|normal", "?ftz", TYPES), "%p1 T"),
    ("shl shr", ("?wrap|clamp", TYPES), "T T %b32_1"),
    ("shf", ("?l|r", "?wrap|clamp", TYPES), "T T T %b32_1"),
    ("bfe", (TYPES,), "T T %b32_1 %b32_2"),
    ("popc clz", (TYPES,), "%b32_1 T"),
    ("brev", (TYPES,), "T T"),
    ("prmt", ("?f4e|b4e|rc8", TYPES), "T T %b32_1 %b32_2"),
    ("setp", (COMPARE, "?ftz", TYPES), "%p1 T T"),
    ("setp", ("eq|lo|leu|num", "?and|or|xor|not", "?ftz", TYPES), "%p1|%p2 T T !%p3"),
    ("selp", ("?ftz", TYPES), "T T T %p1"),
    ("mov", ("?ftz", TYPES), "T T"),
    ("mov", (TYPES,), "T %tid.x"),
    ("mov", (TYPES,), "T variable"),
    ("mov", (TYPES,), "T {%b8_1,%b8_2}"),
    ("mov", (TYPES,), "T {%b16_1,%b16_2}"),
    ("mov", (TYPES,), "{%b16_1,%b16_2,%b16_3,_} T"),
    ("mov", (TYPES,), "{_,%b32_2} T"),
    ("cvt", (ROUND, "?relu", "?ftz", "?sat", f"{INTEGERS}|{FLOATS}", f"{INTEGERS}|{FLOATS}"), "S T"),
    ("cvt", ("?rn|rz|rna|rni", "?relu", "?ftz", "?sat", FLOATS, FLOATS), "S T T"),
    ("ld", (ORDER, SPACE, "?nc", "?v2|v4|v8|v3", TYPES), "V [%b64_9]"),
    ("ld", ("?volatile|relaxed.gpu", SPACE, "?ca|cg|cs|lu|cv|wb|wt", "?nc", SOME), "T [%b64_9]"),
    ("ld", ("?weak", SPACE, "?nc", "?L1::evict_normal|L1::evict_first|L1::evict_last|L1::no_allocate|L2::evict_last",
            "?L2::64B|L2::128B|L2::256B|L3::64B", SOME), "T [%b64_9]"),
    ("ld", ("param", TYPES), "T [k_param_0]"),
    ("st", (ORDER, SPACE, "?nc", "?v2|v4|v8|v3", TYPES), "[%b64_9] V"),
    ("st", ("?volatile|relaxed.gpu", SPACE, "?wb|cg|cs|wt|ca|cv", SOME), "[%b64_9] T"),
    ("st", ("?weak", SPACE, "?L1::evict_normal|L1::evict_first|L1::evict_last|L1::no_allocate|L2::128B", SOME),
     "[%b64_9] T"),
    ("atom", ("?relaxed|acquire|release|acq_rel|volatile", "?cta|gpu|sys", "?global|shared|shared::cta|const",
              "?add|and|or|xor|exch|min|max|inc", "?noftz", TYPES), "T [%b64_9] T"),
    ("atom", ("?relaxed|acquire|release|acq_rel", "?cta|gpu|sys", "?global|shared|const", "cas", TYPES),
     "T [%b64_9] T T"),
    ("red", ("?relaxed|acquire|release|acq_rel|volatile", "?cta|gpu|sys", "?global|shared|shared::cta|const",
             "?add|and|or|xor|exch|min|max|inc", "?noftz", TYPES), "[%b64_9] T"),
    ("membar", ("?cta|gl|sys|gpu",), ""),
    ("fence", ("?sc|acq_rel|acquire|release|proxy|mbarrier_init", "?cta|gpu|sys|gl|alias|async"), ""),
    ("cvta", ("?to", "?global|shared|shared::cta|local|const|param", "u32|u64|s64|b64"), "%b64_1 %b64_2"),
    ("bra", ("?uni|sync",), "L0"),
    ("ret exit", ("?uni",), ""),
    ("bar barrier", ("?sync|arrive|cta", "?aligned|sync"), "0"),
    ("bar barrier", ("red", "?aligned", "?popc|and|or|xor", TYPES), "T 0 %p1"),
    ("bar barrier", ("warp", "?sync|arrive"), "-1"),
    ("shfl", ("?sync", "?up|down|bfly|idx", TYPES), "T|%p1 T 1 31 -1"),
    ("vote", ("?sync", "?all|any|uni|ballot", TYPES), "T %p1 -1"),
    ("redux", ("?sync", "?add|min|max|and|or|xor", "?abs", "?NaN", TYPES), "T T -1"),
    ("activemask", (TYPES,), "T"),
)  # fmt: skip
AT_ONCE = 2000
"""Statements per kernel."""
HEADER = """.version {version}
.target {target}
.address_size 64
.visible .entry k(
.param .b64 k_param_0
)
{{
.reg .pred %p<10>;
.reg .b16 %b8_<10>;
.reg .b16 %b16_<10>;
.reg .b32 %b32_<10>;
.reg .b64 %b64_<10>;
.reg .b128 %b128_<10>;
.shared .align 8 .b8 variable[8];
L0:
"""


def spellings() -> list[str]:
    """Statements, each once."""
    return list(dict.fromkeys(made for row in ROWS for made in _row(*row)))


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
    return f"%b{bits * times}_{number}"


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
    lines = re.findall(r"line (\d+); (?:error|fatal) +: (.*)", done.stderr)
    assert bool(lines) == bool(done.returncode), done.stderr[:2000]
    return {statements[int(line) - first]: text for line, text in lines}
