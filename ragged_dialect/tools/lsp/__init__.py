"""What `ragged-lsp` tells an editor about a document. Only `server` needs pygls."""
