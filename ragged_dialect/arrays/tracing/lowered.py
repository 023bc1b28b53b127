"""What a traced function becomes, stage by stage."""

from __future__ import annotations

from dataclasses import dataclass

from ragged_dialect.arrays.tracing.building import Traceable, trace_function
from ragged_dialect.arrays.tracing.leaves import Leaves
from ragged_dialect.asm.module import print_module
from ragged_dialect.lazy import cached_property


@dataclass(frozen=True)
class LoweredFunction:
    """The ragged program of a traced function, and what the compiler makes of it. `source` is the
    program as text, which every tool of the package reads."""

    source: str

    @cached_property
    def stages(self) -> dict[str, str]:
        """IR after every stage for the CPU, by the stage's name."""
        from ragged_dialect.compiler.stages import run_stages  # start-up time

        return run_stages(self.source, "cpu")[0]

    @cached_property
    def gpu_stages(self) -> dict[str, str]:
        """IR after every stage for a GPU."""
        from ragged_dialect.compiler.stages import run_stages  # start-up time

        return run_stages(self.source, "gpu")[0]

    def llvm_ir(self) -> str:
        """LLVM IR for the CPU. CompileError where it cannot be translated."""
        from ragged_dialect.compiler.stages import llvm_ir  # start-up time

        return llvm_ir(self.source)

    def ptx(self, arch: str = "sm_90") -> str:
        """PTX of the kernels for an architecture. CompileError for an unknown one."""
        from ragged_dialect.compiler.stages import ptx  # start-up time

        return ptx(self.source, arch)

    def __str__(self) -> str:
        return self.source


def lower(name: str, leaves: Leaves, body: Traceable, columns: bool = False) -> LoweredFunction:
    """Trace a function without compiling it; `columns` as of `trace_function`."""
    with trace_function(name, leaves, body, columns) as traced:
        return LoweredFunction(print_module(traced.trace.module))
