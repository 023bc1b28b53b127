"""Machine code of this process from LLVM IR text."""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any

import llvmlite.binding as llvm

from ragged_dialect.host_cpu import code_features

# Enough for code that is mostly memory accesses and calls, at a tenth of the time of LLVM's pipelines.
_PASSES = ("always_inliner", "sroa", "simplify_cfg", "instruction_combine", "simplify_cfg")


@cache
def _initialize() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()
    if sys.platform == "linux":
        llvm.load_library_permanently("libm.so.6")


def _target_machine(level: int) -> llvm.TargetMachine:
    """A new one every time: an engine takes it over."""
    _initialize()
    features = ",".join(code_features())
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=features, opt=level)


class Code:
    """A module as machine code, which lives as long as this object."""

    def __init__(self, text: str, level: int) -> None:
        """Compile LLVM IR at a level of LLVM's code generator; the caller holds LLVM's lock. Level 0
        takes a tenth of the time of level 1."""
        machine = _target_machine(level)
        module = llvm.parse_assembly(text)
        module.triple = llvm.get_process_triple()
        module.data_layout = str(machine.target_data)
        module.verify()
        _optimize(module, machine)
        self._engine = llvm.create_mcjit_compiler(module, machine)
        self._engine.finalize_object()

    def address(self, name: str) -> int:
        """The address of a function."""
        return self._engine.get_function_address(name)

    def function(self, name: str) -> Any:
        """A function from one word to a word, callable from Python; it runs without the GIL."""
        return ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_uint64)(self.address(name))


def promoted(text: str) -> str:
    """LLVM IR with the slots on the stack, whose addresses nothing takes, as values; the caller holds LLVM's lock."""
    module = llvm.parse_assembly(text)
    _optimize(module, _target_machine(0), ("sroa",))
    return str(module)


def _optimize(module: llvm.ModuleRef, machine: llvm.TargetMachine, names: tuple[str, ...] = _PASSES) -> None:
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=1))
    passes = llvm.create_new_module_pass_manager()
    for name in names:
        getattr(passes, f"add_{name}_pass")()
    passes.run(module, builder)


def provide(name: str, address: int) -> None:
    """Let code compiled from now on find a function by name."""
    llvm.add_symbol(name, address)
