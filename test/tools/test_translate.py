"""ragged-translate: LLVM IR of lowered and of ragged modules."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragged_dialect.tools import ragged_translate

LOWERED = "llvm.func @twice(%a: i32) -> i32 {\n  %0 = llvm.add %a, %a : i32\n  llvm.return %0 : i32\n}\n"
RAGGED = """func.func @f(%x: tensor<?xf32>, %o: tensor<4xi64>) -> tensor<3x?xf32, #ragged.layout<"dr">> {
  %r = ragged.partition %x, %o {dim = 0} : (tensor<?xf32>, tensor<4xi64>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  return %r : tensor<3x?xf32, #ragged.layout<"dr">>
}
"""


@pytest.mark.parametrize("text", [LOWERED, RAGGED], ids=["lowered", "ragged"])
def test_llvm_ir(text: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file, out = tmp_path / "in.mlir", tmp_path / "out.ll"
    file.write_text(text)
    assert ragged_translate.main([str(file), "--mlir-to-llvmir", "-o", str(out)]) == 0
    assert "\ndefine " in out.read_text()
    assert capfd.readouterr().err == ""


FOREIGN = "error: expected registered ops of the llvm dialect only"
REFUSED = [
    ('llvm.func @f() {\n  "llvm.bad"() : () -> ()\n  llvm.return\n}', f":2:3: {FOREIGN}, got 'llvm.bad'"),
    ("llvm.func @f(%a: i32) {\n  %0 = arith.addi %a, %a : i32\n  llvm.return\n}", f":2:8: {FOREIGN}, got 'arith.addi'"),
    (
        'llvm.func @f() attributes {passthrough = ["alignstack"]} { llvm.return }',
        ":1:1: error: LLVM attribute 'alignstack' expects a value\n"
        "ragged-translate: expected a module that LLVM IR can express, got one whose translation failed",
    ),
    ("llvm.func @f( {", ":1:14: error: expected non-function type"),
    ("func.func @f(%a: tensor<?xf32, 3>) { return }", ":1:1: error: 'func.func' op expected a tensor with a #ragged"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_refused(text: str, message: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file, out = tmp_path / "in.mlir", tmp_path / "out.ll"
    file.write_text(text)
    assert ragged_translate.main([str(file), "-o", str(out)]) == 1
    assert f"{file}{message}" in capfd.readouterr().err
    assert not out.exists()


def test_no_such_file(capfd: pytest.CaptureFixture[str]) -> None:
    assert ragged_translate.main(["/nonexistent.mlir"]) == 1
    assert capfd.readouterr() == ("", "ragged-translate: /nonexistent.mlir: no such file or directory\n")


@pytest.mark.parametrize(
    ("flag", "text"),
    [("--arch=sm_90", "arch for the CPU, got sm_90"), ("--schedule=general", "schedule for the CPU, got general"),
     ("--fast-math", "fast-math for the CPU, got True"), ("--index-bits=32", "index-bits for the CPU, got 32")],
)  # fmt: skip
def test_options_of_gpus_are_refused_for_the_cpu(
    flag: str, text: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "f.mlir").write_text("func.func @f() { return }")
    assert ragged_translate.main([str(tmp_path / "f.mlir"), flag]) == 1
    assert capfd.readouterr().err == f"ragged-translate: expected no --{text}\n"


@pytest.mark.parametrize("flag", ["--arch=", "--schedule="])
def test_empty_values_are_no_defaults(flag: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "f.mlir").write_text("func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> { return %x : tensor<?xf32> }")
    assert ragged_translate.main([str(tmp_path / "f.mlir"), "--target=gpu", flag]) == 1
    assert capfd.readouterr().err.endswith(", got ''\n")
