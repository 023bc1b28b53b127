"""IR between passes, to stderr or to files."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from ragged_dialect._mlir import ir
from ragged_dialect.asm.module import print_module
from ragged_dialect.passes.pipeline.running import Stage, Watcher
from ragged_dialect.tools.cli import write_output
from ragged_dialect.tools.options import Dumping
from ragged_dialect.types import text_of

_UNSAFE = re.compile(r"[^\w.\-]")


class Dumps(Watcher):
    """Prints the IR before and after the passes that were asked for. `show` is the text of an op."""

    def __init__(self, options: Dumping, show: Callable[[ir.Operation], str]) -> None:
        self.options, self.show = options, show
        self.number = 0
        self.files: set[Path] = set()
        self.given = ""
        """The IR that the running pass was given, where it matters whether it changes it."""

    def before(self, stage: Stage, module: ir.Operation) -> None:
        if self.options.after_change:
            self.given = print_module(module)
        if self.options.before_all or stage.name in self.options.before:
            self._dump("Before", stage, module)

    def after(self, stage: Stage, module: ir.Operation) -> None:
        options = self.options
        wanted = options.after_all or stage.name in options.after or (options.after_change and not options.after)
        changed = not options.after_change or self.given != print_module(module)
        if wanted and changed and not options.after_failure:
            self._dump("After", stage, module)
        self.number += 1

    def failed(self, stage: Stage, module: ir.Operation) -> None:
        options = self.options
        if options.after_failure or options.after_all or stage.name in options.after:
            self._dump("After", stage, module, " Failed")
        self.number += 1  # of the next part of the input

    def _dump(self, when: str, stage: Stage, module: ir.Operation, how: str = "") -> None:
        part = f" (stage '{stage.part}')" if stage.part else ""
        title = f"// -----// IR Dump {when} {stage.name}{how}{part} //----- //\n"
        ops = [module] if self.options.module_scope else stage.targets(module)
        for op in ops:
            text = title + self.show(module if self.options.module_scope else op)
            if self.options.tree is None:
                print(text, file=sys.stderr)
            else:
                self._write(Path(self.options.tree), when, stage, _path(op), text)

    def _write(self, root: Path, when: str, stage: Stage, ops: Sequence[ir.Operation], text: str) -> None:
        folder = root.joinpath(*(_UNSAFE.sub("_", _label(op)) for op in ops))
        folder.mkdir(parents=True, exist_ok=True)
        suffix = "_before" if when == "Before" else ""
        stem, count = f"{self.number}_{stage.name}{suffix}", 0
        path = folder / f"{stem}.mlir"
        while path in self.files:  # of another op whose name has the same letters
            count += 1
            path = folder / f"{stem}_{count}.mlir"
        self.files.add(path)
        write_output(str(path), text)


def _path(op: ir.Operation) -> list[ir.Operation]:
    """The ops around an op, outermost first, and itself."""
    parent = op.parent
    return [*(_path(parent.operation) if parent is not None else ()), op]


def _label(op: ir.Operation) -> str:
    """`func_func_f`, as upstream names a folder."""
    symbol = op.attributes["sym_name"] if "sym_name" in op.attributes else None
    name = text_of(symbol) if isinstance(symbol, ir.StringAttr) else "no-symbol-name"
    return f"{op.name.replace('.', '_')}_{name}"
