"""PTX of one instruction, run on many operands: a thread for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from ragged_dialect.emulator.ptx import PtxExecutor
from ragged_dialect.emulator.ptx.types import TYPES

DTYPES: dict[str, Any] = {
    **{f"{k}{n}": np.dtype(f"{'i' if k == 's' else 'u'}{n // 8}") for k in "bus" for n in (8, 16, 32, 64)},
    **{"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64},
    **{"f16x2": np.uint32, "bf16x2": np.uint32, "f32x2": np.uint64, "pred": np.uint8},
}
_REGISTERS = {1: "p", 8: "rs", 16: "rs", 32: "r", 64: "rd"}


def kernel(instruction: str, sources: Sequence[str], target: str) -> str:
    """A kernel that runs an instruction of `%d` (the result), `%a`, `%b`, `%c` and `%e` in every thread."""
    lines, names = list[str](), dict[str, str]()
    for number, kind in enumerate(sources):
        names["abce"[number]] = _loaded(lines, number, kind)
    names["d"] = f"%{_REGISTERS[TYPES[target].bits]}9"
    text = instruction
    for name, register in names.items():
        text = text.replace(f"%{name}", register)
    parameters = ",\n".join(f".param .u64 .ptr .align 16 k_param_{i}" for i in range(len(sources) + 1))
    body = "\n".join([*lines, text + ";", *_stored(len(sources), target)])
    return (
        f".version 8.7\n.target sm_100\n.address_size 64\n.visible .entry k(\n{parameters}\n)\n{{\n"
        ".reg .pred %p<10>;\n.reg .b16 %rs<20>;\n.reg .b32 %r<30>;\n.reg .b64 %rd<40>;\n"
        f"mov.u32 %r20, %tid.x;\n{body}\nret;\n}}\n"
    )


def _bytes(kind: str) -> int:
    return max(TYPES[kind].bits, 8) // 8


def _address(number: int, kind: str) -> list[str]:
    at = f"%rd{20 + number}"
    return [
        f"ld.param.b64 {at}, [k_param_{number}];",
        f"cvta.to.global.u64 {at}, {at};",
        f"mul.wide.u32 %rd39, %r20, {_bytes(kind)};",
        f"add.s64 {at}, {at}, %rd39;",
    ]


def _loaded(lines: list[str], number: int, kind: str) -> str:
    register = f"%{_REGISTERS[TYPES[kind].bits]}{number + 1}"
    lines += _address(number, kind)
    if kind == "pred":
        lines += [f"ld.global.b8 %rs19, [%rd{20 + number}];", f"setp.ne.b16 {register}, %rs19, 0;"]
    else:
        lines.append(f"ld.global.b{TYPES[kind].bits} {register}, [%rd{20 + number}];")
    return register


def _stored(number: int, kind: str) -> list[str]:
    register = f"%{_REGISTERS[TYPES[kind].bits]}9"
    lines = _address(number, kind)
    if kind == "pred":
        return [*lines, f"selp.b16 %rs19, 1, 0, {register};", f"st.global.b8 [%rd{20 + number}], %rs19;"]
    return [*lines, f"st.global.b{TYPES[kind].bits} [%rd{20 + number}], {register};"]


def run(instruction: str, sources: Sequence[str], target: str, *values: Any) -> Any:
    """The results of an instruction for every element of `values`."""
    given = [np.ascontiguousarray(v, DTYPES[kind]) for v, kind in zip(values, sources, strict=True)]
    made = np.zeros(len(given[0]), DTYPES[target])
    executor = PtxExecutor(kernel(instruction, sources, target))
    for start in range(0, len(made), 1024):
        part = [np.ascontiguousarray(v[start : start + 1024]) for v in (*given, made)]
        executor.launch("k", (1, 1, 1), (len(part[-1]), 1, 1), part)
        made[start : start + 1024] = part[-1]
    return made
