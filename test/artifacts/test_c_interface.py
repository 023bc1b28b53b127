"""Names, texts and refusals on the C side of libraries, and the tools they are made with."""

from __future__ import annotations

import ctypes
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.c_program import NO_CC
from support.structures import text_of

from ragged_dialect import CompileError
from ragged_dialect._mlir import ir
from ragged_dialect.artifacts import machine_code
from ragged_dialect.artifacts.c_header import header
from ragged_dialect.artifacts.c_interface import parameters
from ragged_dialect.artifacts.c_wrapper import wrapper
from ragged_dialect.artifacts.cpu_library import argument_names, link, write
from ragged_dialect.asm.module import parse_module
from ragged_dialect.checks import CHECK_KINDS, Check
from ragged_dialect.dialect import context
from ragged_dialect.execution import lower_for_cpu
from ragged_dialect.runtime.callbacks import CHECKED
from ragged_dialect.runtime.signature import Group, Part, Signature

pytestmark = pytest.mark.skipif(NO_CC is not None, reason=NO_CC or "")

F32 = np.float32
X = 'tensor<?x?xf32, #ragged.layout<"dr">>'
ONE = text_of(["f32"], ["%0 = arith.addf %a0, %a0 : f32"], [("%0", "f32")])

REFUSED: list[tuple[str, dict[str, Any], str]] = [
    (ONE, {"output": Path("f.a")}, "expected an output that ends in .so, got 'f.a'"),
    (ONE, {"cpu": "z80"}, f"expected a CPU among {', '.join(machine_code.CPUS)}, got 'z80'"),
    (text_of([X], [f"ragged.print %a0 : ({X}) -> ()"], []), {},
     "f: expected a program without ragged.print for a library, got one that prints"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "options", "message"), REFUSED)
def test_refused(text: str, options: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(CompileError) as error:
        write(**{"source": text, "entry": None, "output": tmp_path / "libf.so", **options})
    assert str(error.value) == message
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as error:
        write(ONE, None, tmp_path / "none" / "libf.so")
    assert error.value.filename == str(tmp_path / "none" / "libf.so")


def test_missing_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "llvmlite", None)
        without.setitem(sys.modules, "llvmlite.binding", None)
        with pytest.raises(CompileError, match=re.escape("got none (pip install llvmlite)")):
            write(ONE, None, tmp_path / "libf.so")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CompileError) as error:
        write(ONE, None, tmp_path / "libf.so")
    assert str(error.value) == "expected a C compiler 'cc' on the PATH, got none (install gcc or clang)"


def test_ir_that_llvmlite_cannot_read() -> None:
    with pytest.raises(CompileError, match=r"^expected LLVM IR that llvmlite reads"):
        machine_code.object_code("define void @f( {", frozenset())


def test_what_cc_says(tmp_path: Path) -> None:
    source = tmp_path / "bad.c"
    source.write_text("int f(void) { return g(); }\n")
    with pytest.raises(CompileError, match=r"(?s)^expected cc to link libf.so, got exit code 1:\n.*\bg\b"):
        link(tmp_path, ["bad.c"], "libf.so", "libf.so", ["f"], [])


def test_texts_of_all_checks(tmp_path: Path) -> None:
    """C makes of a status record what `Check.message` makes of it."""
    ops = ('ragged.x "%d" {i} \\ é??=', "ragged.partition")
    checks = [Check(kind, ops[k % 2], k) for k, kind in enumerate(CHECK_KINDS)]
    number = Group((Part("value", np.dtype(np.int64), None),))
    signature = Signature("f", (number,) * 5, ())
    (tmp_path / "f.h").write_text(header(signature, parameters(signature)))
    (tmp_path / "wrapper.c").write_text(wrapper(signature, checks, "f.h", threaded=False))
    program = f"""
        void _mlir_packed_rg__f(void **slots) {{ (void)slots; }}
        long ragged_call(void (*f)(void **), void **slots, long *status) {{
          f(slots);
          for (int k = 0; k < 5; k++) status[k] = *(long *)slots[k];
          return {CHECKED};
        }}"""
    (tmp_path / "program.c").write_text(program)
    strict = ["cc", "-std=gnu99", "-Wall", "-Wextra", "-Werror", "-c", "-o", "f.o", "wrapper.c"]
    subprocess.run(strict, check=True, cwd=tmp_path)
    link(tmp_path, ["wrapper.c", "program.c"], "libf.so", "libf.so", ["f", "f_error"], [])
    library = ctypes.CDLL(str(tmp_path / "libf.so"))
    library.f_error.restype = ctypes.c_char_p
    for k, check in enumerate(checks):
        for case in range(len(CHECK_KINDS[check.kind].cases)):
            for record in ((case, -1, 3, -4), (case, 6, 2**62, -(2**63)), (case, -1, 3, 0), (case, 6, -1, 0)):
                assert library.f(*map(ctypes.c_int64, (k + 1, *record))) == 1
                assert library.f_error().decode() == check.message(*record)


def names_of(text: str, source: Callable[[str], Any] = str) -> list[str]:
    """Parameters of the C function of a program."""
    lowered = lower_for_cpu(source(text), None)
    found = parameters(lowered.signature, argument_names(lowered.locations, source(text)))
    return [parameter.name for parameter in found]


def module_of(text: str) -> ir.Module:
    """A module whose text is not at hand."""
    return parse_module(text, context(), "nowhere.mlir")


def program(*names: str) -> str:
    """A program whose arguments have names, the first is ragged."""
    types = [X, *["tensor<?xf32>"] * (len(names) - 1)]
    given = ", ".join(f"%{name}: {type_}" for name, type_ in zip(names, types, strict=True))
    return f"func.func @f({given}) {{ return }}"


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("x", "y"), ["x", "x_offsets1", "y"]),
        (("x", "class"), ["arg0", "arg0_offsets1", "arg1"]),
        (("x", "int64_t"), ["arg0", "arg0_offsets1", "arg1"]),
        (("x", "INT64_MAX"), ["arg0", "arg0_offsets1", "arg1"]),
        (("x", "f_result"), ["arg0", "arg0_offsets1", "arg1"]),
        (("x", "result"), ["arg0", "arg0_offsets1", "arg1"]),
        (("x", "x_offsets1"), ["arg0", "arg0_offsets1", "arg1"]),
        (("x", "x_dim0"), ["arg0", "arg0_offsets1", "arg1"]),
        (("x", "0"), ["x", "x_offsets1", "arg1"]),
    ],
)
def test_argument_names(names: tuple[str, ...], expected: list[str]) -> None:
    assert names_of(program(*names)) == expected


def test_argument_names_from_other_sources(tmp_path: Path) -> None:
    text = program("x", "y")
    assert names_of(text, str.encode) == ["x", "x_offsets1", "y"]
    assert names_of(text, module_of) == ["arg0", "arg0_offsets1", "arg1"]
    file = tmp_path / "f.mlir"
    file.write_text(text)
    assert names_of(text, lambda _: file) == ["x", "x_offsets1", "y"]
    named = 'func.func @f(%0: f32 loc("scale")) { return }'
    assert names_of(named, module_of) == ["scale"]
