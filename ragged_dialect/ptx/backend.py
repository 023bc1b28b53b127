"""llvmlite's LLVM: one process-wide state, set up once and used by one thread at a time."""

from __future__ import annotations

from functools import cache

import llvmlite.binding as llvm

from ragged_dialect import locks
from ragged_dialect.errors import CompileError
from ragged_dialect.ptx.targets import ptx_version

TRIPLE = "nvptx64-nvidia-cuda"

# LLVM's global context is not thread safe; whoever calls llvmlite holds this.
LOCK = locks.lock()
# llvmlite's own lock, held in every call of its library, also where an object is given up.
locks.adopt(llvm.ffi.lib._lock._lock)


@cache
def _target() -> llvm.Target:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    # libdevice asks which square root it may use; unanswered, it takes the approximate one.
    llvm.set_option("", "-nvvm-reflect-add=__CUDA_PREC_SQRT=1")
    return llvm.Target.from_triple(TRIPLE)


@cache
def target_machine(arch: str) -> llvm.TargetMachine:
    """LLVM's code generator for an architecture. CompileError for an unknown one."""
    features = f"+ptx{ptx_version(arch)}"
    return _target().create_target_machine(cpu=arch, features=features, opt=3)


def parse(text: str) -> llvm.ModuleRef:
    """A module of LLVM IR text. CompileError when LLVM refuses it."""
    try:
        module = llvm.parse_assembly(text)
        module.verify()
    except RuntimeError as error:
        raise CompileError(f"expected LLVM IR that LLVM {llvm.llvm_version_info[0]} reads: {error}") from None
    return module


def optimize(module: llvm.ModuleRef, machine: llvm.TargetMachine) -> None:
    """Run the O3 pipeline in place. Loops are unrolled only where metadata asks for it: unasked,
    LLVM and ptxas both unroll, to several times the useful size."""
    tuning = llvm.create_pipeline_tuning_options(speed_level=3)
    tuning.loop_unrolling = False
    tuning.loop_vectorization = False
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)
