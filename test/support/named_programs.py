"""Programs whose functions have given names, run in this process.

    echo CASES | python named_programs.py TARGET

A case is the name of an entry, and those of the private functions that it calls one after the other; the
cases are a list in JSON. Prints what went wrong, one line each.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence

import numpy as np

from ragged_dialect import compile

X = 'tensor<?x?x2xf32, #ragged.layout<"dr|d">>'

# What C, Python, LLVM, PTX, the C library, MLIR's lowering and this package mean something by, or cannot spell.
_WORDS = """
llvm llvm.foo llvm.memcpy.p0.p0.i64 llvm.nvvm.barrier0 __nv_expf _ZGVbN2v_exp %x @x $ a-b x::y a$b a.b . - é 日本 ﬁ 0 1f
" a"b \\ */ \"\"\" ' len int list zip id type isinstance enumerate hasattr None class threading math np Any bind loaded
HOST PTX Signature synchronize __builtins__ __name__ __getattr__ __all__ _ malloc free exp memcpy printf abort main
edata
double int64_t size_t NULL INT64_MAX register fail explain take message result made memrefCopy pthread_create
ragged_report ragged_set_threads ragged_worker ragged_threads ragged_parallel_for ragged_print_int __ragged_power_i64
ragged_call ragged_share
kernels __constant_2xf32 f F f_0 f_kernel0 f_kernel0_task _mlir_ciface_f f.program rg__f rg__rg__f
"""
NAMES = [*_WORDS.split(), "", "a b", "\n", "\0"]


def quoted(name: str) -> str:
    """The symbol of a name as MLIR reads it."""
    plain = range(32, 127)
    return '@"' + "".join(chr(b) if b in plain and b not in b'"\\' else f"\\{b:02X}" for b in name.encode()) + '"'


def program(entry: str, private: Sequence[str]) -> str:
    """A public function that adds 1, a constant, by every one of the private functions, one after the other."""
    lines, value = list[str](), "%x"
    for name in private:
        lines.append(f"func.func private {quoted(name)}(%x: {X}) -> {X} {{")
        lines.append(f"  %c = ragged.empty %x : ({X}) -> {X}\n  %one = arith.constant 1.0 : f32")
        lines.append(f"  %s = linalg.fill ins(%one : f32) outs(%c : {X}) -> {X}")
        lines.append(f"  %r = arith.addf %x, %s : {X}\n  return %r : {X}\n}}")
    lines.append(f"func.func {quoted(entry)}(%x: {X}) -> ({X}, tensor<2xf32>) {{")
    lines.append("  %k = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>")
    for number, name in enumerate(private):
        lines.append(f"  %v{number} = func.call {quoted(name)}({value}) : ({X}) -> {X}")
        value = f"%v{number}"
    return "\n".join([*lines, f"  return {value}, %k : {X}, tensor<2xf32>", "}", ""])


def failures(target: str, cases: Sequence[tuple[str, Sequence[str]]]) -> Iterator[str]:
    """What goes wrong."""
    given = (np.zeros((3, 2), np.float32), np.array([0, 1, 1, 3]))
    for entry, private in cases:
        try:
            function = compile(program(entry, private), entry, target)
            (values, _), two = function(given)
            assert function.signature.name == entry
            assert np.array_equal(values, np.full((3, 2), len(private))), values
            assert list(two) == [1, 2]
        except Exception as error:
            yield f"{entry!r}: {type(error).__name__}: {error}"


if __name__ == "__main__":
    for failure in failures(sys.argv[1], json.load(sys.stdin)):
        print(failure)
