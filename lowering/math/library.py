"""Calls of the C math library that LLVM's loop vectoriser can vectorise, and what the host offers.

The vectoriser takes the variants of a function (variants.py) only if the module has them, and
unused symbols would be dropped before it runs: `llvm.compiler.used` keeps them.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from ragged_dialect._mlir import ir, llvm, scf, vector
from ragged_dialect.host_cpu import host_has
from ragged_dialect.ir import build
from ragged_dialect.ir.walk import locate
from ragged_dialect.lowering.attributes import GUARD
from ragged_dialect.lowering.math.emitter import Number
from ragged_dialect.lowering.math.variants import (
    MASKED_LANES,
    PREFIX,
    masked_function,
    scalar_function,
    widened_function,
)
from ragged_dialect.passes.base import PassFailure
from ragged_dialect.runtime.vector_math import libmvec

# Lanes of f64 and the letter of the instruction set in the vector ABI.
VECTOR_ISAS = {
    "none": (),
    "sse": ((2, "b"),),
    "avx2": ((2, "b"), (4, "d")),
    **dict.fromkeys(("avx512", "avx512bf16", "amxbf16"), ((2, "b"), (4, "d"), (8, "e"))),
}
VECTOR = "_ZGV"
"""What the names of vector functions begin with."""

_USED = "llvm.compiler.used"


def host_isa() -> str:
    """The widest entry of VECTOR_ISAS that this machine and its C library can run."""
    if libmvec() is None:
        return "none"
    if host_has("avx512bw"):  # without it LLVM has no masks of 16 bits
        return "avx512"
    return "avx2" if host_has("avx2") else "sse"


def require_isa(op: ir.Operation, isa: str) -> None:
    """PassFailure, at the op that a pass runs on, for an `isa` that there is not."""
    if isa != "auto" and isa not in VECTOR_ISAS:
        raise PassFailure(op, f"expected isa to be auto or one of {', '.join(VECTOR_ISAS)}, got {isa}")


def has_fused(isa: str) -> bool:
    """Whether a fused multiply-add is an instruction; without, it is a call."""
    return host_has("fma") if isa == "auto" else isa not in ("none", "sse")


@cache
def required_libraries() -> tuple[str, ...]:
    """Paths of the shared libraries that expanded code may call, for ExecutionEngine's shared_libs."""
    if libmvec() is None:
        return ()
    lines = Path("/proc/self/maps").read_text().splitlines()
    return tuple(sorted({line.split(maxsplit=5)[5] for line in lines if "/libmvec" in line}))


def call_masked(call: ir.Operation, operands: list[ir.Value], mask: ir.Value) -> ir.Value:
    """What the function of a call in the other branch of `guarded` gives of vectors, for the lanes of a mask."""
    callee, total = ir.FlatSymbolRefAttr(call.attributes["callee"]).value, mask.type.shape[0]
    lanes, result = min(total, MASKED_LANES[-1]), operands[0]
    for first in range(0, total, lanes):
        given = [build.lanes_of(x, first, lanes) for x in (*operands, mask)]
        found = llvm.CallOp(given[0].type, given, [], [], callee=f"{callee}_v{lanes}").results[0]
        result = vector.insert_strided_slice(found, result, [first], [1])
    return result


class MathLibrary:
    """The math functions one module calls: declares each at its first call.

    `isa` is a key of VECTOR_ISAS, or "auto" for the host's widest; with "auto" a function that the
    host's libmvec lacks (most came with glibc 2.35) is called as a scalar.
    """

    def __init__(self, module: ir.Operation, isa: str) -> None:
        self.module, self.auto = module, isa == "auto"
        self.isa = host_isa() if self.auto else isa
        self.symbols = {
            ir.StringAttr(op.attributes["sym_name"]).value: op
            for op in module.regions[0].blocks[0]
            if "sym_name" in op.attributes
        }

    def call(self, name: str, operands: list[ir.Value], ip: ir.InsertionPoint, loc: ir.Location) -> ir.Value:
        """The result of the f64 function `name` (its C name) on f64 values."""
        arity = len(operands)
        wide = self._widest(name, arity)
        if wide is None:
            return self._call(name, operands, ip, loc, scalar_function(name, "f64", arity))
        return self._call(f"{PREFIX}{name}", operands, ip, loc, *widened_function(name, arity, *wide))

    @property
    def fuses(self) -> bool:
        """Whether a fused multiply-add is an instruction."""
        return has_fused("auto" if self.auto else self.isa)

    def guarded(self, usual: Number, is_usual: ir.Value, name: str, *operands: Number) -> Number:
        """`usual` where that holds, else what the function of a C name gives of f32 or f64: behind a branch, with
        masked variants, so that a loop vectorises all the same."""
        emitter, kind = usual.emitter, usual.value.type
        branch: Any = scf.IfOp(is_usual, [kind], has_else=True, loc=emitter.loc, ip=emitter.ip)
        branch.attributes[GUARD] = ir.UnitAttr.get()
        scf.YieldOp([usual.value], loc=emitter.loc, ip=ir.InsertionPoint(branch.then_block))
        inside = ir.InsertionPoint(branch.else_block)
        name, texts = f"{name}{'' if usual.is_long else 'f'}", (str(kind), len(operands))
        values = [x.value for x in operands]
        rare = self._call(f"{PREFIX}{name}", values, inside, emitter.loc, *masked_function(name, *texts))
        scf.YieldOp([rare], loc=emitter.loc, ip=inside)
        return emitter.number(branch.results[0])

    def keep_variants(self) -> None:
        """Write `llvm.compiler.used`, once every function is declared."""
        kept = [
            name
            for name, op in self.symbols.items()
            if name.startswith((VECTOR, PREFIX)) and op.operation.name == "llvm.func"
        ]
        if not kept:
            return
        if _USED in self.symbols:
            self.symbols.pop(_USED).operation.erase()
        kind = f"!llvm.array<{len(kept)} x ptr>"
        lines = [f"%0 = llvm.mlir.undef : {kind}"]
        for i, name in enumerate(kept):
            lines.append(f"%a{i} = llvm.mlir.addressof @{name} : !llvm.ptr")
            lines.append(f"%{i + 1} = llvm.insertvalue %a{i}, %{i}[{i}] : {kind}")
        body = "\n".join([*lines, f"llvm.return %{len(kept)} : {kind}"])
        section = 'section = "llvm.metadata"'
        stand_ins = (f"llvm.func @{name}()" for name in kept)
        self._add(f"llvm.mlir.global appending @{_USED}() {{{section}}} : {kind} {{\n{body}\n}}", *stand_ins)

    def _widest(self, name: str, arity: int) -> tuple[int, str] | None:
        """Lanes and name of the widest vector function; None where there is none."""
        for lanes, letter in reversed(VECTOR_ISAS[self.isa]):
            symbol = f"_ZGV{letter}N{lanes}{'v' * arity}_{name}"
            if not self.auto or hasattr(libmvec(), symbol):
                return lanes, symbol
        return None

    def _call(
        self, name: str, operands: list[ir.Value], ip: ir.InsertionPoint, loc: ir.Location, *texts: str
    ) -> ir.Value:
        """A call of `name`, which `texts` declare (with what they need) if the module has it not."""
        if not self._is_function(name):
            self._add(*texts)
        return llvm.CallOp(operands[0].type, operands, [], [], callee=name, loc=loc, ip=ip).results[0]

    def _is_function(self, name: str) -> bool:
        """Whether the module has the function; PassFailure when the symbol is something else."""
        found = self.symbols.get(name)
        if found is not None and found.operation.name not in ("llvm.func", "llvm.mlir.global"):
            message = f"expected symbol '{name}' free for the math library, got {found.operation.name}"
            raise PassFailure(found.operation, message)
        return found is not None

    def _add(self, *texts: str) -> None:
        """Append the symbols that the module does not have; the texts may refer to each other."""
        parsed = ir.Module.parse("\n".join(texts))
        locate(parsed.operation, self.module.location)
        for op in list(parsed.body.operations):
            symbol = ir.StringAttr(op.attributes["sym_name"]).value
            if not self._is_function(symbol):
                self.module.regions[0].blocks[0].append(op.operation.detach_from_parent())
                self.symbols[symbol] = op
