"""The compiled subset of Python means what Python means."""

from __future__ import annotations

import ctypes
import types

import pytest
from support import native_sample

from ragged_dialect.emulator.context_switch import host_switch, switch_ir
from ragged_dialect.emulator.jit import Code
from ragged_dialect.emulator.native import compile_modules
from ragged_dialect.errors import EmulatorError
from ragged_dialect.ptx.backend import LOCK

NAMES = ("collatz", "count_primes", "logic", "unsigned", "pair_of")


@pytest.fixture(scope="module")
def code() -> Code:
    """The sample, compiled."""
    text = switch_ir(host_switch()) + compile_modules([native_sample], NAMES)
    with LOCK:
        return Code(text)


def test_loops(code: Code) -> None:
    assert [code.function("collatz")(n) for n in range(1, 30)] == [native_sample.collatz(n) for n in range(1, 30)]
    assert code.function("count_primes")(100) == 25


def test_conditions(code: Code) -> None:
    def expected(x: int) -> int:
        bits = 1 if 3 < x < 10 and x != 5 or x == 20 else 2 if x >= 100 or x <= 1 else 4
        bits |= (x != 7) << 4
        low = ((x | 256) & -(x | 256)).bit_length() - 1
        return bits ^ (~x & 0xF00) | x.bit_count() << 16 | low << 24

    numbers = [*range(30), 99, 100, 4095]
    assert [code.function("logic")(x) for x in numbers] == [expected(x) for x in numbers]


def test_words_are_unsigned(code: Code) -> None:
    assert [code.function("unsigned")(x) for x in (0, 1, 7)] == [15, 2**64 - 1, 0]


def test_records_and_memory(code: Code) -> None:
    memory = (ctypes.c_uint64 * 4)(0, 10, 0, 0)
    assert code.function("pair_of")(ctypes.addressof(memory)) == 2 * 0x2_0000_0003 + 10 + 8
    assert list(memory) == [0x2_0000_0003, 2 * 0x2_0000_0003 + 10, 0x2_0000_0005, 0x0505050505050505]
    pair = native_sample.Pair(ctypes.addressof(memory))
    pair.first = 7
    assert (memory[0], pair.first, pair.second) == (7, 7, memory[1])
    with pytest.raises(AttributeError):
        _ = pair.third  # type: ignore[attr-defined]


@pytest.mark.parametrize("body", ["with x: pass", "return [x]", "x[0] = 1", "return x.first", "return -x"])
def test_what_is_not_in_the_subset(body: str, tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("sample")
    source = f"def f(x: int) -> int:\n    {body}\n"
    monkeypatch.setattr("inspect.getsource", lambda _: source)
    with pytest.raises(NotImplementedError):
        compile_modules([module], ("f",))


def test_processors_without_a_switch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "vax")
    with pytest.raises(EmulatorError, match="expected one of the processors aarch64, arm64, x86_64, got vax"):
        host_switch()


@pytest.mark.parametrize("processor", ["aarch64", "x86_64"])
def test_both_switches_assemble(processor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import llvmlite.binding as llvm

    monkeypatch.setattr("platform.machine", lambda: processor)
    with LOCK:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
        llvm.initialize_all_asmparsers()
        target = llvm.Target.from_triple(f"{processor}-unknown-linux-gnu").create_target_machine()
        text = switch_ir(host_switch()).replace("internal ", "")
        assembly = target.emit_assembly(llvm.parse_assembly(text))
        assert target.emit_object(llvm.parse_assembly(text))
    assert ("stp\tx29, x30" if processor == "aarch64" else "pushq\t%r15") in assembly
