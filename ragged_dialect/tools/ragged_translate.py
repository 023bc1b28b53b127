"""`ragged-translate`: LLVM IR or PTX of a module, lowered first as far as it is not yet."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from ragged_dialect.child import in_child
from ragged_dialect.errors import CompileError
from ragged_dialect.ptx.targets import DEFAULT_ARCH
from ragged_dialect.tools.cli import STREAM, SUCCESS, read_input, run_tool, shown_name, write_output

_TRANSLATIONS = ("llvmir", "nvvm", "ptx")


def _run(argv: Sequence[str]) -> int:
    args = _parse(argv)
    filename = shown_name(args.input)
    text = _translated_input(read_input(args.input), filename, args)
    if args.check_ptx:
        from ragged_dialect.ptx.assembler import check, table

        sys.stderr.write(table(check(text, args.arch)))
    write_output(args.output, text)
    return SUCCESS


def _parse(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="ragged-translate", description=__doc__, allow_abbrev=False)
    add = parser.add_argument
    add("input", nargs="?", default=STREAM, help=".mlir text or bytecode; '-' is standard input")
    add("-o", dest="output", default=STREAM, metavar="FILE", help="output file")
    add("--to", choices=_TRANSLATIONS, default="llvmir", help="what to print; llvmir is the default")
    add("--mlir-to-llvmir", dest="to", action="store_const", const="llvmir", help="as --to=llvmir")
    add("--target", choices=("cpu", "gpu"), help="for --to=llvmir; default: gpu if there is a gpu.module, else cpu")
    add("--arch", default=DEFAULT_ARCH, metavar="SM", help=f"GPU architecture (default {DEFAULT_ARCH})")
    add("--fast-math", action="store_true", help="approximate instructions for f32 math in PTX")
    add("--schedule", default="auto", help="for gpu: how kernels are spread over blocks and threads (default auto)")
    add("--index-bits", type=int, choices=(32, 64), default=64, help="width of index in kernels (default 64)")
    add("--check-ptx", action="store_true", help="assemble the PTX; print registers, spills and widths to stderr")
    add("--no-check", action="store_true", help="leave run-time checks out")
    args = parser.parse_args(argv)
    if args.target == "cpu" and args.to != "llvmir":
        parser.error(f"expected --target=gpu for --to={args.to}, got cpu")
    if args.check_ptx and args.to != "ptx":
        parser.error(f"expected --to=ptx for --check-ptx, got --to={args.to}")
    return args


def _translated_input(data: bytes, filename: str, args: argparse.Namespace) -> str:
    from ragged_dialect.asm.module import load_module
    from ragged_dialect.dialect import context
    from ragged_dialect.tools.gpu_translation import GpuOptions, has_kernels, translate

    module = load_module(data, context(), filename)
    default = "gpu" if args.to != "llvmir" or has_kernels(module) else "cpu"
    if (args.target or default) == "cpu":
        return _cpu_llvmir(module, not args.no_check)
    options = GpuOptions(args.to, args.arch, args.fast_math, args.index_bits, args.schedule, not args.no_check)
    return translate(module, options)


def to_llvmir(text: str | bytes, filename: str, check: bool = True) -> str:
    """LLVM IR of a module's text. VerifyError when the module is not valid, PassError when it
    cannot be lowered, CompileError when LLVM IR cannot express it."""
    from ragged_dialect.asm.module import load_module
    from ragged_dialect.dialect import context

    return _cpu_llvmir(load_module(text, context(), filename), check)


def _cpu_llvmir(module: Any, check: bool) -> str:
    if not all(op.operation.name.startswith("llvm.") for op in module.body.operations):
        from ragged_dialect.compiler.frontend import mangle_symbols
        from ragged_dialect.lowering import pipelines
        from ragged_dialect.symbols import in_c_library

        mangle_symbols(module, lambda name: not in_c_library(name))
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
