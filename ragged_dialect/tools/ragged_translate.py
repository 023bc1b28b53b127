"""`ragged-translate`: LLVM IR or PTX of a module, lowered first as far as it is not yet."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragged_dialect.errors import RaggedError
from ragged_dialect.ptx.targets import DEFAULT_ARCH
from ragged_dialect.tools.cli import STREAM, SUCCESS, read_input, run_tool, shown_name, write_output

if TYPE_CHECKING:
    from ragged_dialect._mlir import ir

_TRANSLATIONS = ("llvmir", "nvvm", "ptx")


def _run(argv: Sequence[str]) -> int:
    args = _parse(argv)
    filename = shown_name(args.input)
    text = _translated_input(read_input(args.input), filename, args)
    if args.check_ptx:
        from ragged_dialect.ptx.assembler import check, table

        sys.stderr.write(table(check(text, _arch(args))))
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
    add("--arch", metavar="SM", help=f"GPU architecture (default {DEFAULT_ARCH})")
    add("--fast-math", action="store_true", help="approximate instructions for f32 math in PTX")
    add("--schedule", help="for gpu: how kernels are spread over blocks and threads (default auto)")
    add("--index-bits", type=int, choices=(32, 64), help="width of index in kernels (default 64)")
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

    module = load_module(data, context(), filename)
    default = "gpu" if args.to != "llvmir" or _has_kernels(module) else "cpu"
    if (args.target or default) == "cpu":
        from ragged_dialect.compiler.llvm_ir import lowered_to_llvm_ir

        given = {
            "arch": args.arch,
            "fast-math": args.fast_math,
            "schedule": args.schedule,
            "index-bits": args.index_bits,
        }
        for name, value in given.items():
            if value is not None and value is not False:
                raise RaggedError(f"expected no --{name} for the CPU, got {value}")
        return lowered_to_llvm_ir(module, not args.no_check)
    return _of_kernels(module, args)


def _has_kernels(module: ir.Module) -> bool:
    """Whether a module's parallel parts are kernels already."""
    return any(op.operation.name == "gpu.module" for op in module.body.operations)


def _of_kernels(module: ir.Module, args: argparse.Namespace) -> str:
    """The kernels of a module as nvvm, llvmir or ptx; the ragged program it may be instead is lowered to them first,
    with run-time checks unless they are left out. Raises PassError for what cannot be lowered, CompileError as
    `ragged_dialect.ptx.emit` does."""
    from ragged_dialect.asm.module import print_module
    from ragged_dialect.child import in_child
    from ragged_dialect.errors import CompileError
    from ragged_dialect.lowering.gpu.nvvm.translate import kernels_to_llvm, lowered_kernels
    from ragged_dialect.ptx import emit, targets

    targets.ptx_version(_arch(args))
    if not _has_kernels(module):
        from ragged_dialect.compiler.frontend import mangle_symbols
        from ragged_dialect.lowering import pipelines

        mangle_symbols(module, lambda name: True)
        schedule = "auto" if args.schedule is None else args.schedule
        for stage in pipelines.gpu_pipeline(not args.no_check, schedule):
            stage.run(module)
    lowered = lowered_kernels(module, args.index_bits or 64)
    if args.to == "nvvm":
        text = print_module(lowered)
        return text if text.endswith("\n") else f"{text}\n"
    llvm_ir = in_child(lambda: kernels_to_llvm(lowered).encode())  # translation crashes where it fails
    if llvm_ir is None:
        raise CompileError("expected kernels that LLVM IR can express, got some whose translation failed")
    return llvm_ir.decode() if args.to == "llvmir" else emit(llvm_ir.decode(), _arch(args), args.fast_math)


def _arch(args: argparse.Namespace) -> str:
    return DEFAULT_ARCH if args.arch is None else args.arch


def main(argv: Sequence[str] | None = None) -> int:
    """Run the tool; the exit code."""
    return run_tool("ragged-translate", lambda: _run(sys.argv[1:] if argv is None else argv), argv is None)


if __name__ == "__main__":
    sys.exit(main())
