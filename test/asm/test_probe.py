"""Bytecode from anywhere: what is damaged is refused, and the process lives on."""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from ragged_dialect import child
from ragged_dialect.asm.diagnostics import ParseError
from ragged_dialect.asm.module import load_module, print_module
from ragged_dialect.asm.probe import BYTECODE
from ragged_dialect.dialect import context
from ragged_dialect.errors import RaggedError, VerifyError
from ragged_dialect.execution import compile
from ragged_dialect.ir.clone import bytecode

DR = 'tensor<3x?xf32, #ragged.layout<"dr">>'
PROGRAM = f"""func.func @f(%x: {DR}) -> {DR} {{
  %0 = arith.addf %x, %x : {DR}
  return %0 : {DR}
}}
"""
UNREADABLE = "expected MLIR bytecode, got some that MLIR cannot read"


@pytest.fixture(name="made")
def _made() -> Iterator[Any]:
    with context() as made:
        yield made


@pytest.fixture(name="code")
def _code(made: Any) -> bytes:
    return bytecode(load_module(PROGRAM, made))


def refusal(data: bytes) -> str | None:
    """The error of a program as bytecode, without its place."""
    try:
        load_module(data, context(), "f.mlirbc")
    except ParseError as error:
        return error.diagnostics[0].message
    except RaggedError as error:
        return str(error)
    return None


def flipped(data: bytes, at: int, bit: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :]


def test_whole_bytecode_is_read_as_its_text(code: bytes, made: Any) -> None:
    assert print_module(load_module(code, made)) == print_module(load_module(PROGRAM, made))


def test_truncated_bytecode(code: bytes) -> None:
    sizes = range(len(BYTECODE), len(code), 9)
    assert None not in [refusal(code[:size]) for size in sizes]


def test_flipped_bits(code: bytes) -> None:
    """Each is refused with a reason, or is a program: MLIR refuses some, and crashes on others."""
    refusals = [refusal(flipped(code, at, at % 8)) for at in range(len(BYTECODE), len(code), 7)]
    assert UNREADABLE in refusals
    assert len(set(refusals)) > 2


def test_truncated_right_after_its_mark() -> None:
    with pytest.raises(ParseError) as caught:
        load_module(BYTECODE, context(), "f.mlirbc")
    assert str(caught.value) == "f.mlirbc: error: attempting to parse a byte at the end of the bytecode"


def test_compile_refuses_damaged_bytecode(code: bytes, capfd: pytest.CaptureFixture[str]) -> None:
    """A name that is not UTF-8 crashes the bindings, which would print so."""
    with pytest.raises(VerifyError) as caught:
        compile(flipped(code, code.index(b"arith"), 7))
    assert str(caught.value) == UNREADABLE
    assert capfd.readouterr() == ("", "")
    assert compile(code)((np.ones(2, np.float32), np.array([0, 1, 1, 2])))[0].tolist() == [2, 2]


def test_unregistered_ops_are_read_where_the_context_takes_them(made: Any) -> None:
    made.allow_unregistered_dialects = True
    buffer = io.BytesIO()
    load_module('"other.op"() : () -> ()', made).operation.write_bytecode(buffer)
    assert "other.op" in str(load_module(buffer.getvalue(), made))


def test_work_that_never_ends() -> None:
    """MLIR's reader can run for ever on a flipped bit."""

    def spin() -> bytes:
        while True:
            pass

    assert child.in_child(spin, seconds=1) is None


def test_a_fork_beside_other_threads_does_not_warn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Newer versions of Python warn of it, and warnings are errors here."""
    fork = os.fork

    def warning() -> int:
        warnings.warn("This process (pid=1) is multi-threaded, use of fork() may …", DeprecationWarning, stacklevel=1)
        return fork()

    monkeypatch.setattr(os, "fork", warning)
    assert child.in_child(lambda: b"here") == b"here"
