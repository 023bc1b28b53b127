"""The pipelines as named stages, in order; every stage can be run, dumped and resumed from.

```python
for stage in pipelines.cpu_pipeline():
    stage.run(module)
    print(stage.name, module)
```
"""

from __future__ import annotations

import re

from ragged_dialect.device_model import DEVICE
from ragged_dialect.errors import PassError
from ragged_dialect.host_cpu import masked_features
from ragged_dialect.lowering.attention import HEAD_DIMS
from ragged_dialect.lowering.stage import Stage

_KEEP_EXTENTS = "{anonymous}::ForOpTensorCastFolder,{anonymous}::FoldTensorCastConsumerOp"
"""The first makes all values of a loop as long as a start of known extent is: `scf.yield` may give one of another
extent. The second makes a result as long as who reads it takes it for, which may be known behind a check only."""
CANONICALIZE = f"canonicalize{{disable-patterns={_KEEP_EXTENTS}}}"
"""While there are tensors."""

_LAYOUTS = Stage("layouts", "ragged-infer-layouts")
_CHECK = Stage("checks", "ragged-insert-checks")
SORTED_FEATURES = 16
"""Elements of a row from which on one thread adds rows at positions faster when they are sorted by these, if they are
computed where they are added (Zen 5: products of 32 float32 take 0.75 of the time, of 16 as long, of 8 twice). Terms
that are in memory it adds faster as they come: 8 to 64 float32 take 0.2 to 0.35 of the time."""

TENSOR_CORE_HEAD_DIMS = 128
"""Those up to which it has one on tensor cores: a warp keeps the results of its queries in registers."""


def _ragged(attention: str, expanded: str, raised: str = "", last: str = "", fuse: str = "") -> Stage:
    return Stage(
        "ragged",
        "expand-unit-dims,"  # of the user's own views, before anything canonicalizes
        "define-integer-divisions,"  # of scalars; those of tensors once they are loops
        f"ragged-decompose-steps,{expanded},ragged-decompose-attention{{{attention}}},"
        "ragged-drop-unit-dims,ragged-canonicalize,ragged-check-conform,ragged-simplify-splits,multiply-constant-powers,"
        f"ragged-fuse{fuse},ragged-compute-once,{raised}ragged-canonicalize{last}",
    )


SHORT_ROW = 16
"""Elements of a row up to which chains of what is reduced to it are faster over all rows, with what has a number for
each component in a loop before, than component by component (Zen 5: layer norms of 16 float32 take 0.28 of the time in
components of 5 rows, 0.8 of 62, 1.35 of 20,000; with 32 they take 1.14 of 62). A single sum is so up to 8."""


def _scf(isa: str, amx: bool) -> Stage:
    return Stage(
        "scf",
        f"convert-ragged-to-scf{{rows={SHORT_ROW} isa={isa} amx={str(amx).lower()}}},"
        f"{CANONICALIZE},cse,convert-ragged-checks-to-calls,"
        f"protect-ragged-arguments,{CANONICALIZE},cse",
    )


_VECTORS = "inline-index-vectors,cse,merge-index-vectors,convert-ragged-selects-to-scf"
_LINALG = f"{_VECTORS},func.func(convert-elementwise-to-linalg),define-integer-divisions,add-negated-terms"
_DENSE = Stage("dense", f"{_LINALG},{CANONICALIZE},cse")
_BUFFER = Stage(
    "bufferize",
    "replace-empty-reshapes,unshare-ragged-empties,keep-read-outs,empty-tensor-to-alloc-tensor,"
    "one-shot-bufferize{bufferize-function-boundaries=1 function-boundary-type-conversion=identity-layout-map "
    "allow-return-allocs-from-loops=1},"
    "fold-matrix-copies,copy-strided-casts,expand-unit-dims,canonicalize,cse,canonicalize",
)


def _short_floats(half: str) -> str:
    """Arithmetic of short floats in f32, rounded after every op: what x86 has for bf16 flushes subnormals."""
    emulation = "arith-emulate-unsupported-floats{source-types=bf16,f16 target-type=f32}"
    return f"{emulation},expand-ragged-floats{{half={half}}}"


def _llvm(half: str) -> Stage:
    return Stage(
        "llvm",
        "guard-ragged-allocs,expand-compressed-stores,convert-scf-to-cf,convert-vector-to-llvm,expand-strided-metadata,"
        "lower-affine,convert-math-to-funcs,"
        "convert-math-to-llvm,convert-math-to-libm,"
        f"{_short_floats(half)},arith-expand{{include-bf16=true}},"
        "finalize-memref-to-llvm{use-generic-functions=true},"  # while extents are asked for by constants it knows
        "convert-arith-to-llvm,convert-index-to-llvm,convert-ub-to-llvm,convert-cf-to-llvm,"
        "convert-func-to-llvm,reconcile-unrealized-casts,lower-memory-types,canonicalize,cse,thread-ragged-kernels",
    )


def _loops(isa: str, half: str, skew: str, amx: bool) -> Stage:
    fused = "avx2" if (isa, half) == ("none", "native") else isa  # what has F16C has FMA, as x86-64-v3
    return Stage(
        "loops",
        f"convert-ragged-copies-to-linalg,reuse-ragged-outs,{_SKEW[skew]}"
        "share-long-folds,convert-ragged-forall-to-loops,canonicalize,reuse-ragged-outs,"
        "func.func(promote-buffers-to-stack{max-alloc-size-in-bytes=4096 max-rank-of-allocated-memref=2}),"
        "buffer-deallocation-pipeline,convert-bufferization-to-memref,canonicalize,cse,shorten-ragged-lifetimes,"
        "convert-ragged-copies-to-linalg,"
        "func.func(linalg-generalize-named-ops),collapse-ragged-loops,order-ragged-loops,"
        "func.func(llvm-request-c-wrappers),outline-ragged-loops,"
        f"vectorize-ragged-products{{isa={isa} amx={str(amx).lower()}}},hoist-stack-buffers,"
        "func.func(convert-linalg-to-loops),"
        f"cascade-ragged-sums,narrow-ragged-loops,expand-ragged-math{{isa={isa}}},"
        f"{_short_floats(half)},canonicalize,cse,func.func(loop-invariant-code-motion),prefetch-ragged-rows,"
        f"vectorize-ragged-loops{{isa={isa}}},settle-ragged-roundings{{isa={fused}}},hoist-ragged-allocs",
    )


_SKEW = {"share": "share-long-components,", "refuse": "share-long-components{refuse=true},", "none": ""}


def cpu_pipeline(
    check: bool = True, isa: str = "auto", half: str = "auto", skew: str = "share", amx: bool = True
) -> tuple[Stage, ...]:
    """Ragged IR to the LLVM dialect (`ragged-to-llvm-pipeline`); `check` inserts run-time checks,
    `isa` is that of `expand-ragged-math`, `half` that of `expand-ragged-floats`. Components that are much longer than
    the others are shared by threads (`skew=share`, see `share-long-components`), refused, or run like others (`none`).
    Without `amx` its tiles are not used, which a process has to ask Linux for: ours do.
    CompileError for features of the processor that are set wrongly, PassError for another `skew`."""
    masked_features()
    _require_words(isa=isa, half=half)
    if skew not in _SKEW:
        raise PassError(f"expected skew among {', '.join(_SKEW)}, got {skew}")
    return (
        _LAYOUTS,
        *((_CHECK,) if check else ()),
        _ragged(
            f"head-dims={HEAD_DIMS}",
            f"expand-ragged-scans,ragged-decompose-scatters{{features={SORTED_FEATURES} computed=true}}",
            raised=f"ragged-raise-attention{{head-dims={HEAD_DIMS}}},",
            last=",ragged-overlap",
            fuse=f"{{rows={SHORT_ROW}}}",
        ),
        _scf(isa, amx),
        _DENSE,
        _BUFFER,
        _loops(isa, half, skew, amx),
        _llvm(half),
    )


# On a GPU a check that fails stops later kernels by itself, and temporaries of a component's size stay
# results of the forall: they are global scratch, where upstream would have them allocated in the loop.
_KEEP_OUTS = f"canonicalize{{disable-patterns={{anonymous}}::ForallOpIterArgsFolder,{_KEEP_EXTENTS}}}"


GROUPS = f"keys={DEVICE.grouped_keys} keys-of-a-count=1 counts={DEVICE.grouped_counts}"


def _gpu_scf(tensor_cores: str) -> Stage:
    return Stage(
        "scf",
        f"convert-ragged-to-scf{{recompute=true tile=0 {GROUPS}{tensor_cores}}},"
        f"{_KEEP_OUTS},cse,convert-ragged-checks-to-calls,protect-ragged-arguments,"
        f"inline{{default-pipeline=cse}},symbol-dce,{_KEEP_OUTS},cse",
    )


_GPU_DENSE = Stage("dense", f"{_LINALG},{_KEEP_OUTS},cse")
_DEVICE = Stage("device", "wrap-ragged-device-code,merge-ragged-checks,cse")
TILES = "split-long-reductions,tile-flat-ops,split-long-scans,split-long-folds"
VERSIONS = "version-ragged-components"
_GPU = Stage("gpu", "privatize-ragged-scratch,place-ragged-temporaries,convert-forall-to-gpu,canonicalize,cse")


_GPU_EXPANDED = (
    f"expand-ragged-scans{{tile={DEVICE.scan_rows}}},ragged-decompose-scans,ragged-decompose-scatters{{across=true}}"
)


def _gpu_loops(schedule: str) -> Stage:
    products = "gather-ragged-products," if schedule in ("auto", "contract") else ""
    return Stage(
        "loops",
        f"convert-ragged-copies-to-linalg,func.func(linalg-generalize-named-ops),convert-inner-linalg-to-loops,"
        f"{products}collapse-ragged-loops{{flat=true}},"
        "lower-affine,canonicalize,cse",
    )


def _map(schedule: str) -> Stage:
    pieces = f"fission-ragged-foralls{{schedule={'contract' if schedule == 'auto' else schedule}}}"
    versions = f"{VERSIONS}," if schedule == "auto" else ""
    return Stage("map", f"{TILES},{pieces},{versions}ragged-map-parallel{{schedule={schedule}}},cse")


def _require_words(**options: str) -> None:
    """PassError for options that would be more than one word of a pass's options."""
    for name, value in options.items():
        if re.search(r"[\s{}=,\"']", value) is not None:
            raise PassError(f"expected a word as {name}, got '{value}'")


def gpu_pipeline(check: bool = True, schedule: str = "auto") -> tuple[Stage, ...]:
    """Ragged IR to host code that launches the kernels of one `gpu.module` (`ragged-to-gpu-pipeline`);
    `check` inserts run-time checks, `schedule` is that of `ragged-map-parallel`. Expects one public
    function."""
    _require_words(schedule=schedule)
    cores = " tensor-cores=true" if schedule in ("auto", "contract") else ""
    kept = f" head-dims={TENSOR_CORE_HEAD_DIMS}{cores}" if cores else ""
    checks = (_CHECK,) if check else ()
    return (
        _LAYOUTS,
        *checks,
        _ragged(f"keys-last=false{kept}", _GPU_EXPANDED),
        _gpu_scf(cores),
        _GPU_DENSE,
        _BUFFER,
        _gpu_loops(schedule),
        _DEVICE,
        _map(schedule),
        _GPU,
    )
