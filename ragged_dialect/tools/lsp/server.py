"""The language server: what `analysis`, `index` and `words` say, in the protocol's terms."""

from __future__ import annotations

import asyncio
import logging
from importlib import metadata
from typing import cast
from urllib.parse import unquote

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException, JsonRpcServerNotInitialized
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol
from pygls.workspace import TextDocument

from ragged_dialect.asm.diagnostics import Diagnostic
from ragged_dialect.tools.lsp.analysis import Analysis, analyse
from ragged_dialect.tools.lsp.index import Span, definition, token_at
from ragged_dialect.tools.lsp.words import hover

_QUIET_SECONDS = 0.2
"""How long nothing is typed before a document is looked at."""

_SEVERITIES = {
    "error": lsp.DiagnosticSeverity.Error, "warning": lsp.DiagnosticSeverity.Warning,
    "remark": lsp.DiagnosticSeverity.Information, "note": lsp.DiagnosticSeverity.Hint,
}  # fmt: skip

_UNITS: dict[object, tuple[str, int]] = {
    lsp.PositionEncodingKind.Utf8: ("utf-8", 1), lsp.PositionEncodingKind.Utf16: ("utf-16-le", 2),
    lsp.PositionEncodingKind.Utf32: ("utf-32-le", 4),
}  # fmt: skip
_UTF_8 = ("utf-8", "surrogatepass")


class _Protocol(LanguageServerProtocol):
    """Answers requests whose parameters are wrong, too: whoever asked would wait for ever. Before `initialize` it
    answers nothing else, as the protocol has it."""

    is_initialized = False

    def structure_message(self, data: dict[str, object]) -> object:
        """The message that an object is."""
        method = data.get("method")
        self.is_initialized = self.is_initialized or method == lsp.INITIALIZE
        try:
            if not self.is_initialized and method not in (None, lsp.EXIT):
                raise JsonRpcServerNotInitialized(f"expected initialize first, got {method}")
            return super().structure_message(data)
        except JsonRpcException as error:
            if "id" in data and "method" in data:
                self._send_response(cast("str | int", data["id"]), None, error.to_response_error())
            raise


class _Line(logging.Formatter):
    """A line for every record, without the traceback."""

    def format(self, record: logging.LogRecord) -> str:
        error = record.exc_info[1] if record.exc_info else None
        first, *_ = f"{record.getMessage()}\n".splitlines()
        return f"ragged-lsp: {first}{'' if error is None else f': {error}'}"


class RaggedServer(LanguageServer):
    """A server with what is known of the documents that are open, by URI, with the version it is known of."""

    def __init__(self) -> None:
        # With whole texts no edit can be applied at another line than the client's. Not all that it takes has types.
        getattr(super(), "__init__")(
            "ragged-lsp", metadata.version("ragged-dialect"), lsp.TextDocumentSyncKind.Full, protocol_cls=_Protocol
        )
        self.known: dict[str, tuple[int | None, Analysis]] = {}
        self.was_shut_down = False

    def document(self, uri: str) -> TextDocument | None:
        """A document that is open; no other is read. They are kept by what their URIs stand for."""
        return self.workspace.text_documents.get(unquote(uri))

    def publish(self, uri: str) -> None:
        """Look at a document, if it is open, and tell the client."""
        document = self.document(uri)
        if document is None:
            return
        found = analyse(document.source)
        self.known[document.uri] = (document.version, found)
        diagnostics = [self.diagnostic(document, one) for one in found.diagnostics]
        self.text_document_publish_diagnostics(
            lsp.PublishDiagnosticsParams(document.uri, diagnostics, document.version)
        )

    def forget(self, uri: str) -> None:
        """Forget a document that is closed, in the client too."""
        self.known.pop(uri, None)
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, []))

    def diagnostic(self, document: TextDocument, found: Diagnostic) -> lsp.Diagnostic:
        """A diagnostic and its notes, at the names that they are about."""
        text = document.source
        related = [
            lsp.DiagnosticRelatedInformation(
                lsp.Location(document.uri, self.range(text, _span(text, note))), note.message
            )
            for note in found.notes
        ]
        severity = _SEVERITIES[found.severity]
        span = self.range(text, _span(text, found))
        return lsp.Diagnostic(span, found.message, severity, source="ragged", related_information=related)

    def range(self, text: str, span: Span) -> lsp.Range:
        """A span in the client's units."""
        start, end = (self.position(text, offset) for offset in span)
        return lsp.Range(start, end)

    def position(self, text: str, offset: int) -> lsp.Position:
        """An offset in the client's units. The document's own method takes what a form feed ends for a line."""
        codec, size = _UNITS[self.workspace.position_encoding]
        before = text[text.rfind("\n", 0, offset) + 1 : offset]
        return lsp.Position(text.count("\n", 0, offset), len(before.encode(codec, "surrogatepass")) // size)

    def offset(self, text: str, position: lsp.Position) -> int:
        """The offset of a position; of the end of the line or the text where it is behind."""
        codec, size = _UNITS[self.workspace.position_encoding]
        start = _start(text, position.line)
        before = _line(text, start).encode(codec, "surrogatepass")[: size * position.character]
        return start + len(before.decode(codec, "ignore"))

    def analysis(self, document: TextDocument) -> Analysis:
        """What is known of a document as it is now."""
        version, found = self.known.get(document.uri, (None, Analysis()))
        return found if version == document.version else Analysis()


def make() -> RaggedServer:
    """The server with its answers."""
    server = RaggedServer()
    handler = logging.StreamHandler()
    handler.setFormatter(_Line())
    logging.getLogger("pygls").handlers = [handler]

    @server.feature(lsp.SHUTDOWN)
    def ended(*_: object) -> None:
        server.was_shut_down = True

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: lsp.DidOpenTextDocumentParams) -> None:
        server.publish(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(params: lsp.DidChangeTextDocumentParams) -> None:
        uri, version = params.text_document.uri, params.text_document.version
        await asyncio.sleep(_QUIET_SECONDS)
        document = server.document(uri)
        if document is not None and document.version == version:
            server.publish(uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: lsp.DidCloseTextDocumentParams) -> None:
        server.forget(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    def hovered(params: lsp.HoverParams) -> lsp.Hover | None:
        document = server.document(params.text_document.uri)
        if document is None:
            return None
        offset = server.offset(document.source, params.position)
        text = hover(document.source, offset, server.analysis(document))
        return None if text is None else lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, text))

    @server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
    def defined(params: lsp.DefinitionParams) -> lsp.Location | None:
        document = server.document(params.text_document.uri)
        if document is None:
            return None
        token = token_at(document.source, server.offset(document.source, params.position))
        found = None if token is None else definition(document.source, token)
        return None if found is None else lsp.Location(document.uri, server.range(document.source, found))

    assert all((ended, opened, changed, closed, hovered, defined))
    return server


def _span(text: str, found: Diagnostic) -> Span:
    """The name at the place of a diagnostic, or the character; the start of the text where it has no place."""
    start = _start(text, found.line - 1)
    start += len(_line(text, start).encode(*_UTF_8)[: max(found.column - 1, 0)].decode("utf-8", "ignore"))
    token = token_at(text, start)
    return (start, token[1]) if token is not None and token[1] > start else (start, min(start + 1, len(text)))


def _start(text: str, line: int) -> int:
    """Offset of a line, counted from 0; of the last where there are fewer."""
    start = 0
    for _ in range(min(line, text.count("\n"))):
        start = text.find("\n", start) + 1
    return start


def _line(text: str, start: int) -> str:
    end = text.find("\n", start)
    return text[start : len(text) if end < 0 else end]
