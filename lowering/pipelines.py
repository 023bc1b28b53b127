"""The pipelines as named stages, in order; every stage can be run, dumped and resumed from.

```python
for stage in pipelines.cpu_pipeline():
    stage.run(module)
    print(stage.name, module)
```
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ragged_dialect.passes.pipeline import parse_pipeline, run_pipeline


@dataclass(frozen=True)
class Stage:
    """A named part of a pipeline: pipeline text that mixes passes of this package and MLIR's."""

    name: str
    text: str

    def run(self, module: Any, verify: bool = True) -> None:
        """Run the stage on a module. PassError when a pass fails or leaves IR that does not verify."""
        run_pipeline(module, parse_pipeline(self.text, module.operation.context), verify)


_LAYOUTS = Stage("layouts", "ragged-infer-layouts")
_CHECK = Stage("checks", "ragged-insert-checks")
_RAGGED = Stage(
    "ragged",
    "ragged-canonicalize,ragged-check-conform,ragged-simplify-splits,ragged-fuse,ragged-canonicalize",
)
_SCF = Stage(
    "scf",
    "convert-ragged-to-scf,canonicalize,cse,convert-ragged-checks-to-scf,protect-ragged-arguments,canonicalize,cse",
)
_DENSE = Stage("dense", "convert-ragged-selects-to-scf,func.func(convert-elementwise-to-linalg),canonicalize,cse")
_BUFFER = Stage(
    "bufferize",
    "empty-tensor-to-alloc-tensor,"
    "one-shot-bufferize{bufferize-function-boundaries=1 function-boundary-type-conversion=identity-layout-map "
    "allow-return-allocs-from-loops=1},"
    "canonicalize,cse,canonicalize",
)
_LOOPS = Stage(
    "loops",
    "convert-ragged-forall-to-loops,canonicalize,"
    "func.func(promote-buffers-to-stack{max-alloc-size-in-bytes=4096 max-rank-of-allocated-memref=2}),"
    "buffer-deallocation-pipeline,convert-bufferization-to-memref,canonicalize,cse,convert-ragged-copies-to-linalg,"
    "func.func(linalg-generalize-named-ops),collapse-ragged-loops,order-ragged-loops,outline-ragged-loops,"
    "hoist-ragged-allocas,func.func(convert-linalg-to-loops),expand-ragged-math,canonicalize,cse,func.func(loop-invariant-code-motion)",
)
_LLVM = Stage(
    "llvm",
    "func.func(llvm-request-c-wrappers),convert-scf-to-cf,expand-strided-metadata,lower-affine,convert-math-to-funcs,"
    "convert-math-to-llvm,convert-math-to-libm,arith-expand{include-bf16=true},convert-arith-to-llvm,"
    "convert-index-to-llvm,finalize-memref-to-llvm,convert-cf-to-llvm,convert-func-to-llvm,reconcile-unrealized-casts,canonicalize,cse,thread-ragged-kernels",
)


def cpu_pipeline(check: bool = True) -> tuple[Stage, ...]:
    """Ragged IR to the LLVM dialect (`ragged-to-llvm-pipeline`); `check` inserts run-time checks."""
    return (_LAYOUTS, *((_CHECK,) if check else ()), _RAGGED, _SCF, _DENSE, _BUFFER, _LOOPS, _LLVM)
