"""Host programs: every op as the CPU does it, buffers, launches, control flow, what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.host_programs import device, host_program
from support.host_texts import CHECKED, KERNELS, LAUNCH, MEMORY, VIEWS

from ragged_dialect import CompileError, RaggedError, RuntimeCheckError, compile
from ragged_dialect.checks import Check

F32 = np.float32
EDGES = {
    "i1": [True, False],
    "i8": [0, 1, -1, 7, 100, -128, 127],
    "i32": [0, 1, -1, 5, -(2**31), 2**31 - 1],
    "i64": [0, 1, -1, 3, -7, 2**40 + 1, -(2**63), 2**63 - 1],
}
BINARY = [
    "addi", "subi", "muli", "divsi", "divui", "remsi", "remui", "ceildivsi", "ceildivui", "floordivsi", "minsi",
    "maxsi", "minui", "maxui", "andi", "ori", "xori", "shli", "shrsi", "shrui",
]  # fmt: skip
PREDICATES = ["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"]


def both(arguments: str, result: str, *lines: str) -> tuple[Any, Any]:
    """A function of scalars as a host program, and compiled for the CPU. The result is %r."""
    text = f"func.func @f({arguments}) -> {result} {{\n" + "\n".join(lines) + f"\nreturn %r : {result}\n}}"
    _, run = device(text)
    return (lambda *given: run(*given)[0]), compile(text, check=False)


def defined(op: str, a: int, b: int, bits: int) -> bool:
    """Whether MLIR says what an op gives."""
    if op.startswith("sh"):
        return 0 <= b < bits
    if "div" in op or "rem" in op:
        return b != 0 and not (a == -(2 ** (bits - 1)) and b == -1)
    return True


@pytest.mark.sampled(30)
@pytest.mark.parametrize("type_", ["i1", "i8", "i32", "i64"])
@pytest.mark.parametrize("op", BINARY)
def test_integer_ops(op: str, type_: str) -> None:
    if type_ == "i1" and ("div" in op or "rem" in op or op.startswith("sh")):
        op = "xori"
    host, cpu = both(f"%a: {type_}, %b: {type_}", type_, f"%r = arith.{op} %a, %b : {type_}")
    for a in EDGES[type_]:
        for b in EDGES[type_]:
            if defined(op, a, b, int(type_[1:])):
                got = host(a, b)
                assert got == cpu(a, b), (a, b)
                assert type(got) is (bool if type_ == "i1" else int)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("type_", ["i1", "i8", "i64"])
@pytest.mark.parametrize("predicate", PREDICATES)
def test_comparisons(predicate: str, type_: str) -> None:
    host, cpu = both(f"%a: {type_}, %b: {type_}", "i1", f"%r = arith.cmpi {predicate}, %a, %b : {type_}")
    assert all(host(a, b) is cpu(a, b) for a in EDGES[type_] for b in EDGES[type_])


CASTS = [
    ("extsi", "i1", "i64"), ("extui", "i1", "i64"), ("extsi", "i8", "i32"), ("extui", "i8", "i32"),
    ("trunci", "i64", "i8"), ("trunci", "i32", "i1"), ("index_cast", "i64", "index"), ("index_cast", "i32", "index"),
    ("index_castui", "i32", "index"), ("index_cast", "index", "i8"), ("index_castui", "i64", "index"),
    ("index_castui", "i1", "index"),
]  # fmt: skip


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("op", "source", "target"), CASTS)
def test_casts(op: str, source: str, target: str) -> None:
    host, cpu = both(f"%a: {source}", target, f"%r = arith.{op} %a : {source} to {target}")
    for a in EDGES["i64" if source == "index" else source]:
        assert host(a) == cpu(a)
        assert type(host(a)) is type(cpu(a))


@pytest.mark.parametrize("op", ["addui_extended", "mului_extended", "mulsi_extended"])
def test_extended_ops(op: str) -> None:
    second = "i1" if op.startswith("add") else "i64"
    types = "i64, i1" if second == "i1" else "i64"
    text = f"""func.func @f(%a: i64, %b: i64) -> (i64, {second}) {{
      %low, %high = arith.{op} %a, %b : {types}
      return %low, %high : i64, {second}
    }}"""
    _, host = device(text)
    cpu = compile(text, check=False)
    assert all(host(a, b) == cpu(a, b) for a in EDGES["i64"] for b in EDGES["i64"])


NUMBERS = [0.0, -0.0, 1.0, -1.5, 0.1, 2.5, 1e30, -3.25e-5, math.inf, -math.inf, math.nan]


def same(a: float, b: float) -> bool:
    """Equal, NaN too, and zeros of one sign."""
    return (math.isnan(a) and math.isnan(b)) or (a == b and math.copysign(1, a) == math.copysign(1, b))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("type_", ["f16", "bf16", "f32", "f64"])
@pytest.mark.parametrize("op", ["addf", "subf", "mulf", "divf", "remf"])
def test_float_ops(op: str, type_: str) -> None:
    host, cpu = both(f"%a: {type_}, %b: {type_}", type_, f"%r = arith.{op} %a, %b : {type_}")
    for a in NUMBERS:
        for b in NUMBERS:
            assert same(host(a, b), cpu(a, b)), (a, b)


@pytest.mark.parametrize("op", ["minimumf", "maximumf", "minnumf", "maxnumf"])
def test_minima(op: str) -> None:
    """Of a zero of each sign either may come out."""
    host, cpu = both("%a: f32, %b: f32", "f32", f"%r = arith.{op} %a, %b : f32")
    assert all(same(host(a, b) + 0.0, cpu(a, b) + 0.0) for a in NUMBERS for b in NUMBERS)


FLOAT_PREDICATES = [
    "false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true",
]  # fmt: skip


@pytest.mark.sampled(2)
@pytest.mark.parametrize("predicate", FLOAT_PREDICATES)
def test_float_comparisons(predicate: str) -> None:
    host, cpu = both("%a: f32, %b: f32", "i1", f"%r = arith.cmpf {predicate}, %a, %b : f32")
    assert all(host(a, b) is cpu(a, b) for a in NUMBERS for b in NUMBERS)


UNARY = [
    "absf", "floor", "ceil", "trunc", "round", "roundeven", "sqrt", "rsqrt", "exp", "exp2", "expm1", "log", "log2",
    "log10", "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos", "atan", "asinh", "acosh", "atanh",
    "erf", "erfc", "cbrt",
]  # fmt: skip


@pytest.mark.sampled(3)
@pytest.mark.parametrize("op", UNARY)
def test_math(op: str) -> None:
    """Of the type, and as exact as it can be: the CPU's functions are allowed a few units."""
    host, cpu = both("%a: f32", "f32", f"%r = math.{op} %a : f32")
    for a in (0.0, 0.25, 0.5, 1.0, -0.75, 2.5, -1.5, math.nan, math.inf):
        got, expected = host(a), cpu(a)
        assert got == F32(got) or math.isnan(got)
        assert got == pytest.approx(expected, rel=1e-6, nan_ok=True), a


@pytest.mark.parametrize("op", ["copysign", "atan2", "powf"])
def test_math_of_two(op: str) -> None:
    host, cpu = both("%a: f32, %b: f32", "f32", f"%r = math.{op} %a, %b : f32")
    for a in (0.5, -2.0, 3.0):
        for b in (2.0, -3.0, 0.5):
            assert host(a, b) == pytest.approx(cpu(a, b), rel=1e-6, nan_ok=True)


def test_fused_multiply_add_rounds_once() -> None:
    host, cpu = both("%a: f64, %b: f64, %c: f64", "f64", "%r = math.fma %a, %b, %c : f64")
    for given in [(1 + 2**-30, 1 - 2**-30, -1.0), (math.inf, 1.0, 0.0), (1e308, 10.0, -1e308), (-0.0, 1.0, -0.0)]:
        assert same(host(*given), cpu(*given))


@pytest.mark.parametrize(("op", "type_"), [("absi", "i64"), ("ctpop", "i64"), ("ctlz", "i8"), ("cttz", "i8")])
def test_integer_math(op: str, type_: str) -> None:
    host, cpu = both(f"%a: {type_}", type_, f"%r = math.{op} %a : {type_}")
    assert all(host(a) == cpu(a) for a in EDGES[type_])


CONVERSIONS = [
    ("sitofp", "i64", "f32", [2**60 + 2**36 + 1, -(2**63), 3]), ("uitofp", "i64", "f32", [-1, 2**53 + 1]),
    ("uitofp", "i1", "f64", [True, False]), ("sitofp", "i1", "f64", [True, False]), ("sitofp", "i8", "f16", [-128, 5]),
    ("fptosi", "f32", "i64", [1.9, -1.9, 2.0**40]), ("fptoui", "f64", "i8", [200.7, 3.0]),
    ("extf", "f16", "f64", [0.1]), ("truncf", "f32", "bf16", [0.1, 3e38]), ("truncf", "f64", "f32", [0.1]),
    ("bitcast", "f32", "i32", [1.5, -0.0]), ("bitcast", "i64", "f64", [2**62]), ("bitcast", "i16", "bf16", [0x3FC0]),
    ("bitcast", "f16", "bf16", [1.5]),
]  # fmt: skip


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("op", "source", "target", "given"), CONVERSIONS)
def test_conversions(op: str, source: str, target: str, given: list[Any]) -> None:
    host, cpu = both(f"%a: {source}", target, f"%r = arith.{op} %a : {source} to {target}")
    for a in given:
        assert host(a) == cpu(a)
        assert type(host(a)) is type(cpu(a))


@pytest.mark.parametrize("value", ["0.1", "0x7F800000", "0xFF800000", "-0.0", "1.0e-30"])
def test_float_constants(value: str) -> None:
    host, cpu = both("%a: f32", "f32", f"%r = arith.constant {value} : f32")
    assert same(host(0.0), cpu(0.0))


def test_select_and_negation() -> None:
    lines = ["%c = arith.cmpf olt, %a, %b : f32", "%n = arith.negf %b : f32", "%r = arith.select %c, %a, %n : f32"]
    host, cpu = both("%a: f32, %b: f32", "f32", *lines)
    assert [host(1.0, 2.0), host(2.0, 1.0)] == [cpu(1.0, 2.0), cpu(2.0, 1.0)] == [1.0, -1.0]


def test_control_flow() -> None:
    """Loops, branches and calls, with values carried through all of them."""
    text = """
    func.func private @step(%i: i64, %x: i64) -> (i64, i64) {
      %0 = arith.addi %x, %i : i64
      return %x, %0 : i64, i64
    }
    func.func @f(%n: index, %limit: i64) -> (i64, i64, i64) {
      %c0 = arith.constant 0 : index
      %c2 = arith.constant 2 : index
      %z = arith.constant 0 : i64
      %one = arith.constant 1 : i64
      %0:2 = scf.for %i = %c0 to %n step %c2 iter_args(%a = %z, %b = %one) -> (i64, i64) {
        %i64 = arith.index_cast %i : index to i64
        %odd = arith.cmpi sgt, %i64, %one : i64
        %1:2 = scf.if %odd -> (i64, i64) {
          %2:2 = func.call @step(%i64, %b) : (i64, i64) -> (i64, i64)
          scf.yield %2#0, %2#1 : i64, i64
        } else {
          scf.yield %b, %a : i64, i64
        }
        scf.yield %1#0, %1#1 : i64, i64
      }
      %3:2 = scf.while (%x = %0#1, %k = %z) : (i64, i64) -> (i64, i64) {
        %4 = arith.cmpi slt, %x, %limit : i64
        scf.condition(%4) %x, %k : i64, i64
      } do {
      ^bb0(%x: i64, %k: i64):
        %twice = arith.addi %x, %x : i64
        %5 = arith.addi %twice, %one : i64
        %6 = arith.addi %k, %one : i64
        scf.yield %5, %6 : i64, i64
      }
      return %0#0, %3#0, %3#1 : i64, i64, i64
    }"""
    _, run = device(text)
    cpu = compile(text, entry="f", check=False)
    for n in (0, 1, 2, 9):
        assert run(n, 100) == cpu(n, 100)


LAUNCH_SOURCE = """\
def bind(rt):
    empty = rt.empty
    k0 = rt.kernel('twice', (256, 1, 1), 'p p index f32 i1')

    def run(a0, a1, a2):
        a1 = float32(a1)
        v0 = a0.shape[0]
        b0 = empty((v0, 2), float32)
        b1 = empty((v0, 2), float32)
        v1 = -(-v0 // 256)
        if v1 > 0:
            k0(v1, 1, 1, a0, b0, v0, a1, bool_(a2))
        if v1 > 0:
            k0(v1, 1, 1, b0, b1, v0, a1, bool_(a2))
        del b0
        return (b1,)

    return run
"""


def scaled(x: Any, y: Any, n: int, s: Any, flag: Any) -> None:
    """What the kernel `twice` of LAUNCH does."""
    assert (type(n), type(s), type(flag)) == (int, F32, np.bool_)
    assert n == len(x)
    y[...] = x * F32(s)


def test_source_of_a_launch() -> None:
    program = host_program(LAUNCH)
    assert program.source == LAUNCH_SOURCE
    assert (program.constants, program.checks, program.labels, program.reads_back) == ({}, (), (), ())


def test_launches() -> None:
    emulator, run = device(LAUNCH, {"twice": scaled})
    (y,) = run(np.arange(600, dtype=F32).reshape(300, 2), 3.0, True)
    assert y.tolist() == (9 * np.arange(600, dtype=F32).reshape(300, 2)).tolist()
    assert emulator.launches == 2 * [("twice", (2, 1, 1), (256, 1, 1))]


def test_an_empty_grid_is_not_launched() -> None:
    emulator, run = device(LAUNCH, {})
    (y,) = run(np.zeros((0, 2), F32), 3.0, True)
    assert y.shape == (0, 2)
    assert emulator.launches == []


def test_new_buffers_are_poisoned() -> None:
    _, run = device(LAUNCH, {"twice": lambda *_: None})
    assert np.isnan(run(np.zeros((1, 2), F32), 1.0, False)[0]).all()


def test_memory() -> None:
    x = np.array([3, 1, 2])
    _, run = device(MEMORY)
    number, array, constant, flag, fraction, splat = run(x, 1)
    assert (number, flag, fraction) == (1, True, float(F32(0.1)))
    assert [type(v) for v in (number, flag, fraction)] == [int, bool, float]
    assert (array.tolist(), constant.tolist(), splat.tolist()) == ([3, 9, 2], [1.5, -2.0], [7, 7, 7])
    assert x.tolist() == [3, 1, 2]
    assert host_program(MEMORY).reads_back == ("memref.load",)


def test_views() -> None:
    _, run = device(VIEWS)
    x = np.arange(4, dtype=F32).reshape(2, 2)
    parts, flat, split = run(x, 0, 2)
    assert parts.tolist() == [[1, 1], [3, 3]]
    assert (flat.tolist(), split.tolist()) == ([0, 1, 2, 3], [[[0, 1]], [[2, 3]]])


def test_printing(capsys: pytest.CaptureFixture[str]) -> None:
    text = """
    module attributes {ragged.labels = ["x"]} {
      func.func private @ragged_print_begin(i64)
      func.func private @ragged_print_int(i64)
      func.func private @ragged_print_float(f64)
      func.func private @ragged_print_end()
      func.func private @ragged_print_open()
      func.func private @ragged_print_close()
      func.func @f(%a: i64, %b: f64) {
        %0 = arith.constant 0 : i64
        call @ragged_print_begin(%0) : (i64) -> ()
        call @ragged_print_open() : () -> ()
        call @ragged_print_int(%a) : (i64) -> ()
        call @ragged_print_float(%b) : (f64) -> ()
        call @ragged_print_close() : () -> ()
        call @ragged_print_end() : () -> ()
        return
      }
    }"""
    _, run = device(text)
    assert run(3, 0.5) == ()
    assert capsys.readouterr().out == "x: [3, 0.5]\n"


def bound(i: int, status: Any) -> None:
    """The kernel `check` of CHECKED: indices are below 2."""
    if i >= 2:
        status[...] = [1, 0, -1, i, 2]


def test_checks() -> None:
    assert host_program(CHECKED).checks == (Check("index", "ragged.select", 0), Check("fits", "x", 1))
    _, run = device(CHECKED, {"check": bound})
    assert run(1) == (1,)
    with pytest.raises(RuntimeCheckError) as error:
        run(2)
    assert str(error.value) == "ragged.select: level 0: expected index in [0, 2), got 2"
    assert run(0) == (0,)


def in_function(body: str) -> str:
    """A module with a function of a buffer %x and an index %n."""
    return (
        f"module attributes {{gpu.container_module}} {{ func.func @f(%x: memref<?xf32>, %n: index) {{ {body} return }}"
        + KERNELS
    )


REFUSED = [
    (
        "%0 = vector.broadcast %n : index to vector<2xindex>",
        "expected ops that the host can run, got 'vector.broadcast'",
    ),
    ('"test.op"() : () -> ()', "expected ops that the host can run, got 'test.op'"),
    ("%0 = arith.constant 1 : i3", "expected number types in the host program, got i3"),
    (
        "%0 = memref.reinterpret_cast %x to offset: [0], sizes: [2], strides: [1] : memref<?xf32> to memref<2xf32>",
        "expected views in kernels only, got 'memref.reinterpret_cast' to memref<2xf32>",
    ),
    (
        "%0 = memref.subview %x[0] [1] [2] : memref<?xf32> to memref<1xf32, strided<[2]>>",
        "expected views of neighbouring elements on the host, got 'memref.subview' with strides",
    ),
    (
        "%0 = memref.reinterpret_cast %x to offset: [0], sizes: [], strides: [] : memref<?xf32> to memref<f32> "
        "%1 = memref.load %0[] : memref<f32>",
        "expected 'memref.load' of a whole buffer in the host program, got one of a view",
    ),
    (
        "call @g() : () -> () return } func.func private @g() func.func private @h() {",
        "expected functions with bodies in the host program, got a call of 'g'",
    ),
    ("return } func.func @g() {", "expected one public function in a host program, got 2"),
    ("cf.br ^a\n ^a:", "expected functions of one block in a host program, got 2 blocks"),
    (
        "gpu.launch_func @kernels::@one blocks in (%n, %n, %n) threads in (%n, %n, %n) args(%n : index)",
        "expected constant sizes of blocks, got (a1, a1, a1)",
    ),
    (
        "%s = arith.constant 8 : i32 gpu.launch_func @kernels::@one blocks in (%n, %n, %n) threads in (%n, %n, %n) "
        "dynamic_shared_memory_size %s args(%n : index)",
        "expected launches without tokens, clusters and dynamic shared memory, got one with",
    ),
    (
        "scf.for unsigned %i = %n to %n step %n { }",
        "expected loops over signed ranges in the host program, got an unsigned 'scf.for'",
    ),
    ("%5 = arith.constant 5 : index %0 = memref.dim %x, %5 : memref<?xf32>", "expected a dim in [0, 1), got 5"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "message"), REFUSED)
def test_refused(body: str, message: str) -> None:
    with pytest.raises(CompileError) as error:
        host_program(in_function(body))
    assert str(error.value).endswith(message)
    assert isinstance(error.value, RaggedError)


def test_a_constant_without_data_is_refused() -> None:
    with pytest.raises(CompileError) as error:
        host_program('memref.global "private" @c : memref<2xf32> func.func @f() { return }')
    assert str(error.value) == "expected constants of numbers, got 'c' of type memref<2xf32>"
