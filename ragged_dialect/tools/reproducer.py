"""Files that run again what failed: the input as it was, and a comment with the pipeline."""

from __future__ import annotations

import re
from pathlib import Path
from types import TracebackType

from ragged_dialect.asm.module import parse_module, print_module
from ragged_dialect.asm.probe import is_bytecode
from ragged_dialect.dialect import context
from ragged_dialect.errors import PassError
from ragged_dialect.tools.cli import write_output

_COMMENT = re.compile(r"^// ragged-opt-reproducer: (\{.*\})$", re.MULTILINE)


class Reproducer:
    """Writes the file before the passes run, as a crash leaves no time for it, and removes it when
    they succeed. `path` None does nothing."""

    def __init__(self, path: str | None, chunk: str | bytes, pipeline: str, verify_each: bool) -> None:
        self.path = path
        self.chunk = chunk
        self.settings = {"pipeline": pipeline, "verify-each": verify_each}

    def __enter__(self) -> None:
        if self.path is not None:
            import json

            # At the end, so that line numbers stay true.
            comment = f"// ragged-opt-reproducer: {json.dumps(self.settings)}"
            write_output(self.path, f"{_as_text(self.chunk).rstrip()}\n{comment}\n")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.path is not None and kind is None:
            Path(self.path).unlink()


def _as_text(chunk: str | bytes) -> str:
    if isinstance(chunk, str):
        return chunk
    made = context()
    made.allow_unregistered_dialects = True
    return print_module(parse_module(chunk, made)) if is_bytecode(chunk) else chunk.decode()


def recorded(chunk: str | bytes) -> tuple[str, bool]:
    """The pipeline that a reproducer names, and whether to verify after each pass. PassError when
    the input is none."""
    match = None if isinstance(chunk, bytes) else _COMMENT.search(chunk)
    if match is None:
        raise PassError("expected a line '// ragged-opt-reproducer: …' in the input, got none")
    import json

    try:
        settings = json.loads(match.group(1))
        return str(settings["pipeline"]), bool(settings["verify-each"])
    except (ValueError, KeyError) as error:
        raise PassError(f"expected pipeline and verify-each in '// ragged-opt-reproducer: …': {error}") from None
