"""`ragged-lsp`: diagnostics, hover and definitions for editors, by the Language Server Protocol over stdio."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec

from ragged_dialect.errors import RaggedError
from ragged_dialect.tools.cli import FAILURE, SUCCESS, run_tool


def _run(argv: Sequence[str] | None) -> int:
    parser = argparse.ArgumentParser("ragged-lsp", description=__doc__)
    parser.add_argument("--stdio", action="store_true", help="the only way it talks; for clients that say so")
    parser.parse_args(argv)
    if find_spec("pygls") is None:
        raise RaggedError("expected the package pygls, got none (pip install ragged-dialect[lsp])")
    from ragged_dialect.tools.lsp import server

    made = server.make()
    with open(os.dup(sys.stdout.fileno()), "wb") as output:  # which the server closes when it is told to exit
        made.start_io(None, output)
    return SUCCESS if made.was_shut_down else FAILURE  # as the protocol has it


def main(argv: Sequence[str] | None = None) -> int:
    """Run the tool; the exit code."""
    return run_tool("ragged-lsp", lambda: _run(argv))


if __name__ == "__main__":
    sys.exit(main())
