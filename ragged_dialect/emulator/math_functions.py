"""The functions of CUDA's math library that MLIR calls, on the host's math library."""

from __future__ import annotations

from collections.abc import Sequence

# Same name and meaning as in C.
_C_NAMES = frozenset(
    "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs floor fma"
    " fmax fmin fmod log log10 log1p log2 nearbyint pow rint round sin sinh sqrt tan tanh trunc".split()
)
_CLASSES = {"isinff": 0x204, "isinfd": 0x204, "isnanf": 0x3, "isnand": 0x3, "finitef": 0x1F8, "isfinited": 0x1F8}
"""What `llvm.is.fpclass` takes for infinities, NaNs, and all other numbers."""


def library_function(name: str, result: str, types: Sequence[str]) -> str | None:
    """LLVM IR that defines `@__nv_name`; None where there is no such function.

    `result` and `types` are the LLVM types of its declaration. The fast variants are exact here.
    """
    body = _body(name.removeprefix("fast_"), result, types)
    if body is None:
        return None
    declarations, lines, value = body
    parameters = ", ".join(f"{kind} %a{i}" for i, kind in enumerate(types))
    leave = f"ret {result} {value}" if value else "ret void"
    return f"{declarations}define internal {result} @__nv_{name}({parameters}) {{\n{lines}\n{leave}\n}}"


def _body(name: str, result: str, types: Sequence[str]) -> tuple[str, str, str] | None:
    suffix = "f" if types and types[0] == "float" else ""
    base = name.removesuffix("f") if suffix and name not in _CLASSES else name
    width = "f32" if suffix else "f64"
    if base in _C_NAMES:
        return _call(base + suffix, result, types)
    if base == "rsqrt":
        lines = f"%s = call {result} @llvm.sqrt.{width}({result} %a0)\n%r = fdiv {result} 1.0, %s"
        return f"declare {result} @llvm.sqrt.{width}({result})\n", lines, "%r"
    if base == "powi":
        lines = f"%n = sitofp i32 %a1 to {result}\n%r = call {result} @pow{suffix}({result} %a0, {result} %n)"
        return f"declare {result} @pow{suffix}({result}, {result})\n", lines, "%r"
    if base == "sincos":
        declarations = "".join(f"declare {types[0]} @{part}{suffix}({types[0]})\n" for part in ("sin", "cos"))
        calls = [f"%{part} = call {types[0]} @{part}{suffix}({types[0]} %a0)" for part in ("sin", "cos")]
        stores = [f"store {types[0]} %sin, ptr %a1, align 1", f"store {types[0]} %cos, ptr %a2, align 1"]
        return declarations, "\n".join(calls + stores), ""
    if name in ("abs", "llabs"):
        lines = f"%n = sub {result} 0, %a0\n%c = icmp slt {result} %a0, 0\n"
        return "", lines + f"%r = select i1 %c, {result} %n, {result} %a0", "%r"
    if name in _CLASSES:
        function = f"i1 @llvm.is.fpclass.{width}({types[0]}"
        lines = f"%c = call {function} %a0, i32 {_CLASSES[name]})\n%r = zext i1 %c to i32"
        return f"declare {function}, i32 immarg)\n", lines, "%r"
    return None


def _call(function: str, result: str, types: Sequence[str]) -> tuple[str, str, str]:
    operands = ", ".join(f"{kind} %a{i}" for i, kind in enumerate(types))
    declaration = f"declare {result} @{function}({', '.join(types)})\n"
    return declaration, f"%r = call {result} @{function}({operands})", "%r"
