"""What the scripts share that generate pages: writing a page, or with `--check` comparing it."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def write_or_check(pages: Mapping[Path, str], script: str, arguments: Sequence[str]) -> int:
    """Write the pages that differ from their text. With `--check` write nothing, name them and give 1."""
    stale = [path for path, text in pages.items() if not path.exists() or path.read_text() != text]
    if "--check" not in arguments:
        for path in stale:
            path.write_text(pages[path])
        return 0
    for path in stale:
        command = f"python docs/{Path(script).name}"
        print(f"expected {path.relative_to(ROOT)} up to date, got an old one (run {command})", file=sys.stderr)
    return int(bool(stale))
