"""LLVM IR to PTX: architectures, math functions, what is refused."""

from __future__ import annotations

import os
import re
import threading
import time
from pathlib import Path

import pytest
from support.llvm_kernels import KERNEL, unary

from ragged_dialect.child import in_child
from ragged_dialect.errors import CompileError
from ragged_dialect.ptx import PTX_VERSIONS, backend, emit, intrinsics, libdevice


def instructions(ptx: str) -> set[str]:
    """The names of the instructions of PTX."""
    return set(re.findall(r"^\s+(?:@!?%p\d+ )?([a-z]\w*\.[\w.]+)", ptx[ptx.index("\n{") :], re.M))


@pytest.mark.parametrize("arch", PTX_VERSIONS)
def test_version_and_target(arch: str) -> None:
    ptx = emit(unary("__nv_expf"), arch)
    version = PTX_VERSIONS[arch]
    assert f".version {version // 10}.{version % 10}\n.target {arch}\n" in ptx
    assert ".visible .entry k(" in ptx


def test_default_arch() -> None:
    assert ".target sm_80\n" in emit(unary("__nv_expf"))


@pytest.mark.parametrize("arch", ["sm_70", "sm_8", "90", ""])
def test_unknown_arch(arch: str) -> None:
    with pytest.raises(CompileError, match=rf"^expected an arch among sm_80, .*sm_121, got '{arch}'$"):
        emit(unary("__nv_expf"), arch)


PRELUDE = ["sinf", "cosf", "expf", "exp2f", "expm1f", "logf", "log1pf", "log2f", "log10f", "tanhf", "erff", "rsqrtf",
           "fast_expf", "fast_logf", "fast_log2f", "fast_log10f", "fast_sinf", "fast_cosf", "fast_tanf"]  # fmt: skip


@pytest.mark.parametrize("name", PRELUDE)
def test_the_prelude_needs_no_libdevice(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libdevice, "find_libdevice", lambda: None)
    assert ".extern" not in emit(unary(f"__nv_{name}"))


@pytest.mark.parametrize(
    ("function", "accurate", "fast"),
    [
        ("__nv_expf", "ex2.approx.ftz.f32", "ex2.approx.f32"),
        ("__nv_tanhf", "rcp.approx.ftz.f32", "tanh.approx.f32"),
        ("llvm.sqrt.f32", "sqrt.rn.f32", "sqrt.approx.f32"),
    ],
)
def test_fast_math(function: str, accurate: str, fast: str) -> None:
    precise, approximate = instructions(emit(unary(function))), instructions(emit(unary(function), fast_math=True))
    assert accurate in precise
    assert fast not in precise
    assert fast in approximate
    assert accurate not in approximate


@pytest.mark.parametrize("function", ["__nv_sinf", "__nv_cosf", "__nv_tanf", "__nv_log10f", "__nv_log2f"])
def test_fast_functions_are_short(function: str) -> None:
    assert len(emit(unary(function), fast_math=True).splitlines()) < 50


def test_division() -> None:
    text = KERNEL.format(type="float", op="fdiv float %v, 0x3FB99999A0000000", declaration="")
    assert "div.rn.f32" in instructions(emit(text))
    assert "div.approx.f32" in instructions(emit(text, fast_math=True))
    double = KERNEL.format(type="double", op="fdiv double %v, %v", declaration="")
    assert "div.rn.f64" in instructions(emit(double, fast_math=True))


def test_read_only_and_wide_loads() -> None:
    text = KERNEL.format(type="<4 x float>", op="fneg <4 x float> %v", declaration="")
    assert {"ld.global.nc.v4.b32", "st.global.v4.b32"} <= instructions(emit(text))


def test_libdevice_is_linked() -> None:
    if libdevice.find_libdevice() is None:
        pytest.skip("no libdevice")
    ptx = emit(unary("__nv_sin", "double"))
    assert "fma.rn.f64" in ptx
    assert ".extern" not in ptx


def test_square_roots_of_libdevice_are_correctly_rounded() -> None:
    if libdevice.find_libdevice() is None:
        pytest.skip("no libdevice")
    assert "sqrt.rn.f32" in instructions(emit(unary("__nv_sqrtf")))


def test_no_libdevice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libdevice, "_candidates", lambda: iter([Path("/nonexistent")]))
    with pytest.raises(CompileError, match=r"^expected libdevice for __nv_tanf, got none .*pip install nvidia-nvvm"):
        emit(unary("__nv_tanf"))


def test_cuda_home_comes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "nvvm" / "libdevice" / "libdevice.10.bc"
    file.parent.mkdir(parents=True)
    file.touch()
    monkeypatch.setenv("CUDA_HOME", os.fspath(tmp_path))
    assert libdevice.find_libdevice() == file


def test_function_that_libdevice_does_not_have() -> None:
    if libdevice.find_libdevice() is None:
        pytest.skip("no libdevice")
    with pytest.raises(CompileError, match=r"^expected functions of .*libdevice\.10\.bc, got __nv_gudermannian$"):
        emit(unary("__nv_gudermannian"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (unary("strange"), "expected functions with bodies, got calls of strange"),
        (unary("llvm.exp.f32"), "expected intrinsics that PTX has instructions for, got llvm.exp.f32"),
        (unary("llvm.nvvm.strange"), "expected intrinsics of LLVM 22, got llvm.nvvm.strange"),
        ("define void @f() {\n  ret void\n}", "expected LLVM IR with a kernel, got none"),
        ("define ptx_kernel void @k( {", "expected LLVM IR that LLVM 22 reads: "),
    ],
)
def test_refused(text: str, message: str) -> None:
    with pytest.raises(CompileError, match=f"^{re.escape(message)}"):
        emit(text)


FLOAT = [f"llvm.{name}" for name in intrinsics._FLOAT if name not in ("is.fpclass", "canonicalize")]
OPERANDS = {"fma": 3, "fmuladd": 3, "copysign": 2, "maxnum": 2, "minnum": 2, "maximum": 2, "minimum": 2}


def test_allowed_intrinsics_have_instructions() -> None:
    """LLVM aborts the process where it has none: a child emits them all."""
    types = {"f16": "half", "bf16": "bfloat", "f32": "float", "f64": "double"}

    def work() -> bytes:
        for name in FLOAT:
            count = OPERANDS.get(name.removeprefix("llvm."), 1)
            for suffix, kind in types.items():
                arguments, parameters = ", ".join([f"{kind} %v"] * count), ", ".join([kind] * count)
                function = f"@{name}.{suffix}"
                declaration = f"declare {kind} {function}({parameters})"
                op = f"call {kind} {function}({arguments})"
                assert emit(KERNEL.format(type=kind, op=op, declaration=declaration))
        return b"all"

    assert in_child(work) == b"all"


@pytest.mark.parametrize("name", ["scmp", "ucmp"])
@pytest.mark.parametrize("kind", ["i8", "i64"])
def test_comparisons_of_three_results(name: str, kind: str) -> None:
    """What LLVM makes of nested selects."""
    function = f"@llvm.{name}.{kind}.{kind}"
    op, declaration = f"call {kind} {function}({kind} %v, {kind} 0)", f"declare {kind} {function}({kind}, {kind})"
    assert "setp" in emit(KERNEL.format(type=kind, op=op, declaration=declaration))


def test_refused_intrinsics_would_abort() -> None:
    """Why there is a list: without the check the process dies."""

    def work() -> bytes:
        module = backend.parse(unary("llvm.exp.f32"))
        machine = backend.target_machine("sm_80")
        module.triple, module.data_layout = backend.TRIPLE, str(machine.target_data)
        return machine.emit_assembly(module).encode()

    assert in_child(work) is None


def test_helper_functions_are_inlined() -> None:
    helper = "define float @helper(float %x) {\n  ret float %x\n}"
    text = unary("helper").replace("declare float @helper(float)", helper)
    assert ".func" not in emit(text)


def test_threads() -> None:
    results: list[str] = []
    text = unary("__nv_tanhf")
    threads = [threading.Thread(target=lambda: results.append(emit(text))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [emit(text)] * 4


@pytest.mark.slow
def test_warm_latency() -> None:
    """Under 100 ms for one kernel; the best of several, as other processes share the machine."""
    times: list[float] = []
    for text in [unary("__nv_expf"), unary("__nv_tanf")] if libdevice.find_libdevice() else [unary("__nv_expf")]:
        emit(text)
        for _ in range(5):
            start = time.perf_counter()
            emit(text)
            times.append(time.perf_counter() - start)
    assert min(times) < 0.1
