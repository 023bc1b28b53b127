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
.func (.param .align 8 .b8 func_retval0[16]) both (.param .b64 both_param_0, .param .b32 both_param_1)
;
.func (.param .b64 func_retval0) twice (.param .b64 twice_param_0)
{
.reg .b64 %rd<4>;
ld.param.b64 %rd1, [twice_param_0];
add.s64 %rd2, %rd1, %rd1;
st.param.b64 [func_retval0], %rd2;
ret;
}
.func (.param .align 8 .b8 func_retval0[16]) both (.param .b64 both_param_0, .param .b32 both_param_1)
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
            "expected an access within 16 bytes, got ld.param.b64 at byte 12",
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
