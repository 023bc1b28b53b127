"""Calls of the C math library that LLVM's loop vectoriser can vectorise.

glibc's libmvec has vector functions (at most 4 ulp) for 2, 4 or 8 lanes of f64. A function `exp`
becomes the internal `__ragged_exp`, without effects and with the attribute
`vector-function-abi-variant`, which names a function per number of lanes. All of them, the scalar
one too, call libmvec's widest: a value depends on its argument alone, not on whether it fell into
the vector loop or the remainder, hence not on the number of threads.

The vectoriser takes a variant only if the module has it, and unused symbols would be dropped before
it runs: `llvm.compiler.used` keeps them. The wrappers must not be inlined, which would happen before
vectorising and hide the call. They have no names of C functions either: `sin` as a builtin becomes
an LLVM intrinsic, which has no variants.
"""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path
from typing import Any

from ragged_dialect._mlir import ir, llvm
from ragged_dialect.passes.base import PassFailure

# Lanes of f64 and the letter of the instruction set in the vector ABI.
VECTOR_ISAS = {
    "none": (),
    "sse": ((2, "b"),),
    "avx2": ((2, "b"), (4, "d")),
    "avx512": ((2, "b"), (4, "d"), (8, "e")),
}
_PURE = (
    "memory_effects = #llvm.memory_effects<other = none, argMem = none, inaccessibleMem = none, "
    "errnoMem = none, targetMem0 = none, targetMem1 = none>, no_unwind, will_return"
)
_MASKED_LANES = (2, 4, 8, 16)
_PREFIX = "__ragged_"
_USED = "llvm.compiler.used"


@cache
def _libmvec() -> Any:
    """glibc's vector math library; None where there is none."""
    try:
        return ctypes.CDLL("libmvec.so.1")
    except OSError:
        return None


@cache
def host_isa() -> str:
    """The widest entry of VECTOR_ISAS that this machine and its C library can run."""
    if _libmvec() is None:
        return "none"
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    flags = set(next((line for line in lines if line.startswith("flags")), "").split())
    if {"avx512f", "avx512dq"} <= flags:
        return "avx512"
    return "avx2" if {"avx2", "fma"} <= flags else "sse"


def required_libraries() -> list[str]:
    """Paths of the shared libraries that expanded code may call, for ExecutionEngine's shared_libs."""
    if _libmvec() is None:
        return []
    lines = Path("/proc/self/maps").read_text().splitlines()
    return sorted({line.split(maxsplit=5)[5] for line in lines if "/libmvec" in line})


class MathLibrary:
    """The math functions one module calls: declares each at its first call.

    `isa` is a key of VECTOR_ISAS, or "auto" for the host's widest; with "auto" a function that the
    host's libmvec lacks (most came with glibc 2.35) is called as a scalar.
    """

    def __init__(self, module: Any, isa: str) -> None:
        self.module, self.auto = module, isa == "auto"
        self.isa = host_isa() if self.auto else isa
        self.symbols = {
            ir.StringAttr(op.attributes["sym_name"]).value: op
            for op in module.regions[0].blocks[0]
            if "sym_name" in op.attributes
        }

    def call(self, name: str, operands: list[Any], ip: Any, loc: Any) -> Any:
        """The result of the f64 function `name` (its C name) on f64 values."""
        arity = len(operands)
        wide = self._widest(name, arity)
        if wide is None:
            kinds = ", ".join(["f64"] * arity)
            return self._call(name, operands, ip, loc, f"llvm.func @{name}({kinds}) -> f64 attributes {{{_PURE}}}")
        return self._call(f"{_PREFIX}{name}", operands, ip, loc, *_vectorisable(name, arity, *wide))

    def huge(self, name: str, x: Any, ip: Any, loc: Any) -> Any:
        """sin or cos of an f32 beyond the range of the polynomials; for use behind a branch."""
        return self._call(f"{_PREFIX}{name}f", [x], ip, loc, *_masked_function(f"{name}f"))

    def keep_variants(self) -> None:
        """Write `llvm.compiler.used`, once every function is declared."""
        kept = [name for name in self.symbols if name.startswith(("_ZGV", _PREFIX))]
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
            if not self.auto or hasattr(_libmvec(), symbol):
                return lanes, symbol
        return None

    def _call(self, name: str, operands: list[Any], ip: Any, loc: Any, *texts: str) -> Any:
        """A call of `name`, which `texts` declare (with what they need) if the module has it not."""
        if name not in self.symbols:
            self._add(*texts)
        callee = self.symbols[name]
        if callee.operation.name != "llvm.func":
            found = callee.operation.name
            raise PassFailure(callee, f"expected symbol '{name}' free for the math library, got {found}")
        return llvm.CallOp(operands[0].type, operands, [], [], callee=name, loc=loc, ip=ip).results[0]

    def _add(self, *texts: str) -> None:
        """Append the symbols that the module does not have; the texts may refer to each other."""
        parsed = ir.Module.parse("\n".join(texts))
        for op in list(parsed.body.operations):
            symbol = ir.StringAttr(op.attributes["sym_name"]).value
            if symbol not in self.symbols:
                self.module.regions[0].blocks[0].append(op.operation.detach_from_parent())
                self.symbols[symbol] = op


def _attributes(variants: list[str]) -> str:
    return f'no_inline, {_PURE}, passthrough = [["vector-function-abi-variant", "{",".join(variants)}"]]'


def _vectorisable(name: str, arity: int, lanes: int, vector_function: str) -> list[str]:
    """The scalar function and its variants, all of them calls of `vector_function`."""
    letters = "v" * arity
    narrower = [n for n in (2, 4) if n < lanes]
    variants = [f"_ZGV_LLVM_N{n}{letters}_{_PREFIX}{name}({_PREFIX}{name}_v{n})" for n in narrower]
    variants.append(f"_ZGV_LLVM_N{lanes}{letters}_{_PREFIX}{name}({vector_function})")
    kinds = ", ".join([f"vector<{lanes}xf64>"] * arity)
    return [
        f"llvm.func @{vector_function}({kinds}) -> vector<{lanes}xf64> attributes {{{_PURE}}}",
        *(_widened(f"{_PREFIX}{name}_v{n}", arity, n, lanes, vector_function, f"no_inline, {_PURE}") for n in narrower),
        _widened(f"{_PREFIX}{name}", arity, 1, lanes, vector_function, _attributes(variants)),
    ]


def _widened(symbol: str, arity: int, count: int, lanes: int, callee: str, attributes: str) -> str:
    """A function of `count` lanes (a scalar for 1) that repeats them for the vector function `callee`."""
    wide, kind = f"vector<{lanes}xf64>", "f64" if count == 1 else f"vector<{count}xf64>"
    repeated = ", ".join(str(i % count) for i in range(lanes))
    steps = ["%first = llvm.mlir.constant(0 : i32) : i32", f"%none = llvm.mlir.poison : {wide}"]
    for i in range(arity):
        source, source_kind = f"%x{i}", kind
        if count == 1:
            source, source_kind = f"%s{i}", wide
            steps.append(f"%s{i} = llvm.insertelement %x{i}, %none[%first : i32] : {wide}")
        steps.append(f"%w{i} = llvm.shufflevector {source}, {source} [{repeated}] : {source_kind}")
    arguments = ", ".join(f"%w{i}" for i in range(arity))
    steps.append(f"%r = llvm.call @{callee}({arguments}) : ({', '.join([wide] * arity)}) -> {wide}")
    if count == 1:
        steps.append(f"%y = llvm.extractelement %r[%first : i32] : {wide}")
    else:
        steps.append(f"%y = llvm.shufflevector %r, %r [{', '.join(map(str, range(count)))}] : {wide}")
    parameters = ", ".join(f"%x{i}: {kind}" for i in range(arity))
    body = "\n".join([*steps, f"llvm.return %y : {kind}"])
    return f"llvm.func internal @{symbol}({parameters}) -> {kind} attributes {{{attributes}}} {{\n{body}\n}}"


def _masked_function(scalar: str) -> list[str]:
    """A function that calls the f32 function `scalar`, and its masked variants."""
    symbol = f"{_PREFIX}{scalar}"
    variants = [f"_ZGV_LLVM_M{lanes}v_{symbol}({symbol}_v{lanes})" for lanes in _MASKED_LANES]
    body = f"%r = llvm.call @{scalar}(%x) : (f32) -> f32\nllvm.return %r : f32"
    return [
        f"llvm.func @{scalar}(f32) -> f32 attributes {{{_PURE}}}",
        *(_masked(f"{symbol}_v{lanes}", scalar, lanes) for lanes in _MASKED_LANES),
        f"llvm.func internal @{symbol}(%x: f32) -> f32 attributes {{{_attributes(variants)}}} {{\n{body}\n}}",
    ]


def _masked(name: str, scalar: str, lanes: int) -> str:
    """A vector function that calls `scalar` for the lanes of its mask; the other lanes are undefined."""
    vector = f"vector<{lanes}xf32>"
    steps: list[str] = []
    for i in range(lanes):
        before = "%safe" if i == 0 else f"%v{i - 1}"
        steps += [
            f"%i{i} = llvm.mlir.constant({i} : i32) : i32",
            f"%x{i} = llvm.extractelement %safe[%i{i} : i32] : {vector}",
            f"%r{i} = llvm.call @{scalar}(%x{i}) : (f32) -> f32",
            f"%v{i} = llvm.insertelement %r{i}, {before}[%i{i} : i32] : {vector}",
        ]
    body = "\n".join(steps)
    return f"""llvm.func internal @{name}(%x: {vector}, %mask: vector<{lanes}xi1>) -> {vector}
    attributes {{no_inline, {_PURE}}} {{
  %lanes = llvm.bitcast %mask : vector<{lanes}xi1> to i{lanes}
  %none = llvm.mlir.constant(0 : i{lanes}) : i{lanes}
  %zero = llvm.mlir.zero : {vector}
  %any = llvm.icmp "ne" %lanes, %none : i{lanes}
  llvm.cond_br %any weights([1, 1000]), ^call, ^done(%x : {vector})
^call:
  %safe = llvm.select %mask, %x, %zero : vector<{lanes}xi1>, {vector}
  {body}
  llvm.br ^done(%v{lanes - 1} : {vector})
^done(%y: {vector}):
  llvm.return %y : {vector}
}}"""
