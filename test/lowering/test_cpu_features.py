"""Code for CPUs with fewer instructions than this one: no symbol is missing, and the numbers are the same."""

from __future__ import annotations

import ctypes
import ctypes.util
import itertools
import re
from typing import Any

import llvmlite.binding as llvm
import ml_dtypes
import numpy as np
import pytest
from support.cpu_features import MASKS, OLDEST, levels, mask
from support.object_file import undefined_symbols
from support.run_pass import transform

import ragged_dialect as rg
from ragged_dialect import compile, host_cpu
from ragged_dialect._mlir import ir
from ragged_dialect.compiler.cpu import load_lowered, lower_for_cpu
from ragged_dialect.compiler.machine_code import object_code
from ragged_dialect.errors import CompileError, PassError
from ragged_dialect.lowering.math.library import host_isa, required_libraries
from ragged_dialect.lowering.runtime.program_runtime import DECLARED
from ragged_dialect.lowering.stage import Stage
from ragged_dialect.lowering.vector import machine
from ragged_dialect.ptx import backend

FLOATS = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64}
INTEGERS = {"i1": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64}
WIDTHS = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}
BINARY = ("addf", "subf", "mulf", "divf", "remf", "maximumf", "minimumf", "maxnumf", "minnumf")
UNARY = ("absf", "acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "ceil", "cos", "cosh", "erf", "erfc",
         "exp", "exp2", "expm1", "floor", "log", "log10", "log1p", "log2", "round", "roundeven", "rsqrt", "sin", "sinh",
         "sqrt", "tan", "tanh", "trunc")  # fmt: skip
TESTS = ("isnan", "isinf", "isfinite", "isnormal")
WHOLE = ("addi", "muli", "divsi", "divui", "remsi", "remui", "floordivsi", "ceildivsi", "ceildivui", "maxsi", "minui")


def tensor(kind: str) -> str:
    return f"tensor<?x{kind}>"


def conversions(kind: str) -> list[tuple[str, str, str]]:
    """(op, from, to) of every conversion from or to a float type."""
    found = [(op, kind, i) for op, i in itertools.product(("arith.fptosi", "arith.fptoui"), INTEGERS)]
    found += [(op, i, kind) for op, i in itertools.product(("arith.sitofp", "arith.uitofp"), INTEGERS)]
    found += [("arith.truncf", kind, other) for other in FLOATS if WIDTHS[kind] > WIDTHS[other]]
    return found + [("arith.extf", kind, other) for other in FLOATS if WIDTHS[kind] < WIDTHS[other]]


def all_ops(kind: str) -> list[tuple[list[str], str, str]]:
    """The types of operands and result, and the text, of every op on floats of a type."""
    t = tensor(kind)
    found = [([kind, kind], kind, f"arith.{op} %a0, %a1 : {t}") for op in BINARY]
    found += [([kind, kind], "i1", f"arith.cmpf {p}, %a0, %a1 : {t}") for p in ("oeq", "olt", "une", "uno")]
    found += [([kind], kind, f"math.{op} %a0 : {t}") for op in UNARY]
    found += [([kind], kind, f"arith.negf %a0 : {t}")]
    found += [([kind], "i1", f"math.{op} %a0 : {t}") for op in TESTS]
    found += [([kind, kind], kind, f"math.{op} %a0, %a1 : {t}") for op in ("atan2", "copysign", "powf")]
    found += [([kind] * 3, kind, f"math.fma %a0, %a1, %a2 : {t}")]
    found += [([kind, i], kind, f"math.fpowi %a0, %a1 : {t}, {tensor(i)}") for i in ("i32", "i64")]
    return found + [([a], b, f"{op} %a0 : {tensor(a)} to {tensor(b)}") for op, a, b in conversions(kind)]


def whole_ops(kind: str) -> list[tuple[list[str], str, str]]:
    t = tensor(kind)
    found = [([kind, kind], kind, f"{op} %a0, %a1 : {t}") for op in (*(f"arith.{w}" for w in WHOLE), "math.ipowi")]
    return found + [([kind], kind, f"math.{op} %a0 : {t}") for op in ("absi", "ctlz", "cttz", "ctpop")]


def program(ops: list[tuple[list[str], str, str]]) -> str:
    """One function of one op after the other, each on arguments of its own."""
    lines: list[str] = []
    arguments: list[str] = []
    for number, (operands, _, text) in enumerate(ops):
        for k, kind in enumerate(operands):
            text = text.replace(f"%a{k}", f"%x{len(arguments)}")
            arguments.append(f"%x{len(arguments)}: {tensor(kind)}")
        lines.append(f"%r{number} = {text}")
    results = ", ".join(tensor(result) for _, result, _ in ops)
    names = ", ".join(f"%r{number}" for number in range(len(ops)))
    body = "\n".join(lines)
    return f"func.func @f({', '.join(arguments)}) -> ({results}) {{\n{body}\nreturn {names} : {results}\n}}"


def missing(text: str) -> set[str]:
    """Symbols that the machine code of a program uses and that neither libc nor libm has."""
    lowered = lower_for_cpu(text)
    with lowered.module.context, ir.Location.unknown():
        code = object_code(lowered.module, "f", ["_mlir_ciface_" + lowered.symbol], DECLARED)
    found = undefined_symbols(code) - {*DECLARED}  # the linker is told where these are
    libraries = [ctypes.CDLL(name) for name in ("libc.so.6", "libm.so.6", *required_libraries())]
    return {name for name in found if not any(hasattr(library, name) for library in libraries)}


GROUPS = {**{kind: all_ops(kind) for kind in FLOATS}, **{kind: whole_ops(kind) for kind in list(INTEGERS)[1:]}}


@pytest.mark.slow
@pytest.mark.parametrize("kind", GROUPS)
@pytest.mark.parametrize("level", MASKS)
def test_every_op_links(kind: str, level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mask(level, monkeypatch)
    for op in GROUPS[kind]:
        assert missing(program([op])) == set(), op


@pytest.mark.sampled(8)
@pytest.mark.parametrize("level", levels("host", OLDEST))
@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_short_floats_link(kind: str, level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mask(level, monkeypatch)
    names = ("addf", "olt", "fma", "isnan", "fpowi", "i8", "i64", "extf")
    chosen = [op for op in GROUPS[kind] if any(name in op[2] for name in names)]
    narrowed = [([wide], kind, f"arith.truncf %a0 : {tensor(wide)} to {tensor(kind)}") for wide in ("f32", "f64")]
    assert missing(program(chosen + narrowed)) == set()


def samples(kind: str) -> Any:
    """Every f16 and bf16; of wider types ties, their neighbours, subnormals, overflow."""
    dtype = np.dtype(FLOATS[kind])
    if dtype.itemsize == 2:
        return np.arange(1 << 16, dtype=np.uint16).view(dtype)
    rng = np.random.default_rng(1)
    halves = np.arange(0x7C00, dtype=np.uint16).view(np.float16).astype(dtype)
    ties = (halves[:-1] + halves[1:]) / dtype.type(2)
    near = [np.nextafter(ties, dtype.type(side)) for side in (0, np.inf)]
    other = np.ldexp(rng.normal(size=20000), rng.integers(-160, 120, 20000))
    ends = np.array([np.inf, np.nan, 0, 65504, 65519.99, 65520, 65536, 1e30, 5e-324, 2.0**-25, 2.0**-24, 2.0**-149])
    found = np.concatenate([halves, ties, *near, other.astype(dtype), ends.astype(dtype)])
    return np.concatenate([found, -found])


def assert_floats(got: Any, wanted: Any, about: str) -> None:
    """Equal bits, and NaN where NaN is wanted."""
    nan = np.isnan(wanted)
    np.testing.assert_array_equal(np.isnan(got), nan, err_msg=about)
    unsigned = f"u{got.dtype.itemsize}"
    np.testing.assert_array_equal(got.view(unsigned)[~nan], wanted.view(unsigned)[~nan], err_msg=about)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("level", levels("host", OLDEST))
def test_conversions_round_once(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mask(level, monkeypatch)
    cases = [(op, a, b) for kind in FLOATS for op, a, b in conversions(kind) if a in FLOATS and b in FLOATS]
    function = compile(program([([a], b, f"{op} %a0 : {tensor(a)} to {tensor(b)}") for op, a, b in cases]))
    got = function(*(samples(a) for _, a, _ in cases))
    for values, (op, a, b) in zip(got, cases, strict=True):
        with np.errstate(all="ignore"):
            assert_floats(values, samples(a).astype(FLOATS[b]), f"{op} {a} to {b}")


@pytest.mark.parametrize("level", levels("host", OLDEST))
@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_short_arithmetic_rounds_each_step(kind: str, level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No rounding between two ops is left out, and subnormals stay."""
    mask(level, monkeypatch)
    t = tensor(kind)
    text = f"""func.func @f(%x: {t}, %y: {t}) -> ({t}, {t}) {{
      %p = arith.mulf %x, %y : {t}
      %s = arith.addf %p, %x : {t}
      %d = arith.divf %x, %y : {t}
      %r = arith.subf %d, %y : {t}
      return %s, %r : {t}, {t}
    }}"""
    rng = np.random.default_rng(3)
    x, y = (rng.permutation(samples(kind)) for _ in range(2))
    with np.errstate(all="ignore"):
        wanted = (x * y + x, x / y - y)
    for got, expected in zip(compile(text)(x, y), wanted, strict=True):
        assert_floats(got, expected, kind)


@pytest.mark.parametrize("level", levels(OLDEST))
def test_tests_of_floats(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mask(level, monkeypatch)
    cases = list(itertools.product(FLOATS, TESTS))
    function = compile(program([([kind], "i1", f"math.{name} %a0 : {tensor(kind)}") for kind, name in cases]))
    for got, (kind, name) in zip(function(*(samples(kind) for kind, _ in cases)), cases, strict=True):
        x = samples(kind)
        with np.errstate(invalid="ignore"):
            normal = np.isfinite(x) & (np.abs(x) >= ml_dtypes.finfo(x.dtype).smallest_normal)
            wanted = normal if name == "isnormal" else getattr(np, name)(x)
        np.testing.assert_array_equal(got, wanted, err_msg=f"{name} {kind}")


@pytest.mark.parametrize("text", ["avx512f", "+fma", "-a b"])
def test_a_variable_that_takes_nothing_away_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGGED_CPU_FEATURES", text)
    expected = "expected RAGGED_CPU_FEATURES like '-avx512f,-fma', got '-fma -x'".replace("-fma -x", text)
    with pytest.raises(CompileError, match=f"^{re.escape(expected)}$"):
        load_lowered(lower_for_cpu(program(whole_ops("i32")[:1])))


def test_llvm_knows_all_features(capfd: pytest.CaptureFixture[str]) -> None:
    """That of the bindings, which are not asked for the names."""
    load_lowered(lower_for_cpu(program(whole_ops("i32")[:1])))
    assert capfd.readouterr().err == ""


def test_an_empty_name_takes_nothing_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGGED_CPU_FEATURES", "-avx512f,")
    assert host_cpu.masked_features()[0] == "-avx512f"


def test_a_feature_takes_the_newer_ones_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_cpu, "_flags", lambda: frozenset({"pni", "sse4_2", "avx", "f16c", "avx2", "avx512bw"}))
    expected = {"": "avx512", "-avx512f": "avx2", "-avx512bw": "avx2", "-avx2": "sse", "-f16c": "sse", "-sse3": "sse"}
    for text, isa in expected.items():
        monkeypatch.setenv("RAGGED_CPU_FEATURES", text)
        assert host_isa() in (isa, "none")
        assert host_cpu.host_has("f16c") == (text not in ("-f16c", "-sse3"))


def test_no_avx512_without_masks_of_16_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """LLVM cannot select comparisons of 16 numbers then, which ended the process."""
    for text in ("-avx512bw", "-avx512dq"):
        monkeypatch.setenv("RAGGED_CPU_FEATURES", text)
        assert "-avx512f" in host_cpu.masked_features()
        x = rg.from_lengths(np.arange(96, dtype=np.float16).reshape(6, 16) / 96 - 0.25, [2, 4])
        found = rg.jit(lambda x, w: rg.nn.relu(x @ w))(x, np.eye(16, dtype=np.float16))
        np.testing.assert_array_equal(found.values, np.maximum(x.values, 0))


@pytest.mark.parametrize(
    ("family", "asks"),
    [(("AuthenticAMD", "26"), True), (("AuthenticAMD", "25"), False), (("GenuineIntel", "6"), False)],
)
def test_memory_is_asked_for_where_that_helps(
    monkeypatch: pytest.MonkeyPatch, family: tuple[str, str], asks: bool
) -> None:
    monkeypatch.setattr(machine, "host_family", lambda: family)
    found = machine.registers("auto")
    assert found is not None
    assert bool(found.ahead) == asks
    assert machine.registers("avx512") == machine.REGISTERS["avx512"]  # by name it is the same everywhere


_ROUNDED = """
define void @rounded(ptr %p, <8 x float> %x) {
  %y = fptrunc <8 x float> %x to <8 x bfloat>
  store <8 x bfloat> %y, ptr %p
  ret void
}"""


@pytest.mark.parametrize("cpu", ["znver4", "cooperlake", "sierraforest"])
def test_newer_processors_round_no_bfloats(cpu: str) -> None:
    """Their instructions take subnormals for zeros."""
    with backend.LOCK:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        target = llvm.Target.from_triple("x86_64-unknown-linux-gnu")
        module = llvm.parse_assembly(_ROUNDED)
        texts = [
            target.create_target_machine(cpu=cpu, features=",".join(features)).emit_assembly(module)
            for features in ((), host_cpu.masked_features())
        ]
    assert ["vcvtneps2bf16" in text for text in texts] == [True, False]


@pytest.mark.parametrize("target", ["cpu", "emulator"])
def test_subnormal_bfloats_are_kept(target: str) -> None:
    pad = np.array(3, np.uint16).view(ml_dtypes.bfloat16)
    text = """!rows = tensor<?x?xbf16, #ragged.layout<"dr">>
    func.func @f(%x: !rows, %pad: bf16, %max: index) -> tensor<?x?xbf16> {
      %y = ragged.to_padded %x, %pad, %max {dim = 1} : (!rows, bf16, index) -> tensor<?x?xbf16>
      return %y : tensor<?x?xbf16>
    }"""
    values = np.array([1, 0x8002], np.uint16).view(ml_dtypes.bfloat16)
    found = compile(text, target=target)((values, np.array([0, 2, 2])), pad, 3)
    np.testing.assert_array_equal(found.view(np.uint16), [[1, 0x8002, 3], [3, 3, 3]])


def test_an_unknown_kind_of_halves_is_refused() -> None:
    module = transform("func.func @f() { return }")
    with pytest.raises(PassError, match="expected half to be one of auto, native, soft, got hard"):
        Stage("floats", "expand-ragged-floats{half=hard}").run(module)
