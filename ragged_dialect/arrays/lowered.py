"""What a traced function becomes, stage by stage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ragged_dialect.arrays.function import trace_function
from ragged_dialect.arrays.tensor import Tensor
from ragged_dialect.asm.module import print_module
from ragged_dialect.errors import CompileError


@dataclass(frozen=True)
class LoweredFunction:
    """The ragged program of a traced function, and what the compiler makes of it. `source` is the
    program as text, which every tool of the package reads."""

    source: str

    @cached_property
    def stages(self) -> dict[str, str]:
        """IR after every stage for the CPU, by the stage's name."""
        return self._run("cpu")[0]

    @cached_property
    def gpu_stages(self) -> dict[str, str]:
        """IR after every stage for a GPU."""
        return self._run("gpu")[0]

    def llvm_ir(self) -> str:
        """LLVM IR for the CPU. CompileError where it cannot be translated."""
        from ragged_dialect._mlir import llvm
        from ragged_dialect.child import in_child

        module = self._run("cpu")[1]
        text = in_child(lambda: llvm.translate_module_to_llvmir(module.operation).encode())
        if text is None:
            raise CompileError("expected a module that LLVM IR can express, got one whose translation failed")
        return text.decode()

    def ptx(self, arch: str = "sm_90") -> str:
        """PTX of the kernels for an architecture. CompileError for an unknown one."""
        from ragged_dialect.compiler.device import device_program
        from ragged_dialect.compiler.frontend import load_program
        from ragged_dialect.compiler.options import KernelOptions

        return device_program(load_program(self.source), KernelOptions(check=False, arch=arch)).kernels

    def _run(self, target: str) -> tuple[dict[str, str], Any]:
        from ragged_dialect.compiler.frontend import load_program
        from ragged_dialect.lowering import pipelines

        module = load_program(self.source).module
        found: dict[str, str] = {}
        pipeline = pipelines.cpu_pipeline(False) if target == "cpu" else pipelines.gpu_pipeline(False)
        with module.context:
            for stage in pipeline:
                stage.run(module)
                found[stage.name] = print_module(module)
        return found, module

    def __str__(self) -> str:
        return self.source


def lower(name: str, leaves: Sequence[Any], body: Callable[[list[Tensor]], Any]) -> LoweredFunction:
    """Trace a function without compiling it."""
    with trace_function(name, leaves, body) as traced:
        return LoweredFunction(print_module(traced.trace.module))
