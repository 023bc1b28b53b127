"""Functions with vector variants, as text of the LLVM dialect.

LLVM's loop vectoriser replaces the call of a function that has no effects by a call of the variant
that its attribute `vector-function-abi-variant` names for the number of lanes. The functions here
must not be inlined, which would happen before vectorising and hide the call, and do not have names
of C functions: `sin` as a builtin becomes an LLVM intrinsic, which has no variants.
"""

from __future__ import annotations

PREFIX = "__ragged_"
MASKED_LANES = (2, 4, 8, 16)
_PURE = (
    "memory_effects = #llvm.memory_effects<other = none, argMem = none, inaccessibleMem = none, "
    "errnoMem = none, targetMem0 = none, targetMem1 = none>, no_unwind, will_return"
)


def scalar_function(name: str, kind: str, arity: int) -> str:
    """The declaration of a C function of `arity` values of `kind`."""
    return f"llvm.func @{name}({', '.join([kind] * arity)}) -> {kind} attributes {{{_PURE}}}"


def _attributes(variants: list[str]) -> str:
    return f'no_inline, {_PURE}, passthrough = [["vector-function-abi-variant", "{",".join(variants)}"]]'


def widened_function(name: str, arity: int, lanes: int, vector_function: str) -> list[str]:
    """`__ragged_<name>` of f64 values, computed by `vector_function` of so many lanes (libmvec's widest).

    The scalar function and the variants of fewer lanes call it too: a value depends on its argument
    alone, not on whether it fell into the vector loop or the remainder, hence not on the number of
    threads.
    """
    letters = "v" * arity
    narrower = [n for n in (2, 4) if n < lanes]
    variants = [f"_ZGV_LLVM_N{n}{letters}_{PREFIX}{name}({PREFIX}{name}_v{n})" for n in narrower]
    variants.append(f"_ZGV_LLVM_N{lanes}{letters}_{PREFIX}{name}({vector_function})")
    kinds = ", ".join([f"vector<{lanes}xf64>"] * arity)
    return [
        f"llvm.func @{vector_function}({kinds}) -> vector<{lanes}xf64> attributes {{{_PURE}}}",
        *(_widened(f"{PREFIX}{name}_v{n}", arity, n, lanes, vector_function, f"no_inline, {_PURE}") for n in narrower),
        _widened(f"{PREFIX}{name}", arity, 1, lanes, vector_function, _attributes(variants)),
    ]


def _widened(symbol: str, arity: int, count: int, lanes: int, callee: str, attributes: str) -> str:
    """A function of `count` lanes (a scalar for 1) that repeats them for the vector function `callee`."""
    wide, kind = f"vector<{lanes}xf64>", "f64" if count == 1 else f"vector<{count}xf64>"
    repeated = ", ".join(str(i % count) for i in range(lanes))
    steps = ["%first = llvm.mlir.constant(0 : i32) : i32", f"%none = llvm.mlir.poison : {wide}"]
    for i in range(arity):
        source, source_kind = f"%x{i}", kind
        if count == 1:
            source, source_kind = f"%s{i}", wide
            steps.append(f"%s{i} = llvm.insertelement %x{i}, %none[%first : i32] : {wide}")
        steps.append(f"%w{i} = llvm.shufflevector {source}, {source} [{repeated}] : {source_kind}")
    arguments = ", ".join(f"%w{i}" for i in range(arity))
    steps.append(f"%r = llvm.call @{callee}({arguments}) : ({', '.join([wide] * arity)}) -> {wide}")
    if count == 1:
        steps.append(f"%y = llvm.extractelement %r[%first : i32] : {wide}")
    else:
        steps.append(f"%y = llvm.shufflevector %r, %r [{', '.join(map(str, range(count)))}] : {wide}")
    parameters = ", ".join(f"%x{i}: {kind}" for i in range(arity))
    body = "\n".join([*steps, f"llvm.return %y : {kind}"])
    return f"llvm.func internal @{symbol}({parameters}) -> {kind} attributes {{{attributes}}} {{\n{body}\n}}"


def masked_function(scalar: str, kind: str, arity: int) -> list[str]:
    """`__ragged_<scalar>`, a call of the function `scalar` of values of `kind`, for use behind a branch.

    Its variants have a mask, and return at once when no lane is set: a loop that needs the call
    rarely is vectorised, and pays one call per vector.
    """
    symbol = f"{PREFIX}{scalar}"
    variants = [f"_ZGV_LLVM_M{lanes}{'v' * arity}_{symbol}({symbol}_v{lanes})" for lanes in MASKED_LANES]
    given, kinds = ", ".join(f"%x{k}" for k in range(arity)), ", ".join([kind] * arity)
    body = f"%r = llvm.call @{scalar}({given}) : ({kinds}) -> {kind}\nllvm.return %r : {kind}"
    parameters = ", ".join(f"%x{k}: {kind}" for k in range(arity))
    head = f"llvm.func internal @{symbol}({parameters}) -> {kind} attributes {{{_attributes(variants)}}}"
    return [
        scalar_function(scalar, kind, arity),
        *(_masked(f"{symbol}_v{lanes}", scalar, kind, arity, lanes) for lanes in MASKED_LANES),
        f"{head} {{\n{body}\n}}",
    ]


def _masked(name: str, scalar: str, kind: str, arity: int, lanes: int) -> str:
    """A vector function that calls `scalar` for the lanes of its mask; the other lanes are undefined."""
    vector, numbers = f"vector<{lanes}x{kind}>", range(arity)
    steps: list[str] = []
    for i in range(lanes):
        before = "%safe0" if i == 0 else f"%v{i - 1}"
        given = ", ".join(f"%x{k}_{i}" for k in numbers)
        steps += [
            f"%i{i} = llvm.mlir.constant({i} : i32) : i32",
            *(f"%x{k}_{i} = llvm.extractelement %safe{k}[%i{i} : i32] : {vector}" for k in numbers),
            f"%r{i} = llvm.call @{scalar}({given}) : ({', '.join([kind] * arity)}) -> {kind}",
            f"%v{i} = llvm.insertelement %r{i}, {before}[%i{i} : i32] : {vector}",
        ]
    safe = [f"%safe{k} = llvm.select %mask, %x{k}, %zero : vector<{lanes}xi1>, {vector}" for k in numbers]
    body = "\n".join([*safe, *steps])
    parameters = ", ".join(f"%x{k}: {vector}" for k in numbers)
    return f"""llvm.func internal @{name}({parameters}, %mask: vector<{lanes}xi1>) -> {vector}
    attributes {{no_inline, {_PURE}, passthrough = ["cold"]}} {{
  %lanes = llvm.bitcast %mask : vector<{lanes}xi1> to i{lanes}
  %none = llvm.mlir.constant(0 : i{lanes}) : i{lanes}
  %zero = llvm.mlir.zero : {vector}
  %any = llvm.icmp "ne" %lanes, %none : i{lanes}
  llvm.cond_br %any weights([1, 1000]), ^call, ^done(%x0 : {vector})
^call:
  {body}
  llvm.br ^done(%v{lanes - 1} : {vector})
^done(%y: {vector}):
  llvm.return %y : {vector}
}}"""
