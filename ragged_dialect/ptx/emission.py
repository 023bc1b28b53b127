"""LLVM IR of kernels to PTX."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

import llvmlite.binding as llvm

from ragged_dialect.errors import CompileError
from ragged_dialect.ptx import backend, libdevice
from ragged_dialect.ptx.intrinsics import check_intrinsics
from ragged_dialect.ptx.llvm22 import to_llvm22
from ragged_dialect.ptx.targets import DEFAULT_ARCH

_KERNEL = re.compile(r'^define\b[^@\n]*\bptx_kernel\b[^@\n]*@"?([\w.$-]+)"?\(', re.M)
_DIVISION = re.compile(r"(?<== )fdiv(?= )")
_ROOT = re.compile(r"(?<== )((?:tail )?call)(?= [^@\n]*@llvm\.sqrt\.)")
_UNKNOWN_CALL = re.compile(r"\bcall(?:\.uni)?\s+(?:\([^)]*\),\s*)?(llvm\.[\w.]+)")


def emit(llvm_ir: str, arch: str = DEFAULT_ARCH, fast_math: bool = False) -> str:
    """PTX of a module's kernels (its functions with the calling convention `ptx_kernel`).

    `llvm_ir` may be in LLVM 22's or LLVM 24's spelling. Math functions are accurate; `fast_math`
    takes the approximate instructions for f32 exp, log, sin, cos, tan, tanh, pow, division and
    square root. Raises CompileError for an unknown `arch`, for IR that LLVM refuses, for calls of
    functions that nothing defines, and where libdevice is needed and missing.
    """
    with backend.LOCK:
        machine = backend.target_machine(arch)
        text = to_llvm22(llvm_ir)
        kernels = frozenset(_KERNEL.findall(text))
        if not kernels:
            raise CompileError("expected LLVM IR with a kernel, got none")
        module = backend.parse(_fast(text) if fast_math else text)
        _link(module, machine, fast_math)
        _check_declarations(module)
        for function in module.functions:
            if not function.is_declaration and function.name not in kernels:
                function.linkage = "internal"
        backend.optimize(module, machine)
        check_intrinsics(_declared(module))
        ptx = machine.emit_assembly(module)
    unknown = sorted(set(_UNKNOWN_CALL.findall(ptx)))
    if unknown:
        raise CompileError(f"expected intrinsics of LLVM {llvm.llvm_version_info[0]}, got {', '.join(unknown)}")
    return ptx


def _fast(text: str) -> str:
    """Divisions and square roots may be approximate."""
    return _ROOT.sub(r"\1 afn", _DIVISION.sub("fdiv afn", text))


def _link(module: llvm.ModuleRef, machine: llvm.TargetMachine, fast_math: bool) -> None:
    """Add the math functions that are called. Of two definitions of a name the first counts."""
    module.triple, module.data_layout = backend.TRIPLE, str(machine.target_data)
    for text in (fast_prelude(), prelude()) if fast_math else (prelude(),):
        part = backend.parse(text)
        part.triple, part.data_layout = module.triple, module.data_layout
        module.link_in(part)
    missing = [name for name in _declared(module) if name.startswith("__nv_")]
    if missing:
        libdevice.link(module, missing)


def _declared(module: llvm.ModuleRef) -> list[str]:
    return [f.name for f in module.functions if f.is_declaration]


def _check_declarations(module: llvm.ModuleRef) -> None:
    declared = _declared(module)
    unresolved = [name for name in declared if not name.startswith("llvm.") and name != "__nvvm_reflect"]
    if unresolved:
        raise CompileError(f"expected functions with bodies, got calls of {', '.join(unresolved)}")
    check_intrinsics(name for name in declared if name.startswith("llvm."))


# The functions that `fast_math` replaces by their `__nv_fast_` forms, with their number of operands.
_FAST = {"expf": 1, "logf": 1, "log2f": 1, "log10f": 1, "sinf": 1, "cosf": 1, "tanf": 1, "tanhf": 1, "powf": 2}


@cache
def prelude() -> str:
    """LLVM IR of the accurate functions and of the `__nv_fast_` ones."""
    text = resources.files("ragged_dialect.ptx").joinpath("prelude.ll").read_text(encoding="utf-8")
    return to_llvm22(text)


@cache
def fast_prelude() -> str:
    """LLVM IR that makes the accurate names mean the fast functions."""
    return "\n".join(_forward(name, operands) for name, operands in _FAST.items())


def _forward(name: str, operands: int) -> str:
    parameters = ", ".join(f"float %{k}" for k in range(operands))
    types = ", ".join(["float"] * operands)
    return f"""declare float @__nv_fast_{name}({types})
define linkonce_odr float @__nv_{name}({parameters}) alwaysinline {{
  %result = call float @__nv_fast_{name}({parameters})
  ret float %result
}}"""
