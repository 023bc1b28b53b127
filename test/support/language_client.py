"""An editor's side of `ragged-lsp`: pygls' client, with a limit on how long every answer takes."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine
from typing import Any

from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

URI = "file:///program.mlir"
SECONDS = 60


class Editor:
    """A session with one document at a time; what it asks is at offsets of the text."""

    def __init__(self, uri: str = URI) -> None:
        self.uri = uri
        self.loop = asyncio.new_event_loop()
        self.client = LanguageClient("test", "1")
        self.published: asyncio.Queue[lsp.PublishDiagnosticsParams] = asyncio.Queue()
        self.text, self.version = "", 0

        @self.client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def publish(params: lsp.PublishDiagnosticsParams) -> None:
            self.published.put_nowait(params)

    def __enter__(self) -> Editor:
        self._wait(self.client.start_io(sys.executable, "-m", "ragged_dialect.tools.ragged_lsp", "--stdio"))
        asked = lsp.InitializeParams(lsp.ClientCapabilities(), process_id=None, root_uri=None)
        self.capabilities = self._wait(self.client.initialize_async(asked)).capabilities
        self.client.initialized(lsp.InitializedParams())
        return self

    def __exit__(self, *_: object) -> None:
        self._wait(self.client.shutdown_async(None))
        self.client.exit(None)
        self._wait(self.client.stop())
        self.loop.close()

    def _wait(self, answer: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.run_until_complete(asyncio.wait_for(answer, SECONDS))

    def _diagnostics(self) -> list[lsp.Diagnostic]:
        while True:  # those of a version, not of a document that was closed
            found = self._wait(self.published.get())
            if found.version == self.version:
                return list(found.diagnostics)

    def open(self, text: str) -> list[lsp.Diagnostic]:
        """Open a document in place of the one before; its diagnostics."""
        if self.version:
            self.client.text_document_did_close(lsp.DidCloseTextDocumentParams(lsp.TextDocumentIdentifier(self.uri)))
        self.text, self.version = text, self.version + 1
        item = lsp.TextDocumentItem(self.uri, "mlir", self.version, text)
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
        return self._diagnostics()

    def type(self, *texts: str) -> list[lsp.Diagnostic]:
        """Change the document to every text in turn, without a pause; the diagnostics of the last."""
        for self.text in texts:
            self.version += 1
            document = lsp.VersionedTextDocumentIdentifier(self.version, self.uri)
            whole = lsp.TextDocumentContentChangeWholeDocument(self.text)
            self.client.text_document_did_change(lsp.DidChangeTextDocumentParams(document, [whole]))
        return self._diagnostics()

    def position(self, offset: int) -> lsp.Position:
        """The position of an offset, in units of UTF-16."""
        before = self.text[:offset].rpartition("\n")[2]
        return lsp.Position(self.text.count("\n", 0, offset), len(before.encode("utf-16-le", "surrogatepass")) // 2)

    def hover(self, offset: int) -> str:
        """What is shown at an offset."""
        asked = lsp.HoverParams(lsp.TextDocumentIdentifier(self.uri), self.position(offset))
        found = self._wait(self.client.text_document_hover_async(asked))
        return "" if found is None else found.contents.value

    def definition(self, offset: int) -> lsp.Range | None:
        """Where what stands at an offset is defined."""
        asked = lsp.DefinitionParams(lsp.TextDocumentIdentifier(self.uri), self.position(offset))
        found = self._wait(self.client.text_document_definition_async(asked))
        return None if found is None else found.range

    def notify(self, method: str, params: object) -> None:
        """Send a message that the protocol may not know."""
        self.client.protocol.notify(method, params)
