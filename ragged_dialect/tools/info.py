"""What ragged-opt tells about itself: passes, versions, the dialect as IRDL."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ragged_dialect.tools.cli import SUCCESS, write_output
from ragged_dialect.tools.flags import Flag, known
from ragged_dialect.tools.options import GROUPS, Telling


def show(asked: Telling, output: str) -> int:
    """Write what was asked for; the exit code."""
    tellers = {
        "help": help, "help_list": help_list, "list_passes": list_passes, "show_dialects": show_dialects,
        "emit_irdl": irdl, "version": version,
    }  # fmt: skip
    text = next(tell for name, tell in tellers.items() if getattr(asked, name))()
    write_output(output, text if text.endswith("\n") else f"{text}\n")
    return SUCCESS


def help() -> str:
    """Every flag by group, and the passes with their options."""
    lines = [
        "usage: ragged-opt [flags] [file]",
        "",
        "Parses a module with ragged tensors, runs passes on it, prints it. The file is .mlir text or bytecode;",
        "'-' or none is standard input. Every pass is a flag too: --cse, --canonicalize=max-iterations=1;",
        "they run on the module in the order given.",
    ]
    for group in GROUPS:
        lines += ["", f"{group.__doc__}:", *_flag_lines(one.flag for one in known([group]).values())]
    return "\n".join([*lines, "", "Passes of this package, with their options:", list_passes()])


def help_list() -> str:
    """Every flag, sorted."""
    return "\n".join(_flag_lines(sorted((one.flag for one in known(GROUPS).values()), key=lambda flag: flag.name)))


def _flag_lines(flags: Iterable[Flag]) -> list[str]:
    lines: list[str] = []
    for flag in dict.fromkeys(flags):
        gap = "\n" + 32 * " " if len(flag.usage) > 29 else ""
        lines.append(f"  {flag.usage:<29} {gap}{flag.help}")
    return lines


def list_passes() -> str:
    """Name, first line of the docstring, and options of every pass; the named pipelines."""
    from ragged_dialect.passes.pipeline.descriptions import describe_all

    lines: list[str] = []
    for described in describe_all():
        lines.append(f"--{described.name}: {described.summary}")
        for option in described.options:
            default = f"={option.default}" if option.default else ""
            lines.append(f"    {option.name}{default}  ({option.type})")
    return "\n".join(lines)


def version(tool: str = "ragged-opt") -> str:
    """The tool's name, this package, the provider of the bindings, and LLVM's version where it can be had."""
    from ragged_dialect import _mlir
    from ragged_dialect.compiler.versions import own_version

    llvm = _llvm_version()
    return f"{tool} {own_version()}\nbindings: {_mlir.mlir_version()}" + (f"\nLLVM version {llvm}" if llvm else "")


def _llvm_version() -> str | None:
    """The bindings do not tell it; the tool that comes in the same wheel does."""
    from ragged_dialect.tools import stock

    match = re.search(r"LLVM version (\S+)", stock.version())
    return match.group(1) if match else None


def show_dialects() -> str:
    """The dialects that a program may use. The bindings list them only to who uses another one."""
    from ragged_dialect._mlir import ir, register_carried
    from ragged_dialect.asm.locations import collect
    from ragged_dialect.dialect import context

    made = context()
    register_carried("torch. tm_tensor. stablehlo.", made)
    with collect(made) as diagnostics:
        try:
            ir.Module.parse("no_such_dialect.op", made)
        except ir.MLIRError:
            pass
    notes = " ".join(note.message for diagnostic in diagnostics for note in diagnostic.notes)
    names = re.search(r"ialects: ([\w, ()*]+?)(?: \(\* corresponding|;|$)", notes)
    return f"Available Dialects: {names.group(1).replace(' (*)', '') if names else 'ragged'}"


def irdl() -> str:
    """The dialect as an IRDL module: types, attributes and ops with their constraints, no traits
    and no verifiers."""
    from ragged_dialect import ops  # registers the ops with the dialect
    from ragged_dialect._mlir import ir
    from ragged_dialect.dialect import Ragged

    assert ops
    with ir.Context(), ir.Location.unknown():
        return str(Ragged._emit_module())
