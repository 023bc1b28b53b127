"""LLVM IR to position-independent object code of a CPU."""

from __future__ import annotations

from typing import Any

from ragged_dialect.errors import CompileError
from ragged_dialect.host_cpu import code_features, is_x86
from ragged_dialect.lowering.math.expand_ragged_floats import BFLOAT_ROUNDING
from ragged_dialect.ptx.llvm22 import to_llvm22

HOST = "host"
"""The CPU of this machine, with all its features."""

CPUS = (HOST, "generic", "x86-64-v2", "x86-64-v3", "x86-64-v4")
"""What code can be made for: LLVM takes any other name for generic, and only prints a warning."""


def object_code(llvm_ir: str, exported: frozenset[str], cpu: str = HOST) -> bytes:
    """An ELF object of LLVM IR text (as MLIR prints it), optimised.

    `exported` functions stay visible to the linker, the others become internal. `cpu` is one of
    CPUS. CompileError when it is not, when llvmlite is missing, and when LLVM refuses the IR."""
    binding = _llvmlite()
    from ragged_dialect.ptx.backend import LOCK  # imports llvmlite

    with LOCK:
        return _object_code(binding, llvm_ir, exported, cpu)


def _object_code(binding: Any, llvm_ir: str, exported: frozenset[str], cpu: str) -> bytes:
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    binding.initialize_native_asmparser()
    machine = _machine(binding, cpu)
    try:
        module = binding.parse_assembly(to_llvm22(llvm_ir))
        module.verify()
    except RuntimeError as error:
        raise CompileError(f"expected LLVM IR that llvmlite reads: {error}") from error
    module.triple = binding.get_default_triple()
    module.data_layout = str(machine.target_data)
    for function in module.functions:
        if function.name in exported or function.name == BFLOAT_ROUNDING:
            function.visibility = "hidden"
        elif not function.is_declaration:
            function.linkage = "internal"
    _optimise(binding, module, machine)
    return machine.emit_object(module)


def halves_of(cpu: str) -> str:
    """The `half` of `expand-ragged-floats` for one of CPUS."""
    if cpu == HOST or not is_x86():
        return "auto"
    return "native" if cpu in ("x86-64-v3", "x86-64-v4") else "soft"


def _llvmlite() -> Any:
    try:
        import llvmlite.binding  # start-up time
    except ImportError:
        raise CompileError("expected llvmlite to make object code, got none (pip install llvmlite)") from None
    return llvmlite.binding


def _machine(binding: Any, cpu: str) -> Any:
    target = binding.Target.from_default_triple()
    known = [name for name in CPUS if not name.startswith("x86") or target.triple.startswith("x86_64")]
    if cpu not in known:
        raise CompileError(f"expected a CPU among {', '.join(known)}, got '{cpu}'")
    if cpu == HOST:
        name, features = binding.get_host_cpu_name(), ",".join(code_features())
    else:
        name, features = cpu, ""
    return target.create_target_machine(cpu=name, features=features, opt=3, reloc="pic", codemodel="small")


def _optimise(binding: Any, module: Any, machine: Any) -> None:
    options = binding.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = options.slp_vectorization = True
    builder = binding.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
