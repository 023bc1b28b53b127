"""Runs ragged-opt on one file after another in one process.

Reads lines of JSON (a list of arguments) from standard input; answers each with a line of JSON:
the exit code, or what escaped.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys

from ragged_dialect.tools import ragged_opt


def answer(argv: list[str]) -> dict[str, object]:
    """Exit code and diagnostics of one run, or the exception that left it."""
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors):
        try:
            code: int | str = ragged_opt.main(argv)
        except BaseException as error:
            code = f"{type(error).__name__}: {error}"
    return {"code": code, "stderr": errors.getvalue()}


def main() -> None:
    """Answer until the input ends. MLIR may write to file descriptor 1 itself, so answers have
    their own."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), file=answers, flush=True)


main()
