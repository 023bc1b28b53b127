"""gpu.module to LLVM IR: what every scalar op becomes, and what the IR says about kernels."""

from __future__ import annotations

import ctypes
import math
import re
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest
from support.kernels import FLOATS, INTEGERS, all_kernels, kernel, module, translated

from ragged_dialect._mlir import ir
from ragged_dialect.asm.module import load_module
from ragged_dialect.dialect import context
from ragged_dialect.errors import CompileError, PassError
from ragged_dialect.lowering.gpu.nvvm.translate import kernels_to_llvm, narrow_kernels_to_llvm, nvvm_stage
from ragged_dialect.ptx import backend, emit

MODULES = dict(all_kernels())


@pytest.mark.sampled(4)
@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("name", MODULES)
def test_every_op_translates(name: str, bits: int) -> None:
    text = translated(MODULES[name], bits)
    assert len(re.findall(r"^define ptx_kernel ", text, re.M)) == MODULES[name].count("gpu.func")
    with backend.LOCK:
        backend.parse(text)


def native(text: str, name: str, *arguments: Any) -> None:
    """Run a kernel that uses no thread indices on the host; arguments are NumPy arrays."""
    text = re.sub(r"^target .*\n", "", text, flags=re.M).replace("define ptx_kernel", "define")
    with backend.LOCK:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        machine = llvm.Target.from_default_triple().create_target_machine(
            cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten()
        )
        engine = llvm.create_mcjit_compiler(backend.parse(text), machine)
        engine.finalize_object()
        address = engine.get_function_address(name)
    ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(arguments))(address)(*(a.ctypes.data for a in arguments))


DTYPES = {
    "f16": "f2",
    "f32": "f4",
    "f64": "f8",
    "i1": "u1",
    "i8": "i1",
    "i16": "i2",
    "i32": "i4",
    "i64": "i8",
    "index": "i8",
}


def value(body: str, operands: list[tuple[str, Any]], result: str) -> Any:
    """What `body` computes from operands of MLIR types, run on the host."""
    arrays = [np.array([v], DTYPES[kind]) for kind, v in operands]
    out = np.zeros(1, DTYPES[result])
    native(translated(module(kernel("k", body, [kind for kind, _ in operands], result))), "k", *arrays, out)
    return out[0]


@pytest.mark.parametrize(
    ("base", "exponent", "expected"),
    [
        (3, 5, 243),
        (-3, 3, -27),
        (7, 0, 1),
        (0, 0, 1),
        (2, -1, 0),
        (1, -5, 1),
        (-1, -5, -1),
        (-1, -4, 1),
        (2, 31, -(2**31)),
    ],
)
def test_integer_powers(base: int, exponent: int, expected: int) -> None:
    got = value("%r = math.ipowi %x0, %x1 : i32", [("i32", base), ("i32", exponent)], "i32")
    assert got == expected


@pytest.mark.parametrize(
    ("base", "exponent"), [(1.5, 7), (1.5, -7), (0.0, -1), (-2.0, 3), (2.0, 127), (2.0, -149), (1.0000001, 2**29 + 1)]
)
def test_float_powers(base: float, exponent: int) -> None:
    got = value("%r = math.fpowi %x0, %x1 : f32, i32", [("f32", base), ("i32", exponent)], "f32")
    with np.errstate(all="ignore"):
        assert got == pytest.approx(np.power(np.float64(np.float32(base)), np.float64(exponent)), rel=1e-6)


def test_long_exponents_keep_their_parity() -> None:
    assert value("%r = math.fpowi %x0, %x1 : f64, i64", [("f64", -1.0), ("i64", 2**53 + 1)], "f64") == -1.0


@pytest.mark.sampled(2)
@pytest.mark.parametrize("x", [0.0, 1e-40, -1.0, math.inf, -math.inf, math.nan])
def test_classes(x: float) -> None:
    classes = {"isnan": math.isnan(x), "isinf": math.isinf(x), "isfinite": math.isfinite(x),
               "isnormal": math.isfinite(x) and abs(x) >= 2.0**-126}  # fmt: skip
    for op, expected in classes.items():
        assert bool(value(f"%r = math.{op} %x0 : f32", [("f32", x)], "i1")) == expected, op


@pytest.mark.parametrize(
    ("body", "operands", "result", "expected"),
    [
        ("%r = math.ctlz %x0 : index", [("index", 1)], "index", 63),
        ("%r = math.cttz %x0 : i16", [("i16", 0)], "i16", 16),
        ("%r = math.ctpop %x0 : i8", [("i8", -1)], "i8", 8),
        ("%r = math.absi %x0 : i64", [("i64", -5)], "i64", 5),
        ("%r = math.trunc %x0 : f32", [("f32", -2.75)], "f32", -2.0),
        ("%r = math.clampf %x0 to [%x1, %x2] : f64", [("f64", 7.0), ("f64", -1.0), ("f64", 2.5)], "f64", 2.5),
        ("%r = math.roundeven %x0 : f32", [("f32", 2.5)], "f32", 2.0),
        ("%r = arith.constant 0.1 : f32", [("f32", 0.0)], "f32", np.float32(0.1)),
    ],
)
def test_values(body: str, operands: list[tuple[str, Any]], result: str, expected: Any) -> None:
    assert value(body, operands, result) == expected


UNROLLED = """gpu.module @kernels {
  gpu.func @sum(%p: memref<f32> {llvm.noalias}, %o: memref<f32> {llvm.noalias}, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0.0 : f32
    %x = memref.reinterpret_cast %p to offset: [0], sizes: [%n], strides: [1] : memref<f32> to memref<?xf32>
    %s = scf.for %i = %c0 to %n step %c1 iter_args(%a = %zero) -> f32 {
      %v = memref.load %x[%i] : memref<?xf32>
      %b = arith.addf %a, %v : f32
      scf.yield %b : f32
    } {ANNOTATION}
    memref.store %s, %o[] : memref<f32>
    gpu.return
  }
}
"""


@pytest.mark.parametrize(("annotation", "loads"), [("unroll = <count = 4 : i32>", 5), ("unroll = <disable = true>", 1)])
def test_loops_are_unrolled_as_asked(annotation: str, loads: int) -> None:
    attribute = f"llvm.loop_annotation = #llvm.loop_annotation<{annotation}>"
    ptx = emit(translated(UNROLLED.replace("ANNOTATION", attribute)))
    assert len(re.findall(r"ld\.global\.nc", ptx)) == loads


def test_products_and_sums_are_fused() -> None:
    body = "%m = arith.mulf %x0, %x1 : f32\n  %r = arith.addf %m, %x0 : f32"
    ptx = emit(translated(module(kernel("k", body, ["f32", "f32"], "f32"))))
    assert "fma.rn.f32" in ptx
    assert "mul.rn.f32" not in ptx


def test_sigmoids_take_the_reciprocal_instruction() -> None:
    body = """%one = arith.constant 1.0 : f32
  %n = arith.negf %x0 : f32
  %e = math.exp %n : f32
  %d = arith.addf %one, %e : f32
  %r = arith.divf %one, %d : f32"""
    ptx = emit(translated(module(kernel("k", body, ["f32"], "f32"))))
    assert "rcp.approx.f32" in ptx
    assert "rcp.rn.f32" in emit(translated(module(kernel("k", body.replace("math.exp", "math.log"), ["f32"], "f32"))))


def test_64_bit_values_are_loaded_whole() -> None:
    ptx = emit(translated(module(kernel("k", "%r = arith.addi %x0, %x0 : i64", ["i64"], "i64"))))
    assert "ld.global.nc.b64" in ptx


def test_atomics_are_relaxed() -> None:
    body = "%r = memref.atomic_rmw addi %x0, %p1[] : (i32, memref<i32>) -> i32"
    text = translated(module(kernel("k", body, ["i32"], "i32")))
    assert re.search(r'atomicrmw add ptr %\d+, i32 %\d+ syncscope\("device"\) monotonic', text)


def test_index_bits() -> None:
    text = module(
        kernel("k", "%r = arith.index_cast %x0 : i64 to index", ["i64"], "index").replace(
            ") kernel", ", %n: index) kernel"
        )
    )
    assert re.search(r"ptr noalias %1, i64 %2\)", translated(text, 64))
    narrow = translated(text, 32)
    assert re.search(r"ptr noalias %1, i32 %2\)", narrow)
    assert "trunc i64" in narrow


def test_the_module_stays_as_it_was() -> None:
    made = load_module(module(kernel("k", "%r = math.exp %x0 : f32", ["f32"], "f32")), context(), "<kernels>")
    before = str(made)
    assert kernels_to_llvm(made) == kernels_to_llvm(made)
    assert str(made) == before


def test_lowered_kernels_are_translated_as_they_are() -> None:
    made = load_module(module(kernel("k", "%r = math.exp %x0 : f32", ["f32"], "f32")), context(), "<kernels>")
    expected = kernels_to_llvm(made)
    nvvm_stage().run(made)
    assert kernels_to_llvm(made) == expected


def test_host_code_is_ignored() -> None:
    host = "func.func @host(%n: index) -> index { return %n : index }\n"
    assert "@host" not in translated(host + module(kernel("k", "%r = math.exp %x0 : f32", ["f32"], "f32")))


@pytest.mark.parametrize("kind", [*FLOATS, *INTEGERS])
def test_every_kind_has_kernels(kind: str) -> None:
    assert any(name.endswith(f"-{kind}") for name in MODULES)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("%r = memref.atomic_rmw muli %x0, %p1[] : (i32, memref<i32>) -> i32", "got 'memref.atomic_rmw'"),
        ("linalg.fill ins(%x0 : i32) outs(%p0 : memref<i32>)\n  %r = arith.addi %x0, %x0 : i32", "got 'linalg.fill'"),
        ("%r = gpu.subgroup_reduce mul %x0 : (i32) -> i32", "legalize operation 'gpu.subgroup_reduce'"),
    ],
)
def test_ops_that_do_not_lower_are_named(body: str, message: str) -> None:
    with pytest.raises(PassError, match=re.escape(message)):
        translated(module(kernel("k", body, ["i32"], "i32")))


@pytest.mark.parametrize(
    ("text", "count"), [("func.func @f() { return }", 0), ("gpu.module @a {}\ngpu.module @b {}", 2)]
)
def test_one_gpu_module_is_expected(text: str, count: int) -> None:
    with pytest.raises(CompileError, match=f"expected one gpu.module, got {count}"):
        translated(text)


def test_narrow_kernels_beside_wide_ones() -> None:
    """Both widths in one text, and once what both of them call."""
    body = "%s = math.sin %x0 : f32\n  %t = math.fpowi %s, %x1 : f32, i64\n  %r = arith.addf %t, %s : f32"
    text = module(*(kernel(name, body, ["f32", "i64", "index"], "f32") for name in ("a", "b")))
    text = text.replace("%p3: memref<f32> {llvm.noalias}", "%p3: memref<f32> {llvm.noalias}, %n: index")
    head, tail = text.split("kernel {", 1)
    found = narrow_kernels_to_llvm(load_module(f"{head}kernel attributes {{ragged.wide}} {{{tail}", context()))
    assert sorted(re.findall(r"^define ptx_kernel void @(\w+)\(.*(i\d+) %4\)", found, re.M)) == [
        ("a", "i64"),
        ("b_i32", "i32"),
    ]
    assert found.count("declare float @__nv_sinf(") == 1
    [power] = re.findall(r"^define (?!ptx_kernel)[^}]*}", found, re.M)
    assert power.count("  ret ") == 1
    assert emit(found).count(".visible .entry") == 2


def test_all_kernels_narrow() -> None:
    made = load_module(module(kernel("k", "%r = math.exp %x0 : f32", ["f32"], "f32")), context(), "<kernels>")
    assert narrow_kernels_to_llvm(made) == kernels_to_llvm(made, 32).replace("@k(", "@k_i32(")


def test_invalid_ir_is_not_translated() -> None:
    """It would take the process down."""
    text = "gpu.module @m { llvm.func @f(%a: i32) -> i32 { llvm.return %a : i32 } }"
    made = load_module(text, context(), "<kernels>")
    function = next(iter(made.body.operations)).operation.regions[0].blocks[0].operations[0].operation
    block = function.regions[0].blocks[0]
    with made.context, ir.Location.unknown(), ir.InsertionPoint.at_block_begin(block):
        ir.Operation.create("llvm.add", [ir.IntegerType.get_signless(64)], [block.arguments[0]] * 2)
    with pytest.raises(CompileError) as error:
        kernels_to_llvm(made)
    assert str(error.value).startswith("gpu.module: expected valid IR after the lowering, got: Verification failed:\n")
    assert "'llvm.add' op requires the same type" in str(error.value)


def test_index_bits_are_32_or_64() -> None:
    with pytest.raises(CompileError, match="expected 32 or 64 index bits, got 16"):
        nvvm_stage(16)
