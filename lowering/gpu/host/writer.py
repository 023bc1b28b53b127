"""Writing Python: lines, indentation, names of values, and when buffers are given up."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager

from ragged_dialect._mlir import ir
from ragged_dialect.asm.diagnostics import Diagnostic
from ragged_dialect.asm.locations import file_position
from ragged_dialect.errors import CompileError
from ragged_dialect.lowering.buffers.subviews import is_buffer

Emitter = Callable[["HostWriter", ir.Operation], None]
Finish = Callable[["HostWriter", ir.Operation], None]

FLOATS = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64"}
_DTYPES = {"i1": "bool_", "index": "int64", **{f"i{n}": f"int{n}" for n in (8, 16, 32, 64)}, **FLOATS}


def kind(type_: ir.Type) -> str:
    """`index`, `i32`, `f32`, …: a number type by name. CompileError for another type."""
    text = str(type_)
    if text not in _DTYPES:
        raise CompileError(f"expected number types in the host program, got {text}")
    return text


def dtype(type_: ir.Type) -> str:
    """Name of the NumPy type of a number type in host programs."""
    return _DTYPES[kind(type_)]


class HostWriter:
    """The text of a host program so far.

    Names: `a` arguments, `b` buffers, `v` numbers. An op is written by the emitter of its name; ops
    that only give a value another type share its name, so a buffer is one name in its block.
    """

    def __init__(
        self, emitters: Mapping[str, Emitter], functions: Mapping[str, str], narrow: Collection[str] = ()
    ) -> None:
        self.functions = functions
        self.narrow = narrow
        self.bound: dict[str, str] = {}
        self.uses_floats = False
        self.reads_back: dict[str, None] = {}
        self._emitters = emitters
        self._lines: list[str] = []
        self._depth = 1
        self._names: dict[ir.Value, str] = {}
        self._counts: dict[str, int] = {}
        self._read: set[str] = set()
        self._allocated: set[str] = set()

    def lines(self) -> list[str]:
        """The lines written."""
        return self._lines

    def line(self, text: str) -> None:
        """Write a line at the current depth."""
        self._lines.append("    " * self._depth + text)

    @contextmanager
    def nested(self) -> Generator[None]:
        """Lines written meanwhile are one level deeper; `pass` where there are none."""
        before = len(self._lines)
        self._depth += 1
        yield
        if len(self._lines) == before:
            self.line("pass")
        self._depth -= 1

    def name(self, value: ir.Value) -> str:
        """The name, or the literal, of a value that was defined."""
        text = self._names[value]
        self._read.add(text)
        return text

    def names(self, values: Sequence[ir.Value]) -> list[str]:
        """`name` of each."""
        return [self.name(value) for value in values]

    def define(self, value: ir.Value, prefix: str | None = None) -> str:
        """A new name for a value."""
        self._names[value] = self._numbered(prefix or ("b" if is_buffer(value) else "v"))
        return self._names[value]

    def _numbered(self, prefix: str) -> str:
        number = self._counts.get(prefix, 0)
        self._counts[prefix] = number + 1
        return f"{prefix}{number}"

    def alias(self, value: ir.Value, text: str) -> None:
        """Let a value go by the name of another, or by a literal."""
        self._names[value] = text

    def assign(self, value: ir.Value, expression: str) -> None:
        """Define a value by an expression."""
        self.line(f"{self.define(value)} = {expression}")

    def allocate(self, value: ir.Value, expression: str) -> None:
        """Define a buffer, which is given up after its last use."""
        self.assign(value, expression)
        self._allocated.add(self._names[value])

    def assign_all(self, targets: Sequence[str], values: Sequence[str]) -> None:
        """Assign at once: values may be targets."""
        pairs = [(t, v) for t, v in zip(targets, values, strict=True) if t != v]
        if pairs:
            self.line(f"{', '.join(t for t, _ in pairs)} = {', '.join(v for _, v in pairs)}")

    def bind(self, expression: str, prefix: str) -> str:
        """The name of something that is made once, before the program runs."""
        if expression not in self.bound:
            self.bound[expression] = self._numbered(prefix)
        return self.bound[expression]

    def runtime(self, name: str) -> str:
        """The name of a function of the device."""
        self.bound[f"rt.{name}"] = name
        return name

    def block(self, block: ir.Block, finish: Finish) -> None:
        """Write a block; `finish` writes its terminator."""
        outside, ends = self._read, list[tuple[int, set[str]]]()
        allocated, self._allocated = self._allocated, set[str]()
        operations = [op.operation for op in block.operations]
        for op in operations:
            self._read = set()
            if op is operations[-1]:
                finish(self, op)
            else:
                self._emit(op)
            ends.append((len(self._lines), self._read))
        self._give_up(ends)
        self._allocated = allocated
        self._read = outside.union(*(names for _, names in ends))

    def _emit(self, op: ir.Operation) -> None:
        emitter = self._emitters.get(op.name)
        if emitter is None:
            message = f"expected ops that the host can run, got '{op.name}'"
            raise CompileError(str(Diagnostic(message, *file_position(op.location))))
        emitter(self, op)

    def _give_up(self, ends: list[tuple[int, set[str]]]) -> None:
        """Put a `del` after the last use of every buffer of this block that does not leave it: the
        next allocation may have its memory."""
        later: set[str] = ends[-1][1] if ends else set()
        for end, names in reversed(ends[:-1]):
            last = sorted((names & self._allocated) - later)
            if last:
                self._lines.insert(end, "    " * self._depth + f"del {', '.join(last)}")
            later = later | names
