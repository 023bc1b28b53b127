"""The compiled subset of Python means what Python means."""

from __future__ import annotations

import ctypes
import re
import types

import pytest
from support import native_sample

from ragged_dialect.emulator.jit import Code
from ragged_dialect.emulator.machine import host_switch, switch_ir
from ragged_dialect.emulator.native import compile_modules
from ragged_dialect.errors import EmulatorError
from ragged_dialect.ptx.backend import LOCK

NAMES = ("collatz", "count_primes", "logic", "unsigned", "pair_of")


@pytest.fixture(scope="module")
def code() -> Code:
    """The sample, compiled."""
    text = switch_ir(host_switch()) + compile_modules([native_sample], NAMES)
    with LOCK:
        return Code(text, level=1)


def test_loops(code: Code) -> None:
    assert [code.function("collatz")(n) for n in range(1, 30)] == [native_sample.collatz(n) for n in range(1, 30)]
    assert code.function("count_primes")(100) == 25


def test_conditions(code: Code) -> None:
    def expected(x: int) -> int:
        bits = 1 if (3 < x < 10 and x != 5) or x == 20 else 2 if x >= 100 or x <= 1 else 4
        bits |= (x != 7) << 4
        low = ((x | 256) & -(x | 256)).bit_length() - 1
        return bits ^ (~x & 0xF00) | low << 24

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
def test_what_is_not_in_the_subset(body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("sample")
    source = f"def f(x: int) -> int:\n    {body}\n"
    monkeypatch.setattr("inspect.getsource", lambda _: source)
    with pytest.raises(NotImplementedError):
        compile_modules([module], ("f",))


def test_processors_without_a_switch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "vax")
    with pytest.raises(EmulatorError, match="expected one of the processors aarch64, arm64, x86_64, got vax"):
        host_switch()


def test_switch_for_aarch64(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not run here: what is saved is restored from the same place, and the frame is as said."""
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    switch = host_switch()
    saved = re.findall(r"stp (\w+), (\w+), \[sp, #(\d+)\]", switch.assembly)
    assert saved == re.findall(r"ldp (\w+), (\w+), \[sp, #(\d+)\]", switch.assembly)
    assert {name for pair in saved for name in pair[:2]} == {f"x{n}" for n in range(19, 31)} | {
        f"d{n}" for n in range(8, 16)
    }
    assert ("x29", "x30", str(8 * (switch.return_word - 1))) in saved
    assert f"sub sp, sp, #{8 * switch.frame_words}" in switch.assembly
