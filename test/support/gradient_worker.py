"""Checks the gradients of one random program after another: reads lines of JSON, `[seed, compiled]`, and answers each
with a line: null, or what is wrong.

A program that is not compiled is run by the reference interpreter, which takes a twentieth of the time; LLVM does not
optimise the others, half of which have several chunks of rows. Nothing of that may be cached for others.
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable
from typing import Any

from support import chunks, verified_programs
from support.gradient_programs import check

import ragged_dialect as rg
from ragged_dialect import execution
from ragged_dialect._mlir import ir
from ragged_dialect.asm.module import print_module
from ragged_dialect.compiler import cpu, machine_code
from ragged_dialect.compiler.frontend import Program
from ragged_dialect.errors import RuntimeCheckError
from ragged_dialect.reference import run


def _interpreted(program: Program, **options: Any) -> Callable[..., tuple[Any, ...]]:
    """In place of a program for a device."""
    verified_programs.check(program.module)
    text = print_module(program.module)
    (function,) = (op for op in program.module.body.operations if op.operation.name == "func.func")
    name = ir.StringAttr(function.attributes["sym_name"]).value
    return lambda *arguments: tuple(run(text, name, arguments, check=False))


def _answer(seed: int, compiled: bool) -> str | None:
    try:
        with chunks.of(8 if seed % 4 < 2 else None):
            return check(seed, rg.jit if compiled else functools.partial(rg.jit, target="emulator"))
    except RuntimeCheckError as error:  # of windows without elements, which the reference refuses
        return f"{type(error).__name__}: {error}" if compiled else _answer(seed, True)
    except Exception as error:  # any is a finding
        return f"{type(error).__name__}: {error}"


def main() -> None:
    execution.compile = _interpreted  # pyright: ignore[reportAttributeAccessIssue]  # this process has no devices
    cpu.object_code = functools.partial(machine_code.object_code, level=0)
    for line in sys.stdin:
        print(json.dumps(_answer(*json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
