"""Parsing and printing modules in the short form, with the user's own lines and columns."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ragged_dialect import plugins
from ragged_dialect._mlir import Op, ir, register_carried
from ragged_dialect.asm.diagnostics import Diagnostic, ParseError
from ragged_dialect.asm.locations import collect, move_locations, to_user
from ragged_dialect.asm.probe import is_bytecode, probe
from ragged_dialect.asm.scan import COMMENT, DEEPEST, STRING
from ragged_dialect.asm.short import to_short, translate
from ragged_dialect.asm.source import MEMORY, Source
from ragged_dialect.dialect import load_extensions, load_named
from ragged_dialect.errors import LayoutError
from ragged_dialect.ir.clone import bytecode
from ragged_dialect.ir.match import attribute_names, blocks_of
from ragged_dialect.layout import Layout
from ragged_dialect.verify import verify_ragged

_LAYOUT = re.compile(r'#ragged\.layout\s*<\s*"([^"]*)"\s*>')

_UNKNOWN_OP = re.compile(r"is unknown|not found for custom op|unregistered dialect|ops of other packages")


def parse_module(text: str | bytes, context: ir.Context, filename: str = MEMORY) -> ir.Module:
    """The module of a text in short or generic form (they mix), or of bytecode that is known to be
    whole, verified by MLIR. Installed plug-ins are loaded where it has ops that nobody knows.

    Locations of ops and block arguments are those of `text` in `filename`. ParseError (a
    VerifyError) with every diagnostic as `file:line:column: error: …` when it is refused.
    """
    return _with_plugins(context, lambda: _parse_module(text, context, filename))


def _parse_module(text: str | bytes, context: ir.Context, filename: str) -> ir.Module:
    filename = filename.encode("utf-8", "backslashreplace").decode()  # names of files need not be UTF-8
    if is_bytecode(text):
        module = _parse(text, context, Source("", filename))
        _refuse_unreadable(module, filename)
        return module
    source = translate(decode(text, filename), filename)
    module = _parse(source.generic, context, source)
    if source.insertions or filename != MEMORY:
        move_locations(module.operation, source)
    return module


def _refuse_unreadable(module: ir.Module, filename: str) -> None:
    """Refuse names of attributes that Python cannot read, and regions nested deeper than in any text, since what goes
    through programs calls itself for them."""
    rest = [(module.operation, 0)]
    while rest:
        op, depth = rest.pop()
        try:
            attribute_names(op)
        except LayoutError as error:
            raise ParseError(Diagnostic(f"'{op.name}' op {error}", filename)) from None
        if depth > DEEPEST:
            raise ParseError(Diagnostic(f"expected regions nested at most {DEEPEST} deep", filename))
        rest += [(o.operation, depth + 1) for block in blocks_of(op) for o in block.operations]


def load_module(text: str | bytes, context: ir.Context, filename: str = MEMORY) -> ir.Module:
    """As `parse_module`, for bytecode from anywhere, and verified also by `verify_ragged`: ragged
    types only where they may be. VerifyError for bytecode that would crash the process."""
    return _with_plugins(context, lambda: _load_safely(text, context, filename))


def _with_plugins(context: ir.Context, read: Callable[[], ir.Module]) -> ir.Module:
    """What is read; once more with installed plug-ins where an op is unknown and they add a dialect."""
    try:
        return read()
    except ParseError as error:
        if not _UNKNOWN_OP.search(str(error)):
            raise
        plugins.load_installed()
        if not load_extensions(context):
            raise
    return read()


def _load_safely(text: str | bytes, context: ir.Context, filename: str) -> ir.Module:
    if is_bytecode(text):
        probe(lambda: _load(text, context, filename), len(text))
    return _load(text, context, filename)


def copy_module(module: ir.Module) -> ir.Module:
    """A module of the same program in the same context, verified as by `load_module`. Its bytecode is our
    own, so that no child reads it first; text would lose locations."""
    return _load(bytecode(module), module.context, MEMORY)


def _load(text: str | bytes, context: ir.Context, filename: str) -> ir.Module:
    module = _parse_module(text, context, filename)
    with collect(context) as diagnostics:
        valid = verify_ragged(module.operation)
    if not valid:
        raise ParseError(*diagnostics)
    _refuse_layouts(text, filename)
    return module


def _refuse_layouts(text: str | bytes, filename: str) -> None:
    """Refuse layouts that are none where no op shows them: aliases without a use, metadata of locations, inside of
    other dialects' attributes. Bytecode has layouts as text."""
    plain = text if isinstance(text, str) else text.decode("utf-8" if not is_bytecode(text) else "latin-1")
    if all(_layout_error(layout) is None for layout in set(_LAYOUT.findall(plain))):
        return
    for match in re.finditer(rf"{COMMENT}|{STRING}|{_LAYOUT.pattern}", plain):
        error = _layout_error(match.group(1)) if match.group(1) is not None else None
        if error is not None:
            position = (0, 0) if is_bytecode(text) else Source(plain).position(match.start())
            raise ParseError(Diagnostic(error, filename, *position))


def _layout_error(text: str) -> str | None:
    try:
        Layout.parse(text)
    except LayoutError as error:
        return str(error)
    return None


def decode(text: str | bytes, filename: str) -> str:
    """Text of a file's bytes, or the text itself. ParseError when it is not UTF-8."""
    try:
        if isinstance(text, bytes):
            return text.decode("utf-8")
        if not text.isascii():
            text.encode("utf-8")
        return text
    except UnicodeEncodeError as error:
        message = f"expected text that UTF-8 can hold, got {error.object[error.start]!a}"
        position = Source(error.object).position(error.start)
        raise ParseError(Diagnostic(message, filename, *position)) from None
    except UnicodeDecodeError as error:
        text = error.object
        line, start = text.count(b"\n", 0, error.start) + 1, text.rfind(b"\n", 0, error.start) + 1
        message = f"expected UTF-8 text, got byte {text[error.start]:#04x}"
        raise ParseError(Diagnostic(message, filename, line, error.start - start + 1)) from None


def _parse(text: str | bytes, context: ir.Context, source: Source) -> ir.Module:
    register_carried(text, context)
    load_named(text, context)
    with collect(context) as diagnostics:
        try:
            return ir.Module.parse(text, context)
        except ir.MLIRError:
            pass
    raise ParseError(*([to_user(d, source) for d in diagnostics] or [_silent(source)]))


def _silent(source: Source) -> Diagnostic:
    """MLIR says nothing when it meets an op of ours in a form that is not generic."""
    for offset, name in source.suspects:
        message = f"'{name}' op expected operands, attributes, ':' and its types"
        return Diagnostic(message, source.filename, *source.position(offset))
    return Diagnostic("expected a valid module, got one that MLIR refuses without a reason", source.filename)


def print_module(op: Op | ir.Module, generic: bool = False, debuginfo: bool = False, **options: Any) -> str:
    """The text of a module (or any op), the dialect's ops in short form unless `generic`; `options` are those of
    `get_asm` of the bindings."""
    text = op.operation.get_asm(print_generic_op_form=generic, enable_debug_info=debuginfo, **options)
    assert isinstance(text, str)  # bytes are of `binary`
    return text if generic else to_short(text)
