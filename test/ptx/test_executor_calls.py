"""Functions of PTX texts, what they are given and give (PTX ISA 7.1), and memory of a thread's own (5.1.5)."""

from __future__ import annotations

import numpy as np
import pytest

import ragged_dialect as rg
from ragged_dialect.emulator.ptx import PtxExecutor
from ragged_dialect.errors import EmulatorError

FUNCTIONS = """.version 8.7
.target sm_90
.address_size 64
.global .align 8 .b8 table[16] = {3, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0};
.func (.param .align 16 .b8 func_retval0[16]) both (.param .b64 both_param_0, .param .b32 both_param_1)
;
.func (.param .b64 func_retval0) twice (.param .b64 twice_param_0)
{
.reg .b64 %rd<4>;
ld.param.b64 %rd1, [twice_param_0];
add.s64 %rd2, %rd1, %rd1;
st.param.b64 [func_retval0], %rd2;
ret;
}
.func (.param .align 16 .b8 func_retval0[16]) both (.param .b64 both_param_0, .param .b32 both_param_1)
{
.reg .b32 %r<4>; .reg .b64 %rd<9>; .reg .pred %p<2>;
ld.param.b64 %rd1, [both_param_0];
ld.param.b32 %r1, [both_param_1];
setp.gt.s32 %p1, %r1, 3;
@%p1 bra LARGE;
{
.param .b64 param0;
.param .b64 retval0;
st.param.b64 [param0], %rd1;
call.uni (retval0), twice, (param0);
ld.param.b64 %rd1, [retval0];
}
LARGE:
mov.b64 %rd2, table;
ld.global.b64 %rd3, [%rd2+8];
add.s64 %rd3, %rd3, %rd1;
st.param.v2.b64 [func_retval0], {%rd1, %rd3};
}
.visible .entry k(.param .u64 .ptr .align 16 x0)
{
.local .align 16 .b8 spot[32];
.reg .b32 %r<9>; .reg .b64 %rd<20>; .reg .pred %p<2>;
ld.param.b64 %rd1, [x0];
cvta.to.global.u64 %rd2, %rd1;
mov.u32 %r1, %tid.x;
cvt.u64.u32 %rd3, %r1;
{
.param .b64 param0;
.param .b32 param1;
.param .align 8 .b8 retval0[16];
st.param.b64 [param0], %rd3;
st.param.b32 [param1], %r1;
call.uni (retval0), both, (param0, param1);
ld.param.b64 %rd4, [retval0];
ld.param.b64 %rd5, [retval0+8];
}
mov.b64 %rd6, spot;
and.b64 %rd7, %rd3, 3;
shl.b64 %rd7, %rd7, 3;
add.s64 %rd8, %rd6, %rd7;
st.local.b64 [%rd8], %rd5;
ld.local.b64 %rd9, [%rd8];
shl.b64 %rd10, %rd3, 4;
add.s64 %rd11, %rd2, %rd10;
st.global.b64 [%rd11], %rd4;
st.global.b64 [%rd11+8], %rd9;
ret;
}
"""


def launch(text: str) -> np.ndarray:
    found = np.zeros((8, 2), np.int64)
    PtxExecutor(text).launch("k", (1, 1, 1), (8, 1, 1), [found])
    return found


def test_functions_and_local_memory() -> None:
    first = np.arange(8) * np.where(np.arange(8) > 3, 1, 2)
    np.testing.assert_array_equal(launch(FUNCTIONS), np.stack([first, first + 5], axis=1))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "ld.local.b64 %rd9, [%rd8]",
            "ld.local.b64 %rd9, [%rd8+32]",
            "an access within a local array or constant of 32 bytes",
        ),
        ("st.local.b64 [%rd8]", "st.local.b64 [%rd8+4]", "expected an address aligned to 8 bytes"),
        ("st.local.b64 [%rd8]", "st.global.b64 [%rd8]", "expected an access to an argument, got a store of 8 bytes"),
        (
            "ld.local.b64 %rd9, [%rd8]",
            "ld.local.b64 %rd9, [%rd2]",
            "an access within a local array or constant of 32 bytes",
        ),
        (
            ".local .align 16 .b8 spot[32];",
            ".local .b8 a[8]; .local .b8 spot[8];",
            "expected one variable in local memory, got 2",
        ),
        ("(retval0), twice, (param0)", "(retval0), thrice, (param0)", "expected a function of the text, got thrice"),
        (
            "(retval0), twice, (param0)",
            "(retval0), twice, ()",
            "expected bytes of [8] and [8] for twice, got [[], [8]]",
        ),
        (
            "(retval0), both, (param0, param1)",
            "(param0), both, (param0, param1)",
            "expected bytes of [8, 4] and [16] for both",
        ),
        (
            "ld.param.b64 %rd5, [retval0+8]",
            "ld.param.b64 %rd5, [retval0+12]",
            "expected an access within 16 bytes, aligned as they are to 8, got one of 8 bytes at byte 12",
        ),
        ("LARGE:\n", "LARGE:\nexit;\n", "expected no exit in a function, got one"),
        ("ld.param.b64 %rd4, [retval0]", "ld.param.b64 %rd4, [retval1]", "expected a whole parameter, got [retval1]"),
    ],
)
def test_fault_is_found(old: str, new: str, expected: str) -> None:
    assert old in FUNCTIONS
    with pytest.raises(EmulatorError) as error:
        launch(FUNCTIONS.replace(old, new))
    assert expected in str(error.value)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ["sin", "tan", "power"])
def test_functions_of_programs(name: str, dtype: str) -> None:
    """Reduction of large arguments, in local memory, and powers are functions."""
    values = np.array([0.5, 1e10, 3e5, -2.5, 1e22, 2.0**33 + 1], dtype)
    function = (lambda x: np.abs(x) ** 1.7) if name == "power" else getattr(np, name)
    array = rg.from_lengths(values, [2, 0, 4])
    source = rg.jit(lambda x: function(x)).lower(array).source
    found = rg.compile(source, target="ptx-emulator", arch="sm_90")(np.array([0, 2, 2, 6]), values)
    np.testing.assert_allclose(found, function(values), rtol=8 * np.finfo(dtype).eps)


HEAD = """.version 8.7
.target sm_90
.address_size 64
.func (.param .b32 rv) f(.param .b32 a){
.reg .b32 %r<5>; ld.param.b32 %r1,[a]; add.u32 %r2,%r1,1; st.param.b32 [rv],%r2; ret; }
.func (.param .b64 rv) g(.param .b64 a){
.reg .b64 %rd<5>; ld.param.b64 %rd1,[a]; add.u64 %rd2,%rd1,2; st.param.b64 [rv],%rd2; ret; }
.func e(.param .align 8 .b8 a[3]){ret;}
.func (.param .b32 rv) nothing(){ret;}
"""
KERNEL = """.visible .entry k(.param .u64 .ptr .align 16 x0) {
.reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<40>; .reg .b64 %rd<40>;
ld.param.b64 %rd1,[x0]; cvta.to.global.u64 %rd2,%rd1; mov.b32 %r7, 6; mov.b64 %rd7, 40;
"""


def number(body: str, before: str = "") -> int:
    """What a kernel of one thread leaves in `%r2`."""
    found = np.zeros(4, np.uint32)
    text = f"{HEAD}{before}{KERNEL}{body}\nst.global.b32 [%rd2],%r2;\nret;\n}}\n"
    PtxExecutor(text).launch("k", (1, 1, 1), (1, 1, 1), [found])
    return int(found[0])


WIDE = "{.param .b64 p0; .param .b64 r0; st.param.b64 [p0],%rd7; call.uni (r0),g,(p0); ld.param.b64 %rd8,[r0];}"
NARROW = "{.param .b32 p0; .param .b32 r0; st.param.b32 [p0],%r7; call.uni (r0),f,(p0); ld.param.b32 %r2,[r0];}"
JUNK = 0xA5A5A5A5


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (WIDE + NARROW, 7),
        (NARROW + WIDE + "cvt.u32.u64 %r2,%rd8;", 42),
        ("{.param .b32 x0; st.param.b32 [x0],%r7;} ld.param.b64 %rd9,[x0]; mov.b32 %r2,3;", 3),
        ("{.reg .b32 t; mov.b32 t,5; {.reg .b32 t; mov.b32 t,9;} mov.b32 %r2,t;}", 5),
        ("{.reg .b32 t; mov.b32 t,5; {.reg .b64 t; mov.b64 t,9;} mov.b32 %r2,t;}", 5),
        ("{.reg .b32 lo; mov.b32 lo,5;} {.reg .b64 lo; mov.b64 lo,9; mul.lo.u64 lo,lo,lo; cvt.u32.u64 %r2,lo;}", 81),
        ("{.reg .b32 %q; mov.b32 %q,5;} {.reg .b64 %q; mov.b64 %q,9; cvt.u32.u64 %r2,%q;}", 9),
        ("{.reg .b32 %q<3>; mov.b32 %q1,5;} {.reg .b64 %q<3>; mov.b64 %q1,9; cvt.u32.u64 %r2,%q1;}", 9),
        ("{.reg .b32 %r<3>; mov.b32 %r1,5; mov.b32 %r2,4;} mov.b32 %r2,%r7;", 6),
        ("{.reg .pred q; setp.eq.s32 q,%r7,6; selp.b32 %r2,1,0,q; {.reg .b32 q; mov.b32 q,9;} @!%p1 bra q;} q:", 1),
        (
            ".reg .b32 %cc; mov.b32 %cc,8; mov.b32 %r5,-1; add.cc.u32 %r6,%r5,1; addc.u32 %r7,0,0; mov.b32 %r2,%cc;",
            8,
        ),
        (
            "{.param .align 8 .b8 p[3]; st.param.b8 [p],5; st.param.b8 [p+1],6; st.param.b8 [p+2],7; call.uni e,(p);}"
            " mov.b32 %r2,1;",
            1,
        ),
        (".local .align 4 .b8 L[16]; ld.local.b32 %r2,[L];", JUNK),
        ("{.param .b32 r0; call.uni (r0),nothing,(); ld.param.b32 %r2,[r0];}", JUNK),
        ("{.param .b32 r0; setp.eq.s32 %p1,%r7,1; @%p1 call (r0),nothing,(); ld.param.b32 %r2,[r0];}", JUNK),
        ("{.shared .b32 s; st.shared.b32 [s],%r7;} {.shared .b32 s; st.shared.b32 [s],5; ld.shared.b32 %r2,[s];}", 5),
    ],
)
def test_scopes_and_bytes(body: str, expected: int) -> None:
    assert number(body) == expected


def test_names_of_the_module_and_of_kernels() -> None:
    assert number(".local .b32 g; st.local.b32 [g],%r7; ld.local.b32 %r2,[g];", ".global .b32 g=5;\n") == 6
    assert number("mov.b32 %r2,4;", ".global .b32 x0=5;\n") == 4
    shared = ".func h(){.shared .b32 s; st.shared.b32 [s],3; ret;}\n"
    assert number(".shared .b32 s; st.shared.b32 [s],%r7; call.uni h,(); ld.shared.b32 %r2,[s];", shared) == 6


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("{.reg .b32 t; mov.b32 t,5;} mov.b32 %r2,t;", "expected"),
        ("mov.b32 %r2,%r999;", "expected a register or a number, got %r999"),
        ("{.param .b32 r0; ld.param.foo.v9.b32 %r2,[r0];}", "expected a PTX instruction that the executor knows"),
        ("{.param .b32 r0; ld.param.v2.b32 %r2,[r0];}", "expected 2 registers for ld.param.v2.b32, got %r2"),
        ("{.param .b32 r0; ld.param.b16 {%h1,%h2},[r0];}", "expected 1 registers for ld.param.b16, got {%h1,%h2}"),
        ("{.param .b32 r0; ld.param.b32 %r2,[r0],%r4;}", "expected"),
        ("{.param .b32 r0; ld.param.pred %p1,[r0];}", "expected a PTX instruction that the executor knows"),
        ("{.param .b32 p0; st.param.b16 [p0+1],5;}", "aligned as they are to 4, got one of 2 bytes at byte 1"),
        ("{.param .align 4 .b8 p0[8]; ld.param.v2.b32 {%r2,%r3},[p0];}", "got one of 8 bytes at byte 0 of p0"),
        ("{.param .b32 p0; .param .b32 r0; call.bogus.uni (r0),f,(p0);}", "expected call{.uni} (result), name"),
        ("{.param .b32 p; .param .b32 r0; call.uni (r0),f,xpy;}", "expected call{.uni} (result), name"),
        ("{.param .b32 p0; mov.b64 %rd9,p0;}", "expected the name of a variable, got p0"),
        ("{.param .b32 p0 = 5;}", "expected a variable of a known type and size"),
        (".shared .b8 s[4]={1,2};", "expected a variable of a known type and size"),
        (".shared .align 3 .b8 s[4];", "aligned to a power of two, got s of 4 bytes, aligned to 3"),
        (".local .align 4 .b8 L[100000];", "expected 1 to 65536 bytes of .local"),
        ("{.param .align 1 .b8 a[1048577];}", "expected 1 to 1024 bytes of .param"),
        (
            ".local .b32 L; cvta.local.u64 %rd9,%rd8;",
            "instruction that the executor knows, got cvta.local",
        ),
        *(
            (text, "expected")
            for text in ("st.param.b32 %r1;", "ld.param.b32 %r2,r0;", "ld.param.b32 %r2;", "ld.param;")
        ),
        *((f"{{.param .b32 p0; {text}}}", "expected") for text in ("st.param.b32 [p0];", "ld.param.b32 [p0];")),
    ],
)
def test_other_text_is_refused(body: str, expected: str) -> None:
    with pytest.raises(EmulatorError) as error:
        number(body)
    assert expected in str(error.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (".global .b32 p={x};", "expected numbers to start with, got {x}"),
        (".global .b32 p={};", "expected numbers to start with"),
        (".global .b8 p[2]={1,2,3};", "expected at most 2 numbers to start with, got 3"),
        (".global .pred p;", "expected a variable of a known type and size"),
        (".func k(){ret;}", "expected kernels and functions of names of their own, got k twice"),
        (".func h(.param .b32 a, .param .b32 a){ret;}", "expected names of their own in a scope, got a twice"),
        (".func h(.param .b32 a){st.param.b32 [a],5; ret;}", "expected no store to what h is given, got one to a"),
    ],
)
def test_other_modules_are_refused(text: str, expected: str) -> None:
    call = "{.param .b32 p0; st.param.b32 [p0],5; call.uni h,(p0);}" if ".func h(.param .b32 a){" in text else ""
    with pytest.raises(EmulatorError) as error:
        number(f"{call} mov.b32 %r2,1;", f"{text}\n")
    assert expected in str(error.value)


def test_functions_of_several_sizes_in_one_program() -> None:
    values = np.array([0.5, 2.0, 3.0])
    source = rg.jit(lambda x: np.sin(x) + np.abs(x) ** 1.7).lower(rg.from_lengths(values, [3])).source
    found = rg.compile(source, target="ptx-emulator", arch="sm_90")(np.array([0, 3]), values)
    np.testing.assert_allclose(found, np.sin(values) + values**1.7, rtol=1e-14)
