"""What the parser and the verifiers say about a document, asked in a child that may crash or never end."""

from __future__ import annotations

import os
import pickle
from collections.abc import Mapping
from dataclasses import dataclass, field

from ragged_dialect._mlir import ir
from ragged_dialect.asm.diagnostics import Diagnostic, ParseError
from ragged_dialect.asm.locations import file_position
from ragged_dialect.asm.module import load_module
from ragged_dialect.child import in_child
from ragged_dialect.dialect import context
from ragged_dialect.errors import RaggedError
from ragged_dialect.ir.match import blocks_of
from ragged_dialect.ir.walk import ops_in
from ragged_dialect.tools.driver import split_chunks

LONGEST = 1 << 22
"""Characters of a document that is looked at; the server answers nothing else meanwhile."""

_SECONDS = 10
_DOCUMENT = "document"
_STDOUT, _STDERR = 1, 2

Place = tuple[int, int]
"""A line, and a column in bytes, from 1."""


@dataclass(frozen=True)
class Analysis:
    """Diagnostics of a document; where it is valid, the types of the results of the op and of the block argument at
    a place."""

    diagnostics: tuple[Diagnostic, ...] = ()
    types: Mapping[Place, tuple[str, ...]] = field(default_factory=dict[Place, tuple[str, ...]])


def analyse(text: str) -> Analysis:
    """What there is to say about a text, of whatever kind; its parts between `// -----` are modules of their own."""
    if len(text) > LONGEST:
        return _refused(f"expected a document of at most {LONGEST >> 20} MiB, got more: it is not looked at")
    answer = in_child(lambda: _answer(text), _SECONDS)
    if answer is None:
        return _refused("expected text that MLIR can read, got some that ends its parser")
    found = pickle.loads(answer)
    assert isinstance(found, Analysis)
    return found


def _refused(message: str) -> Analysis:
    return Analysis((Diagnostic(message, _DOCUMENT, 1, 1),))


def _answer(text: str) -> bytes:
    os.dup2(_STDERR, _STDOUT)  # the client reads that one
    diagnostics: list[Diagnostic] = []
    types: dict[Place, tuple[str, ...]] = {}
    for chunk in split_chunks(text):
        try:
            types |= _types(load_module(chunk, context(), _DOCUMENT))
        except ParseError as error:
            diagnostics += error.diagnostics
        except RaggedError as error:
            diagnostics.append(Diagnostic(str(error), _DOCUMENT, 1, 1))
    return pickle.dumps(Analysis(tuple(diagnostics), types))


def _types(module: ir.Module) -> dict[Place, tuple[str, ...]]:
    found: dict[Place, tuple[str, ...]] = {}
    for op in ops_in(module.operation):  # outer ones first: what a short form implies has the place of its op
        if len(op.results):
            _put(found, op.location, tuple(str(result.type) for result in op.results))
        for block in blocks_of(op):
            for argument in block.arguments:
                _put(found, argument.location, (str(argument.type),))
    return found


def _put(found: dict[Place, tuple[str, ...]], location: ir.Location, types: tuple[str, ...]) -> None:
    filename, line, column = file_position(location)
    if filename == _DOCUMENT:  # not one that the text itself gives
        found.setdefault((line, column), types)
