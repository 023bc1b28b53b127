"""What expand-ragged-math writes: which ops remain, what it refuses, and where its numbers come from."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ragged_dialect._mlir import ir, passmanager
from ragged_dialect.lowering.math import (
    cube_root,
    erf,
    exponential,
    logarithm,
    trigonometry,
)
from ragged_dialect.lowering.math.expand_ragged_math import ExpandRaggedMath
from ragged_dialect.lowering.math.library import VECTOR_ISAS, host_isa, required_libraries

pytestmark = pytest.mark.usefixtures("mlir_context")
ONE = "func.func @f(%x: {kind}) -> {kind} {{ %y = {op} %x : {kind} return %y : {kind} }}"


def expand(text: str, isa: str = "avx2", times: int = 1) -> Any:
    """The module after the pass."""
    module = ir.Module.parse(text)
    for _ in range(times):
        manager = passmanager.PassManager("builtin.module")
        manager.add(ExpandRaggedMath(isa=isa), name="ExpandRaggedMath", argument="expand-ragged-math")
        manager.run(module.operation)
    return module


def one(op: str, kind: str) -> str:
    """A function that applies one op to its argument."""
    return ONE.format(op=f"math.{op}", kind=kind)


def op_names(module: Any) -> list[str]:
    """The ops of the function `f`, in order."""
    names: list[str] = []

    def visit(op: Any) -> Any:
        names.append(op.name)
        return ir.WalkResult.ADVANCE

    found = next(op for op in module.body if ir.StringAttr(op.attributes["sym_name"]).value == "f")
    found.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return names


@pytest.mark.parametrize("name", ["exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sinh", "cosh", "tanh",
                                  "asinh", "acosh", "atanh", "asin", "acos", "atan", "cbrt", "erf"])  # fmt: skip
def test_polynomials_are_straight_line_arith(name: str) -> None:
    names = op_names(expand(one(name, "f32")))
    assert all(n.startswith("arith.") or n == "math.sqrt" for n in names[1:-1])
    assert names[-1] == "func.return"


@pytest.mark.parametrize("name", ["exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sinh", "cosh", "tanh",
                                  "asin", "acos", "atan", "cbrt"])  # fmt: skip
def test_those_of_f64_are_straight_line_arith(name: str) -> None:
    assert all(n.startswith("arith.") or n == "math.sqrt" for n in op_names(expand(one(name, "f64")))[1:-1])


def test_exp_is_short() -> None:
    names = op_names(expand(one("exp", "f32")))
    assert len([n for n in names if n.startswith("arith.") and n != "arith.constant"]) <= 33


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_huge_arguments_are_guarded(name: str) -> None:
    names = op_names(expand(one(name, "f32")))
    assert names.count("scf.if") == 1
    assert names.count("llvm.call") == 1


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_half_precision_goes_through_f32(kind: str) -> None:
    for name in ("exp", "sqrt", "floor"):
        names = op_names(expand(one(name, kind)))
        assert names[1] == "arith.extf"
        assert names[-2] == "arith.truncf"


@pytest.mark.parametrize("name", ["sqrt", "rsqrt", "absf", "floor", "ceil", "round", "roundeven", "trunc"])
@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_native_ops_stay(kind: str, name: str) -> None:
    assert op_names(expand(one(name, kind))) == ["func.func", f"math.{name}", "func.return"]


def test_vectors_of_native_ops_stay() -> None:
    assert "math.sqrt" in op_names(expand(one("sqrt", "vector<4xf16>")))


@pytest.mark.parametrize("isa", VECTOR_ISAS)
def test_every_lane_count_calls_the_widest_function(isa: str) -> None:
    text = str(expand(one("acosh", "f64"), isa))
    called = set(re.findall(r"llvm.call @(_ZGV\w+)", text))
    assert called == (
        {f"_ZGV{VECTOR_ISAS[isa][-1][1]}N{VECTOR_ISAS[isa][-1][0]}v_acosh"} if VECTOR_ISAS[isa] else set()
    )
    lanes = [int(n) for n in re.findall(r"_ZGV_LLVM_N(\d+)v___ragged_acosh\(", text)]
    assert lanes == [n for n, _ in VECTOR_ISAS[isa]]


def test_auto_is_what_the_host_has() -> None:
    assert host_isa() in VECTOR_ISAS
    assert bool(required_libraries()) == (host_isa() != "none")
    assert all(Path(path).is_absolute() and Path(path).is_file() for path in required_libraries())
    assert str(expand(one("acosh", "f64"), "auto")) == str(expand(one("acosh", "f64"), host_isa()))


def test_running_twice_changes_nothing() -> None:
    text = one("sin", "f64") + one("cos", "f32").replace("@f", "@g")
    assert str(expand(text)) == str(expand(text, times=2))


def test_a_second_run_keeps_the_variants_of_the_first() -> None:
    first = str(expand(one("acosh", "f64"))).rstrip().removesuffix("}")
    text = str(expand(first + one("erfc", "f64").replace("@f", "@g") + "}"))
    assert "addressof @__ragged_acosh_v2" in text
    assert "addressof @__ragged_erfc_v2" in text
    assert text.count("@llvm.compiler.used") == 1


def test_gpu_modules_are_left_alone() -> None:
    text = str(expand("gpu.module @g { " + one("exp", "f32") + " }"))
    assert "math.exp" in text


@pytest.mark.parametrize("kind", ["f128", "f80", "tf32", "f8E4M3FN", "vector<4xf32>", "tensor<4xf32>"])
def test_refuses_other_types(kind: str) -> None:
    expected = f"expected scalars of f16, bf16, f32 or f64 to expand math.exp, got {kind}"
    with pytest.raises(ir.MLIRError, match=re.escape(expected)):
        expand(one("exp", kind))


@pytest.mark.parametrize(
    ("op", "kind", "isa", "taken"),
    [("sin", "f32", "none", "sinf"), ("acosh", "f64", "none", "acosh"), ("acosh", "f64", "avx2", "__ragged_acosh")],
)
def test_refuses_taken_symbols(op: str, kind: str, isa: str, taken: str) -> None:
    other = f"func.func @{taken}(%x: f32) -> f32 {{ return %x : f32 }}"
    expected = f"expected symbol '{taken}' free for the math library, got func.func"
    with pytest.raises(ir.MLIRError, match=re.escape(expected)):
        expand(one(op, kind) + other, isa)


def test_refuses_unknown_instruction_sets() -> None:
    expected = "expected isa to be auto or one of none, sse, avx2, avx512, avx512bf16, amxbf16, got avx"
    with pytest.raises(ir.MLIRError, match=expected):
        expand(one("exp", "f32"), "avx")


@pytest.mark.slow
def test_coefficients_are_what_the_script_derives(root: Path) -> None:
    script = runpy.run_path(str(root / "benchmarks" / "math_coefficients.py"), run_name="math_coefficients")
    modules = (exponential, logarithm, trigonometry, erf, cube_root)
    assert len(script["FITS"]) == 14
    for fit in script["FITS"]:
        used = next(getattr(module, fit.name) for module in modules if hasattr(module, fit.name))
        derived, error = script["solve"](fit)
        # The last coefficients of a fit vary with the linear algebra library, hence the tolerance.
        np.testing.assert_allclose(used, derived, rtol=1e-2)
        assert error < 2.0**-fit.bits
