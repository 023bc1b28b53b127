"""What native code is made of: 64-bit words, records of them, and a few instructions.

Modules that are compiled (see `native.py`) import these names. A `Struct` works on both sides: in
compiled code `thread.site` is a load; in Python it reads the same memory.
"""

from __future__ import annotations

import ctypes
from typing import ClassVar

WORD = 8


class Struct:
    """A record of 64-bit words at an address; the annotated fields of a subclass, in their order."""

    stride: ClassVar[int]
    _offsets: ClassVar[dict[str, int]] = {}

    def __init__(self, address: int) -> None:
        object.__setattr__(self, "_address", address)

    def __init_subclass__(cls) -> None:
        """Lay the fields out."""
        cls._offsets = {name: WORD * position for position, name in enumerate(cls.__annotations__)}
        cls.stride = WORD * len(cls._offsets)

    @classmethod
    def offset(cls, field: str) -> int:
        """Where a field starts, in bytes."""
        return cls._offsets[field]

    def _word(self, field: str) -> ctypes.c_uint64:
        if field not in self._offsets:
            raise AttributeError(field)
        return ctypes.c_uint64.from_address(object.__getattribute__(self, "_address") + self._offsets[field])

    def __getattr__(self, field: str) -> int:
        return self._word(field).value

    def __setattr__(self, field: str, value: int) -> None:
        self._word(field).value = value


def address(record: Struct) -> int:
    """The address of a record."""
    raise NotImplementedError(record)


def load32(at: int) -> int:
    """The 32-bit word at an address, zero-extended."""
    raise NotImplementedError(at)


def load64(at: int) -> int:
    """The word at an address."""
    raise NotImplementedError(at)


def load_bytes(at: int) -> int:
    """The eight bytes at an address, which need not be aligned."""
    raise NotImplementedError(at)


def store64(at: int, value: int) -> None:
    """Store a word at an address."""
    raise NotImplementedError(at, value)


def copy_bytes(to: int, source: int, size: int) -> None:
    """Copy `size` bytes, which do not overlap."""
    raise NotImplementedError(to, source, size)


def product32(a: int, b: int) -> int:
    """The bits of a product of f32, of the bits of both."""
    raise NotImplementedError(a, b)


def sum32(a: int, b: int) -> int:
    """The bits of a sum of f32, of the bits of both."""
    raise NotImplementedError(a, b)


def fill(at: int, value: int, size: int) -> None:
    """Set `size` bytes to the low byte of `value`."""
    raise NotImplementedError(at, value, size)


def first_bit(word: int) -> int:
    """The number of the lowest bit set; `word` is not 0."""
    raise NotImplementedError(word)


def switch_stack(saved: int, stack: int) -> None:
    """Store the registers on the stack and the stack pointer at address `saved`; go on where the
    owner of `stack` switched away."""
    raise NotImplementedError(saved, stack)


_FLOATS = (
    "{{r}}.v = trunc i64 {{0}} to i32\n{{r}}.x = bitcast i32 {{r}}.v to float\n"
    "{{r}}.w = trunc i64 {{1}} to i32\n{{r}}.y = bitcast i32 {{r}}.w to float\n"
    "{{r}}.z = {operator} float {{r}}.x, {{r}}.y\n"
    "{{r}}.b = bitcast float {{r}}.z to i32\n{{r}} = zext i32 {{r}}.b to i64"
)
INSTRUCTIONS: dict[str, str] = {
    "address": "{r} = add i64 {0}, 0",
    "load32": "{r}.p = inttoptr i64 {0} to ptr\n{r}.w = load i32, ptr {r}.p\n{r} = zext i32 {r}.w to i64",
    "load64": "{r}.p = inttoptr i64 {0} to ptr\n{r} = load i64, ptr {r}.p",
    "load_bytes": "{r}.p = inttoptr i64 {0} to ptr\n{r} = load i64, ptr {r}.p, align 1",
    "store64": "{r}.p = inttoptr i64 {0} to ptr\nstore i64 {1}, ptr {r}.p",
    "fill": "{r}.p = inttoptr i64 {0} to ptr\n{r}.b = trunc i64 {1} to i8\n"
    "call void @llvm.memset.p0.i64(ptr {r}.p, i8 {r}.b, i64 {2}, i1 false)",
    "copy_bytes": "{r}.p = inttoptr i64 {0} to ptr\n{r}.q = inttoptr i64 {1} to ptr\n"
    "call void @llvm.memcpy.p0.p0.i64(ptr {r}.p, ptr {r}.q, i64 {2}, i1 false)",
    "product32": _FLOATS.format(operator="fmul"),
    "sum32": _FLOATS.format(operator="fadd"),
    "first_bit": "{r} = call i64 @llvm.cttz.i64(i64 {0}, i1 true)",
    "switch_stack": "call void @switch_stack(i64 {0}, i64 {1})",
}
"""Each of the functions above as LLVM IR: `{0}`, `{1}`, … are its operands, `{r}` its result."""

DECLARATIONS = """
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare i64 @llvm.cttz.i64(i64, i1)
"""
