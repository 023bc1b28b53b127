"""What a name or a type in a text is, in Markdown."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator

from ragged_dialect import extensions, plugins
from ragged_dialect.dialect import Ragged
from ragged_dialect.errors import RaggedError
from ragged_dialect.layout import Layout
from ragged_dialect.ops.documentation import docstring, signature
from ragged_dialect.shape import RaggedShape
from ragged_dialect.tools.lsp.analysis import LONGEST, Analysis
from ragged_dialect.tools.lsp.index import Span, definition, token_at

_LAYOUT = re.compile(r'#ragged\.layout\s*<\s*"(?P<letters>[^"\n]*)"\s*>')
_TENSOR = re.compile(
    rf"tensor<(?P<dims>(?:(?:\?|\d+)\s*x\s*)*)(?P<element>[^<>,\n\s?\d][^<>,\n]*(?:<[^<>\n]*>\s*)?),\s*"
    rf"(?P<encoding>{_LAYOUT.pattern}|#[\w$.\-]+)\s*>"
)
_PARTS = {
    "values": "the elements, component after component",
    "offsets": "where the components of dim {dim} start, and the total",
    "starts": "where the components of dim {dim} start",
    "lengths": "how long the components of dim {dim} are",
    "extent": "the extent of dim {dim}",
}


def hover(text: str, offset: int, analysis: Analysis) -> str | None:
    """All there is to say about what stands at an offset."""
    if len(text) > LONGEST:
        return None
    line = text.rfind("\n", 0, offset) + 1
    end = text.find("\n", offset)
    around = text[line : len(text) if end < 0 else end]
    parts = [*_on_types(text, around, line, offset), *_on_name(text, offset, analysis)]
    return "\n\n---\n\n".join(parts) or None


def _on_types(text: str, line: str, start: int, offset: int) -> Iterator[str]:
    for match in _TENSOR.finditer(line):
        if match.start() <= offset - start < match.end():
            letters = _letters(text, match["encoding"], start + match.start("encoding"))
            yield from ([] if letters is None else [tensor(match["dims"], match["element"], letters)])
    for match in _LAYOUT.finditer(line):
        if match.start() <= offset - start < match.end():
            yield layout(match["letters"])


def _on_name(text: str, offset: int, analysis: Analysis) -> Iterator[str]:
    token = token_at(text, offset)
    if token is None:
        return
    name = text[slice(*token)]
    at = definition(text, token)
    if name.startswith("%") and at is not None:
        yield from _value(text, name, at, analysis)
    elif at is not None:
        line = text[text.rfind("\n", 0, at[0]) + 1 :].partition("\n")[0].strip()
        yield f"```mlir\n{line}\n```"
        yield from (layout(match["letters"]) for match in _LAYOUT.finditer(line) if name.startswith("#"))
    else:
        yield from _op(name.strip('"'))


def _letters(text: str, encoding: str, at: int) -> str | None:
    """The letters of an encoding that is a layout or an alias of one."""
    found = _LAYOUT.match(encoding)
    if found is None:
        alias = definition(text, (at, at + len(encoding)))
        found = alias and re.compile(rf"\s*=\s*{_LAYOUT.pattern}").match(text, alias[1])
    return found["letters"] if found else None


def _value(text: str, name: str, at: Span, analysis: Analysis) -> Iterator[str]:
    """The types of a value: of the argument that is defined there, or of the op behind `=`."""
    assigned = re.compile(r"[^=\n]*=\s*").match(text, at[1])
    for offset in (at[0], assigned.end() if assigned else at[0]):
        types = analysis.types.get((text.count("\n", 0, offset) + 1, _column(text, offset)))
        if types is not None:
            yield f"```mlir\n{name} : {', '.join(types)}\n```"
            for match in map(_TENSOR.match, types):
                if match is not None and match["letters"] is not None:
                    yield tensor(match["dims"], match["element"], match["letters"])
            return


def _column(text: str, offset: int) -> int:
    return len(text[text.rfind("\n", 0, offset) + 1 : offset].encode("utf-8", "surrogatepass")) + 1


def _op(name: str) -> Iterator[str]:
    """The documentation of an op of ours or of a plug-in."""
    dialect = name.partition(".")[0]
    if "." not in name:
        return
    if dialect not in extensions.names():
        try:
            plugins.load_installed()
        except RaggedError:
            return
    classes: list[object] = [*Ragged.operations, *(op for known in extensions.dialects() for op in known.operations)]
    if dialect in extensions.LATER:
        classes += vars(importlib.import_module(extensions.LATER[dialect])).values()
    for op in classes:
        if isinstance(op, type) and getattr(op, "OPERATION_NAME", None) == name:
            yield f"### `{name}`\n\n{docstring(op)}\n\n{signature(op)}"


def tensor(dims: str, element: str, letters: str) -> str:
    """The parts that a ragged tensor travels as, or what is wrong with its type."""
    extents = tuple(None if dim == "?" else int(dim) for dim in re.findall(r"\?|\d+", dims))
    try:
        shape = RaggedShape(Layout.parse(letters), extents)
    except RaggedError as error:
        return str(error)
    storage = "".join(f"{'?' if extent is None else extent}x" for extent in shape.storage_shape())
    rows = ["Ragged tensor, as its parts:", ""]
    for kind, dim in shape.parts():
        type_ = {"values": f"tensor<{storage}{element.strip()}>", "extent": "index"}.get(kind, "tensor<?xi64>")
        rows.append(f"- {kind}: `{type_}`, {_PARTS[kind].format(dim=dim)}")
    return "\n".join(rows)


def layout(letters: str) -> str:
    """A layout in words, a line for every dim, or what is wrong with it."""
    try:
        parsed = Layout.parse(letters)
    except RaggedError as error:
        return str(error)
    rows = [f'Layout `"{parsed}"`, {parsed.rank} dims stored as {parsed.storage_rank}:', ""]
    return "\n".join([*rows, *(f"- dim {dim}: {_dim(parsed, dim)}" for dim in range(parsed.rank))])


def _dim(parsed: Layout, dim: int) -> str:
    axis, at = parsed.locate(dim)
    inside = f"in dim {dim - 1}, " if at else ""
    match parsed.letter(dim):
        case "r":
            return f"ragged, {inside}components one after the other"
        case "w":
            return f"ragged, {inside}windows that may overlap or leave gaps"
        case "t":
            return f"tile, {inside}the inner part of a split by a static factor"
        case _ if parsed.is_plain(dim):
            return f"dense, storage axis {axis} of its own"
        case _:
            return f"batch, {inside}of components" if parsed.is_batch(dim) else f"dense, {inside}cut into tiles"
