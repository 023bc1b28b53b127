"""`ragged-translate`: LLVM IR of a module, lowered for the CPU first unless it is in the llvm dialect."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from ragged_dialect.errors import CompileError
from ragged_dialect.tools.child import in_child
from ragged_dialect.tools.cli import STREAM, SUCCESS, read_input, run_tool, write_output


def _run(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="ragged-translate", description=__doc__, allow_abbrev=False)
    parser.add_argument("input", nargs="?", default=STREAM, help=".mlir text or bytecode; '-' is standard input")
    parser.add_argument("-o", dest="output", default=STREAM, metavar="FILE", help="output file")
    parser.add_argument("--mlir-to-llvmir", action="store_true", help="the only translation, and the default")
    parser.add_argument("--no-check", action="store_true", help="leave run-time checks out")
    args = parser.parse_args(argv)
    filename = "<stdin>" if args.input == STREAM else args.input
    write_output(args.output, to_llvmir(read_input(args.input), filename, check=not args.no_check))
    return SUCCESS


def to_llvmir(text: str | bytes, filename: str, check: bool = True) -> str:
    """LLVM IR of a module's text. VerifyError when the module is not valid, PassError when it
    cannot be lowered, CompileError when LLVM IR cannot express it."""
    from ragged_dialect.dialect import context
    from ragged_dialect.tools.loading import load

    module = load(text, context(), filename)
    if not all(op.operation.name.startswith("llvm.") for op in module.body.operations):
        from ragged_dialect.lowering import pipelines

        for stage in pipelines.cpu_pipeline(check):
            stage.run(module)
    return _translate(module)


def _translate(module: Any) -> str:
    """LLVM IR of a module. The bindings crash the process on any translation that fails, after
    its diagnostics: a child takes the risk, and prints them."""
    _check_translatable(module)
    text = in_child(lambda: _translated(module))
    if text is None:
        raise CompileError("expected a module that LLVM IR can express, got one whose translation failed")
    return text.decode()


def _translated(module: Any) -> bytes:
    from ragged_dialect._mlir import llvm
    from ragged_dialect.asm.locations import from_mlir

    def show(diagnostic: Any) -> bool:
        print(from_mlir(diagnostic), file=sys.stderr, flush=True)
        return True

    module.context.emit_error_diagnostics = True
    with module.context.attach_diagnostic_handler(show):
        return llvm.translate_module_to_llvmir(module.operation).encode()


def _check_translatable(module: Any) -> None:
    """Refuse ops outside the llvm dialect, each at its place."""
    from ragged_dialect._mlir import ir
    from ragged_dialect.asm.diagnostics import Diagnostic, ParseError
    from ragged_dialect.asm.locations import file_position

    foreign: list[Diagnostic] = []

    def visit(op: Any) -> Any:
        known = op.name.startswith("llvm.") and module.context.is_registered_operation(op.name)
        if not known and op != module.operation:
            message = f"expected registered ops of the llvm dialect only, got '{op.name}'"
            foreign.append(Diagnostic(message, *file_position(op.location)))
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    if foreign:
        raise ParseError(*foreign)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the tool; the exit code."""
    return run_tool("ragged-translate", lambda: _run(sys.argv[1:] if argv is None else argv))


if __name__ == "__main__":
    sys.exit(main())
