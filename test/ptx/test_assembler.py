"""ptxas and nvdisasm: what kernels cost, on every architecture; the tools' absence."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from support.kernels import all_kernels, translated
from support.llvm_kernels import unary

from ragged_dialect.errors import CompileError
from ragged_dialect.ptx import PTX_VERSIONS, assembler, emit, tools
from ragged_dialect.ptx.assembler import check, table
from ragged_dialect.ptx.sass import Loop, sass_of
from ragged_dialect.tools import ragged_translate

MODULES = dict(all_kernels())
STREAM = """define ptx_kernel void @sum(ptr noalias align 16 %x, ptr noalias align 16 %y, i64 %n) {
  br label %body
body:
  %i = phi i64 [ 0, %0 ], [ %next, %body ]
  %s = phi <4 x float> [ zeroinitializer, %0 ], [ %t, %body ]
  %p = getelementptr <4 x float>, ptr %x, i64 %i
  %v = load <4 x float>, ptr %p
  %t = fadd <4 x float> %s, %v
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %body, label %done, !llvm.loop !0
done:
  store <4 x float> %t, ptr %y
  ret void
}
!0 = distinct !{!0, !1}
!1 = !{!"llvm.loop.unroll.count", i32 4}
"""
LISTING = """
	.section	.text.k,"ax",@progbits
.text.k:
        /*0000*/                   S2R R2, SR_TID.X ;
        /*0010*/              @!PT LDS RZ, [RZ] ;
        /*0020*/               @P0 LDG.E.U16.CONSTANT R1, [R4.64] ;
.L_x_1:
        /*0030*/                   MOV R0, RZ ;
.L_x_2:
        /*0040*/                   LDG.E.128.CONSTANT R4, [R2.64] ;
        /*0050*/                   LDG.E R8, [R2.64] ;
        /*0060*/              @!P1 BRA `(.L_x_2) ;
        /*0070*/               @P2 BRA `(.L_x_1) ;
        /*0080*/                   STL [R1], R0 ;
        /*0090*/                   STG.E.64 desc[UR4][R2.64], R4 ;
        /*00a0*/                   SHFL.BFLY PT, R3, R3, 0x1, 0x1f ;
        /*00b0*/                   BAR.SYNC.DEFER_BLOCKING 0x0 ;
        /*00b8*/               @P3 CALL.REL.NOINC `(.L_x_0) ;
        /*00bc*/                   CALL.REL.NOINC `($__internal_0_$__cuda_sm20_div_u64) ;
        /*00c0*/                   EXIT ;
.L_x_0:
        /*00d0*/                   BRA `(.L_x_0) ;
        /*00e0*/                   NOP ;
.L_x_9:
"""


def test_figures_of_a_listing() -> None:
    found = sass_of(LISTING)["k"]
    assert found.instructions == 14
    assert found.loads == {16: 1, 32: 1, 128: 1}
    assert found.stores == {64: 1}
    assert (found.local, found.barriers, found.shuffles, found.calls, found.fences) == (1, 1, 1, 1, 0)
    assert found.loops == (Loop(instructions=3, loads=2, widest=128, bytes=20, products=0),)


def refusal(name: str, arch: str, tmp_path: Path) -> str:
    """What ptxas complains about in a module's PTX; it does not optimise, which takes longest."""
    source = tmp_path / "kernels.ptx"
    source.write_text(emit(translated(MODULES[name]), arch))
    command = [tools.require_tool("ptxas"), "-O0", f"-arch={arch}", source, "-o", tmp_path / "kernels.cubin"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stderr


@pytest.mark.sampled(8)
@pytest.mark.ptx
@pytest.mark.parametrize("name", MODULES)
def test_every_op_assembles(name: str, tmp_path: Path) -> None:
    assert refusal(name, "sm_80", tmp_path) == ""


@pytest.mark.sampled(2)
@pytest.mark.ptx
@pytest.mark.parametrize(
    ("name", "arch"),
    [("float-f16", "sm_100"), ("float-bf16", "sm_90"), ("float-bf16", "sm_120"), ("math-f32", "sm_90")],
)
def test_every_op_assembles_elsewhere(name: str, arch: str, tmp_path: Path) -> None:
    assert refusal(name, arch, tmp_path) == ""


@pytest.mark.slow
@pytest.mark.ptx
@pytest.mark.parametrize("arch", PTX_VERSIONS)
def test_every_op_assembles_everywhere(arch: str, tmp_path: Path) -> None:
    assert {name: refusal(name, arch, tmp_path) for name in MODULES} == dict.fromkeys(MODULES, "")


@pytest.mark.sampled(4)
@pytest.mark.ptx
@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100", "sm_120"])
def test_report(arch: str) -> None:
    [report] = check(emit(STREAM, arch), arch)
    assert (report.name, report.spill_stores, report.spill_loads, report.stack, report.shared) == ("sum", 0, 0, 0, 0)
    assert 8 < report.registers <= 64
    if report.sass is None:
        pytest.skip("no nvdisasm")
    assert report.sass.loads.keys() == {128}
    assert report.sass.stores == {128: 1}
    assert report.sass.local == 0
    assert any(loop.loads == 4 and loop.widest == 128 for loop in report.sass.loops)


@pytest.mark.ptx
def test_table() -> None:
    text = table(check(emit(STREAM)))
    header, row = text.splitlines()
    assert header.split()[:3] == ["kernel", "registers", "spills"]
    assert re.match(r"sum +\d+ +0/0 ", row)


def test_table_without_disassembler() -> None:
    reports = assembler._reports(
        "ptxas info    : Compiling entry function 'k' for 'sm_80'\n"
        "    8 bytes stack frame, 16 bytes spill stores, 24 bytes spill loads\n"
        "ptxas info    : Used 255 registers, 256 bytes smem, 372 bytes cmem[0]\n"
        "ptxas warning : slow\n",
        None,
    )
    [report] = reports
    assert (report.registers, report.stack, report.shared) == (255, 8, 256)
    assert (report.spill_stores, report.spill_loads) == (16, 24)
    assert table(reports).splitlines()[1].split() == ["k", "255", "16/24", "8", "256", *["-"] * 5]
    assert table(reports).splitlines()[2] == "ptxas warning : slow"


@pytest.mark.ptx
def test_refused_ptx() -> None:
    with pytest.raises(CompileError, match=r"^expected PTX that ptxas assembles for sm_80: ptxas line 4; fatal"):
        check(".version 7.0\n.target sm_80\n.address_size 64\nstrange\n")


def test_unknown_arch() -> None:
    with pytest.raises(CompileError, match="expected an arch among"):
        check("", "sm_1")


@pytest.fixture
def no_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without CUDA."""
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setenv("CUDA_HOME", "/nonexistent")
    monkeypatch.setattr(tools, "wheel_folders", lambda: iter(()))


@pytest.mark.usefixtures("no_tools")
def test_no_ptxas() -> None:
    with pytest.raises(CompileError, match=r"^expected ptxas in .*nvidia-cuda-nvcc, got none \(pip install 'ragged"):
        check("")


def test_tools_are_found_in_order(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folders = [tmp_path / name / "bin" for name in ("home", "path", "wheel")]
    for folder in folders:
        folder.mkdir(parents=True)
        (folder / "ptxas").touch(mode=0o755)
    monkeypatch.setenv("CUDA_HOME", os.fspath(tmp_path / "home"))
    monkeypatch.setenv("PATH", os.fspath(folders[1]))
    monkeypatch.setattr(tools, "wheel_folders", lambda: iter([tmp_path / "wheel"]))
    for folder in folders:
        assert tools.find_tool("ptxas") == folder / "ptxas"
        (folder / "ptxas").unlink()
    assert tools.find_tool("ptxas") is None


@pytest.mark.ptx
def test_every_ptxas_here_accepts_our_ptx(tmp_path: Path) -> None:
    """The toolkit's and the wheel's, where both are installed, are of different versions."""
    found = [path for path in (folder / "bin" / "ptxas" for folder in tools.wheel_folders()) if path.is_file()]
    source = tmp_path / "k.ptx"
    for path in {*found, tools.require_tool("ptxas")}:
        for arch in ("sm_80", "sm_90", "sm_100", "sm_120"):
            source.write_text(emit(unary("__nv_tanhf"), arch))
            subprocess.run([path, f"-arch={arch}", source, "-o", tmp_path / "k.cubin"], check=True)


@pytest.mark.ptx
def test_check_ptx_of_the_tool(root: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = root / "lit_tests" / "tools" / "translate-gpu.mlir"
    assert ragged_translate.main([os.fspath(file), "--to=ptx", "--check-ptx", "--arch=sm_90"]) == 0
    out, err = capfd.readouterr()
    assert ".target sm_90" in out
    sass = r"\b1x128\b" if tools.find_tool("nvdisasm") else "-"
    assert re.search(rf"^scale +\d+ +0/0 .*{sass}", err, re.M)


@pytest.mark.usefixtures("no_tools")
def test_check_ptx_without_ptxas(root: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = root / "lit_tests" / "tools" / "translate-gpu.mlir"
    assert ragged_translate.main([os.fspath(file), "--to=ptx", "--check-ptx"]) == 1
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("ragged-translate: expected ptxas in CUDA_HOME/bin")
