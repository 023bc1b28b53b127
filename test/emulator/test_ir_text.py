"""Reading canonical LLVM IR: types, operands, accesses, where pointers come from."""

from __future__ import annotations

import re

import pytest
from support.emulator_kernels import by_hand

from ragged_dialect.emulator import Emulator
from ragged_dialect.emulator.accesses import Access, Instruction, accesses, instruction
from ragged_dialect.emulator.ir_text import (
    closing,
    element_size,
    leading_operand,
    leading_type,
    natural_alignment,
    split_list,
    type_size,
)
from ragged_dialect.emulator.origins import Origin, Origins
from ragged_dialect.emulator.state import ATOMIC, ATOMIC_LOAD, LOAD, STORE
from ragged_dialect.errors import EmulatorError


def test_lists_and_operands() -> None:
    assert split_list("<2 x i32> <i32 1, i32 2>, ptr %p, align 4") == ["<2 x i32> <i32 1, i32 2>", "ptr %p", "align 4"]
    assert split_list("") == []
    assert leading_type("ptr addrspace(3) @sm") == "ptr addrspace(3)"
    assert leading_type("{ i32, i1 } %v") == "{ i32, i1 }"
    assert leading_operand("%p syncscope") == "%p"
    expression = "getelementptr inbounds (i8, ptr @g, i64 4)"
    assert leading_operand(f"{expression} monotonic") == expression
    assert leading_operand("null") == "null"


@pytest.mark.parametrize(
    ("kind", "size", "element", "alignment"),
    [
        ("i1", 1, 1, 1),
        ("i8", 1, 1, 1),
        ("i17", 4, 4, 4),
        ("i64", 8, 8, 8),
        ("half", 2, 2, 2),
        ("ptr addrspace(3)", 8, 8, 8),
        ("<4 x float>", 16, 4, 16),
        ("<8 x i1>", 1, 1, 1),
        ("<3 x i16>", 6, 2, 8),
        ("[3 x [5 x double]]", 120, 8, 8),
        ("[2 x <2 x bfloat>]", 8, 2, 4),
    ],
)
def test_sizes(kind: str, size: int, element: int, alignment: int) -> None:
    assert (type_size(kind), element_size(kind), natural_alignment(kind)) == (size, element, alignment)


def test_text_that_is_no_ir() -> None:
    with pytest.raises(EmulatorError, match=r"expected balanced brackets, got \(\("):
        closing("((", 0)
    with pytest.raises(EmulatorError, match=r"expected a typed operand, got %v"):
        leading_type("%v")
    with pytest.raises(EmulatorError, match="expected an access with an alignment, got i32, ptr %p"):
        accesses(Instruction("%v", "load", "i32, ptr %p"))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("  %v = load float, ptr %p, align 4", Access(LOAD, 4, 4, "ptr", "%p")),
        ("  %v = load volatile i8, ptr %p, align 1", Access(ATOMIC_LOAD, 1, 1, "ptr", "%p")),
        ('  %v = load atomic i32, ptr %p syncscope("device") acquire, align 4', Access(ATOMIC_LOAD, 4, 4, "ptr", "%p")),
        (
            "  store <4 x float> <float 1.0, float 1.0, float 1.0, float 1.0>, ptr addrspace(3) @s, align 16, !tbaa !3",
            Access(STORE, 16, 16, "ptr addrspace(3)", "@s"),
        ),
        (
            "  store i32 0, ptr addrspacecast (ptr addrspace(3) @s to ptr), align 4",
            Access(STORE, 4, 4, "ptr", "addrspacecast (ptr addrspace(3) @s to ptr)"),
        ),
        ("  %v = atomicrmw fadd ptr %p, float %x monotonic, align 4", Access(ATOMIC, 4, 4, "ptr", "%p")),
        (
            "  %v = cmpxchg weak ptr %p, i64 %a, i64 %b acq_rel monotonic, align 8",
            Access(ATOMIC, 8, 8, "ptr", "%p"),
        ),
    ],
)
def test_accesses(line: str, expected: Access) -> None:
    found = instruction(line)
    assert found is not None
    assert accesses(found) == [expected]


BODY = """  %a = getelementptr inbounds float, ptr %0, i64 %2
  %b = addrspacecast ptr addrspace(3) @s to ptr
  %c = alloca i32, i64 3, align 4
  %d = getelementptr i8, ptr %c, i64 1
  %e = select i1 %x, ptr %a, ptr %0
  %f = select i1 %x, ptr %a, ptr %1
  %g = phi ptr [ %a, %entry ], [ %h, %loop ]
  %h = getelementptr i8, ptr %g, i64 4
  %i = load ptr, ptr %0, align 8
  %j = phi ptr [ %i, %entry ], [ %a, %loop ]
  %k = ptrtoint ptr %a to i64
  %l = add nuw nsw i64 %k, 16
  %m = inttoptr i64 %l to ptr
  %n = add i64 ptrtoint (ptr addrspace(3) @s to i64), %x
  %o = inttoptr i64 %n to ptr addrspace(3)
  %p = add i64 %k, %n
  %q = inttoptr i64 %p to ptr
  %r = inttoptr i64 %x to ptr
  %t = inttoptr i64 %l to ptr addrspace(3)
  %u = ptrtoint ptr %c to i64
  %v = inttoptr i64 %u to ptr addrspace(1)"""


@pytest.mark.parametrize(
    ("pointer", "expected"),
    [
        ("%a", Origin("argument", "0")),
        ("%b", Origin("global", "s")),
        ("getelementptr (i8, ptr addrspace(3) @s, i64 4)", Origin("global", "s")),
        ("%d", Origin("local", "%c")),
        ("%e", Origin("argument", "0")),
        ("%f", None),
        ("%h", Origin("argument", "0")),
        ("%i", None),
        ("%j", None),
        ("%m", Origin("argument", "0")),
        ("%o", Origin("global", "s")),
        ("%q", None),
        ("%r", None),
        ("%t", None),
        ("%v", None),
        ("inttoptr (i64 16 to ptr)", None),
    ],
)
def test_origins(pointer: str, expected: Origin | None) -> None:
    origins = Origins(BODY.splitlines(), {"%0": 0, "%1": 1})
    assert origins.of(pointer) == expected
    assert origins.local_sizes == {"%c": 12}


def test_sizes_of_copies_are_words() -> None:
    declared = ["declare void @llvm.memset.p0.i32(ptr, i8, i32, i1)"]
    body = "  call void @llvm.memset.p0.i32(ptr %0, i8 1, i32 4, i1 false)"
    expected = "expected a size of type i64 in a call of @llvm.memset.p0.i32, got i32 4"
    with pytest.raises(EmulatorError, match=re.escape(expected)):
        Emulator(by_hand("ptr %0", body, declared))


def test_names_that_need_quotes() -> None:
    with pytest.raises(EmulatorError, match="expected a plain function name, got a b"):
        Emulator('define ptx_kernel void @"a b"() {\n  ret void\n}')


def test_too_many_parameters() -> None:
    with pytest.raises(EmulatorError, match="expected at most 512 parameters, got 513 of @k"):
        Emulator(by_hand(", ".join(f"i32 %{i}" for i in range(513)), ""))
