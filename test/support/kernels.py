"""Small GPU kernels as MLIR text: one scalar op each, between loads and a store."""

from __future__ import annotations

from collections.abc import Iterator

FLOATS = ("f16", "bf16", "f32", "f64")
INTEGERS = ("i1", "i8", "i16", "i32", "i64", "index")
WIDTHS = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}


def kernel(name: str, body: str, operands: list[str], result: str) -> str:
    """`gpu.func` that loads %x0, %x1, … of the operand types, runs `body` and stores %r."""
    types = [*operands, result]
    parameters = ", ".join(f"%p{k}: memref<{t}> {{llvm.noalias}}" for k, t in enumerate(types))
    loads = "\n".join(f"  %x{k} = memref.load %p{k}[] : memref<{t}>" for k, t in enumerate(operands))
    store = f"  memref.store %r, %p{len(operands)}[] : memref<{result}>"
    return f"gpu.func @{name}({parameters}) kernel {{\n{loads}\n  {body}\n{store}\n  gpu.return\n}}"


def module(*kernels: str) -> str:
    """A module with one `gpu.module` of kernels."""
    return "gpu.module @kernels {\n" + "\n".join(kernels) + "\n}\n"


def translated(text: str, index_bits: int = 64) -> str:
    """LLVM IR of a module's kernels."""
    from ragged_dialect.asm.module import load_module
    from ragged_dialect.dialect import context
    from ragged_dialect.lowering.gpu.nvvm.translate import kernels_to_llvm

    return kernels_to_llvm(load_module(text, context(), "<kernels>"), index_bits)


UNARY = ("absf", "ceil", "exp", "exp2", "expm1", "floor", "log", "log10", "log1p", "log2", "round", "roundeven",
         "rsqrt", "sqrt", "tanh", "erf", "trunc", "acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "cos",
         "cosh", "erfc", "sin", "sinh", "tan")  # fmt: skip


def math_kernels(kind: str) -> Iterator[str]:
    """Every op of the math dialect on scalars of a float type."""
    for op in UNARY:
        yield kernel(f"{op}_{kind}", f"%r = math.{op} %x0 : {kind}", [kind], kind)
    for op in ("atan2", "copysign", "powf"):
        yield kernel(f"{op}_{kind}", f"%r = math.{op} %x0, %x1 : {kind}", [kind] * 2, kind)
    for op in ("isfinite", "isinf", "isnan", "isnormal"):
        yield kernel(f"{op}_{kind}", f"%r = math.{op} %x0 : {kind}", [kind], "i1")
    yield kernel(f"fma_{kind}", f"%r = math.fma %x0, %x1, %x2 : {kind}", [kind] * 3, kind)
    yield kernel(f"clampf_{kind}", f"%r = math.clampf %x0 to [%x1, %x2] : {kind}", [kind] * 3, kind)
    sincos = f"%s, %c = math.sincos %x0 : {kind}\n  %r = arith.addf %s, %c : {kind}"
    yield kernel(f"sincos_{kind}", sincos, [kind], kind)
    for exponent in ("i8", "i32", "i64"):
        body = f"%r = math.fpowi %x0, %x1 : {kind}, {exponent}"
        yield kernel(f"fpowi_{kind}_{exponent}", body, [kind, exponent], kind)


def integer_math_kernels(kind: str) -> Iterator[str]:
    """Every op of the math dialect on an integer type."""
    for op in ("absi", "ctlz", "cttz", "ctpop"):
        yield kernel(f"{op}_{kind}", f"%r = math.{op} %x0 : {kind}", [kind], kind)
    yield kernel(f"ipowi_{kind}", f"%r = math.ipowi %x0, %x1 : {kind}", [kind] * 2, kind)


def float_kernels(kind: str) -> Iterator[str]:
    """Arithmetic, comparisons and conversions of a float type."""
    for op in ("addf", "subf", "mulf", "divf", "remf", "maximumf", "minimumf", "maxnumf", "minnumf"):
        yield kernel(f"{op}_{kind}", f"%r = arith.{op} %x0, %x1 : {kind}", [kind] * 2, kind)
    yield kernel(f"negf_{kind}", f"%r = arith.negf %x0 : {kind}", [kind], kind)
    for predicate in ("oeq", "ogt", "olt", "one", "ueq", "ule", "uno", "ord"):
        yield kernel(f"{predicate}_{kind}", f"%r = arith.cmpf {predicate}, %x0, %x1 : {kind}", [kind] * 2, "i1")
    for integer in INTEGERS[:-1]:
        for op in ("sitofp", "uitofp"):
            yield kernel(f"{op}_{integer}_{kind}", f"%r = arith.{op} %x0 : {integer} to {kind}", [integer], kind)
        for op in ("fptosi", "fptoui"):
            yield kernel(f"{op}_{kind}_{integer}", f"%r = arith.{op} %x0 : {kind} to {integer}", [kind], integer)
    for other in FLOATS:
        if WIDTHS[other] > WIDTHS[kind]:
            yield kernel(f"extf_{kind}_{other}", f"%r = arith.extf %x0 : {kind} to {other}", [kind], other)
            yield kernel(f"truncf_{other}_{kind}", f"%r = arith.truncf %x0 : {other} to {kind}", [other], kind)
    yield kernel(f"select_{kind}", f"%r = arith.select %x0, %x1, %x2 : {kind}", ["i1", kind, kind], kind)
    constant = f"%c = arith.constant 0.1 : {kind}\n  %r = arith.addf %x0, %c : {kind}"
    yield kernel(f"constant_{kind}", constant, [kind], kind)


def integer_kernels(kind: str) -> Iterator[str]:
    """Arithmetic, comparisons and conversions of an integer type."""
    binary = "addi subi muli divsi divui remsi remui ceildivsi ceildivui floordivsi andi ori xori shli shrsi shrui"
    for op in f"{binary} maxsi maxui minsi minui".split():
        yield kernel(f"{op}_{kind}", f"%r = arith.{op} %x0, %x1 : {kind}", [kind] * 2, kind)
    for predicate in ("eq", "slt", "ule"):
        yield kernel(f"{predicate}_{kind}", f"%r = arith.cmpi {predicate}, %x0, %x1 : {kind}", [kind] * 2, "i1")
    if kind != "index":
        for op in ("index_cast", "index_castui"):
            yield kernel(f"{op}_{kind}", f"%r = arith.{op} %x0 : {kind} to index", [kind], "index")
            yield kernel(f"{op}_to_{kind}", f"%r = arith.{op} %x0 : index to {kind}", ["index"], kind)


def all_kernels() -> Iterator[tuple[str, str]]:
    """Names and modules that between them have every scalar op on every type."""
    for kind in FLOATS:
        yield f"math-{kind}", module(*math_kernels(kind))
        yield f"float-{kind}", module(*float_kernels(kind))
    for kind in INTEGERS:
        yield f"integer-math-{kind}", module(*integer_math_kernels(kind))
        yield f"integer-{kind}", module(*integer_kernels(kind))
